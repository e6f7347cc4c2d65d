"""describe(): each mean of one result with its interval, its coverage and what failures could have made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastrag.benchmark.arguments import require_groups, require_metrics, require_samples
from fastrag.benchmark.comparison_records import Bounds, Coverage
from fastrag.benchmark.metric_ranges import Range, range_of
from fastrag.benchmark.pairing import agreed_direction, coverage_of, mean_bounds, scores_by_question
from fastrag.benchmark.results import BenchmarkResult
from fastrag.benchmark.statistics import Interval, IntervalMethod, interval_of, mean_of, percentile_interval

PERCENTILES = (50, 90, 95, 99)


@dataclass(frozen=True, slots=True)
class MetricEvidence:
    """What one result says about one metric.

    Attributes:
        metric: Its name.
        mean: Of the measured scores, those of one question (or group) averaged first; None where there are none.
        interval: Of the mean, over ``groups`` values; None below two, and where no float is as large as its ends.
        questions: Measured at least once.
        groups: Independent values that the interval rests on: questions, or the groups that were given.
        coverage: How much was measured, and why the rest was not.
        bounds: The mean over all measurable samples with what is missing at its worst and best; None where
            something is missing and the metric's range is not known or has no limit.
        percentiles: 50, 90, 95 and 99 -> interval of that percentile of the questions' scores; None where
            there are too few of them, and with groups, whose members are not independent.
    """

    metric: str
    mean: float | None
    interval: Interval | None
    questions: int
    groups: int
    coverage: Coverage
    bounds: Bounds | None
    percentiles: Mapping[int, Interval | None]


def describe(
    result: BenchmarkResult,
    *,
    metrics: Sequence[str] | None = None,
    groups: Mapping[str, str] | None = None,
    method: IntervalMethod | None = None,
    level: float = 0.95,
    ranges: Mapping[str, Range] | None = None,
    seed: int = 0,
) -> dict[str, MetricEvidence]:
    """What ``result`` says, metric by metric.

    Args:
        result: One with samples.
        metrics: Which; None is all that it has.
        groups: Question -> group, where questions are not independent (`question_groups` makes it of sample
            metadata). A question that is not in it is a group of its own. The mean is then that of the groups' means.
        method: "t", "wilson" (scores of 0 and 1 only) or "bootstrap" (BCa, seeded); None is Wilson where all values
            are 0 or 1, else Student's t.
        level: Of the intervals, between 0 and 1.
        ranges: As in `compare`.
        seed: Of the bootstrap, at least 0.

    Returns:
        Metric -> what is known of it.

    Raises:
        ConfigurationError: The result has no samples or not the metric, or an argument is of a wrong type or out of
            its range.

    >>> from datetime import UTC, datetime
    >>> from fastrag.benchmark import DistributionSummary, SampleResult, StatusCounts
    >>> scores = [0.2, 0.5, None, 0.3]
    >>> samples = [SampleResult(f"q{i}", "successful", {"mrr": score}) for i, score in enumerate(scores)]
    >>> summary = {"mrr": DistributionSummary.of(scores)}
    >>> result = BenchmarkResult("run", datetime.now(UTC), StatusCounts(3, 0, 1), summary, samples, 1.0, {"mrr": True})
    >>> found = describe(result)["mrr"]
    >>> round(found.mean, 3), round(found.interval.low, 3), round(found.interval.high, 3), found.coverage.share
    (0.333, -0.046, 0.713, 0.75)
    >>> found.bounds
    Bounds(worst=0.25, best=0.5)
    """
    require_samples(result)
    names = list(result.summary) if metrics is None else require_metrics(metrics, [result])
    if groups is not None:
        require_groups(groups)
    found = {}
    for name in names:
        scores = scores_by_question(result, name)
        by_question = {question: mean_of(values) for question, values in scores.items()}
        values = list(by_question.values()) if groups is None else _grouped(by_question, groups)
        known = range_of(name, (score for values in scores.values() for score in values), ranges)
        found[name] = MetricEvidence(
            metric=name,
            mean=mean_of(values) if values else None,
            interval=interval_of(values, method=method, level=level, seed=seed),
            questions=len(by_question),
            groups=len(values),
            coverage=coverage_of(result, name),
            bounds=mean_bounds(result, name, known, higher=agreed_direction([result], name)),
            percentiles={
                p: percentile_interval(values, p, level=level) if groups is None else None for p in PERCENTILES
            },
        )
    return found


def _grouped(by_question: Mapping[str, float], groups: Mapping[str, str]) -> list[float]:
    members: dict[tuple[bool, str], list[float]] = {}
    for question, score in by_question.items():
        key = (True, groups[question]) if question in groups else (False, question)
        members.setdefault(key, []).append(score)
    return [mean_of(values) for values in members.values()]
