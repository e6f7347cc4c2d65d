"""Filling in the templates of this folder."""

from __future__ import annotations

from fastrag.benchmark.report.templates import templates


def render(template: str, **values: object) -> str:
    """The template of that name, filled in."""
    return templates("fastrag.benchmark.report.notebook").get_template(template).render(values)
