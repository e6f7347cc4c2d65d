"""What a change did to each question, with those apart that cannot be told."""

import math

import pytest

from fastrag.benchmark import question_changes, repeats_of
from fastrag.errors import ConfigurationError

ERRORED = "errored"


def kinds(changes):
    return {change.question: change.change for change in changes}


def test_without_repeats(make_result):
    old = make_result("old", mrr=[0.2, 0.8, 0.5, 0.5, ERRORED])
    new = make_result("new", mrr=[0.6, 0.4, 0.5, None, 1.0])
    changes = question_changes(old, new, "mrr")
    assert kinds(changes) == {
        "q0": "fixed",
        "q1": "broken",
        "q2": "unchanged",
        "q3": "not measured",
        "q4": "not measured",
    }
    assert (changes[0].baseline_score, changes[0].candidate_score) == (0.2, 0.6)
    assert (changes[3].baseline_score, changes[3].candidate_score) == (0.5, None)


def test_passing_makes_small_changes_none(make_result):
    old, new = make_result("old", mrr=[0.2, 0.8, 0.6, 0.1]), make_result("new", mrr=[0.6, 0.4, 0.9, 0.2])
    assert list(kinds(question_changes(old, new, "mrr", passing=0.5)).values()) == [
        "fixed",
        "broken",
        "unchanged",
        "unchanged",
    ]


def test_lower_can_be_better(make_result):
    old, new = (make_result("run", latency_ms=[ms], higher={"latency_ms": False}) for ms in (90.0, 40.0))
    assert kinds(question_changes(old, new, "latency_ms")) == {"q0": "fixed"}
    assert kinds(question_changes(old, new, "latency_ms", passing=50)) == {"q0": "fixed"}
    assert kinds(question_changes(old, new, "latency_ms", tolerance=60)) == {"q0": "unchanged"}


def test_repeats_that_disagree_are_flaky(make_result):
    questions = ["a", "a", "b", "b", "c", "c"]
    old = make_result("old", mrr=[0.0, 0.0, 0.4, 0.6, 0.1, 0.2], questions=questions)
    new = make_result("new", mrr=[1.0, 1.0, 0.9, 0.9, 0.8, 0.9], questions=questions)
    assert kinds(question_changes(old, new, "mrr")) == {"a": "fixed", "b": "flaky", "c": "flaky"}
    assert kinds(question_changes(old, new, "mrr", passing=0.5)) == {"a": "fixed", "b": "flaky", "c": "fixed"}


def test_how_far_repeats_agree(make_result):
    result = make_result("run", mrr=[0.0, 0.2, 0.5, 0.5, 0.7, None], questions=["a", "a", "b", "b", "c", "c"])
    repeats = repeats_of(result, "mrr")
    assert (repeats.questions, repeats.flaky) == (2, ("a",))
    assert repeats.sd_within == pytest.approx(math.sqrt(0.02 / 2))
    assert repeats_of(result, "mrr", passing=0.3).flaky == ()
    assert repeats_of(make_result("run", mrr=[0.1, 0.2]), "mrr").sd_within is None


def test_scores_as_large_as_floats_go(make_result):
    old, new = (make_result("run", cost=[sign * 1.7e308] * 2, questions=["q", "q"]) for sign in (1, -1))
    [change] = question_changes(old, new, "cost")
    assert (change.change, change.baseline_score, change.candidate_score) == ("broken", 1.7e308, -1.7e308)
    large = make_result("run", cost=[1e308, 1e308, 0.0, 0.0], questions=["a", "b", "a", "b"])
    assert repeats_of(large, "cost").sd_within == pytest.approx(math.sqrt(0.5) * 1e308)
    apart = repeats_of(make_result("run", cost=[1.7e308, -1.7e308, -1.7e308], questions=["q"] * 3), "cost")
    assert (apart.flaky, apart.sd_within) == (("q",), None)


def test_a_question_that_only_one_asked_is_not_there(make_result):
    old, new = make_result("old", mrr=[0.1, 0.2]), make_result("new", mrr=[0.1, 0.3], questions=["q1", "q2"])
    assert kinds(question_changes(old, new, "mrr")) == {"q1": "broken"}


def test_wrong_arguments(make_result):
    result = make_result("run", mrr=[0.1])
    with pytest.raises(ConfigurationError, match="run does not have the metric 'map'; it has: mrr"):
        question_changes(result, result, "map")
    with pytest.raises(ConfigurationError, match="tolerance"):
        repeats_of(result, "mrr", tolerance=-1)
    with pytest.raises(ConfigurationError, match="disagree"):
        question_changes(result, make_result("new", mrr=[0.1], higher={"mrr": False}), "mrr")
