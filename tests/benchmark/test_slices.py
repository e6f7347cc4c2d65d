"""Slices are results of their own, and all of them together pay for being many."""

import numpy as np
import pytest

from fastrag.benchmark import EvalSample, compare, compare_slices, question_groups, rank, rank_slices, slice_result
from fastrag.errors import ConfigurationError

GROUPS = {f"q{i}": "odd" if i % 2 else "even" for i in range(40)}


def noisy(mean, n, seed):
    return np.clip(np.random.default_rng(seed).normal(mean, 0.1, n), 0, 1).tolist()


def test_groups_come_from_the_samples():
    samples = [EvalSample("a", metadata={"hops": 2}), EvalSample("b", metadata={"hops": 1}), EvalSample("c")]
    assert question_groups(samples, "hops") == {"a": "2", "b": "1"}


def test_groups_that_cannot_be_told():
    with pytest.raises(ConfigurationError, match="no sample has the metadata key 'topic'"):
        question_groups([EvalSample("a")], "topic")
    with pytest.raises(ConfigurationError, match="two values of 'topic', 'x' and 'y'"):
        question_groups([EvalSample("a", metadata={"topic": t}) for t in "xy"], "topic")


def test_a_slice_has_its_own_summary_and_status(make_result):
    result = make_result("run", mrr=[0.0, 1.0, 0.5, "errored"])
    slices = slice_result(result, {"q0": "x", "q2": "x", "q3": "y"})
    assert list(slices) == ["x", "y"]
    assert (slices["x"].summary["mrr"].mean, slices["x"].status.successful) == (0.25, 2)
    assert (slices["y"].summary["mrr"].count, slices["y"].status.errored) == (0, 1)
    assert result.summary["mrr"].count == 3


def test_all_slices_are_one_family(make_result):
    old, new = make_result("old", noisy(0.5, 40, 1)), make_result("new", noisy(0.56, 40, 2))
    found = compare_slices(old, new, groups=GROUPS)
    assert list(found) == ["even", "odd"]
    even = compare(slice_result(old, GROUPS)["even"], slice_result(new, GROUPS)["even"]).of("ndcg@10")
    one, other = found["even"].of("ndcg@10"), found["odd"].of("ndcg@10")
    assert (one.n, one.p_t) == (20, even.p_t)
    assert found["odd"].family_size == 2
    smaller, larger = sorted([one, other], key=lambda slice_: slice_.p_t)
    assert smaller.p_holm == pytest.approx(2 * smaller.p_t)
    assert larger.p_holm == pytest.approx(max(larger.p_t, 2 * smaller.p_t))


def test_a_slice_that_the_candidate_was_not_asked(make_result):
    old, new = make_result("old", noisy(0.5, 40, 1)), make_result("new", noisy(0.9, 1, 2))
    found = compare_slices(old, new, groups=GROUPS)
    assert found["odd"].of("ndcg@10").verdict == "cannot say"
    assert found["odd"].pairings[0].unpaired == 20


def test_each_slice_is_ranked_at_its_part_of_the_level(make_result):
    results = [make_result("old", noisy(0.5, 40, 1)), make_result("new", noisy(0.7, 40, 2))]
    found = rank_slices(results, "ndcg@10", groups=GROUPS)
    odd = rank([slice_result(result, GROUPS)["odd"] for result in results], "ndcg@10", alpha=0.025)
    assert found["odd"] == odd
    assert list(found) == ["even", "odd"]


def test_groups_of_other_questions(make_result):
    result = make_result("old", [0.1, 0.2])
    with pytest.raises(ConfigurationError, match="no question of old is in a group"):
        compare_slices(result, result, groups={"other": "x"})
    with pytest.raises(ConfigurationError, match="no question with a score of 'ndcg@10' is in a group"):
        rank_slices([result], "ndcg@10", groups={"other": "x"})
    with pytest.raises(ConfigurationError, match="no results"):
        rank_slices([], "ndcg@10", groups=GROUPS)
