"""The overview as texts, for readers without scripts: what a page shows until, or unless, its script runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fastrag.benchmark.report.texts import ABSENT, number, one_line, questions, short

_LONGEST_WARNING = 1000


@dataclass(frozen=True, slots=True)
class Row:
    """One run under one metric."""

    run: str
    mean: str
    interval: str
    n: str
    coverage: str


@dataclass(frozen=True, slots=True)
class Section:
    """One metric of all runs that have it."""

    metric: str
    lower_is_better: bool
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class PlainOverview:
    """An `Overview` (frontend/src/model.ts) as the template shows it; every text is on one line and visible."""

    title: str
    version: str
    runs: list[str]
    warnings: list[str]
    sections: list[Section]

    @classmethod
    def of(cls, overview: Mapping[str, Any]) -> PlainOverview:
        """The texts of an overview."""
        return cls(
            title=one_line(overview["title"]),
            version=overview["version"],
            runs=[_run(run) for run in overview["runs"]],
            warnings=[one_line(warning, most=_LONGEST_WARNING) for warning in overview["warnings"]],
            sections=[
                Section(short(metric["name"]), not metric["higher_is_better"], list(_rows(overview["runs"], metric)))
                for metric in overview["metrics"]
            ],
        )


def _run(run: Mapping[str, Any]) -> str:
    counts = run["status"]
    line = (
        f"{short(run['label'])}: {questions(run['samples'])} in {run['duration_s']:.1f} s, {counts['successful']} "
        f"successful, {counts['errored']} errored, {counts['incomplete']} incomplete"
    )
    if (partial := run["partial"]) is not None:
        line += f"; partial: {partial['ended']} of {partial['total']} have ended"
    return line


def _rows(runs: list[Mapping[str, Any]], metric: Mapping[str, Any]) -> Iterator[Row]:
    form = metric["format"]
    for run in runs:
        if (evidence := run["metrics"].get(metric["name"])) is None:
            continue
        interval, coverage = evidence["interval"], evidence["coverage"]
        yield Row(
            run=short(run["label"]),
            mean=number(evidence["mean"], form),
            interval=ABSENT if interval is None else f"{interval['low']:{form}} to {interval['high']:{form}}",
            n=str(evidence["questions"]),
            coverage=_percentage(coverage["measured"], coverage["measurable"]),
        )


def _percentage(measured: int, measurable: int) -> str:
    # Rounded down, as everywhere: 999 of 1000 is not all of them.
    return f"{100 * measured // measurable} %" if measurable else ABSENT
