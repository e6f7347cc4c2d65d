"""Making one BenchmarkResult of a run's samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from fastrag.benchmark.metrics.base import DistributionSummary, Metric
from fastrag.benchmark.reasons import describe_error
from fastrag.benchmark.results import BenchmarkResult, SampleResult, StatusCounts
from fastrag.benchmark.stopping import belongs_to_stranger
from fastrag.benchmark.warning import warn


def assemble(
    name: str, created_at: datetime, samples: list[SampleResult], metrics: Sequence[Metric], duration_s: float
) -> BenchmarkResult:
    """The result of a run, with every metric's own summary of its scores."""
    return BenchmarkResult(
        name=name,
        created_at=created_at,
        status=count_statuses(samples),
        summary={metric.name: _aggregate(metric, samples) for metric in metrics},
        samples=samples,
        duration_s=duration_s,
        higher_is_better={metric.name: bool(metric.higher_is_better) for metric in metrics},
    )


def count_statuses(samples: Sequence[SampleResult]) -> StatusCounts:
    """How many samples ended in each status."""
    statuses = [sample.status for sample in samples]
    return StatusCounts(statuses.count("successful"), statuses.count("errored"), statuses.count("incomplete"))


def _aggregate(metric: Metric, samples: Sequence[SampleResult]) -> DistributionSummary:
    scores = [sample.scores[metric.name] for sample in samples]
    try:
        summary = metric.aggregate(scores)
        if problem := _summary_problem(summary, len(scores)):
            problem = f"returned {summary!r}, {problem}"
        else:
            return summary
    except BaseException as error:
        if not belongs_to_stranger(error):
            raise
        problem = f"raised {describe_error(error)}"
    warn(f"{metric.name}.aggregate() {problem}; the plain summary of its scores is used instead")
    return DistributionSummary.of(scores)


def _summary_problem(summary: object, asked: int) -> str | None:
    if not isinstance(summary, DistributionSummary):
        return "which is no DistributionSummary"
    if summary.count + summary.missing != asked:
        return f"whose count and missing do not add up to {asked}"
    values = [summary.mean, summary.median, summary.std, summary.min, summary.max, *summary.percentiles.values()]
    return None if all(map(math.isfinite, values)) else "in which a number is not finite"
