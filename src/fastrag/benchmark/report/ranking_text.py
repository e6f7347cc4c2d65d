"""A ranking as a table that fits a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastrag.benchmark.ranking_records import RankedResult, Ranking
from fastrag.benchmark.report.evidence import NO_METRIC
from fastrag.benchmark.report.missing import trouble_lines, unmeasurable_lines
from fastrag.benchmark.report.sheets import Sheet, print_sheet
from fastrag.benchmark.report.tables import Column
from fastrag.benchmark.report.texts import (
    ABSENT,
    listed,
    lower_is_better,
    number,
    number_format,
    percentage,
    questions,
    short,
    span,
)
from fastrag.benchmark.results import BenchmarkResult

if TYPE_CHECKING:
    from rich.console import Console


def print_ranking(ranking: Ranking, console: Console, without_metric: Sequence[BenchmarkResult] = ()) -> None:
    """Print who is best and how sure that is, all results in their order, and why some have no rank.

    Args:
        ranking: What `rank` found.
        console: Where it goes.
        without_metric: Results that `rank` left out, for they do not have the metric.
    """
    print_sheet(ranking_sheet(ranking, without_metric), console)


def ranking_sheet(ranking: Ranking, without_metric: Sequence[BenchmarkResult] = ()) -> Sheet:
    """Who is best and how sure that is, all results in their order, and why some have no rank."""
    results = [entry.result for entry in ranking.entries]
    form = _format(results, ranking.metric)
    with_bounds = any(_bounds(entry, form) not in ("", ABSENT) for entry in ranking.entries)
    columns = [Column("rank"), Column("run", folds=True), *map(Column, ("mean", "95 % interval", "cov"))]
    columns += [Column("worst..best")] if with_bounds else []
    rows = [
        (
            _place(entry, ranking),
            entry.result.name,
            number(entry.mean, form),
            span(entry.interval, form),
            percentage(entry.coverage),
            *((_bounds(entry, form),) if with_bounds else ()),
        )
        for entry in ranking.entries
    ]
    unranked = [(entry.result.name, entry.reason) for entry in ranking.entries if entry.reason is not None]
    unranked += [(result.name, NO_METRIC) for result in without_metric]
    notes = unmeasurable_lines(results, [ranking.metric])
    for entry in ranking.entries:
        if _has_failures(entry):
            notes += trouble_lines(entry.result)
    return Sheet(
        headlines=verdict_lines(ranking),
        columns=columns,
        rows=rows,
        legend=_legend(ranking, with_bounds=with_bounds),
        warnings=[f"no rank: {short(name)}: {reason}" for name, reason in unranked],
        notes=notes,
    )


def verdict_lines(ranking: Ranking) -> list[str]:
    """Who is best, who is tied with it, and whom it is better than."""
    ranked = [entry for entry in ranking.entries if entry.rank is not None]
    if not ranked:
        return [f"best by {short(ranking.metric)}: no result qualifies"]
    winner, *others = ranked
    name = winner.result.name
    lines = [f"best by {short(ranking.metric)}: {short(name)}"]
    tied = [entry for entry in others if entry.rank == winner.rank]
    beaten = [entry for entry in others if name in entry.beaten_by]
    open_ = [entry for entry in others if entry not in tied and entry not in beaten]
    if not others:
        lines.append("  no other result qualifies")
    if tied and ranking.questions is None:
        lines.append(f"  by its mean only, for there are no samples to compare; beside it: {_names(tied)}")
    elif tied:
        lines.append(f"  tied with it, for no difference is shown: {_names(tied)}")
    for could_be, start in (
        (False, "  shown to be better than: "),
        (True, "  better than, what they failed on counted against them: "),
    ):
        if some := [entry for entry in beaten if _has_failures(entry) == could_be]:
            lines.append(f"{start}{_names(some)}")
    if open_:
        lines.append(f"  not shown to be better than: {_names(open_)}")
    return lines


def _names(entries: Sequence[RankedResult]) -> str:
    return listed(short(entry.result.name) for entry in entries)


def _place(entry: RankedResult, ranking: Ranking) -> str:
    if entry.rank is None:
        return ABSENT
    is_tied = sum(other.rank == entry.rank for other in ranking.entries) > 1
    return f"={entry.rank}" if is_tied else str(entry.rank)


def _bounds(entry: RankedResult, form: str) -> str:
    return span(entry.bounds, form) if _has_failures(entry) else ""


def _has_failures(entry: RankedResult) -> bool:
    return entry.coverage.measured < entry.coverage.measurable


def _format(results: Sequence[BenchmarkResult], metric: str) -> str:
    summaries = [summary for result in results if (summary := result.summary[metric]).count > 0]
    if not summaries:
        return number_format([0.0], [0.0])
    extremes = [end for summary in summaries for end in (summary.min, summary.max)]
    return number_format(extremes, [summary.mean for summary in summaries])


def _legend(ranking: Ranking, *, with_bounds: bool) -> list[str]:
    sentences = [
        *lower_is_better([] if ranking.higher_is_better else [ranking.metric]),
        "rank: 1 + the number of results that are better, =: tied.",
        f"Better: by a paired t test of each two results, adjusted for all pairs (Holm), at {ranking.alpha:g}; what "
        "a result failed on counts against it.",
    ]
    if ranking.questions is not None:
        sentences.append(f"mean: over the {questions(ranking.questions)} that all ranked results measured.")
    sentences.append("cov: measured of measurable, whole run.")
    if with_bounds:
        sentences.append("worst..best: the mean of the whole run, had everything missing scored its worst or its best.")
    return sentences
