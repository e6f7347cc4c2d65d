"""Results made of scores, for tests that need no pipeline."""

from datetime import UTC, datetime

import pytest

from fastrag.benchmark import BenchmarkResult, DistributionSummary, SampleResult, StatusCounts

ERRORED = "errored"
NOT_APPLICABLE = "not applicable"


def _sample(question, scores):
    if ERRORED in scores.values():
        return SampleResult(question, "errored", dict.fromkeys(scores), error="ValueError: boom")
    kinds = {NOT_APPLICABLE: "not_applicable: no relevant_ids", None: "metric_error: KeyError"}
    reasons = "; ".join(f"{name}: {kinds[score]}" for name, score in scores.items() if score in kinds)
    measured = {name: None if score in kinds else score for name, score in scores.items()}
    return SampleResult(question, "incomplete" if reasons else "successful", measured, error=reasons or None)


@pytest.fixture(scope="session")
def make_result():
    """``make_result(name, metric=scores, ...)``: None failed in the metric, ERRORED in the pipeline."""

    def make(name, scores=None, /, *, questions=None, higher=None, **by_metric):
        by_metric = by_metric if scores is None else {"ndcg@10": scores}
        n = len(next(iter(by_metric.values())))
        questions = questions or [f"q{i}" for i in range(n)]
        samples = [
            _sample(question, {metric: column[i] for metric, column in by_metric.items()})
            for i, question in enumerate(questions)
        ]
        statuses = [sample.status for sample in samples]
        return BenchmarkResult(
            name,
            datetime.now(UTC),
            StatusCounts(*(statuses.count(status) for status in ("successful", "errored", "incomplete"))),
            {metric: DistributionSummary.of([sample.scores[metric] for sample in samples]) for metric in by_metric},
            samples,
            1.0,
            dict.fromkeys(by_metric, True) | (higher or {}),
        )

    return make
