"""The retrieval metrics on one sample: definitions, conventions and parameters."""

import copy
import math

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
    RetrievalMetric,
    RPrecision,
)
from fastrag.benchmark.samples import EvalSample
from fastrag.document import Document
from fastrag.errors import ConfigurationError, FastRAGError

AT_K = [PrecisionAtK, RecallAtK, HitRateAtK, F1AtK]
ALL = [PrecisionAtK(3), RecallAtK(3), HitRateAtK(3), F1AtK(3), MRR(), MRR(3), MAP(), MAP(3), NDCG(), NDCG(3)]
ALL += [NDCG(gain="exponential"), RPrecision()]


def by_name(metrics):
    return pytest.mark.parametrize("metric", metrics, ids=lambda metric: metric.name)


def outcome(*ids):
    return QueryOutcome("", [Document(doc_id, "") for doc_id in ids], 1.0)


def score(metric, ids, relevant):
    return metric.compute(EvalSample("q", relevant_ids=relevant), outcome(*ids))


def log2(value):
    return math.log(value, 2)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (PrecisionAtK(2), 1 / 2),
        (PrecisionAtK(5), 2 / 5),
        (PrecisionAtK(10), 2 / 10),  # by k, though only 5 came back
        (RecallAtK(2), 1 / 3),  # by R, though R > k
        (RecallAtK(10), 2 / 3),
        (HitRateAtK(1), 0.0),
        (HitRateAtK(2), 1.0),
        (F1AtK(2), 2 * (1 / 2 * 1 / 3) / (1 / 2 + 1 / 3)),
        (F1AtK(1), 0.0),
        (MRR(), 1 / 2),
        (MRR(1), 0.0),
        (MAP(), (1 / 2 + 2 / 4) / 3),  # by R, not by the 2 found
        (MAP(3), (1 / 2) / 3),
        (NDCG(), (1 / log2(3) + 3 / log2(5)) / (3 + 2 / log2(3) + 1 / 2)),
        (NDCG(2), (1 / log2(3)) / (3 + 2 / log2(3))),  # the ideal is made of all judgments, and cut at k
        (NDCG(gain="exponential"), (1 / log2(3) + 7 / log2(5)) / (7 + 3 / log2(3) + 1 / 2)),
        (RPrecision(), 1 / 3),
    ],
    ids=lambda value: value.name if isinstance(value, RetrievalMetric) else "",
)
def test_by_hand(metric, expected):
    assert score(metric, ["x", "b", "y", "a", "n"], {"a": 3, "b": 1, "c": 2, "n": 0, "m": -2}) == pytest.approx(
        expected, abs=1e-15
    )


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (PrecisionAtK(5), "precision@5"),
        (RecallAtK(100), "recall@100"),
        (HitRateAtK(1), "hit_rate@1"),
        (F1AtK(7), "f1@7"),
        (MRR(), "mrr"),
        (MRR(10), "mrr@10"),
        (MAP(), "map"),
        (MAP(k=3), "map@3"),
        (NDCG(), "ndcg"),
        (NDCG(10), "ndcg@10"),
        (NDCG(gain="exponential"), "ndcg_exp"),
        (NDCG(10, gain="exponential"), "ndcg_exp@10"),
        (RPrecision(), "r_precision"),
        (RPrecision(name="mine"), "mine"),
        (NDCG(10, name="quality"), "quality"),
    ],
)
def test_names(metric, name):
    assert metric.name == name


@by_name(ALL)
async def test_score_is_compute(metric):
    sample = EvalSample("q", relevant_ids=["a"])
    assert await metric.score(sample, outcome("x", "a")) == metric.compute(sample, outcome("x", "a"))


@by_name(ALL)
def test_needs_relevant_ids_only(metric):
    assert (metric.needs_relevant_ids, metric.needs_answer, metric.higher_is_better) == (True, False, True)
    assert not metric.needs_token_counts


@by_name(ALL)
@pytest.mark.parametrize(
    ("relevant", "reason"),
    [
        ([], "no relevant_ids"),
        ({}, "no relevant_ids"),
        ({"a": 0}, "no gain above 0 in relevant_ids"),
        ({"a": -2, "b": -1}, "no gain above 0 in relevant_ids"),
    ],
)
def test_nothing_relevant_is_none_with_a_reason(metric, relevant, reason):
    assert score(metric, ["a", "x"], relevant) is None
    assert metric.missing_reason(EvalSample("q", relevant_ids=relevant), outcome("a")) == reason


@by_name(ALL)
def test_nothing_relevant_can_count_as_zero_but_nothing_judged_is_still_none(metric):
    zero = copy.copy(metric)
    zero.nothing_relevant = "zero"
    assert score(zero, ["a"], {"a": 0}) == 0.0
    assert score(zero, [], {"a": -1}) == 0.0
    assert score(zero, ["a"], {}) is None
    assert score(zero, ["a"], []) is None
    assert score(zero, ["a"], {"a": 1}) == score(metric, ["a"], {"a": 1})


def test_nothing_relevant_is_a_parameter_of_each():
    assert [kind(3, nothing_relevant="zero").nothing_relevant for kind in [*AT_K, MRR, MAP, NDCG]] == ["zero"] * 7
    assert RPrecision(nothing_relevant="zero").nothing_relevant == "zero"


@by_name(ALL)
@pytest.mark.parametrize("ids", [[], ["x"], ["x", "y", "z"]])
def test_nothing_found_is_zero(metric, ids):
    value = score(metric, ids, {"a": 1, "b": 2})
    assert value == 0.0
    assert type(value) is float


@by_name(ALL)
def test_one_document_is_a_ranking(metric):
    value = score(metric, ["a"], ["a"])
    expected = {"precision@3": 1 / 3, "f1@3": 1 / 2}.get(metric.name, 1.0)
    assert value == expected
    assert type(value) is float


@by_name(ALL)
@pytest.mark.parametrize("relevant", [["a", "b"], ["b", "a", "a"], ("a", "b"), {"a": 1, "b": 1}, {"a": 1.0, "b": True}])
def test_a_list_is_a_mapping_of_ones(metric, relevant):
    assert score(metric, ["x", "b", "a"], relevant) == score(metric, ["x", "b", "a"], {"a": 1, "b": 1, "x": 0})


@by_name(ALL)
def test_a_repeat_keeps_its_rank_and_earns_nothing(metric):
    relevant = {"a": 2, "b": 1}
    assert score(metric, ["a", "a", "b", "b"], relevant) == score(metric, ["a", "x", "b", "y"], relevant)
    assert score(metric, ["x", "x", "a"], relevant) == score(metric, ["x", "y", "a"], relevant)


@by_name(ALL)
def test_gains_below_one_are_relevant(metric):
    assert score(metric, ["a", "x"], {"a": 0.25, "b": 0.5}) > 0


@by_name([NDCG(gain="exponential"), NDCG(3, gain="exponential")])
def test_exponential_gain_agrees_with_linear_on_binary(metric):
    ids, relevant = ["x", "b", "a"], ["a", "b", "c"]
    assert score(metric, ids, relevant) == pytest.approx(score(NDCG(metric.k), ids, relevant), abs=1e-15)


@pytest.mark.parametrize("gain", ["linear", "exponential"])
@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-200, 1.0, 998.0, 1e3, 1e200, 1.7e308])
def test_extreme_gains_stay_in_range(gain, scale):
    metric = NDCG(gain=gain)
    relevant = {"a": scale, "b": scale, "c": scale / 2}
    assert score(metric, ["a", "b", "c"], relevant) == 1.0
    assert score(metric, ["x", "a"], {"a": scale}) == pytest.approx(1 / log2(3), abs=1e-12)
    assert 0 <= score(metric, ["c", "x", "b", "a"], relevant) <= 1


@pytest.mark.parametrize(("ranked", "judged"), [(1, "1"), ("1", 1), (1, 1), (2**60 + 1, str(2**60 + 1)), (-1, "-1")])
def test_ids_are_compared_as_text(ranked, judged):
    assert score(MRR(), ["x", ranked], [judged]) == 0.5
    assert score(MRR(), ["x", ranked], {judged: 1}) == 0.5


@pytest.mark.parametrize(
    ("ranked", "judged"),
    [
        ("a\0b", "a\0c"),
        ("a\0", "a"),
        ("é", "e\u0301"),
        ("straße", "strasse"),
        ("A", "a"),
        ("a ", "a"),
        ("ﬁ", "fi"),
        (-1, -2),
        (2**60, 2**60 + 1),
        (1.0, 1),
        ("None", "none"),
    ],
)
def test_ids_that_look_alike_are_different(ranked, judged):
    assert score(MRR(), [ranked], [judged]) == 0.0
    assert score(MRR(), [judged, ranked], [ranked]) == 0.5


@pytest.mark.parametrize("odd", ["a\0b", "\ud800", "", " ", "👩\u200d💻", "ملف"])
def test_odd_ids_match_themselves(odd):
    assert score(MRR(), ["x", odd], {odd: 1}) == 0.5


def test_a_document_with_the_questions_id_is_kept():
    sample = EvalSample("q7", relevant_ids=["q7"], id="q7")
    assert NDCG().compute(sample, outcome("q7")) == 1.0


class TestMatch:
    chunks = (
        Document("a#0", "", uri="file:a", metadata={"parent_id": "a"}),
        Document("b#0", "", uri="file:b", metadata={"parent_id": "b"}),
        Document("b#1", "", uri="file:b", metadata={"parent_id": "b"}),
        Document("whole", ""),
    )
    outcome = QueryOutcome("", list(chunks), 1.0)

    @pytest.mark.parametrize(
        ("match", "relevant", "expected"),
        [
            ("id", ["b#1"], 1 / 3),
            ("id", ["b"], 0.0),
            ("uri", ["file:b"], 1 / 2),
            ("uri", ["b"], 0.0),
            ("uri", ["None"], 0.0),  # a source without a uri matches nothing
            ("parent_id", ["b"], 1 / 2),
            ("parent_id", ["whole"], 1 / 4),  # no parent: its own
            ("parent_id", ["b#0"], 0.0),
        ],
    )
    def test_what_is_compared(self, match, relevant, expected):
        assert MRR(match=match).compute(EvalSample("q", relevant_ids=relevant), self.outcome) == expected

    def test_a_second_chunk_earns_nothing(self):
        sample = EvalSample("q", relevant_ids=["b"])
        assert PrecisionAtK(4, match="parent_id").compute(sample, self.outcome) == 1 / 4
        assert RecallAtK(4, match="uri").compute(EvalSample("q", relevant_ids=["file:b"]), self.outcome) == 1.0

    def test_a_source_without_uri_keeps_its_rank(self):
        sources = [Document("n", ""), Document("m", "", uri="u")]
        sample = EvalSample("q", relevant_ids=["u"])
        assert MRR(match="uri").compute(sample, QueryOutcome("", sources, 1.0)) == 0.5

    def test_an_empty_parent_id_is_an_id(self):
        sources = [Document("n", "", metadata={"parent_id": None}), Document("m", "", metadata={"parent_id": ""})]
        outcome = QueryOutcome("", sources, 1.0)
        assert MRR(match="parent_id").compute(EvalSample("q", relevant_ids=["n"]), outcome) == 1.0
        assert MRR(match="parent_id").compute(EvalSample("q", relevant_ids=[""]), outcome) == 0.5

    @pytest.mark.parametrize("kind", [*AT_K, MRR, MAP, NDCG])
    def test_every_metric_takes_it(self, kind):
        metric = kind(4, match="uri")
        assert metric.compute(EvalSample("q", relevant_ids=["file:a"]), self.outcome) > 0
        assert RPrecision(match="uri").compute(EvalSample("q", relevant_ids=["file:a"]), self.outcome) == 1.0


@by_name(ALL)
def test_neither_sample_nor_outcome_is_changed_and_twice_is_the_same(metric):
    sample = EvalSample("q", relevant_ids={"a": 2, "b": 0, "c": -1, "d": 0.5})
    given = QueryOutcome("", [Document("x", "", metadata={"parent_id": "p", "score": 1.0}), Document("a", "")], 1.0)
    before = copy.deepcopy((sample, given))
    first = metric.compute(sample, given)
    assert metric.compute(sample, given) == first
    assert (sample, given) == before


@pytest.mark.parametrize("k", [0, -1, 1.0, 2.5, "3", True, math.nan])
@pytest.mark.parametrize("kind", [*AT_K, MRR, MAP, NDCG])
def test_a_bad_k_is_refused(kind, k):
    with pytest.raises(ConfigurationError, match="k must be a whole number of at least 1") as caught:
        kind(k)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, FastRAGError)


@pytest.mark.parametrize("kind", AT_K)
def test_a_metric_that_needs_k_says_so(kind):
    with pytest.raises(TypeError):
        kind()
    with pytest.raises(ConfigurationError):
        kind(None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"match": "url"}, "match must be 'id', 'uri' or 'parent_id', not 'url'"),
        ({"nothing_relevant": None}, "nothing_relevant must be 'missing' or 'zero', not None"),
        ({"name": ""}, "name must be a text"),
        ({"gain": "log"}, "gain must be 'linear' or 'exponential', not 'log'"),
    ],
)
def test_bad_options_are_refused(options, said):
    with pytest.raises(ConfigurationError, match=said):
        NDCG(3, **options)


@by_name(ALL)
@pytest.mark.parametrize("relevant", ["a", None, {"a": math.nan}, [None]])
def test_bad_relevant_ids_are_refused(metric, relevant):
    with pytest.raises(ConfigurationError):
        score(metric, ["a"], relevant)
