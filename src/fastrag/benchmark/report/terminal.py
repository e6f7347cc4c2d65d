"""Results as tables that fit a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastrag.benchmark.metric_evidence import MetricEvidence
from fastrag.benchmark.metrics.base import DistributionSummary
from fastrag.benchmark.pairing import agreed_direction
from fastrag.benchmark.report.evidence import evidence_of
from fastrag.benchmark.report.missing import own_mean_lines, trouble_lines, unmeasurable_lines
from fastrag.benchmark.report.sheets import Sheet, print_sheet
from fastrag.benchmark.report.tables import Column
from fastrag.benchmark.report.texts import ABSENT, lower_is_better, number, number_format, percentage, span
from fastrag.benchmark.results import BenchmarkResult

if TYPE_CHECKING:
    from rich.console import Console


def print_results(
    results: Sequence[BenchmarkResult], console: Console, *, metrics: Sequence[str] | None = None
) -> None:
    """Print a table of ``metrics`` (None: all) of every run, and under it what failed and why."""
    print_sheet(results_sheet(results, metrics), console)


def results_sheet(results: Sequence[BenchmarkResult], metrics: Sequence[str] | None = None) -> Sheet:
    """A table of ``metrics`` (None: all) of every run, and what failed and why."""
    if metrics is None:
        metrics = list(dict.fromkeys(name for result in results for name in result.summary))
    described = [evidence_of(result, metrics) for result in results]
    sections = {
        name: [
            _Row.of(result, evidence[name])
            for result, evidence in zip(results, described, strict=True)
            if name in evidence
        ]
        for name in metrics
    }
    every_row = [row for rows in sections.values() for row in rows]
    with_bounds = any(row.bounds not in ("", ABSENT) for row in every_row)
    columns = [Column("run", folds=True), *map(Column, ("mean", "95 % interval", "n", "cov"))]
    columns += [Column("worst..best")] if with_bounds else []
    columns += [Column("p50", optional=True), Column("p95", optional=True)]
    body: list[str | tuple[str, ...]] = []
    lower = []
    for name, rows in sections.items():
        having = [result for result in results if name in result.summary]
        if not agreed_direction(having[:1], name):
            lower.append(name)
        body.append(name)
        body += [row.cells(with_bounds=with_bounds) for row in rows]
    lines = unmeasurable_lines(results, metrics)
    for result in results:
        lines += [*trouble_lines(result), *own_mean_lines(result, metrics)]
    legend = [*lower_is_better(lower), *_legend(every_row, with_bounds=with_bounds)]
    return Sheet(columns=columns, rows=body, legend=legend, notes=lines)


@dataclass(frozen=True, slots=True)
class _Row:
    """One run under one metric, as texts."""

    run: str
    mean: str
    interval: str
    n: str
    coverage: str
    bounds: str
    p50: str
    p95: str
    repeats: bool
    few: bool

    @classmethod
    def of(cls, result: BenchmarkResult, evidence: MetricEvidence) -> _Row:
        summary, coverage = result.summary[evidence.metric], evidence.coverage
        form = _format(summary, evidence)
        missing = coverage.measured < coverage.measurable
        few = 0 < summary.count < 20
        p50, p95 = (summary.median, summary.percentiles.get("p95")) if summary.count > 0 else (None, None)
        return cls(
            run=result.name,
            mean=number(evidence.mean, form),
            interval=span(evidence.interval, form),
            n=str(evidence.questions),
            coverage=percentage(coverage),
            bounds=span(evidence.bounds, form) if missing else "",
            p50=number(p50, form),
            p95=number(p95, form) + ("*" if few and p95 is not None else ""),
            repeats=evidence.questions < coverage.measured,
            few=few,
        )

    def cells(self, *, with_bounds: bool) -> tuple[str, ...]:
        bounds = (self.bounds,) if with_bounds else ()
        return self.run, self.mean, self.interval, self.n, self.coverage, *bounds, self.p50, self.p95


def _format(summary: DistributionSummary, evidence: MetricEvidence) -> str:
    if summary.count > 0:
        return number_format([summary.min, summary.max], [summary.mean, summary.median])
    bounds = evidence.bounds
    return number_format([0.0] if bounds is None else [bounds.worst, bounds.best], [0.0])


def _legend(rows: Sequence[_Row], *, with_bounds: bool) -> list[str]:
    sentences = [
        "n: questions measured; cov: measured of measurable, rounded down.",
        "Interval of the mean: Wilson's where all scores are 0 or 1, else Student's t.",
    ]
    if any(row.repeats for row in rows):
        sentences.append("A question asked several times counts once, with the mean of its scores.")
    if with_bounds:
        sentences.append("worst..best: the mean, had everything missing scored its worst or its best.")
    if any(row.few for row in rows):
        sentences.append("*: from fewer than 20 values.")
    return sentences
