"""Slices are results of their own, and all of them together pay for being many."""

import numpy as np
import pytest

from fastrag.benchmark import EvalSample, compare, compare_slices, question_groups, rank, rank_slices, slice_result
from fastrag.benchmark.gate import gate
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


@pytest.mark.parametrize("asked", [0, 1, 17])
def test_a_slice_that_the_candidate_was_asked_too_little_of_is_not_judged_and_does_not_pass(make_result, asked):
    questions = [f"q{i}" for i in range(40)]
    left = [q for q in questions if GROUPS[q] == "even"] + [q for q in questions if GROUPS[q] == "odd"][:asked]
    old = make_result("old", noisy(0.5, 40, 1), questions=questions)
    new = make_result("new", noisy(0.9, len(left), 2), questions=left)
    found = compare_slices(old, new, groups=GROUPS)
    odd = found["odd"].of("ndcg@10")
    assert (odd.verdict, odd.n) == ("cannot say", asked)
    assert odd.reason == f"new was asked only {asked} of the 20 questions of the baseline"
    assert found["odd"].pairings[0].unpaired == 20 - asked
    assert [gate(one).exit_code for one in found.values()] == [0, 4]
    assert found["even"].of("ndcg@10").verdict == "better"


def test_a_slice_that_the_candidate_was_asked_enough_of_is_judged(make_result):
    old, new = make_result("old", noisy(0.5, 40, 1)), make_result("new", noisy(0.9, 37, 2))
    found = compare_slices(old, new, groups=GROUPS)
    assert found["odd"].pairings[0].share == 0.9
    assert found["odd"].of("ndcg@10").verdict == "better"


def test_a_slice_that_one_of_several_candidates_was_not_asked(make_result):
    old = make_result("old", noisy(0.5, 40, 1))
    half = make_result("half", noisy(0.9, 20, 2), questions=[q for q in GROUPS if GROUPS[q] == "even"])
    odd = compare_slices(old, half, make_result("whole", noisy(0.9, 40, 3)), groups=GROUPS)["odd"]
    assert [odd.of("ndcg@10", name).verdict for name in ("half", "whole")] == ["cannot say", "better"]
    assert [check.outcome for check in gate(odd).checks] == ["coverage too low", "passed"]


def test_a_result_that_was_not_asked_a_slice_has_no_rank_in_it(make_result):
    half = make_result("half", noisy(0.9, 20, 2), questions=[q for q in GROUPS if GROUPS[q] == "even"])
    found = rank_slices([half, make_result("whole", noisy(0.5, 40, 1))], "ndcg@10", groups=GROUPS)
    assert [(one.result.name, one.rank) for one in found["odd"].entries] == [("whole", 1), ("half", None)]
    assert found["even"].winner.name == "half"


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
