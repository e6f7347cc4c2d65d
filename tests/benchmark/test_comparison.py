"""best(): failing more can never win, and it says why where nothing qualifies."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrag.benchmark import BenchmarkResult, DistributionSummary, SampleResult, StatusCounts, best
from fastrag.benchmark.comparison import tied_with
from fastrag.errors import ConfigurationError

ERRORED = "errored"
NOT_APPLICABLE = "not applicable"


def run(name, *scores, metric="m", higher=True, questions=None, with_samples=True):
    """A result whose questions q0, q1, ... have these scores; None failed in the metric, ERRORED in the pipeline."""
    samples = []
    for i, score in enumerate(scores):
        question = questions[i] if questions else f"q{i}"
        if score == ERRORED:
            samples.append(SampleResult(question, "errored", {metric: None}, error="ValueError: boom"))
        elif score == NOT_APPLICABLE:
            error = f"{metric}: not_applicable: no relevant_ids"
            samples.append(SampleResult(question, "incomplete", {metric: None}, error=error))
        elif score is None:
            error = f"{metric}: metric_error: KeyError"
            samples.append(SampleResult(question, "incomplete", {metric: None}, error=error))
        else:
            samples.append(SampleResult(question, "successful", {metric: score}))
    summary = {metric: DistributionSummary.of([sample.scores[metric] for sample in samples])}
    status = StatusCounts(
        *(sum(s.status == status for s in samples) for status in ("successful", ERRORED, "incomplete"))
    )
    direction = {} if higher is None else {metric: higher}
    return BenchmarkResult(name, datetime.now(UTC), status, summary, samples if with_samples else [], 1.0, direction)


def test_the_higher_mean_wins():
    low, high = run("low", 0.1, 0.2), run("high", 0.3, 0.4)
    assert best([low, high], "m") is high
    assert best(iter([high, low]), "m") is high


def test_the_lower_mean_wins_where_lower_is_better():
    fast, slow = run("fast", 10.0, 20.0, higher=False), run("slow", 30.0, 40.0, higher=False)
    assert best([slow, fast], "m") is fast


def test_of_equals_the_first_wins():
    first, second = run("first", 0.5, 0.5), run("second", 0.25, 0.75)
    assert best([first, second], "m") is first
    assert best([second, first], "m") is second


def test_crashing_on_the_hard_questions_does_not_win():
    honest = run("honest", *[1.0] * 5, *[0.4] * 5)
    survivor = run("survivor", *[1.0] * 5, *[ERRORED] * 5)
    assert best([survivor, honest], "m") is honest


def test_within_the_floor_only_common_questions_count():
    honest = run("honest", *[0.8] * 19, 0.0)
    skipper = run("skipper", *[0.79] * 19, ERRORED)
    assert best([skipper, honest], "m") is honest  # its summary's mean is lower, 0.76 to 0.79


def test_a_judge_that_fails_does_not_win_either():
    assert best([run("judged", 0.5, 0.5), run("unjudged", 1.0, None)], "m").name == "judged"


def test_questions_that_nobody_can_be_measured_on_do_not_count_against():
    assert best([run("a", 0.5, *[NOT_APPLICABLE] * 9), run("b", 0.6, *[NOT_APPLICABLE] * 9)], "m").name == "b"


def test_nothing_qualifies():
    with pytest.raises(ConfigurationError) as caught:
        best([run("a", 1.0, ERRORED), run("b", ERRORED, ERRORED)], "m")
    message = str(caught.value)
    assert "at least 90%" in message
    assert "a: measured 1 of 2 measurable questions (50%)" in message
    assert "b: measured 0 of 2" in message


def test_the_floor_can_be_moved():
    half = run("half", 1.0, ERRORED)
    assert best([half], "m", min_coverage=0.5) is half
    with pytest.raises(ConfigurationError):
        best([run("none", ERRORED)], "m", min_coverage=0.0)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), "x"])
def test_the_floor_is_a_share(value):
    with pytest.raises(ConfigurationError, match="min_coverage"):
        best([run("a", 1.0)], "m", min_coverage=value)


def test_an_unknown_metric_names_those_there_are():
    with pytest.raises(ConfigurationError, match=r"no result has the metric 'ndcg'; there are: m"):
        best([run("a", 1.0)], "ndcg")


def test_no_results():
    with pytest.raises(ConfigurationError, match="no results"):
        best([], "m")


def test_something_else_than_results():
    with pytest.raises(ConfigurationError, match="str"):
        best(["results.json"], "m")


def test_a_result_without_the_metric_is_no_candidate():
    assert best([run("other", 1.0, metric="x"), run("a", 0.1)], "m").name == "a"


def test_results_that_disagree_on_the_direction_are_refused():
    with pytest.raises(ConfigurationError, match="disagree"):
        best([run("a", 1.0, higher=True), run("b", 1.0, higher=False)], "m")


def test_results_of_one_name_that_disagree_are_refused_too():
    with pytest.raises(ConfigurationError, match="disagree"):
        best([run("a", 1.0, higher=True), run("a", 1.0, higher=False)], "m")


@pytest.mark.parametrize("results", [None, 3, run("a", 1.0)])
def test_what_is_no_list_of_results(results):
    with pytest.raises(ConfigurationError, match="must be a list"):
        best(results, "m")


def test_a_share_is_met_exactly():
    assert best([run("a", *[1.0] * 7, *[ERRORED] * 93)], "m", min_coverage=0.07).name == "a"


def test_a_result_that_does_not_say_follows_the_others():
    assert best([run("a", 1.0, higher=None), run("b", 2.0, higher=False)], "m").name == "a"
    assert best([run("a", 1.0, higher=None), run("b", 2.0, higher=None)], "m").name == "b"


def test_results_without_samples_are_compared_by_their_summaries():
    assert best([run("a", 0.1, with_samples=False), run("b", 0.2, with_samples=False)], "m").name == "b"
    assert best([run("a", 0.1, with_samples=False), run("b", 0.2, ERRORED, with_samples=False)], "m").name == "a"


def test_runs_over_other_questions_cannot_be_compared():
    with pytest.raises(ConfigurationError, match="no question was measured"):
        best([run("a", 1.0), run("b", 0.5, questions=["another"])], "m")


def test_a_question_asked_twice_pairs_by_occurrence():
    first = run("first", 0.2, 0.9, questions=["q", "q"])
    second = run("second", 0.6, 0.6, questions=["q", "q"])
    assert best([first, second], "m") is second


scores = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=10, max_size=30)


@given(scores=scores, data=st.data())
def test_a_failure_more_never_makes_a_winner(scores, data):
    rival = run("rival", *data.draw(st.permutations(scores)))
    loser = run("loser", *scores)
    if best([rival, loser], "m") is loser:
        return
    failing = list(scores)
    failing[data.draw(st.integers(0, len(scores) - 1))] = ERRORED
    # On common questions the order may change, but never through the failed question's own low score.
    winner = best([rival, run("failing", *failing)], "m", min_coverage=1.0)
    assert winner is rival


def test_of_equal_means_more_questions_measured_win():
    crashes = run("crashes", *[1.0] * 18, ERRORED, ERRORED)
    answers = run("answers", *[1.0] * 20)
    assert best([crashes, answers], "m") is answers
    assert best([answers, crashes], "m") is answers


def test_ties_are_those_that_only_the_order_decides():
    first, second, other = run("first", 0.5, 0.5), run("second", 0.25, 0.75), run("other", 0.1, 0.1)
    assert tied_with(first, [first, second, other], "m") == [second]
    assert tied_with(first, [first, other], "m") == []
