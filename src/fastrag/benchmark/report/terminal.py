"""Results as tables that fit a terminal of 80 columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastrag.benchmark.metrics.base import DistributionSummary
from fastrag.benchmark.report.texts import decimals_for, one_line
from fastrag.benchmark.results import BenchmarkResult
from fastrag.benchmark.statistics import mean_interval

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_ABSENT = "-"
_REASONS_SHOWN = 8


def print_results(
    results: Sequence[BenchmarkResult], console: Console, *, metrics: Sequence[str] | None = None
) -> None:
    """Print a table of ``metrics`` (None: all) of every run, and under it what failed and why."""
    console.print(results_table(results, metrics))
    note = f"n: measured of asked; 95 % interval of the mean: Student's t.{_marks(results)}"
    console.print(note, style="dim", highlight=False)
    for result in results:
        for line in trouble_lines(result):
            console.print(line, markup=False, highlight=False)


def results_table(results: Sequence[BenchmarkResult], metrics: Sequence[str] | None = None) -> Table:
    """A section a metric (None: all there are) and in it a row a run: mean with interval, n, coverage, p50, p95."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("run", overflow="fold")
    for heading in ("mean", "95 % interval", "n", "cov", "p50", "p95"):
        table.add_column(heading, justify="right", no_wrap=True)
    if metrics is None:
        metrics = list(dict.fromkeys(name for result in results for name in result.summary))
    for name in metrics:
        table.add_row(f"[bold]{escape(one_line(name))}[/bold]")
        for result in results:
            if name in result.summary:
                table.add_row(f"  {escape(one_line(result.name))}", *_cells(result, name))
    return table


def trouble_lines(result: BenchmarkResult) -> list[str]:
    """What a run's statuses are, and why questions have no scores, the most frequent reasons first."""
    counts = result.status
    asked = counts.successful + counts.errored + counts.incomplete
    lines = [
        f"{one_line(result.name)}: {asked} questions in {result.duration_s:.1f} s: {counts.successful} successful, "
        f"{counts.errored} errored, {counts.incomplete} incomplete"
    ]
    reasons: Counter[str] = Counter()
    for sample in result.samples:
        if sample.status == "errored":
            reasons[f"errored: {one_line(sample.error or 'no reason recorded')}"] += 1
        elif sample.status == "incomplete":
            reasons.update(map(one_line, _by_reason(sample.error or "no reason recorded")))
    lines += [f"  {count} x {reason}" for reason, count in reasons.most_common(_REASONS_SHOWN)]
    if len(reasons) > _REASONS_SHOWN:
        lines.append(f"  and {len(reasons) - _REASONS_SHOWN} other reasons")
    return lines


def _by_reason(error: str) -> list[str]:
    """The parts of an incomplete sample's error, those that differ only in the metric told as one."""
    metrics: dict[str, list[str]] = {}
    for part in error.split("; "):
        metric, separator, reason = part.partition(": ")
        metrics.setdefault(reason if separator else part, []).append(metric)
    return [f"{reason} ({', '.join(names)})" for reason, names in metrics.items()]


def _cells(result: BenchmarkResult, name: str) -> tuple[str, ...]:
    summary = result.summary[name]
    asked = summary.count + summary.missing
    n = f"{summary.count}/{asked}"
    if summary.count <= 0 or asked <= 0:
        return _ABSENT, _ABSENT, n, _ABSENT, _ABSENT, _ABSENT
    interval = mean_interval([sample.scores.get(name) for sample in result.samples])
    decimals = decimals_for([summary.min, summary.max], [summary.mean, summary.median])
    p95 = summary.percentiles.get("p95")
    return (
        f"{summary.mean:.{decimals}f}",
        f"{interval.low:.{decimals}f}..{interval.high:.{decimals}f}" if interval else _ABSENT,
        n,
        f"{summary.count / asked:.0%}",
        f"{summary.median:.{decimals}f}",
        _ABSENT if p95 is None else f"{p95:.{decimals}f}{_mark(summary)}",
    )


def _mark(summary: DistributionSummary) -> str:
    # With fewer than 20 values the 95th percentile is little more than the largest of them.
    return "" if summary.count >= 20 else "*"


def _marks(results: Sequence[BenchmarkResult]) -> str:
    marked = any(_mark(summary) for result in results for summary in result.summary.values() if summary.count)
    return " *: from fewer than 20 values." if marked else ""
