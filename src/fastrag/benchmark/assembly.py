"""Making one BenchmarkResult of a run's samples."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from datetime import datetime

from fastrag.benchmark.metrics.base import DistributionSummary, Metric
from fastrag.benchmark.reasons import belongs_to_stranger, describe_error
from fastrag.benchmark.results import BenchmarkResult, SampleResult, StatusCounts


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
        if isinstance(summary, DistributionSummary) and summary.count + summary.missing == len(scores):
            return summary
        problem = f"returned {summary!r}, whose count and missing do not add up to {len(scores)}"
    except BaseException as error:
        if not belongs_to_stranger(error):
            raise
        problem = f"raised {describe_error(error)}"
    warnings.warn(f"{metric.name}.aggregate() {problem}; the plain summary of its scores is used instead", stacklevel=4)
    return DistributionSummary.of(scores)
