"""Agreement with the public tools' values, from the reference data beside the repository."""

import json
from statistics import fmean

import pytest

from fastrag.benchmark.metrics import (
    MAP,
    MRR,
    NDCG,
    F1AtK,
    HitRateAtK,
    PrecisionAtK,
    QueryOutcome,
    RecallAtK,
    RPrecision,
    evaluate_rankings,
)
from fastrag.benchmark.samples import EvalSample
from fastrag.document import Document

pytestmark = pytest.mark.shared

KINDS = {
    "precision@k": PrecisionAtK,
    "recall@k": RecallAtK,
    "hit_rate@k": HitRateAtK,
    "f1@k": F1AtK,
    "mrr@k": MRR,
    "map@k": MAP,
    "ndcg@k": NDCG,
    "r_precision": lambda k, **options: RPrecision(**options),
}


def close(value):
    return None if value is None else pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(("file", "least"), [("cases_public.jsonl", 160), ("cases_extra.jsonl", 20)])
def test_every_case(shared, file, least):
    lines = (shared / "reference" / "ir" / file).read_text(encoding="utf-8").splitlines()
    assert len(lines) >= least
    for case in map(json.loads, lines):
        relevant, k = case["relevant"], case["k"]
        if case["ids"] == "int":
            relevant = {int(doc_id): gain for doc_id, gain in relevant.items()}
        metrics = {name: kind(k) for name, kind in KINDS.items()}
        expected = {name: close(value) for name, value in case["expected"].items()}
        sample = EvalSample("q", relevant_ids=relevant)
        outcome = QueryOutcome("", [Document(doc_id, "") for doc_id in case["ranked_ids"]], 1.0)
        assert {name: metric.compute(sample, outcome) for name, metric in metrics.items()} == expected, case["id"]
        batch = evaluate_rankings({"q": case["ranked_ids"]}, {"q": relevant}, list(metrics.values()))
        assert {name: batch.scores[metric.name][0] for name, metric in metrics.items()} == expected, case["id"]


@pytest.mark.parametrize(
    ("nothing_relevant", "authority"), [("missing", "mean_over_measurable"), ("zero", "ir_measures_mean")]
)
def test_means_over_queries(shared, nothing_relevant, authority):
    cases = json.loads((shared / "reference" / "ir" / "aggregate_cases.json").read_text(encoding="utf-8"))
    assert len(cases) >= 12
    for case in cases:
        metrics = {name: KINDS[name](case["k"], nothing_relevant=nothing_relevant) for name in case[authority]}
        result = evaluate_rankings(case["rankings"], case["qrels"], list(metrics.values()))
        means = {}
        for name, metric in metrics.items():
            present = [value for value in result.scores[metric.name] if value is not None]
            if nothing_relevant == "missing":
                assert len(present) == case["measurable"]
                assert len(result.query_ids) - len(present) == case["not_measurable"]
            means[name] = fmean(present)
            assert metric.aggregate(result.scores[metric.name]).mean == pytest.approx(means[name], abs=1e-12)
        assert means == {name: close(value) for name, value in case[authority].items()}, case["id"]
        assert (result.unanswered, result.unjudged) == (case["unanswered"], case["unjudged"])
