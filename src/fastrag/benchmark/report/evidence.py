"""What the reports show of results beside what these carry themselves."""

from __future__ import annotations

from collections.abc import Sequence

from fastrag.benchmark.metric_evidence import MetricEvidence, describe
from fastrag.benchmark.pairing import coverage_of
from fastrag.benchmark.results import BenchmarkResult

NO_METRIC = "does not have the metric"
"""Why a result that `rank` left out has no rank."""


def evidence_of(result: BenchmarkResult, metrics: Sequence[str]) -> dict[str, MetricEvidence]:
    """`describe` for those of the metrics that the result has; of a result without samples, what its summary says."""
    having = [metric for metric in metrics if metric in result.summary]
    if result.samples:
        # All of them: `describe` refuses to be asked for a blank name, which a file may have.
        described = describe(result)
        return {metric: described[metric] for metric in having}
    return {
        metric: MetricEvidence(
            metric=metric,
            mean=summary.mean if (summary := result.summary[metric]).count else None,
            interval=None,
            questions=summary.count,
            groups=0,
            coverage=coverage_of(result, metric),
            bounds=None,
            percentiles={},
        )
        for metric in having
    }
