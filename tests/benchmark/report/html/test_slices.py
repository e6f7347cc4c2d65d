"""Slices by the metadata of the sample set."""

import pytest

from fastrag.benchmark import EvalSample, describe, slice_result
from fastrag.benchmark.report.html.catalogue import Catalogue
from fastrag.benchmark.report.html.runs import ReportedRun
from fastrag.benchmark.report.html.slices import MOST_GROUPS, MOST_KEYS, all_slices


@pytest.fixture
def catalogue(make_result):
    first = make_result("a", [0.5, 1.0, 0.25, None])
    second = make_result("b", [0.5, 0.75], questions=["q0", "q2"])
    return Catalogue([ReportedRun(first), ReportedRun(second)])


def samples(key, *values):
    return [EvalSample(f"q{i}", metadata={} if value is None else {key: value}) for i, value in enumerate(values)]


def test_groups_stand_by_name_with_every_run_that_has_questions_of_them(catalogue):
    [found], warnings = all_slices(catalogue, samples("topic", "x", "y", "x", "y", "z"))
    assert warnings == []
    assert (found["key"], [(group["name"], group["questions"]) for group in found["groups"]]) == (
        "topic",
        [("x", 2), ("y", 2)],
    )
    expected = slice_result(catalogue.results[0], {"q0": "x", "q1": "y", "q2": "x", "q3": "y"})
    for group in found["groups"]:
        evidence = describe(expected[group["name"]])["ndcg@10"]
        shown = group["runs"][0]["ndcg@10"]
        assert (shown["mean"], shown["questions"], shown["share"]) == (
            evidence.mean,
            evidence.questions,
            evidence.coverage.share,
        )
    assert found["groups"][0]["runs"][1]["ndcg@10"]["mean"] == 0.625
    assert found["groups"][1]["runs"][1] is None


def test_values_of_any_kind_are_told_by_their_texts(catalogue):
    [found], _ = all_slices(catalogue, samples("year", 2020, "2020", ["a"], None))
    assert [(group["name"], group["questions"]) for group in found["groups"]] == [("2020", 2), ("['a']", 1)]


def test_one_question_with_two_values_is_said(catalogue):
    same = [EvalSample("q0", id="a", metadata={"k": 1, "j": 1}), EvalSample("q0", id="b", metadata={"k": 2, "j": 1})]
    found, [warning] = all_slices(catalogue, same)
    assert [one["key"] for one in found] == ["j"]
    assert warning.startswith("No slices by k: the question 'q0' has two values")


def test_a_key_that_tells_every_question_apart_makes_no_slices(make_result):
    result = make_result("a", [0.5] * (MOST_GROUPS + 1))
    catalogue = Catalogue([ReportedRun(result)])
    assert all_slices(catalogue, samples("id", *range(MOST_GROUPS + 1))) == ([], [])
    assert len(all_slices(catalogue, samples("id", *range(MOST_GROUPS)))[0]) == 1


def test_of_too_many_keys_the_first_are_taken(catalogue):
    sample = EvalSample("q0", metadata={f"key {i}": 1 for i in range(MOST_KEYS + 1)})
    found, [warning] = all_slices(catalogue, [sample])
    assert [one["key"] for one in found] == [f"key {i}" for i in range(MOST_KEYS)]
    assert warning == f"Slices are by the first {MOST_KEYS} keys of metadata, not by key {MOST_KEYS}."
