"""Ranges are known of the metrics that are here, and of no other."""

import math

import pytest

from fastrag.benchmark.metric_ranges import range_of
from fastrag.benchmark.metrics import (
    MAP,
    MRR,
    NDCG,
    ExactMatch,
    F1AtK,
    HitRateAtK,
    LatencyMs,
    PrecisionAtK,
    RecallAtK,
    RPrecision,
    TokenF1,
    TotalTokens,
)
from fastrag.errors import ConfigurationError


@pytest.mark.parametrize(
    "metric",
    [
        *(MAP(), MAP(5), MRR(10), NDCG(10), NDCG(10, gain="exponential"), F1AtK(5), HitRateAtK(1), PrecisionAtK(5)),
        *(RecallAtK(100), RPrecision(), ExactMatch(), TokenF1()),
    ],
    ids=lambda metric: metric.name,
)
def test_shares(metric):
    assert range_of(metric.name) == (0.0, 1.0)


@pytest.mark.parametrize("name", [LatencyMs().name, TotalTokens().name, "cost_usd"])
def test_amounts_have_no_upper_limit(name):
    assert range_of(name) == (0.0, math.inf)


@pytest.mark.parametrize("name", ["ndcg@", "ndcg@10x", "my_recall@5", "answer_length", ""])
def test_other_names_say_nothing(name):
    assert range_of(name) is None


def test_a_score_outside_says_that_it_is_another_metric():
    assert range_of("recall@5", [0.0, 1.0]) == (0.0, 1.0)
    assert range_of("recall@5", [0.0, 87.0]) is None


def test_the_user_knows_better():
    assert range_of("recall@5", [87.0], {"recall@5": (0, 100)}) == (0.0, 100.0)
    with pytest.raises(ConfigurationError, match="upwards"):
        range_of("recall@5", [], {"recall@5": (1, 1)})
    with pytest.raises(ConfigurationError, match="outside"):
        range_of("kindness", [6.0], {"kindness": (1, 5)})
