"""Choosing between results so that failing more can never win."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from fastrag.benchmark.reasons import is_not_applicable
from fastrag.benchmark.results import BenchmarkResult
from fastrag.errors import ConfigurationError

QuestionKey = tuple[str, int]
"""A question and which of its occurrences in the run (from 0): samples of two runs pair by it."""


def best(results: Iterable[BenchmarkResult], metric: str, *, min_coverage: float = 0.9) -> BenchmarkResult:
    """The result with the best mean of ``metric`` over the questions that all qualifying results measured.

    A result qualifies if it measured at least ``min_coverage`` of the questions that can be measured at all
    (those whose sample lacks what the metric needs do not count against it; those on which the pipeline or the
    metric failed do). Means are compared on common questions only, so that skipping the hard ones gains
    nothing. Results without samples are compared by their summaries. Of equal results the one that measured more
    questions wins, then the first.

    Args:
        results: At least one.
        metric: A key of their ``summary``.
        min_coverage: From 0 to 1.

    Raises:
        ConfigurationError: No result qualifies, none has the metric, they disagree on which direction is better,
            or no question was measured by all. The message says why, result by result.
    """
    candidates = [_Candidate.of(result, metric) for result in _checked(results, metric, min_coverage)]
    higher_is_better = _direction([candidate.result for candidate in candidates], metric)
    qualified = [candidate for candidate in candidates if candidate.qualifies(min_coverage)]
    if not qualified:
        reasons = [f"{candidate.result.name}: {candidate.coverage_text}" for candidate in candidates]
        raise ConfigurationError(
            f"no result can be called best by {metric}: none measured at least {min_coverage:.0%} of the "
            "questions:\n- " + "\n- ".join(reasons)
        )
    means = _comparable_means(qualified, metric)
    sign = 1 if higher_is_better else -1
    # max gives the first of equals.
    winner = max(range(len(qualified)), key=lambda i: (sign * means[i], qualified[i].measured))
    return qualified[winner].result


def tied_with(
    winner: BenchmarkResult, results: Iterable[BenchmarkResult], metric: str, *, min_coverage: float = 0.9
) -> list[BenchmarkResult]:
    """The results that only their place in the list keeps from being `best` instead of ``winner``."""
    ties = []
    for result in results:
        if result is winner or metric not in result.summary:
            continue
        if best([result, winner], metric, min_coverage=min_coverage) is result and (
            best([winner, result], metric, min_coverage=min_coverage) is winner
        ):
            ties.append(result)
    return ties


@dataclass(slots=True)
class _Candidate:
    result: BenchmarkResult
    scores: dict[QuestionKey, float] | None
    """Measured scores; None where the result has no samples with this metric, only a summary."""
    measured: int
    measurable: int

    @classmethod
    def of(cls, result: BenchmarkResult, metric: str) -> _Candidate:
        if not any(metric in sample.scores for sample in result.samples):
            summary = result.summary[metric]
            return cls(result, None, summary.count, summary.count + summary.missing)
        scores: dict[QuestionKey, float] = {}
        occurrences: Counter[str] = Counter()
        measurable = 0
        for sample in result.samples:
            key = (sample.question, occurrences[sample.question])
            occurrences[sample.question] += 1
            score = sample.scores.get(metric)
            if score is not None and math.isfinite(score):
                scores[key] = score
            measurable += not is_not_applicable(sample, metric)
        return cls(result, scores, len(scores), measurable)

    def qualifies(self, min_coverage: float) -> bool:
        return self.measured > 0 and self.measured / self.measurable >= min_coverage

    @property
    def coverage_text(self) -> str:
        share = f" ({self.measured / self.measurable:.0%})" if self.measurable else ""
        return f"measured {self.measured} of {self.measurable} measurable questions{share}"


def _checked(results: Iterable[BenchmarkResult], metric: str, min_coverage: float) -> list[BenchmarkResult]:
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
    having = [result for result in listed if metric in result.summary]
    if not having:
        known = sorted({name for result in listed for name in result.summary})
        raise ConfigurationError(f"no result has the metric {metric!r}; there are: {', '.join(known) or 'none'}")
    return having


def _direction(results: list[BenchmarkResult], metric: str) -> bool:
    said = [(result.name, result.higher_is_better[metric]) for result in results if metric in result.higher_is_better]
    if len({higher for _, higher in said}) > 1:
        sides = ", ".join(f"{name}: {'higher' if higher else 'lower'}" for name, higher in said)
        raise ConfigurationError(f"the results disagree on which direction of {metric} is better ({sides})")
    # A record that does not say is a metric of the default direction.
    return said[0][1] if said else True


def _comparable_means(candidates: list[_Candidate], metric: str) -> list[float]:
    if len(candidates) == 1 or any(candidate.scores is None for candidate in candidates):
        return [candidate.result.summary[metric].mean for candidate in candidates]
    by_candidate = [candidate.scores or {} for candidate in candidates]
    common = set.intersection(*(set(scores) for scores in by_candidate))
    if not common:
        counts = ", ".join(f"{candidate.result.name}: {candidate.measured}" for candidate in candidates)
        raise ConfigurationError(
            f"no question was measured with {metric} by all results, so they cannot be compared (measured: {counts})"
        )
    return [statistics.mean(scores[key] for key in common) for scores in by_candidate]
