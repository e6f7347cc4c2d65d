"""Which samples of two results belong together, and what they say question by question.

A result carries no sample ids (its contract has no field for them, and a journal keeps only a fingerprint of its
samples), so that samples pair by the question's text. A question that stands several times (repeats) counts once, by
the mean over all its occurrences, in whatever order they stand and however many the other result has.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fastrag.benchmark.comparison_records import Bounds, Coverage, Pairing
from fastrag.benchmark.metric_ranges import Range
from fastrag.benchmark.reasons import is_not_applicable, kind_of_missing
from fastrag.benchmark.results import BenchmarkResult, SampleResult
from fastrag.benchmark.statistics import mean_of
from fastrag.errors import ConfigurationError

MOST_COMPARED = 1e150
"""The largest score that paired tests can be made of: there are floats for its square, and for sums of these."""


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
    if missing and not (math.isfinite(worst) and math.isfinite(best)):
        return None
    return Bounds(*(mean_of([*scores, *[end] * missing]) for end in (worst, best)))


@dataclass(frozen=True, slots=True)
class Side:
    """The occurrences of one question in one result."""

    scores: list[float]
    missing: int

    @classmethod
    def of(cls, samples: Sequence[SampleResult], metric: str) -> Side:
        """What ``samples`` say by ``metric``.

        Raises:
            ConfigurationError: A score is so large that its square is beyond every float.
        """
        scores = [score for sample in samples if (score := measured_score(sample, metric)) is not None]
        if scores and max(map(abs, scores)) > MOST_COMPARED:
            raise ConfigurationError(
                f"{metric} has the score {max(scores, key=abs):g}: only scores of at most {MOST_COMPARED:g} can be "
                "compared; leave the metric out, or give its scores in another unit"
            )
        return cls(scores, len(samples) - len(scores))

    @property
    def mean(self) -> float:
        """Of the scores; there must be some."""
        return math.fsum(self.scores) / len(self.scores)

    def at(self, end: float) -> float:
        """The mean with each missing score at ``end``."""
        if not self.missing:
            return self.mean
        return (math.fsum(self.scores) + self.missing * end) / (len(self.scores) + self.missing)

    def between(self, low: float, high: float) -> tuple[float, float]:
        """The lowest and highest mean that there can be."""
        return self.at(low), self.at(high)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one result says by one metric, question by question.

    Attributes:
        full: Each question measured in full, at every occurrence, with the mean of its scores.
        rest: The others.
    """

    full: dict[str, float]
    rest: dict[str, Side]

    def between(self, question: str, low: float, high: float) -> tuple[float, float]:
        """The lowest and highest mean that there can be."""
        mean = self.full.get(question)
        return self.rest[question].between(low, high) if mean is None else (mean, mean)


class Questions:
    """The questions of one result, grouped and measured once, however many others it is paired with."""

    def __init__(self, result: BenchmarkResult) -> None:
        self.result = result
        self.samples = by_question(result.samples)
        self._measured: dict[str, Measured] = {}

    def measured(self, metric: str) -> Measured:
        """What they say by ``metric``.

        Raises:
            ConfigurationError: A score is so large that its square is beyond every float.
        """
        if metric not in self._measured:
            full, rest = {}, {}
            for question, samples in self.samples.items():
                side = Side.of(samples, metric)
                if side.missing:
                    rest[question] = side
                else:
                    full[question] = side.mean
            self._measured[metric] = Measured(full, rest)
        return self._measured[metric]


@dataclass(frozen=True, slots=True)
class PairedQuestions:
    """The questions that two results share, in the order of the first."""

    first: Questions
    second: Questions
    shared: list[str]
    pairing: Pairing


def pair_questions(baseline: Questions, candidate: Questions) -> PairedQuestions:
    """Pair by question. Where one has a question more often than the other, its further occurrences are left over."""
    first, second = baseline.samples, candidate.samples
    shared = [question for question in first if question in second]
    left_over = _left_over(first, second)
    pairs = len(baseline.result.samples) - len(left_over)
    pairing = Pairing(candidate.result.name, pairs, left_over, _left_over(second, first))
    return PairedQuestions(baseline, candidate, shared, pairing)


def _left_over(
    own: Mapping[str, Sequence[SampleResult]], other: Mapping[str, Sequence[SampleResult]]
) -> tuple[str, ...]:
    return tuple(
        question if occurrence == 1 else f"{question} (occurrence {occurrence})"
        for question, samples in own.items()
        if len(samples) > (paired := len(other.get(question, ())))
        for occurrence in range(1 + paired, len(samples) + 1)
    )


@dataclass(frozen=True, slots=True)
class PairedScores:
    """One metric's scores, question by question.

    Attributes:
        questions: Those that both results measured in full, in the baseline's order.
        first: The baseline's mean score of each.
        second: The candidate's.
        lost: Questions that the baseline measured in full and the candidate failed on at least once; each with the
            lowest and highest difference, candidate minus baseline, that there can be.
        gained: The same with the sides changed.
        unknown: All questions that either failed on: besides these, what both failed on at least once.
    """

    questions: tuple[str, ...]
    first: tuple[float, ...]
    second: tuple[float, ...]
    lost: dict[str, tuple[float, float]]
    gained: dict[str, tuple[float, float]]
    unknown: dict[str, tuple[float, float]]


def pair_scores(paired: PairedQuestions, metric: str, score_range: Range | None) -> PairedScores:
    """The scores of ``metric`` that the pairs have."""
    low, high = score_range or (-math.inf, math.inf)
    lost, gained, unknown = {}, {}, {}
    first, second = paired.first.measured(metric), paired.second.measured(metric)
    for question in (one for one in paired.shared if one in first.rest or one in second.rest):
        samples = (*paired.first.samples[question], *paired.second.samples[question])
        if all(is_not_applicable(sample, metric) for sample in samples):
            continue
        (a_low, a_high), (b_low, b_high) = first.between(question, low, high), second.between(question, low, high)
        unknown[question] = b_low - a_high, b_high - a_low
        if question in first.full:
            lost[question] = unknown[question]
        elif question in second.full:
            gained[question] = unknown[question]
    complete = tuple(question for question in paired.shared if question in first.full and question in second.full)
    before, after = (tuple(map(one.full.__getitem__, complete)) for one in (first, second))
    return PairedScores(complete, before, after, lost, gained, unknown)
