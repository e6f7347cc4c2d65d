"""Which samples of two results belong together, and what they say question by question.

A result carries no sample ids (its contract has no field for them, and a journal keeps only a fingerprint of its
samples), so that samples pair by the question's text and by which of its occurrences they are. A question that both
results have equally often (repeats) pairs as a whole, in whatever order its occurrences stand.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fastrag.benchmark.comparison_records import Bounds, Coverage, Pairing
from fastrag.benchmark.metric_ranges import Range
from fastrag.benchmark.reasons import is_not_applicable, kind_of_missing
from fastrag.benchmark.results import BenchmarkResult, SampleResult
from fastrag.errors import ConfigurationError


def measured_score(sample: SampleResult, metric: str) -> float | None:
    """The sample's score; None where there is none, or one that is no finite number."""
    score = sample.scores.get(metric)
    return score if score is not None and math.isfinite(score) else None


def agreed_direction(results: Iterable[BenchmarkResult], metric: str) -> bool:
    """Whether a higher score of ``metric`` is better; so it is where no result says.

    Raises:
        ConfigurationError: They disagree.
    """
    said = [(result.name, result.higher_is_better[metric]) for result in results if metric in result.higher_is_better]
    if len({higher for _, higher in said}) > 1:
        sides = ", ".join(f"{name}: {'higher' if higher else 'lower'}" for name, higher in said)
        raise ConfigurationError(f"the results disagree on which direction of {metric} is better ({sides})")
    return said[0][1] if said else True


def by_question(samples: Iterable[SampleResult]) -> dict[str, list[SampleResult]]:
    """Each question with its samples, both in the order in which they stand."""
    found: dict[str, list[SampleResult]] = {}
    for sample in samples:
        found.setdefault(sample.question, []).append(sample)
    return found


def scores_by_question(result: BenchmarkResult, metric: str) -> dict[str, list[float]]:
    """Each question with its measured scores; a question without any is not there."""
    found: dict[str, list[float]] = {}
    for sample in result.samples:
        score = measured_score(sample, metric)
        if score is not None:
            found.setdefault(sample.question, []).append(score)
    return found


def coverage_of(result: BenchmarkResult, metric: str) -> Coverage:
    """How much of the run was measured with ``metric``, and why the rest was not.

    Of a result without samples only the summary is known: its ``missing`` have the reason ``"unknown"``.
    """
    if not any(metric in sample.scores for sample in result.samples):
        summary = result.summary[metric]
        asked = summary.count + summary.missing
        return Coverage(summary.count, asked, asked, {"unknown": summary.missing} if summary.missing else {})
    reasons: Counter[str] = Counter()
    measured = 0
    for sample in result.samples:
        if measured_score(sample, metric) is not None:
            measured += 1
        else:
            reasons[kind_of_missing(sample, metric)] += 1
    asked = len(result.samples)
    return Coverage(measured, asked - reasons["not_applicable"], asked, dict(sorted(reasons.items())))


def mean_bounds(result: BenchmarkResult, metric: str, score_range: Range | None, *, higher: bool) -> Bounds | None:
    """The mean over all measurable samples, those not measured taken at their worst and at their best.

    None where something is missing and the range is not known or has no limit, where nothing is measurable, and of a
    result without samples.
    """
    measurable = [sample for sample in result.samples if not is_not_applicable(sample, metric)]
    if not measurable:
        return None
    scores = [score for sample in measurable if (score := measured_score(sample, metric)) is not None]
    missing = len(measurable) - len(scores)
    ends = score_range or (-math.inf, math.inf)
    worst, best = ends if higher else reversed(ends)
    known = math.fsum(scores)
    if missing and not (math.isfinite(worst) and math.isfinite(best)):
        return None
    return Bounds(*((known + missing * end if missing else known) / len(measurable) for end in (worst, best)))


@dataclass(frozen=True, slots=True)
class PairedSamples:
    """Samples of two results that belong together, question by question."""

    questions: dict[str, tuple[list[SampleResult], list[SampleResult]]]
    pairing: Pairing


def pair_samples(baseline: BenchmarkResult, candidate: BenchmarkResult) -> PairedSamples:
    """Pair by question; where one has a question more often than the other, the first occurrences of it."""
    first, second = by_question(baseline.samples), by_question(candidate.samples)
    questions = {}
    pairs = 0
    for question, samples in first.items():
        if common := min(len(samples), len(second.get(question, ()))):
            questions[question] = samples[:common], second[question][:common]
            pairs += common
    pairing = Pairing(candidate.name, pairs, _left_over(first, questions), _left_over(second, questions))
    return PairedSamples(questions, pairing)


def _left_over(
    all_of: dict[str, list[SampleResult]], paired: Mapping[str, tuple[list[SampleResult], ...]]
) -> tuple[str, ...]:
    return tuple(
        question if occurrence == 1 else f"{question} (occurrence {occurrence})"
        for question, samples in all_of.items()
        for occurrence in range(1 + (len(paired[question][0]) if question in paired else 0), len(samples) + 1)
    )


@dataclass(frozen=True, slots=True)
class PairedScores:
    """One metric's scores, question by question.

    Attributes:
        questions: Those that both results measured in full, in the baseline's order.
        first: The baseline's mean score of each.
        second: The candidate's.
        lost: Questions that the candidate failed on at least once, measured by the baseline at least once; each with
            the lowest and highest difference, candidate minus baseline, that there can be.
        gained: The same with the sides changed; a question can be in both.
        neither: Questions without a score on either side, or that nobody could be measured on.
    """

    questions: tuple[str, ...]
    first: tuple[float, ...]
    second: tuple[float, ...]
    lost: dict[str, tuple[float, float]]
    gained: dict[str, tuple[float, float]]
    neither: int


def pair_scores(paired: PairedSamples, metric: str, score_range: Range | None) -> PairedScores:
    """The scores of ``metric`` that the pairs have."""
    low, high = score_range or (-math.inf, math.inf)
    complete: dict[str, tuple[float, float]] = {}
    lost, gained = {}, {}
    neither = 0
    for question, (firsts, seconds) in paired.questions.items():
        a, b = _Side.of(firsts, metric), _Side.of(seconds, metric)
        if not a.scores and not b.scores:
            neither += 1
        elif len(a.scores) == len(b.scores) == len(firsts):
            complete[question] = a.mean, b.mean
        else:
            a_low, a_high = a.between(low, high)
            b_low, b_high = b.between(low, high)
            reach = (b_low - a_high, b_high - a_low)
            if b.missing and a.scores:
                lost[question] = reach
            if a.missing and b.scores:
                gained[question] = reach
    return PairedScores(
        tuple(complete),
        tuple(a for a, _ in complete.values()),
        tuple(b for _, b in complete.values()),
        lost,
        gained,
        neither,
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """The occurrences of one question in one result."""

    scores: list[float]
    missing: int

    @classmethod
    def of(cls, samples: list[SampleResult], metric: str) -> _Side:
        scores = [score for sample in samples if (score := measured_score(sample, metric)) is not None]
        return cls(scores, len(samples) - len(scores))

    @property
    def mean(self) -> float:
        return math.fsum(self.scores) / len(self.scores)

    def between(self, low: float, high: float) -> tuple[float, float]:
        """The lowest and highest mean that there can be."""
        if not self.missing:
            return self.mean, self.mean
        known, n = math.fsum(self.scores), len(self.scores) + self.missing
        return (known + self.missing * low) / n, (known + self.missing * high) / n
