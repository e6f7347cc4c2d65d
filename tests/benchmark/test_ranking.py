"""rank() and best(): failing more can never win, ties are ties, and it is said why where nothing qualifies."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrag.benchmark import BenchmarkResult, DistributionSummary, SampleResult, StatusCounts, best, rank
from fastrag.benchmark.paired_tests import paired_test
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


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
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


def test_a_result_that_does_not_say_follows_the_others():
    assert best([run("a", 1.0, higher=None), run("b", 2.0, higher=False)], "m").name == "a"
    assert best([run("a", 1.0, higher=None), run("b", 2.0, higher=None)], "m").name == "b"


def test_results_without_samples_are_compared_by_their_summaries():
    assert best([run("a", 0.1, with_samples=False), run("b", 0.2, with_samples=False)], "m").name == "b"
    assert best([run("a", 0.1, with_samples=False), run("b", 0.2, ERRORED, with_samples=False)], "m").name == "a"


def test_runs_over_other_questions_cannot_be_compared():
    with pytest.raises(ConfigurationError, match="measured 1 of the 2 questions that any"):
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


def noisy(mean, n, seed, sd=0.1):
    return np.clip(np.random.default_rng(seed).normal(mean, sd, n), 0, 1).tolist()


def ranks(ranking):
    return {entry.result.name: entry.rank for entry in ranking.entries}


def test_what_cannot_be_told_apart_is_tied(make_result):
    results = [
        make_result("low", noisy(0.3, 60, 1)),
        make_result("high", noisy(0.6, 60, 2)),
        make_result("too", noisy(0.6, 60, 3)),
    ]
    ranking = rank(results, "ndcg@10")
    assert ranks(ranking) == {"high": 1, "too": 1, "low": 3}
    assert [len(group) for group in ranking.groups] == [2, 1]
    assert ranking.entries[0].mean >= ranking.entries[1].mean > ranking.entries[2].mean
    assert set(ranking.entries[2].beaten_by) == {"high", "too"}
    assert ranking.entries[0].interval.low < ranking.entries[0].mean < ranking.entries[0].interval.high
    assert (ranking.questions, ranking.higher_is_better, ranking.min_coverage) == (60, True, 0.9)


def test_ranking_where_lower_is_better(make_result):
    slow, fast = (
        make_result(name, latency_ms=[base + i % 3 for i in range(20)], higher={"latency_ms": False})
        for name, base in (("slow", 50.0), ("fast", 10.0))
    )
    slow.samples[0].scores["latency_ms"] = 60.0
    assert ranks(rank([slow, fast], "latency_ms")) == {"fast": 1, "slow": 2}
    assert best([slow, fast], "latency_ms") is fast


def test_a_tie_is_decided_by_holm_over_all_pairs(make_result):
    first, second = noisy(0.50, 40, 4), noisy(0.545, 40, 5)
    two = [make_result("a", first), make_result("b", second)]
    p = rank(two, "ndcg@10", alpha=0.999)
    assert p.entries[0].result.name == "b"
    alpha = paired_test(first, second).p * 1.5
    assert ranks(rank(two, "ndcg@10", alpha=alpha)) == {"b": 1, "a": 2}
    same = [make_result(f"a{i}", first) for i in range(4)]
    assert ranks(rank([*two, *same], "ndcg@10", alpha=alpha))["a"] == 1


def test_those_that_do_not_qualify_come_last_with_the_reason(make_result):
    whole, broken = make_result("whole", [0.1] * 10), make_result("broken", [1.0] * 5 + [ERRORED] * 5)
    ranking = rank([broken, whole], "ndcg@10")
    assert [entry.result.name for entry in ranking.entries] == ["whole", "broken"]
    left_out = ranking.entries[1]
    assert left_out.rank is left_out.mean is left_out.interval is None
    assert left_out.reason == "measured 5 of 10 measurable questions (50%), below 90%"
    assert (left_out.bounds.worst, left_out.bounds.best) == (0.5, 1.0)
    assert left_out.coverage.reasons == {"errored": 5}


def test_no_result_qualifying_is_a_ranking_too(make_result):
    ranking = rank([make_result("broken", [1.0, ERRORED])], "ndcg@10")
    assert ranks(ranking) == {"broken": None}
    assert ranking.groups == ()


def test_results_without_samples_are_all_tied(make_result):
    results = [replace(make_result(name, [score, score]), samples=[]) for name, score in (("a", 0.1), ("b", 0.9))]
    ranking = rank(results, "ndcg@10")
    assert ranks(ranking) == {"a": 1, "b": 1}
    assert [entry.mean for entry in ranking.entries] == [0.9, 0.1]
    assert ranking.questions is None


def test_crashing_where_it_was_worst_does_not_lift_a_rank(make_result):
    good = [*noisy(0.5, 90, 1, sd=0.02), *[0.5] * 10]
    bad = [*noisy(0.5, 90, 2, sd=0.02), *[0.0] * 10]
    rivals = [make_result("good", good), make_result("bad", bad)]
    assert ranks(rank(rivals, "ndcg@10")) == {"good": 1, "bad": 2}
    crashing = make_result("bad", [*bad[:90], *[ERRORED] * 10])
    assert paired_test(good[:90], bad[:90]).p > 0.05
    assert ranks(rank([rivals[0], crashing], "ndcg@10")) == {"good": 1, "bad": 2}


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_a_failure_more_never_improves_a_rank(make_result, data):
    n = data.draw(st.integers(4, 16))
    metric = data.draw(st.sampled_from(["ndcg@10", "kindness"]))
    tenths = st.integers(0, 10).map(lambda number: number / 10)
    shift = data.draw(st.sampled_from([0.0, 0.1, 0.3]))
    rows = [data.draw(st.lists(tenths | st.just(ERRORED), min_size=n, max_size=n)) for _ in range(2)]
    mine = [s if s == ERRORED else max(0.0, s - shift) for s in data.draw(st.permutations(rows[0]))]
    others = [make_result(f"other{i}", **{metric: row}) for i, row in enumerate(rows)]
    if not all(any(s != ERRORED for s in row) for row in [*rows, mine]):
        return
    before = 1
    for position in data.draw(st.permutations(range(n)))[: n // 2]:
        try:
            ranking = rank([*others, make_result("mine", **{metric: mine})], metric, min_coverage=0.0)
        except ConfigurationError:  # no question is left that all have measured
            return
        place = ranks(ranking)["mine"]
        if place is None:
            return
        assert place >= before
        before = place
        mine[position] = ERRORED


def test_the_order_of_results_does_not_matter(make_result):
    results = [make_result(f"r{i}", noisy(0.5 + i / 20, 30, i)) for i in range(4)]
    forward, backward = rank(results, "ndcg@10"), rank(results[::-1], "ndcg@10")
    assert ranks(forward) == ranks(backward)
    assert [e.result.name for e in forward.entries] == [e.result.name for e in backward.entries]


def test_the_level_of_a_ranking_is_a_probability(make_result):
    with pytest.raises(ConfigurationError, match="alpha"):
        rank([make_result("a", [0.1, 0.2])], "ndcg@10", alpha=1.5)


def test_of_equal_means_more_questions_measured_win():
    crashes = run("crashes", *[1.0] * 18, ERRORED, ERRORED)
    answers = run("answers", *[1.0] * 20)
    assert best([crashes, answers], "m") is answers
    assert best([answers, crashes], "m") is answers


def test_results_of_one_name_that_disagree_are_refused_too():
    with pytest.raises(ConfigurationError, match="disagree"):
        best([run("a", 1.0, higher=True), run("a", 1.0, higher=False)], "m")


@pytest.mark.parametrize("results", [None, 3, run("a", 1.0)])
def test_what_is_no_list_of_results(results):
    with pytest.raises(ConfigurationError, match="must be a list"):
        best(results, "m")


def test_a_share_is_met_exactly():
    assert best([run("a", *[1.0] * 7, *[ERRORED] * 93)], "m", min_coverage=0.07).name == "a"


def test_a_floor_that_is_no_number():
    with pytest.raises(ConfigurationError, match="min_coverage"):
        best([run("a", 1.0)], "m", min_coverage="x")


def test_asking_fewer_questions_does_not_win():
    whole = run("whole", *[0.9] * 5, *[0.3] * 5)
    easy = run("easy", 0.95, 0.95)
    assert best([whole, easy], "m") is whole
    assert best([easy, whole], "m") is whole


@given(scores=st.lists(st.sampled_from([0.0, 0.5, 0.55, 1.0]), min_size=10, max_size=20), data=st.data())
def test_a_failure_more_never_wins_where_the_range_is_known(scores, data):
    rival = run("rival", *data.draw(st.permutations(scores)), metric="mrr")
    if best([rival, run("loser", *scores, metric="mrr")], "mrr") is not rival:
        return
    failing = list(scores)
    failing[data.draw(st.integers(0, len(scores) - 1))] = ERRORED
    assert best([rival, run("failing", *failing, metric="mrr")], "mrr", min_coverage=0.5) is rival
