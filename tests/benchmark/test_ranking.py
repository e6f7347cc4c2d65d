"""rank() and best(): failing more can never win, ties are ties, and it is said why where nothing qualifies."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations

import numpy as np
import pytest

from fastrag.benchmark import BenchmarkResult, DistributionSummary, SampleResult, StatusCounts, best, compare, rank
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


def test_of_equals_the_first_name_wins_then_the_earlier_run():
    first, second = run("alpha", 0.5, 0.5), run("beta", 0.25, 0.75)
    assert best([first, second], "m") is best([second, first], "m") is first
    again = replace(first, created_at=first.created_at + timedelta(days=1))
    assert best([again, second, first], "m") is best([first, second, again], "m") is first


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
    with pytest.raises(ConfigurationError, match=r"read a file with BenchmarkResult\.load"):
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


def test_a_failed_repeat_takes_its_question_out_of_the_mean(make_result):
    questions = [f"q{i // 3}" for i in range(30)]
    whole = make_result("whole", kindness=[0.9, 0.5, 0.1] * 10, questions=questions)
    lifted = make_result("lifted", kindness=[0.9, 0.5, 0.1] * 9 + [0.9, 0.5, ERRORED], questions=questions)
    ranking = rank([lifted, whole], "kindness")
    assert [entry.mean for entry in ranking.entries] == [pytest.approx(0.5)] * 2
    assert ranking.questions == 9
    assert ranking.winner is whole


def test_questions_that_nobody_measured_in_full_leave_no_mean(make_result):
    questions = ["q0", "q0", "q1", "q1"]
    halves = [
        make_result("a", kindness=[0.5, ERRORED, 0.5, 0.5], questions=questions),
        make_result("b", kindness=[0.9, 0.9, ERRORED, 0.9], questions=questions),
    ]
    ranking = rank(halves, "kindness", min_coverage=0.5)
    assert [(entry.result.name, entry.rank, entry.mean, entry.interval) for entry in ranking.entries] == [
        ("a", 1, None, None),
        ("b", 1, None, None),
    ]
    assert ranking.questions == 0


def test_failing_does_not_win_where_the_worst_is_not_known():
    slow = [10.0] * 10 + [30.0]
    steady = run("steady", *slow, metric="latency_ms", higher=False)
    faster = run("faster", *[9.0] * 10, 90.0, metric="latency_ms", higher=False)
    crashing = run("crashing", *[9.0] * 10, ERRORED, metric="latency_ms", higher=False)
    assert best([steady, faster], "latency_ms") is steady
    assert best([steady, crashing], "latency_ms") is steady


def test_a_question_that_was_not_asked_counts_as_failed():
    whole = run("whole", *[1.0] * 19, 0.1, metric="mrr")
    spared = run("spared", *[1.0] * 19, metric="mrr")
    assert best([spared, whole], "mrr") is whole


def test_equal_differences_part_as_they_do_in_compare(make_result):
    low, high = (
        make_result("low", [0.25 + i / 100 for i in range(20)]),
        make_result("high", [0.5 + i / 100 for i in range(20)]),
    )
    assert ranks(rank([low, high], "ndcg@10")) == {"high": 1, "low": 2}
    assert compare(low, high).of("ndcg@10").verdict == "better"
    few = [replace(one, samples=one.samples[:5]) for one in (low, high)]
    assert ranks(rank(few, "ndcg@10")) == {"high": 1, "low": 1}


def test_failing_against_a_third_result_does_not_lift_a_rank(make_result):
    rng = np.random.default_rng(3)
    base = rng.uniform(0.3, 0.7, 40)
    noise = rng.normal(0, 1, 40)
    lead = 0.05 * ((noise - noise.mean()) / noise.std(ddof=1) + 2.15 / 40**0.5)
    assert 0.05 / 2 < paired_test(base.tolist(), (base + lead).tolist()).p < 0.05
    third = make_result("third", mrr=[*(base + rng.normal(0.08, 0.1, 40)), 0.0, 0.0])
    ahead = make_result("ahead", mrr=[*(base + lead)])
    whole = make_result("behind", mrr=[*base, 0.1, 0.1])
    failing = make_result("behind", mrr=[*base, ERRORED, ERRORED])
    for behind in (whole, failing):
        # By Holm this takes that the third is shown to be better; on what both were asked, nothing has changed.
        entries = rank([third, ahead, behind], "mrr").entries
        assert [entry.beaten_by for entry in entries if entry.result is behind] == [("ahead", "third")]


def test_what_others_failed_on_is_not_held_against_a_run_that_did_not(make_result):
    rng = np.random.default_rng(3)
    base = rng.uniform(0.3, 0.7, 40)
    noise = rng.normal(0, 1, 40)
    lead = 0.05 * ((noise - noise.mean()) / noise.std(ddof=1) + 2.15 / 40**0.5)
    third = (base + rng.normal(0.08, 0.1, 40)).tolist()
    ahead, behind = make_result("ahead", mrr=[*(base + lead)]), make_result("behind", mrr=[*base])
    whole = ranks(rank([make_result("third", mrr=third), ahead, behind], "mrr"))
    third[:10] = [ERRORED] * 10
    failing = ranks(rank([make_result("third", mrr=third), ahead, behind], "mrr", min_coverage=0.5))
    # By Holm the smaller lead takes the larger one. That the third's failures might hide it is not for others to bear.
    assert (whole["behind"], failing["behind"]) == (3, 1)


def test_entries_of_one_rank_stand_together(make_result):
    """Between two that are tied stands, by its mean, one that is beaten: its differences have less spread."""
    rng = np.random.default_rng(6)
    base = rng.uniform(0.4, 0.5, 40)
    top, beaten = (
        make_result("top", mrr=[*(base + 0.05)]),
        make_result("beaten", mrr=[*(base + rng.normal(0, 0.02, 40))]),
    )
    wild = make_result("wild", mrr=[*(base - 0.02 + rng.permutation([-0.3, 0.3] * 20))])
    ranking = rank([top, beaten, wild], "mrr")
    assert [(entry.result.name, entry.rank) for entry in ranking.entries] == [("top", 1), ("wild", 1), ("beaten", 2)]
    assert ranking.entries[1].mean < ranking.entries[2].mean


def test_results_that_do_not_qualify_count_in_the_adjustment(make_result):
    first, second = noisy(0.50, 40, 4), noisy(0.545, 40, 5)
    two = [make_result("a", first), make_result("b", second)]
    broken = make_result("broken", [*first[:20], *[ERRORED] * 20])
    alpha = paired_test(first, second).p * 1.5
    assert ranks(rank(two, "ndcg@10", alpha=alpha)) == {"b": 1, "a": 2}
    assert ranks(rank([*two, broken], "ndcg@10", alpha=alpha)) == {"b": 1, "a": 1, "broken": None}


def test_the_winner_has_rank_1_whatever_others_failed_on(make_result):
    """The other is better where both measured, but failed too often to be preferred."""
    first = [0.5, 0.4, 0.5, 0.6, 0.5, 0.5, ERRORED, 0.5, 0.5, 0.6, ERRORED, 0.6, 0.4, 0.5, 0.4, 0.4]
    other = [0.6, ERRORED, 0.6, 0.7, 0.6, 0.5, 0.55, 0.5, ERRORED, 0.6, 0.5, 0.65, 0.45, 0.6, ERRORED, ERRORED]
    ranking = rank([make_result("first", mrr=first), make_result("other", mrr=other)], "mrr", min_coverage=0.5)
    assert [(entry.result.name, entry.rank) for entry in ranking.entries] == [("first", 1), ("other", 1)]
    assert ranking.entries[0].mean < ranking.entries[1].mean


def test_the_order_does_not_show_in_entries_either(make_result):
    results = [
        make_result("broken", [1.0] * 5 + [ERRORED] * 5),
        make_result("b", [0.5] * 10),
        make_result("a", [0.5] * 10),
    ]
    results.append(make_result("bad", [ERRORED] * 9 + [1.0]))
    names = [[e.result.name for e in rank(order, "ndcg@10").entries] for order in permutations(results)]
    assert all(one == ["a", "b", "bad", "broken"] for one in names)
