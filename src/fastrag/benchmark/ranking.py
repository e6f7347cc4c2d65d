"""rank() and best(): choosing between results so that failing more can never win."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from fastrag._support.checks import require_text
from fastrag.benchmark.arguments import require_probability, require_results, require_share
from fastrag.benchmark.comparison_records import Coverage
from fastrag.benchmark.metric_ranges import Range, range_of
from fastrag.benchmark.paired_tests import paired_test
from fastrag.benchmark.pairing import (
    Measured,
    Questions,
    agreed_direction,
    coverage_of,
    mean_bounds,
    measured_score,
    pair_questions,
    pair_scores,
    scores_by_question,
)
from fastrag.benchmark.ranking_records import RankedResult, Ranking
from fastrag.benchmark.reasons import is_not_applicable
from fastrag.benchmark.results import BenchmarkResult
from fastrag.benchmark.statistics import interval_of, mean_of
from fastrag.benchmark.verdicts import Evidence, Family
from fastrag.errors import ConfigurationError


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
    questions both measured in full, adjusted for all pairs of results (Holm). A question that only one of them failed
    on counts against it: it is not better if what it failed on could undo that, and it is beaten if that could have
    shown it to be; and nothing is better that `best` would not prefer. So a failure more never improves a rank, and the
    first entry is what `best` chooses.

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
    scores = [scores_by_question(result, metric) for result in having]
    known_range = range_of(metric, (score for one in scores for found in one.values() for score in found), ranges)
    asked = len({question for one in scores for question in one})
    entries = [
        RankedResult(
            result=result,
            rank=None,
            mean=None,
            interval=None,
            coverage=(coverage := coverage_of(result, metric)),
            bounds=mean_bounds(result, metric, known_range, higher=higher),
            beaten_by=(),
            reason=_why_not(coverage, len(one), asked, min_coverage),
        )
        for result, one in zip(having, scores, strict=True)
    ]
    qualified = [_Contender(entry, Questions(entry.result), metric) for entry in entries if entry.reason is None]
    common = _common(qualified, [one for entry, one in zip(entries, scores, strict=True) if entry.reason is None])
    qualified = [replace(one, entry=_with_mean(one, common)) for one in qualified]
    worst = (known_range or (-math.inf, math.inf))[0 if higher else 1]
    qualified.sort(key=lambda one: _place(one, higher, worst, has_samples=common is not None))
    beaten_by: list[list[str]] = [[] for _ in qualified]
    if common is not None:
        beaten_by = _beaten_by(qualified, higher, known_range, alpha, len(having))
    ranked = [
        replace(one.entry, rank=1 + len(names), beaten_by=tuple(sorted(names)))
        for one, names in zip(qualified, beaten_by, strict=True)
    ]
    ranked.sort(key=lambda entry: entry.rank or 0)
    left_out = sorted((entry for entry in entries if entry.reason is not None), key=lambda one: _identity(one.result))
    questions = None if common is None else len(common)
    return Ranking(metric, higher, (*ranked, *left_out), questions, min_coverage, alpha)


def best(results: Iterable[BenchmarkResult], metric: str, *, min_coverage: float = 0.9) -> BenchmarkResult:
    """The result with the best scores, where a question that failed, or was not asked, has the metric's worst.

    A result qualifies if it measured at least ``min_coverage`` of the questions that can be measured at all
    (those whose sample lacks what the metric needs do not count against it; those on which the pipeline or the
    metric failed do). Where the metric's worst is not known or has no limit (latency, cost), the one that measured more
    questions wins, and of those that measured as many the one with the better mean over what all of them measured.
    Results without samples are compared by their summaries in the same way. Exact ties go to the name that comes first
    in the alphabet, then to the earlier ``created_at``. The order of the results does not matter, and a failure more
    never makes a winner. Whether the winner is really better than the next is what `rank` tells.

    Args:
        results: At least one.
        metric: A key of their ``summary``.
        min_coverage: From 0 to 1.

    Raises:
        ConfigurationError: No result qualifies, none has the metric, they disagree on which direction is better,
            or no question was measured by all. The message says why, result by result.
    """
    return rank(results, metric, min_coverage=min_coverage).winner


@dataclass(frozen=True, slots=True)
class _Contender:
    """A result that qualifies, with what it says question by question."""

    entry: RankedResult
    questions: Questions
    metric: str

    @property
    def measured(self) -> Measured:
        return self.questions.measured(self.metric)


def _checked(
    results: Iterable[BenchmarkResult], metric: str, min_coverage: float, alpha: float
) -> list[BenchmarkResult]:
    listed = require_results(results)
    require_text("a metric", metric)
    require_share("min_coverage", min_coverage)
    require_probability("alpha", alpha)
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


def _place(one: _Contender, higher: bool, worst: float, *, has_samples: bool) -> tuple[float | str, ...]:
    """What results stand by, lowest first: so that a failure more never moves one up, nor another down."""
    entry = one.entry
    mean = entry.mean or 0.0
    by_mean = -mean if higher else mean
    identity = _identity(entry.result)
    if not has_samples:
        share = entry.coverage.share or 0.0
        return (-share * abs(mean - worst), -share, *identity) if math.isfinite(worst) else (-share, by_mean, *identity)
    measured = len(one.measured.full)
    if math.isfinite(worst):
        return (-_above_worst(one, worst), -measured, *identity)
    return (-measured, by_mean, *identity)


def _identity(result: BenchmarkResult) -> tuple[str, str]:
    return result.name, result.created_at.isoformat()


def _above_worst(one: _Contender, worst: float) -> float:
    """How far the questions are from the worst, all together: nothing is added by one that failed or was not asked."""
    found = []
    for samples in one.questions.samples.values():
        scores = (measured_score(sample, one.metric) for sample in samples)
        above = math.fsum(abs(score - worst) for score in scores if score is not None)
        found.append(above / max(1, sum(not is_not_applicable(sample, one.metric) for sample in samples)))
    return math.fsum(found)


def _common(contenders: Sequence[_Contender], scores: Sequence[Mapping[str, list[float]]]) -> list[str] | None:
    """The questions all measured in full; None where there is no result, or one has no samples."""
    if not contenders or not all(scores):
        return None
    if not set(scores[0]).intersection(*scores[1:]):
        counts = ", ".join(
            f"{contender.entry.result.name}: {sum(map(len, one.values()))}"
            for contender, one in zip(contenders, scores, strict=True)
        )
        raise ConfigurationError(
            f"no question was measured with {contenders[0].metric} by all results, so they cannot be compared "
            f"(measured: {counts})"
        )
    full = [contender.measured.full for contender in contenders]
    return [question for question in full[0] if all(question in means for means in full)]


def _with_mean(one: _Contender, common: Sequence[str] | None) -> RankedResult:
    entry = one.entry
    if common is None:
        return replace(entry, mean=entry.result.summary[one.metric].mean)
    means = one.measured.full
    values = [means[question] for question in common]
    return replace(entry, mean=mean_of(values), interval=interval_of(values)) if values else entry


def _beaten_by(
    contenders: Sequence[_Contender], higher: bool, score_range: Range | None, alpha: float, results: int
) -> list[list[str]]:
    """For each of the contenders, which stand as `best` prefers them, the names of those that are better."""
    pairs = list(combinations(range(len(contenders)), 2))
    evidence = []
    for first, second in pairs:
        # Seen from the first, which alone of the two can be better.
        paired = pair_questions(contenders[second].questions, contenders[first].questions)
        scores = pair_scores(paired, contenders[first].metric, score_range)
        evidence.append(Evidence.of(scores, paired_test(scores.first, scores.second).deciding_p, higher=higher))
    # Those that do not qualify count in the family, too, so that nobody's failures make it smaller.
    family = Family(evidence, alpha, others=math.comb(results, 2) - len(pairs))
    found: list[list[str]] = [[] for _ in contenders]
    for position, ((first, second), one) in enumerate(zip(pairs, evidence, strict=True)):
        coverage = contenders[second].entry.coverage
        could_be_worse = coverage.measured < coverage.measurable and family.could_be_worse(position, one.turned())
        if could_be_worse or family.shows_better(position, one):
            found[second].append(contenders[first].entry.result.name)
    return found
