"""rank() and best(): choosing between results so that failing more can never win."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from fastrag.benchmark.comparison_records import Bounds, Coverage
from fastrag.benchmark.doubt import Doubt
from fastrag.benchmark.metric_ranges import Range, range_of
from fastrag.benchmark.paired_tests import differences_of, holm, paired_test
from fastrag.benchmark.pairing import (
    agreed_direction,
    coverage_of,
    mean_bounds,
    pair_samples,
    pair_scores,
    scores_by_question,
)
from fastrag.benchmark.results import BenchmarkResult
from fastrag.benchmark.statistics import Interval, mean_interval
from fastrag.benchmark.verdicts import Evidence
from fastrag.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class RankedResult:
    """One result's place.

    Attributes:
        result: The result itself.
        rank: 1 + the number of results that are better than this one: shown to be, or such that this one's failed
            questions could have shown it. Results of one rank are tied. None where the result does not qualify.
        mean: Over the questions that all qualifying results measured; None where there is none, or the result
            does not qualify.
        interval: Student's t interval of that mean; None below two questions.
        coverage: Of the whole run.
        bounds: Mean of the whole run with what is missing at its worst and best; None where something is missing and
            the metric's range is not known.
        beaten_by: Names of the results that are better in this sense.
        reason: Why it does not qualify; None where it does.
    """

    result: BenchmarkResult
    rank: int | None
    mean: float | None
    interval: Interval | None
    coverage: Coverage
    bounds: Bounds | None
    beaten_by: tuple[str, ...]
    reason: str | None


@dataclass(frozen=True, slots=True)
class Ranking:
    """What `rank` found.

    Attributes:
        metric: What by.
        higher_is_better: Its direction.
        entries: The qualifying results by rank and, in it, by mean; then those that do not qualify, as given.
        questions: How many all qualifying results measured; None where one has no samples: means are then those of
            the summaries, all results are tied at rank 1, and there are no tests.
        min_coverage: The share of the measurable questions that qualifies.
        alpha: The probability of parting any two results where there is no difference.
    """

    metric: str
    higher_is_better: bool
    entries: tuple[RankedResult, ...]
    questions: int | None
    min_coverage: float
    alpha: float

    @property
    def groups(self) -> tuple[tuple[RankedResult, ...], ...]:
        """The qualifying entries, those of one rank together, in their order."""
        ranks = sorted({entry.rank for entry in self.entries if entry.rank is not None})
        return tuple(tuple(entry for entry in self.entries if entry.rank == rank) for rank in ranks)

    @property
    def winner(self) -> BenchmarkResult:
        """The first of the qualifying entries.

        Raises:
            ConfigurationError: No result qualifies; says why, result by result.
        """
        first = self.entries[0]
        if first.rank is None:
            reasons = [f"{entry.result.name}: {entry.reason}" for entry in self.entries]
            raise ConfigurationError(
                f"no result can be called best by {self.metric}: none measured at least {self.min_coverage:.0%} of the "
                "questions:\n- " + "\n- ".join(reasons)
            )
        return first.result


def rank(
    results: Iterable[BenchmarkResult],
    metric: str,
    *,
    min_coverage: float = 0.9,
    alpha: float = 0.05,
    ranges: Mapping[str, Range] | None = None,
) -> Ranking:
    """Rank results by ``metric``: the evidence behind `best`, with ties as ties.

    A result qualifies if it measured at least ``min_coverage`` of its questions that can be measured at all, and of
    those that any of the results measured: asking fewer gains nothing. Any two are compared by a paired t test over the
    questions both measured, adjusted for the number of pairs (Holm). A question that only one of them failed
    on counts against it: it is not better if what it failed on could undo that, and it is beaten if that could have
    shown it to be. So a failure more never improves a rank.

    Args:
        results: At least one with the metric; those without are left out.
        metric: A key of their ``summary``.
        min_coverage: From 0 to 1.
        alpha: Between 0 and 1.
        ranges: As in `compare`.

    Raises:
        ConfigurationError: There are no results, none has the metric, they disagree on its direction, no
            question was measured by all that qualify, or an argument is out of its range.
    """
    having = _checked(results, metric, min_coverage, alpha)
    higher = agreed_direction(having, metric)
    coverages = [coverage_of(result, metric) for result in having]
    all_scores = [scores_by_question(result, metric) for result in having]
    asked = len({question for one in all_scores for question in one})
    reasons = [
        _why_not(coverage, len(one), asked, min_coverage) for coverage, one in zip(coverages, all_scores, strict=True)
    ]
    qualified = [result for result, reason in zip(having, reasons, strict=True) if reason is None]
    scores = [one for one, reason in zip(all_scores, reasons, strict=True) if reason is None]
    common, commons = _common(qualified, scores, metric)
    known_range = range_of(metric, (s for one in scores for found in one.values() for s in found), ranges)
    beaten_by = _beaten_by(qualified, metric, higher, known_range, alpha) if common is not None else {}
    entries, left_out = [], []
    for result, coverage, reason in zip(having, coverages, reasons, strict=True):
        bounds = mean_bounds(result, metric, known_range, higher=higher)
        position = next((i for i, one in enumerate(qualified) if one is result), None)
        if position is None:
            left_out.append(RankedResult(result, None, None, None, coverage, bounds, (), reason))
            continue
        better = tuple(beaten_by.get(position, ()))
        if common is None:
            mean, interval = result.summary[metric].mean, None
        else:
            mean, interval = statistics.mean(commons[position]), mean_interval(commons[position])
        entries.append(RankedResult(result, 1 + len(better), mean, interval, coverage, bounds, better, None))
    entries.sort(key=_order(entries, higher))
    questions = None if common is None else len(common)
    return Ranking(metric, higher, (*entries, *left_out), questions, min_coverage, alpha)


def best(results: Iterable[BenchmarkResult], metric: str, *, min_coverage: float = 0.9) -> BenchmarkResult:
    """The first of `rank`: of the results that none is better than, the one with the best mean of ``metric``.

    A result qualifies if it measured at least ``min_coverage`` of the questions that can be measured at all
    (those whose sample lacks what the metric needs do not count against it; those on which the pipeline or the
    metric failed do). Among tied results, questions that failed are taken at the metric's worst, where its range is
    known; where it is not, means are over the questions that all measured, and of equals the one that measured more
    wins. Results without samples are compared by their summaries. Of equal results the first wins.
    Whether the winner is really better than the next is what `rank` tells.

    Args:
        results: At least one.
        metric: A key of their ``summary``.
        min_coverage: From 0 to 1.

    Raises:
        ConfigurationError: No result qualifies, none has the metric, they disagree on which direction is better,
            or no question was measured by all. The message says why, result by result.
    """
    return rank(results, metric, min_coverage=min_coverage).winner


def _checked(
    results: Iterable[BenchmarkResult], metric: str, min_coverage: float, alpha: float
) -> list[BenchmarkResult]:
    if isinstance(results, BenchmarkResult) or not isinstance(results, Iterable):
        raise ConfigurationError(f"results must be a list of BenchmarkResult, not a {type(results).__name__}")
    listed = list(results)
    if not listed:
        raise ConfigurationError("there are no results to choose from")
    strangers = [type(result).__name__ for result in listed if not isinstance(result, BenchmarkResult)]
    if strangers:
        raise ConfigurationError(f"results must be BenchmarkResult objects, not {strangers[0]}")
    if not isinstance(min_coverage, int | float) or not 0 <= min_coverage <= 1:
        raise ConfigurationError(f"min_coverage must be from 0 to 1, not {min_coverage!r}")
    if not 0 < alpha < 1:
        raise ConfigurationError(f"alpha must be between 0 and 1, not {alpha!r}")
    having = [result for result in listed if metric in result.summary]
    if not having:
        known = sorted({name for result in listed for name in result.summary})
        raise ConfigurationError(f"no result has the metric {metric!r}; there are: {', '.join(known) or 'none'}")
    return having


def _why_not(coverage: Coverage, measured: int, asked: int, min_coverage: float) -> str | None:
    """Why a result that measured so many of the ``asked`` questions does not qualify; None where it does."""
    if not coverage.measured or coverage.measured / coverage.measurable < min_coverage:
        share = f" ({coverage.share:.0%})" if coverage.share is not None else ""
        floor = f", below {min_coverage:.0%}" if coverage.measured else ""
        return f"measured {coverage.measured} of {coverage.measurable} measurable questions{share}{floor}"
    if measured and measured / asked < min_coverage:
        return (
            f"measured {measured} of the {asked} questions that any of the results measured, below {min_coverage:.0%}"
        )
    return None


def _order(entries: Sequence[RankedResult], higher: bool) -> Callable[[RankedResult], tuple[float, ...]]:
    """How the entries of one rank stand: so that a failure more never moves one up."""
    sign = -1 if higher else 1
    by_bounds = all(entry.bounds is not None for entry in entries)

    def key(entry: RankedResult) -> tuple[float, ...]:
        mean = sign * (entry.mean or 0.0)
        if by_bounds and entry.bounds is not None:
            return entry.rank or 0, sign * entry.bounds.worst, -entry.coverage.measured
        return entry.rank or 0, mean, -entry.coverage.measured

    return key


def _common(
    results: Sequence[BenchmarkResult], scores: Sequence[dict[str, list[float]]], metric: str
) -> tuple[list[str] | None, list[list[float]]]:
    """The questions all have measured, and each result's mean scores on them; None where one has no samples."""
    if not results or any(not one for one in scores):
        return None, []
    common = [question for question in scores[0] if all(question in one for one in scores)]
    if not common:
        counts = ", ".join(
            f"{result.name}: {sum(map(len, one.values()))}" for result, one in zip(results, scores, strict=True)
        )
        raise ConfigurationError(
            f"no question was measured with {metric} by all results, so they cannot be compared (measured: {counts})"
        )
    return common, [[statistics.mean(one[question]) for question in common] for one in scores]


def _beaten_by(
    results: Sequence[BenchmarkResult], metric: str, higher: bool, score_range: Range | None, alpha: float
) -> dict[int, list[str]]:
    """Position of a result -> names of those that are better."""
    pairs = list(combinations(range(len(results)), 2))
    tested = []
    for first, second in pairs:
        scores = pair_scores(pair_samples(results[first], results[second]), metric, score_range)
        test = paired_test(scores.first, scores.second)
        gains = [d if higher else -d for d in differences_of(scores.first, scores.second)]
        lost, gained = Doubt.of(list(scores.lost.values())), Doubt.of(list(scores.gained.values()))
        tested.append((test.p, gains, *((lost, gained) if higher else (lost.turned(), gained.turned()))))
    adjusted = holm([p for p, *_ in tested])
    family_size = max(1, sum(p is not None for p in adjusted))
    found: dict[int, list[str]] = {}
    for (first, second), (_, gains, lost, gained), p in zip(pairs, tested, adjusted, strict=True):
        second_side = Evidence(gains, lost, gained, p, None, None, alpha, family_size)
        first_side = second_side.turned()
        for winner, loser, wins, loses in (
            (second, first, second_side, first_side),
            (first, second, first_side, second_side),
        ):
            if wins.stays_better() or loses.could_be_worse():
                found.setdefault(loser, []).append(results[winner].name)
    return found
