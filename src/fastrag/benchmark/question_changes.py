"""Which questions a change fixed, broke or left, with those apart whose repeats disagree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fastrag.benchmark.pairing import agreed_direction, measured_score, pair_samples, scores_by_question
from fastrag.benchmark.results import BenchmarkResult, SampleResult
from fastrag.errors import ConfigurationError

Change = Literal["fixed", "broken", "unchanged", "flaky", "not measured"]


@dataclass(frozen=True, slots=True)
class QuestionChange:
    """One question, before and after.

    Attributes:
        question: As it was asked.
        change: ``"flaky"`` where repeats of either run disagree, so that one more run could say something else;
            ``"not measured"`` where either run has no score for it.
        baseline_score: Mean over the baseline's repeats; None where it has no score.
        candidate_score: The candidate's.
    """

    question: str
    change: Change
    baseline_score: float | None
    candidate_score: float | None


@dataclass(frozen=True, slots=True)
class Repeats:
    """How far the repeats of a run agree on one metric.

    Attributes:
        questions: Those with at least two scores.
        flaky: Those of them whose scores disagree.
        sd_within: Standard deviation of scores about their own question's mean (pooled over questions, divisor:
            scores less questions); None without repeats.
    """

    questions: int
    flaky: tuple[str, ...]
    sd_within: float | None


def question_changes(
    baseline: BenchmarkResult,
    candidate: BenchmarkResult,
    metric: str,
    *,
    passing: float | None = None,
    tolerance: float = 1e-9,
) -> list[QuestionChange]:
    """Every question that both runs asked, in the baseline's order.

    Args:
        baseline: Before the change.
        candidate: After it.
        metric: A metric of both.
        passing: The score from which on a question passes (down to which, where lower is better). *Fixed* and
            *broken* are then questions that pass in one run only, and repeats disagree if some pass and some do not.
            None takes every difference of more than ``tolerance`` for a change.
        tolerance: Differences up to it are none; at least 0.

    Raises:
        ConfigurationError: A run does not have the metric, or they disagree on its direction.
    """
    higher = _checked([baseline, candidate], metric, tolerance)
    found = []
    for question, sides in pair_samples(baseline, candidate).questions.items():
        before, after = (_scores(samples, metric) for samples in sides)
        first, second = _mean(before), _mean(after)
        change: Change
        if first is None or second is None:
            change = "not measured"
        elif any(_disagree(scores, passing, tolerance, higher) for scores in (before, after)):
            change = "flaky"
        elif passing is None:
            gain = second - first if higher else first - second
            change = "unchanged" if abs(gain) <= tolerance else "fixed" if gain > 0 else "broken"
        else:
            passed, passes = (_passes(scores[0], passing, higher) for scores in (before, after))
            change = "unchanged" if passed == passes else "fixed" if passes else "broken"
        found.append(QuestionChange(question, change, first, second))
    return found


def repeats_of(
    result: BenchmarkResult, metric: str, *, passing: float | None = None, tolerance: float = 1e-9
) -> Repeats:
    """How far the repeats of each question agree; arguments as in `question_changes`.

    Raises:
        ConfigurationError: The run does not have the metric.
    """
    higher = _checked([result], metric, tolerance)
    repeated = {question: scores for question, scores in scores_by_question(result, metric).items() if len(scores) > 1}
    flaky = tuple(question for question, scores in repeated.items() if _disagree(scores, passing, tolerance, higher))
    if not repeated:
        return Repeats(0, (), None)
    squares = math.fsum(
        (score - math.fsum(scores) / len(scores)) ** 2 for scores in repeated.values() for score in scores
    )
    freedom = sum(len(scores) - 1 for scores in repeated.values())
    return Repeats(len(repeated), flaky, math.sqrt(squares / freedom))


def _checked(results: Sequence[BenchmarkResult], metric: str, tolerance: float) -> bool:
    for result in results:
        if metric not in result.summary:
            there = ", ".join(result.summary) or "none"
            raise ConfigurationError(f"{result.name} does not have the metric {metric!r}; it has: {there}")
    if not tolerance >= 0:
        raise ConfigurationError(f"tolerance must be at least 0, not {tolerance!r}")
    return agreed_direction(results, metric)


def _scores(samples: Sequence[SampleResult], metric: str) -> list[float]:
    return [score for sample in samples if (score := measured_score(sample, metric)) is not None]


def _mean(scores: Sequence[float]) -> float | None:
    return math.fsum(scores) / len(scores) if scores else None


def _passes(score: float, passing: float, higher: bool) -> bool:
    return score >= passing if higher else score <= passing


def _disagree(scores: Sequence[float], passing: float | None, tolerance: float, higher: bool) -> bool:
    if passing is not None:
        return len({_passes(score, passing, higher) for score in scores}) > 1
    return max(scores) - min(scores) > tolerance
