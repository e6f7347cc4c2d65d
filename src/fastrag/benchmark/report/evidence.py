"""What the reports show of results beside what these carry themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fastrag.benchmark.metric_evidence import MetricEvidence, describe
from fastrag.benchmark.pairing import coverage_of, scores_by_question
from fastrag.benchmark.ranking import Ranking
from fastrag.benchmark.results import BenchmarkResult
from fastrag.benchmark.statistics import Interval, interval_of

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


def mean_intervals(ranking: Ranking) -> list[Interval | None]:
    """Of each entry's mean, as `describe` has it: Wilson's where all scores are 0 or 1, else Student's t."""
    scores = [
        {} if entry.rank is None else scores_by_question(entry.result, ranking.metric) for entry in ranking.entries
    ]
    ranked = [one for one in scores if one]
    if ranking.questions is None or not ranked:
        return [None] * len(scores)
    common = [question for question in ranked[0] if all(question in one for one in ranked)]
    return [
        interval_of([math.fsum(one[question]) / len(one[question]) for question in common]) if one else None
        for one in scores
    ]
