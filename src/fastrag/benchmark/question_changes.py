"""Which questions a change fixed, broke or left, with those apart whose repeats disagree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fastrag._support.checks import require_number
from fastrag.benchmark.arguments import require_metric, require_samples
from fastrag.benchmark.pairing import agreed_direction, scores_by_question
from fastrag.benchmark.results import BenchmarkResult
from fastrag.benchmark.statistics import mean_of

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
            scores less questions); None without repeats, and where no float is so large.
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
        metric: The name of a metric of both.
        passing: The score from which on a question passes (down to which, where lower is better). *Fixed* and
            *broken* are then questions that pass in one run only, and repeats disagree if some pass and some do not.
            None takes every difference of more than ``tolerance`` for a change.
        tolerance: Differences up to it are none; at least 0.

    Returns:
        One entry a question. A question that only one run asked has none.

    Raises:
        ConfigurationError: A run has no samples or not the metric, they disagree on its direction, or an argument is
            of a wrong type or out of its range.

    >>> from datetime import UTC, datetime
    >>> from fastrag.benchmark import DistributionSummary, SampleResult, StatusCounts
    >>> def result(name, scores):
    ...     samples = [SampleResult(f"q{i}", "successful", {"mrr": score}) for i, score in enumerate(scores)]
    ...     summary = {"mrr": DistributionSummary.of(scores)}
    ...     return BenchmarkResult(name, datetime.now(UTC), StatusCounts(3, 0, 0), summary, samples, 1.0, {"mrr": True})
    >>> [one.change for one in question_changes(result("old", [0.2, 1.0, 0.5]), result("new", [0.5, 1.0, 0.25]), "mrr")]
    ['fixed', 'unchanged', 'broken']
    """
    higher = _checked([baseline, candidate], metric, passing, tolerance)
    all_before, all_after = scores_by_question(baseline, metric), scores_by_question(candidate, metric)
    asked_again = {sample.question for sample in candidate.samples}
    found = []
    for question in dict.fromkeys(sample.question for sample in baseline.samples):
        if question not in asked_again:
            continue
        before, after = all_before.get(question, []), all_after.get(question, [])
        first, second = (mean_of(scores) if scores else None for scores in (before, after))
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
        ConfigurationError: The run has no samples or not the metric, or an argument is of a wrong type or out of its
            range.

    >>> from datetime import UTC, datetime
    >>> from fastrag.benchmark import DistributionSummary, SampleResult, StatusCounts
    >>> samples = [SampleResult("Why?", "successful", {"mrr": score}) for score in (0.5, 1.0)]
    >>> summary = {"mrr": DistributionSummary.of([0.5, 1.0])}
    >>> result = BenchmarkResult("run", datetime.now(UTC), StatusCounts(2, 0, 0), summary, samples, 1.0, {"mrr": True})
    >>> repeats_of(result, "mrr").flaky, repeats_of(result, "mrr", passing=0.5).flaky
    (('Why?',), ())
    """
    higher = _checked([result], metric, passing, tolerance)
    repeated = {question: scores for question, scores in scores_by_question(result, metric).items() if len(scores) > 1}
    flaky = tuple(question for question, scores in repeated.items() if _disagree(scores, passing, tolerance, higher))
    if not repeated:
        return Repeats(0, (), None)
    deviations = []
    for scores in repeated.values():
        mean = mean_of(scores)
        deviations += [score - mean for score in scores]
    freedom = len(deviations) - len(repeated)
    # hypot scales: no square is too large or too small for it.
    sd = math.hypot(*deviations) / math.sqrt(freedom)
    return Repeats(len(repeated), flaky, sd if math.isfinite(sd) else None)


def _checked(results: Sequence[BenchmarkResult], metric: str, passing: float | None, tolerance: float) -> bool:
    """Whether a higher score of ``metric`` is better, the arguments being sound."""
    require_metric(metric, [require_samples(result) for result in results])
    if passing is not None:
        require_number("passing", passing)
    require_number("tolerance", tolerance, at_least=0)
    return agreed_direction(results, metric)


def _passes(score: float, passing: float, higher: bool) -> bool:
    return score >= passing if higher else score <= passing


def _disagree(scores: Sequence[float], passing: float | None, tolerance: float, higher: bool) -> bool:
    if passing is not None:
        return len({_passes(score, passing, higher) for score in scores}) > 1
    return max(scores) - min(scores) > tolerance
