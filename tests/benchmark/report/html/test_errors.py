"""Failures that are alike are one group."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrag.benchmark import SampleResult
from fastrag.benchmark.report.html.catalogue import Catalogue
from fastrag.benchmark.report.html.errors import MOST_EXAMPLES, MOST_GROUPS, alike, error_groups
from fastrag.benchmark.report.html.runs import ReportedRun


@pytest.fixture
def groups_of(make_result):
    """``groups_of(samples, ...)``: the groups of runs with these samples."""

    def make(*runs, metrics=("m",)):
        reported = []
        for samples in runs:
            result = make_result("run", **{name: [1.0] for name in metrics})
            result.samples = samples
            reported.append(ReportedRun(result))
        return error_groups(Catalogue(reported))

    return make


def errored(error):
    return SampleResult("q", "errored", {"m": None}, error=error)


def incomplete(error, **scores):
    return SampleResult("q", "incomplete", scores or {"m": None}, error=error)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("no answer within 2.0 s (after 3 attempts)", "no answer within 30 s (after 12 attempts)"),
        ("KeyError: 'price'", "KeyError: 'currency of it'"),
        ('cannot read "a \\" b" at <0x7f00>', 'cannot read "c" at <0x7EAB>'),
        ("got `a`, 1,000 times", "got `b`, 2 times"),
        ("can't open 'a'", "can't open 'b'"),
        ("10.0.0.7:6333 is down", "10.1.22.3:80 is down"),
    ],
)
def test_messages_that_differ_in_numbers_and_quoted_texts_are_alike(first, second):
    assert alike(first) == alike(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [("ValueError: a", "ValueError: b"), ("can't open a", "can't close a"), ("it's a's", "it's b's"), ("a", "'a'")],
)
def test_other_messages_are_not_alike(first, second):
    assert alike(first) != alike(second)


@given(st.text("ab :'", max_size=20), st.text("ab :", max_size=20), st.floats(0), st.floats(0))
def test_whatever_stands_around_a_number_messages_that_differ_in_it_are_alike(before, after, first, second):
    assert alike(f"{before} {first:.2f} {after}") == alike(f"{before} {second:.2f} {after}") or math.inf in (
        first,
        second,
    )


def test_groups_are_counted_by_run_the_most_frequent_first(groups_of):
    first = [errored("TimeoutError: 1 s"), incomplete("m: metric_error: KeyError: 'a'"), errored("TimeoutError: 2 s")]
    second = [incomplete("m: metric_error: KeyError: 'b'"), errored("TimeoutError: 3 s"), errored("not attempted: x")]
    assert groups_of(first, second) == [
        {
            "kind": "errored",
            "metric": None,
            "message": "TimeoutError: 1 s",
            "counts": [2, 1],
            "examples": [[0, 0], [0, 2], [1, 1]],
        },
        {
            "kind": "metric_error",
            "metric": "m",
            "message": "KeyError: 'a'",
            "counts": [1, 1],
            "examples": [[0, 1], [1, 0]],
        },
        {
            "kind": "not_attempted",
            "metric": None,
            "message": "not attempted: x",
            "counts": [0, 1],
            "examples": [[1, 2]],
        },
    ]


def test_each_metric_without_a_score_has_its_own_reason(groups_of):
    error = "a: not_applicable: no relevant_ids; b: judge_unparseable: no JSON, at all"
    found = groups_of([incomplete(error, a=None, b=None, c=1.0, d=None, e=float("nan"))], metrics="abcde")
    assert [(one["kind"], one["metric"], one["message"]) for one in found] == [
        ("not_applicable", "a", "no relevant_ids"),
        ("judge_unparseable", "b", "no JSON, at all"),
        ("unknown", "d", error),
        ("invalid_score", "e", "the score is nan"),
    ]


def test_without_a_reason_that_is_said(groups_of):
    assert [one["message"] for one in groups_of([errored(None), incomplete(None)])] == ["no reason recorded"] * 2


def test_a_metric_known_by_its_summary_alone_failed_on_nothing(groups_of):
    assert groups_of([SampleResult("q", "successful", {"m": 1.0})], metrics=["m", "other"]) == []


def test_the_rarest_of_too_many_groups_are_one_that_says_so(groups_of):
    words = [f"{chr(97 + i // 26 % 26)}{chr(97 + i % 26)}" for i in range(600)]
    found = groups_of([errored("often") for _ in range(MOST_EXAMPLES + 5)] + [errored(word) for word in words])
    assert len(found) == MOST_GROUPS
    assert (sum(found[0]["counts"]), len(found[0]["examples"])) == (MOST_EXAMPLES + 5, MOST_EXAMPLES)
    assert (found[-1]["kind"], found[-1]["metric"], found[-1]["message"]) == ("others", None, "102 other messages")
    assert (found[-1]["counts"], len(found[-1]["examples"])) == ([102], 102)


def test_the_rest_has_no_more_examples_than_any_group(groups_of):
    words = [f"{chr(97 + i // 26 % 26)}{chr(97 + i % 26)}" for i in range(600)]
    found = groups_of([errored(word) for word in words for _ in range(11)])
    assert (found[-1]["counts"], len(found[-1]["examples"])) == ([101 * 11], MOST_EXAMPLES)


def test_a_huge_message_is_cut(groups_of):
    [found] = groups_of([errored("x'" * 1_000_000)])
    assert len(found["message"]) == 2_000
