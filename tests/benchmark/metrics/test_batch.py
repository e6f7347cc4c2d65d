"""evaluate_rankings: many queries, several metrics, no Documents."""

import copy
import math

import numpy as np
import pytest

from fastrag.benchmark.metrics import (
    MAP,
    MRR,
    NDCG,
    F1AtK,
    HitRateAtK,
    LatencyMs,
    PrecisionAtK,
    RecallAtK,
    RetrievalMetric,
    RPrecision,
    evaluate_rankings,
    prepare_relevance,
)
from fastrag.benchmark.metrics.ranking import find_hits
from fastrag.errors import ConfigurationError

ALL = [PrecisionAtK(2), RecallAtK(2), HitRateAtK(2), F1AtK(2), MRR(), MAP(), NDCG(2), RPrecision()]
NAMES = [metric.name for metric in ALL]


def test_by_hand():
    result = evaluate_rankings(
        {"q1": ["x", "a", "b"], "q2": ["a"], "q3": ["a"]},
        {"q1": {"a": 1, "b": 1}, "q2": ["b"], "q3": {"a": 2}},
        [RecallAtK(2), MRR()],
    )
    assert result.query_ids == ["q1", "q2", "q3"]
    assert result.scores == {"recall@2": [0.5, 0.0, 1.0], "mrr": [0.5, 0.0, 1.0]}
    assert (result.unanswered, result.unjudged, result.repeats) == ([], [], 0)


def test_unanswered_is_zero_and_unjudged_is_left_out_in_every_metric():
    result = evaluate_rankings({"q1": ["a"], "q9": ["a"]}, {"q0": ["a"], "q1": ["a"]}, ALL)
    assert (result.query_ids, result.unanswered, result.unjudged) == (["q0", "q1"], ["q0"], ["q9"])
    assert [column[0] for column in result.scores.values()] == [0.0] * len(ALL)
    assert all(len(column) == 2 and column[1] > 0 for column in result.scores.values())


@pytest.mark.parametrize("nothing", [{}, {"a": 0}, {"a": -1}, {"a": -5, "b": -2}, []])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_query_without_relevant_documents_is_none_and_touches_no_other(nothing, place):
    qrels = {"q1": {"a": 1}, "q2": {"b": 3, "c": 1}}
    rankings = {"q1": ["x", "a"], "q2": ["c", "b"], "n": ["a"]}
    alone = evaluate_rankings(rankings, qrels, ALL)
    items = list(qrels.items())
    result = evaluate_rankings(rankings, dict([*items[:place], ("n", nothing), *items[place:]]), ALL)
    for name in NAMES:
        column = result.scores[name]
        assert column.pop(place) is None
        assert column == alone.scores[name]


def test_nothing_relevant_can_count_as_zero():
    metrics = [NDCG(nothing_relevant="zero"), MRR()]
    result = evaluate_rankings({}, {"q0": {}, "q1": {"a": 0}, "q2": {"a": 1}}, metrics)
    assert result.scores == {"ndcg": [None, 0.0, 0.0], "mrr": [None, None, 0.0]}


def test_nothing_at_all():
    result = evaluate_rankings({}, {}, ALL)
    assert result.scores == {name: [] for name in NAMES}
    assert ALL[0].aggregate(result.scores[NAMES[0]]).count == 0
    assert evaluate_rankings({"q": ["a"]}, {}, ALL).unjudged == ["q"]


def test_no_query_in_common():
    result = evaluate_rankings({"a": ["d"]}, {"b": ["d"], "c": ["d"]}, ALL)
    assert (result.unanswered, result.unjudged) == (["b", "c"], ["a"])
    assert all(column == [0.0, 0.0] for column in result.scores.values())


@pytest.mark.parametrize("ranking", [[], ["x"], ["x", "y"]])
def test_nothing_found_anywhere(ranking):
    result = evaluate_rankings({"q1": ranking, "q2": []}, {"q1": {"a": 1}, "q2": {"b": 2, "c": 0}}, ALL)
    assert all(column == [0.0, 0.0] for column in result.scores.values())


def test_query_ids_and_document_ids_are_compared_as_text():
    result = evaluate_rankings({1: [5, 7], 2: ["6"]}, {"1": {"7": 1}, "2": {6: 1}}, [MRR()])
    assert (result.query_ids, result.scores) == (["1", "2"], {"mrr": [0.5, 1.0]})


@pytest.mark.parametrize("ranking", [("x", "a"), np.array(["x", "a"]), [None, "a"], ["x", "a", "a"]], ids=str)
@pytest.mark.parametrize("metrics", [[MRR()], [MRR(2)]])
def test_any_sequence_of_ids_is_a_ranking(ranking, metrics):
    result = evaluate_rankings({"q": ranking}, {"q": ["a"]}, metrics)
    assert list(result.scores.values()) == [[0.5]]


def test_repeats_are_counted():
    result = evaluate_rankings({"q": ["a", "a", "x", "x", "b", "a"]}, {"q": ["a", "b"]}, [MAP(), PrecisionAtK(2)])
    assert result.repeats == 2
    assert result.scores == {"map": [(1 + 2 / 5) / 2], "precision@2": [0.5]}


def test_prepared_qrels_give_the_same():
    rankings = {"q1": ["x", "a"], "q2": ["c", "b"]}
    qrels = {"q1": {"a": 1, "x": 0}, "q2": {"b": 3, "c": 1}, "q3": {}}
    prepared = {query_id: prepare_relevance(relevant) for query_id, relevant in qrels.items()}
    assert evaluate_rankings(rankings, prepared, ALL) == evaluate_rankings(rankings, qrels, ALL)


def test_twice_is_the_same_and_nothing_is_changed():
    rankings = {"q1": ["x", "a", "a"], 2: [3, "b"]}
    qrels = {"q1": {"a": 1, "x": 0, "m": -1}, "2": {"b": 0.5}, "q3": ["a"]}
    before = copy.deepcopy((rankings, qrels))
    first = evaluate_rankings(rankings, qrels, ALL)
    assert evaluate_rankings(rankings, qrels, ALL) == first
    assert (rankings, qrels) == before


def test_long_rankings_and_high_cutoffs():
    ids = [str(i) for i in range(5000)]
    relevant = dict.fromkeys(ids[::7], 1)
    metrics = [NDCG(), NDCG(4000), NDCG(10**6), RecallAtK(2000)]
    result = evaluate_rankings({"q": ids}, {"q": relevant}, metrics)
    found = math.fsum(1 / math.log2(i + 2) for i in range(0, 5000, 7))
    best = math.fsum(1 / math.log2(i + 2) for i in range(len(relevant)))
    assert result.scores["ndcg"] == [pytest.approx(found / best, abs=1e-12)]
    assert result.scores["ndcg@1000000"] == result.scores["ndcg"]
    assert result.scores["ndcg@4000"][0] < result.scores["ndcg"][0]
    assert result.scores["recall@2000"] == [286 / 715]


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-200, 1.0, 998.0, 1e3, 1e200, 1.7e308])
def test_extreme_gains_beside_plain_ones(scale):
    result = evaluate_rankings(
        {"plain": ["b", "a"], "extreme": ["x", "a"], "ideal": ["a", "b"]},
        {"plain": {"a": 2, "b": 1}, "extreme": {"a": scale}, "ideal": {"a": scale, "b": scale}},
        [NDCG(), NDCG(gain="exponential")],
    )
    plain = (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))
    raised = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    for name, expected in (("ndcg", plain), ("ndcg_exp", raised)):
        assert result.scores[name] == [
            pytest.approx(expected, abs=1e-12),
            pytest.approx(1 / math.log2(3), abs=1e-12),
            1.0,
        ]


def test_rounding_never_lifts_ndcg_above_one():
    relevant = {"a": 1.0 + 2**-52, "b": 1.0, "c": 1.0 + 2**-52, "d": 1.0 + 2**-52}  # a hair from ideal
    assert evaluate_rankings({"q": ["a", "b", "c", "d"]}, {"q": relevant}, [NDCG()]).scores == {"ndcg": [1.0]}
    assert NDCG().measure(find_hits(["a", "b", "c", "d"], prepare_relevance(relevant))) == 1.0


def test_every_metric_looks_to_its_own_depth():
    metrics = [RecallAtK(1), RecallAtK(3), MRR(2)]
    result = evaluate_rankings({"q": ["x", "y", "a", "a"]}, {"q": ["a"]}, metrics)
    assert result.scores == {"recall@1": [0.0], "recall@3": [1.0], "mrr@2": [0.0]}
    assert result.repeats == 0  # the fourth is below every cutoff


def test_numpy_numbers_as_gains():
    qrels = {"q": {"a": np.float32(0.5), "b": np.int64(2), "c": np.float64(0)}}
    result = evaluate_rankings({"q": ["a", "b"]}, qrels, [NDCG(), RecallAtK(2)])
    assert result.scores["recall@2"] == [1.0]
    assert type(result.scores["ndcg"][0]) is float


def test_a_metric_of_ones_own():
    class Misses(RetrievalMetric):
        label = "misses"

        def measure(self, hits):
            return 1 - hits.found(self.k) / hits.relevant

    metric = Misses(2)
    assert metric.name == "misses@2"
    assert metric.measure(find_hits(["a"], prepare_relevance(["a", "b"]))) == 0.5
    assert evaluate_rankings({"q": ["a"]}, {"q": ["a", "b"], "r": ["c"]}, [metric]).scores == {"misses@2": [0.5, 1.0]}


@pytest.mark.parametrize(
    ("rankings", "qrels", "metrics", "said"),
    [
        ({"q": "abc"}, {"q": ["a"]}, [MRR()], "must be a list of ids, best first, not 'abc'"),
        ({"q": {"a": 0.5}}, {"q": ["a"]}, [MRR()], r"a dict has no order.*sorted\("),
        ({"q": {"a"}}, {"q": ["a"]}, [MRR(3)], "a set has no order"),
        ({"q": None}, {"q": ["a"]}, [MRR()], "not None"),
        ({"q": ["a"]}, {"q": "a"}, [MRR()], "must be a list or a mapping id -> gain, not 'a'"),
        ({"q": ["a"]}, {"q": {"a": math.nan}}, [MRR()], "must be a finite number, not nan"),
        ([["a"]], {"q": ["a"]}, [MRR()], "rankings must be a mapping from query ids, not a list"),
        ({"q": ["a"]}, [["a"]], [MRR()], "qrels must be a mapping from query ids, not a list"),
        ({1: ["a"], "1": ["b"]}, {"1": ["a"]}, [MRR()], "two query ids in rankings are the same as text"),
        ({}, {1: ["a"], "1": ["b"]}, [MRR()], "two query ids in qrels are the same as text"),
        ({}, {}, [], "at least one"),
        ({}, {}, [MRR(), MRR(name="mrr")], r"name of its own, not \['mrr', 'mrr'\]"),
        ({}, {}, [LatencyMs()], "metrics must be RetrievalMetric objects"),
        ({}, {}, [MRR], "metrics must be RetrievalMetric objects"),
    ],
)
def test_mistakes_are_refused(rankings, qrels, metrics, said):
    with pytest.raises(ConfigurationError, match=said):
        evaluate_rankings(rankings, qrels, metrics)
