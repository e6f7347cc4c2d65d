"""What has to hold for the retrieval metrics on any input, and their values by the definitions written out."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrag.benchmark.metrics import (
    MAP,
    MRR,
    NDCG,
    F1AtK,
    HitRateAtK,
    PrecisionAtK,
    RecallAtK,
    RPrecision,
    evaluate_rankings,
    prepare_relevance,
)
from fastrag.benchmark.metrics.ranking import find_hits

no_deadline = settings(deadline=None)  # a busy machine is no failure
ids = st.sampled_from([f"d{i}" for i in range(12)])
rankings = st.lists(ids, max_size=15)
gains = st.one_of(st.integers(-2, 4), st.floats(-1, 3, allow_subnormal=False))
qrels = st.dictionaries(ids, gains, max_size=10)
binary = st.dictionaries(ids, st.just(1), min_size=1, max_size=10)
cutoffs = st.integers(1, 18)
TINY = 1e-12


def metrics_at(k):
    at_k = [PrecisionAtK(k), RecallAtK(k), HitRateAtK(k), F1AtK(k), MRR(k), MAP(k), NDCG(k)]
    return [*at_k, NDCG(k, gain="exponential"), MRR(), MAP(), NDCG(), NDCG(gain="exponential"), RPrecision()]


def scores(ranking, relevant, metrics):
    relevance = prepare_relevance(relevant)
    if not relevance.ids:
        return {metric.name: metric.score_without_relevant(judged=relevance.judged) for metric in metrics}
    hits = find_hits(ranking, relevance)
    return {metric.name: metric.measure(hits) for metric in metrics}


def by_definition(ranking, relevant, k):
    positive = {doc_id: gain for doc_id, gain in relevant.items() if gain > 0}
    if not positive:
        return None
    first = [doc_id in positive and doc_id not in ranking[:i] for i, doc_id in enumerate(ranking)]
    worth = [positive[doc_id] if hit else 0.0 for doc_id, hit in zip(ranking, first, strict=True)]
    best = sorted(positive.values(), reverse=True)

    def precision(n):
        return Fraction(sum(first[:n]), n)

    def average_precision(n):
        return sum((precision(i + 1) for i in range(min(n, len(first))) if first[i]), Fraction(0)) / len(positive)

    def dcg(values, n):
        return math.fsum(value / math.log2(i + 2) for i, value in enumerate(values[:n]))

    p, r = precision(k), Fraction(sum(first[:k]), len(positive))
    everything = max(len(ranking), len(best))
    ranks = [i + 1 for i, hit in enumerate(first) if hit]
    raised = [[2**value - 1 for value in values] for values in (worth, best)]
    return {
        f"precision@{k}": p,
        f"recall@{k}": r,
        f"hit_rate@{k}": any(first[:k]),
        f"f1@{k}": 2 * p * r / (p + r) if p + r else 0,
        f"mrr@{k}": Fraction(1, ranks[0]) if ranks and ranks[0] <= k else 0,
        "mrr": Fraction(1, ranks[0]) if ranks else 0,
        f"map@{k}": average_precision(k),
        "map": average_precision(everything),
        f"ndcg@{k}": dcg(worth, k) / dcg(best, k),
        "ndcg": dcg(worth, everything) / dcg(best, everything),
        f"ndcg_exp@{k}": dcg(raised[0], k) / dcg(raised[1], k),
        "ndcg_exp": dcg(raised[0], everything) / dcg(raised[1], everything),
        "r_precision": precision(len(positive)),
    }


# Not floats next to 0: there, 2**gain - 1 as written out above has few digits left.
coarse = st.dictionaries(ids, st.sampled_from([-2, -0.5, 0, 0.125, 0.5, 1, 1.75, 2, 3, 9]), max_size=10)


@no_deadline
@given(rankings, coarse, cutoffs)
def test_values_are_those_of_the_definitions(ranking, relevant, k):
    expected = by_definition(ranking, relevant, k)
    ours = scores(ranking, relevant, metrics_at(k))
    if expected is None:
        assert set(ours.values()) == {None}
    else:
        assert ours == pytest.approx({name: float(value) for name, value in expected.items()}, abs=TINY)


@no_deadline
@given(rankings, qrels, cutoffs)
def test_every_score_is_in_range_and_missing_only_where_nothing_is_relevant(ranking, relevant, k):
    for value in scores(ranking, relevant, metrics_at(k)).values():
        if any(gain > 0 for gain in relevant.values()):
            assert 0 <= value <= 1
            assert type(value) is float
        else:
            assert value is None


@no_deadline
@given(qrels.filter(lambda relevant: any(gain > 0 for gain in relevant.values())), cutoffs, st.lists(ids))
def test_an_ideal_ranking_scores_exactly_one(relevant, k, rest):
    ideal = sorted((doc_id for doc_id in relevant if relevant[doc_id] > 0), key=relevant.get, reverse=True)
    ranking = ideal + [f"x{doc_id}" for doc_id in rest]
    ours = scores(ranking, relevant, metrics_at(k))
    full = ["ndcg", f"ndcg@{k}", "ndcg_exp", f"ndcg_exp@{k}", "map", "mrr", f"mrr@{k}", "r_precision", f"hit_rate@{k}"]
    assert {name: ours[name] for name in full} == dict.fromkeys(full, 1.0)
    assert ours[f"recall@{k}"] == min(k, len(ideal)) / len(ideal)


@no_deadline
@given(rankings, binary, cutoffs, st.data())
def test_a_relevant_document_put_on_top_lowers_nothing(ranking, relevant, k, data):
    missing = sorted(set(relevant) - set(ranking))
    if missing:
        before = scores(ranking, relevant, metrics_at(k))
        after = scores([data.draw(st.sampled_from(missing)), *ranking], relevant, metrics_at(k))
        for name, value in before.items():
            assert after[name] >= value - TINY, name


@no_deadline
@given(rankings, qrels, cutoffs, st.randoms())
def test_the_order_below_the_cutoff_does_not_matter(ranking, relevant, k, random):
    top, tail = ranking[:k], ranking[k:]
    random.shuffle(tail)
    at_k = [metric for metric in metrics_at(k) if metric.depth is not None]
    assert scores(top + tail, relevant, at_k) == scores(ranking, relevant, at_k) == scores(top, relevant, at_k)


@no_deadline
@given(rankings, qrels, cutoffs)
def test_a_deeper_look_finds_no_less(ranking, relevant, k):
    shallow = scores(ranking, relevant, [RecallAtK(k), HitRateAtK(k), MRR(k), MAP(k)])
    deep = scores(ranking, relevant, [RecallAtK(k + 1), HitRateAtK(k + 1), MRR(k + 1), MAP(k + 1)])
    for less, more in zip(shallow.values(), deep.values(), strict=True):
        assert less is more is None or less <= more


@no_deadline
@given(rankings, qrels, cutoffs)
def test_documents_that_are_not_relevant_at_the_end_change_nothing(ranking, relevant, k):
    longer = [*ranking, *(f"x{i}" for i in range(5)), *ranking]
    assert scores(longer, relevant, metrics_at(k)) == scores([*ranking, *"vwxyz", *ranking], relevant, metrics_at(k))
    unjudged = {doc_id: gain for doc_id, gain in relevant.items() if gain > 0}
    assert scores(ranking, unjudged, metrics_at(k)) == scores(ranking, relevant, metrics_at(k))


@no_deadline
@given(rankings, qrels, cutoffs)
def test_swapping_the_better_document_up_never_lowers_ndcg(ranking, relevant, k):
    distinct = list(dict.fromkeys(ranking))
    ndcg = [NDCG(k), NDCG(), NDCG(k, gain="exponential")]
    for i in range(len(distinct) - 1):
        worse, better = sorted(distinct[i : i + 2], key=lambda doc_id: max(0, relevant.get(doc_id, 0)))
        up = scores([*distinct[:i], better, worse, *distinct[i + 2 :]], relevant, ndcg)
        down = scores([*distinct[:i], worse, better, *distinct[i + 2 :]], relevant, ndcg)
        for name in up:
            assert up[name] is down[name] is None or up[name] >= down[name] - TINY


@no_deadline
@given(st.dictionaries(st.sampled_from("abcdef"), rankings), st.dictionaries(st.sampled_from("abcdef"), qrels), cutoffs)
def test_many_at_once_score_as_each_alone(run, judged, k):
    metrics = metrics_at(k)
    together = evaluate_rankings(run, judged, metrics)
    assert together.query_ids == list(judged)
    for position, query_id in enumerate(judged):
        alone = scores(run.get(query_id, []), judged[query_id], metrics)
        for name, value in alone.items():
            ours = together.scores[name][position]
            assert ours is value is None or ours == pytest.approx(value, abs=1e-14), name


@no_deadline
@given(st.lists(st.tuples(rankings, qrels), max_size=5), st.integers(0, 5), cutoffs)
def test_an_empty_ranking_anywhere_leaves_the_others_alone(queries, place, k):
    metrics = metrics_at(k)
    without = {f"q{i}": query for i, query in enumerate(queries)}
    items = list(without.items())
    having = dict([*items[:place], ("empty", ([], {"d0": 1})), *items[place:]])
    before, after = (
        evaluate_rankings(
            {query_id: ranking for query_id, (ranking, _) in queries.items()},
            {query_id: relevant for query_id, (_, relevant) in queries.items()},
            metrics,
        )
        for queries in (without, having)
    )
    at = after.query_ids.index("empty")
    for name, column in after.scores.items():
        assert column.pop(at) == 0.0
        assert column == before.scores[name]
