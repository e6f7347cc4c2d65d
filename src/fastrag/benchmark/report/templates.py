"""Filling in HTML templates. Whatever text is given comes out as that text."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fastrag.benchmark.report.texts import one_line

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def templates(package: str) -> Environment:
    """Those in the folder ``templates`` of a package; they have the filter ``one_line`` for other people's texts."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["one_line"] = one_line
    return environment
