"""Results as GitHub-flavoured Markdown: the table that ``fastrag show`` prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from fastrag.benchmark.arguments import require_metrics, require_results
from fastrag.benchmark.report.exports.writing import write_text
from fastrag.benchmark.report.markdown import escape
from fastrag.benchmark.report.sheets import Sheet
from fastrag.benchmark.report.terminal import results_sheet
from fastrag.benchmark.results import BenchmarkResult

_NOTES_SHOWN = 100


def write_markdown(
    results: Iterable[BenchmarkResult], path: str | Path, *, metrics: Sequence[str] | None = None
) -> None:
    """Write the table that `fastrag show` prints as GitHub-flavoured Markdown, one row a run and metric.

    Names come out as the text they are, whatever Markdown, HTML, links or emoji they contain.

    Args:
        results: At least one.
        path: Of the file, which is written atomically; an existing one is replaced.
        metrics: Which; None is all that they have.

    Raises:
        ConfigurationError: There are no results, none has one of the metrics, or ``path`` cannot be written.

    >>> from datetime import UTC, datetime
    >>> from fastrag.benchmark import DistributionSummary, SampleResult, StatusCounts
    >>> samples = [SampleResult("Why?", "successful", {"mrr": 0.5}, answer="=1+1", retrieved_ids=["a", "b"])]
    >>> summary = {"mrr": DistributionSummary.of([0.5])}
    >>> result = BenchmarkResult("run", datetime.now(UTC), StatusCounts(1, 0, 0), summary, samples, 1.0)
    >>> write_markdown([result], "table.md")
    >>> print(Path("table.md").read_text(encoding="utf-8").splitlines()[0])
    | metric | run | mean | 95 % interval | n | cov | p50 | p95 |
    """
    listed = require_results(results)
    names = None if metrics is None else require_metrics(metrics, listed)
    write_text(path, [markdown_text(listed, names)])


def markdown_text(results: Sequence[BenchmarkResult], metrics: Sequence[str] | None = None) -> str:
    """What `write_markdown` writes."""
    sheet = results_sheet(results, metrics)
    lines = _table(sheet)
    if sheet.notes:
        lines += ["", *(f"- {escape(note, most=400)}" for note in sheet.notes[:_NOTES_SHOWN])]
        if (more := len(sheet.notes) - _NOTES_SHOWN) > 0:
            lines.append(f"- and {more} more")
    return "\n".join([*lines, "", " ".join(escape(sentence, most=400) for sentence in sheet.legend), ""])


def _table(sheet: Sheet) -> list[str]:
    """What heads rows in a terminal stands in each of them: a cell of Markdown goes over no two columns."""
    headings = ["metric", *(column.heading for column in sheet.columns)]
    marks = ["---", *("---" if column.folds else "---:" for column in sheet.columns)]
    lines = [_row(headings), f"| {' | '.join(marks)} |"]
    metric = ""
    for row in sheet.rows:
        if isinstance(row, str):
            metric = row
        else:
            lines.append(_row([metric, *row]))
    return lines


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escape, cells))} |"
