"""compare(): pairs are found, numbers are right, and no verdict says more than it may."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrag.benchmark import compare, rank
from fastrag.benchmark.paired_tests import paired_test
from fastrag.errors import ConfigurationError

ERRORED = "errored"
NOT_APPLICABLE = "not applicable"

score = st.integers(0, 20).map(lambda number: number / 20)


def noisy(mean, n, seed, sd=0.1):
    return np.clip(np.random.default_rng(seed).normal(mean, sd, n), 0, 1).tolist()


def verdict(make_result, first, second, **options):
    return compare(make_result("old", first), make_result("new", second), **options).of("ndcg@10").verdict


def test_the_numbers_are_those_of_the_paired_test(make_result):
    first, second = noisy(0.5, 30, 1), noisy(0.56, 30, 2)
    found = compare(make_result("old", first), make_result("new", second)).of("ndcg@10", "new")
    test = paired_test(first, second)
    assert (found.n, found.mean_difference, found.t, found.p_t) == (30, test.mean, test.t, test.p)
    assert (found.interval, found.d_z, found.p_holm) == (test.interval, test.d_z, test.p)
    assert (found.wins, found.ties, found.losses) == (test.higher, 0, test.lower)
    assert found.baseline_mean == pytest.approx(np.mean(first))
    assert found.candidate_mean == pytest.approx(np.mean(second))
    assert found.p_permutation == pytest.approx(found.p_t, abs=0.02)


def test_better_and_worse(make_result):
    low, high = noisy(0.4, 40, 1), noisy(0.6, 40, 2)
    assert verdict(make_result, low, high) == "better"
    assert verdict(make_result, high, low) == "worse"
    assert verdict(make_result, low, noisy(0.4, 40, 3)) == "no difference shown"


def test_lower_can_be_better(make_result):
    slow = make_result("slow", latency_ms=[30.0, 31.0, 29.0, 33.0], higher={"latency_ms": False})
    fast = make_result("fast", latency_ms=[10.0, 12.0, 11.0, 9.0], higher={"latency_ms": False})
    found = compare(slow, fast).of("latency_ms")
    assert (found.verdict, found.wins, found.losses, found.higher_is_better) == ("better", 4, 0, False)
    assert found.mean_difference == pytest.approx(-20.25)


def test_samples_pair_by_question_whatever_their_order(make_result):
    first, second = noisy(0.5, 20, 1), noisy(0.6, 20, 2)
    order = random.Random(4).sample(range(20), 20)
    shuffled = make_result("new", [second[i] for i in order], questions=[f"q{i}" for i in order])
    straight = make_result("new", second)
    old = make_result("old", first)
    assert compare(old, shuffled) == compare(old, straight)


def test_what_does_not_pair_is_named(make_result):
    old = make_result("old", [0.1, 0.2, 0.3, 0.4], questions=["a", "b", "b", "c"])
    new = make_result("new", [0.1, 0.2, 0.3], questions=["b", "a", "d"])
    pairing = compare(old, new).pairings[0]
    assert pairing.candidate == "new"
    assert (pairing.pairs, pairing.unpaired) == (2, 3)
    assert pairing.only_in_baseline == ("b (occurrence 2)", "c")
    assert pairing.only_in_candidate == ("d",)


def test_runs_without_a_common_question_cannot_be_told_apart(make_result):
    found = compare(make_result("old", [0.1]), make_result("new", [0.9], questions=["other"])).of("ndcg@10")
    assert (found.n, found.verdict, found.p_holm, found.mean_difference) == (0, "cannot say", None, None)
    assert found.reason == "new was asked only 0 of the 1 questions of the baseline"


def test_repeats_count_once(make_result):
    questions = [f"q{i // 3}" for i in range(30)]
    first, second = noisy(0.5, 30, 5), noisy(0.6, 30, 6)
    found = compare(make_result("old", first, questions=questions), make_result("new", second, questions=questions)).of(
        "ndcg@10"
    )
    test = paired_test(np.reshape(first, (10, 3)).mean(1).tolist(), np.reshape(second, (10, 3)).mean(1).tolist())
    assert found.n == 10
    assert found.p_t == pytest.approx(test.p)


def test_the_order_of_repeats_does_not_matter(make_result):
    questions = [f"q{i // 2}" for i in range(20)]
    swapped = [i ^ 1 for i in range(20)]
    first, second = noisy(0.5, 20, 5), noisy(0.6, 20, 6)
    second[3] = ERRORED
    old = make_result("old", first, questions=questions)
    found = compare(old, make_result("new", second, questions=questions))
    again = compare(old, make_result("new", [second[i] for i in swapped], questions=questions))
    assert found == again
    assert found.of("ndcg@10").lost == ("q1",)


def test_uneven_repeats_count_in_full_in_whatever_order(make_result):
    thrice, twice = [f"q{i // 3}" for i in range(30)], [f"q{i // 2}" for i in range(20)]
    first, second = noisy(0.5, 30, 5), noisy(0.6, 20, 6)
    old = make_result("old", first, questions=thrice)
    found = compare(old, make_result("new", second, questions=twice))
    means = np.reshape(first, (10, 3)).mean(1).tolist(), np.reshape(second, (10, 2)).mean(1).tolist()
    assert found.of("ndcg@10").mean_difference == pytest.approx(paired_test(*means).mean)
    assert (found.pairings[0].pairs, found.pairings[0].unpaired) == (20, 10)
    assert found.pairings[0].only_in_baseline[:2] == ("q0 (occurrence 3)", "q1 (occurrence 3)")
    backwards = make_result("old", first[::-1], questions=thrice[::-1])
    assert compare(backwards, make_result("new", second, questions=twice)).of("ndcg@10") == found.of("ndcg@10")
    first[2] = ERRORED  # an occurrence that the candidate does not have
    failing = compare(make_result("old", first, questions=thrice), make_result("new", second, questions=twice))
    assert (failing.of("ndcg@10").gained, failing.of("ndcg@10").n) == (("q0",), 9)


def test_holm_is_over_all_metrics_and_candidates(make_result):
    old = make_result("old", mrr=noisy(0.5, 30, 1), recall=noisy(0.5, 30, 2))
    news = [make_result(f"new{i}", mrr=noisy(0.54, 30, 10 + i), recall=noisy(0.54, 30, 20 + i)) for i in range(2)]
    found = compare(old, *news)
    assert found.family_size == 4
    assert len(found.comparisons) == 4
    smallest = min(found.comparisons, key=lambda one: one.p_t)
    assert smallest.p_holm == pytest.approx(4 * smallest.p_t)
    alone = compare(old, news[0], metrics=["mrr"]).of("mrr")
    assert alone.p_holm == alone.p_t
    assert alone.smallest_detectable < found.of("mrr", "new0").smallest_detectable


def test_the_order_of_candidates_does_not_matter(make_result):
    old = make_result("old", noisy(0.5, 30, 1))
    news = [make_result(f"new{i}", noisy(0.5 + i / 40, 30, 2 + i)) for i in range(3)]
    forward, backward = compare(old, *news), compare(old, *reversed(news))
    assert {one.candidate: one for one in forward.comparisons} == {one.candidate: one for one in backward.comparisons}


def test_a_metric_that_only_one_has_is_not_compared(make_result):
    found = compare(
        make_result("old", mrr=[0.1, 0.2], recall=[1.0, 0.0]), make_result("new", mrr=[0.1, 0.2], f1=[1.0, 1.0])
    )
    assert found.metrics == ("mrr", "recall")
    assert [one.metric for one in found.comparisons] == ["mrr"]
    assert found.not_compared == (("new", "recall"), ("new", "f1"))


def test_compared_with_itself(make_result):
    result = make_result("same", [*noisy(0.5, 20, 1), ERRORED])
    found = compare(result, result).of("ndcg@10")
    assert (found.verdict, found.p_holm, found.p_permutation, found.mean_difference) == ("no difference shown", 1, 1, 0)


def test_a_constant_difference_has_no_spread(make_result):
    few = compare(make_result("old", [0.25] * 4), make_result("new", [0.5] * 4)).of("ndcg@10")
    assert (few.verdict, few.p_t, few.p_holm, few.d_z, few.smallest_detectable) == (
        "cannot say",
        None,
        None,
        None,
        None,
    )
    assert "the same" in few.reason
    many = compare(
        make_result("old", total_tokens=[100.0 + i for i in range(40)], higher={"total_tokens": False}),
        make_result("new", total_tokens=[110.0 + i for i in range(40)], higher={"total_tokens": False}),
    ).of("total_tokens")
    assert (many.verdict, many.p_t, many.p_holm, many.p_permutation) == ("worse", None, 2**-39, 1 / 10_000)


def test_equivalence_within_a_margin(make_result):
    first = noisy(0.5, 100, 1)
    second = [score + error for score, error in zip(first, noisy(0.5, 100, 2, sd=0.02), strict=True)]
    second = [score - 0.5 for score in second]
    old, new = make_result("old", first), make_result("new", second)
    ranges = {"ndcg@10": (-1.0, 2.0)}
    assert compare(old, new, margin=0.02, ranges=ranges).of("ndcg@10").verdict == "equivalent"
    assert compare(old, new, margin={"ndcg@10": 0.002}, ranges=ranges).of("ndcg@10").verdict == "no difference shown"
    assert compare(old, new).of("ndcg@10").p_equivalence is None


def test_a_margin_makes_small_differences_that_are_sure_equivalent(make_result):
    first = [0.5] * 50
    second = [0.51 + (i % 3) / 1000 for i in range(50)]
    assert verdict(make_result, first, second) == "better"
    assert verdict(make_result, first, second, margin=0.05) == "equivalent"


def test_coverage_and_its_reasons(make_result):
    new = make_result("new", [0.5, 0.6, ERRORED, None, NOT_APPLICABLE])
    found = compare(make_result("old", [0.5, 0.4, 0.3, 0.2, NOT_APPLICABLE]), new).of("ndcg@10")
    coverage = found.candidate_coverage
    assert (coverage.measured, coverage.measurable, coverage.asked, coverage.share) == (2, 4, 5, 0.5)
    assert coverage.reasons == {"errored": 1, "metric_error": 1, "not_applicable": 1}
    assert (found.lost, found.gained, found.n) == (("q2", "q3"), (), 2)
    assert found.verdict == "cannot say"
    assert found.reason == "new measured 2 of 4 samples (50.0%, below 90.0%)"
    assert found.difference_bounds.worst == pytest.approx((0.0 + 0.2 - 0.3 - 0.2) / 4)
    assert found.difference_bounds.best == pytest.approx((0.0 + 0.2 + 0.7 + 0.8) / 4)


def test_bounds_need_a_range(make_result):
    old, new = make_result("old", kindness=[0.5, 0.4, 0.3]), make_result("new", kindness=[0.5, 0.6, ERRORED])
    assert compare(old, new).of("kindness").difference_bounds is None
    assert compare(old, new, ranges={"kindness": (0, 5)}).of("kindness").difference_bounds is not None
    latencies = make_result("new", latency_ms=[1.0, 2.0, ERRORED], higher={"latency_ms": False})
    whole = make_result("old", latency_ms=[1.0, 2.0, 3.0], higher={"latency_ms": False})
    assert compare(whole, latencies).of("latency_ms").difference_bounds is None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(score, score | st.just(ERRORED), score | st.none()), min_size=2, max_size=25))
def test_swapping_turns_every_sign_and_keeps_p(make_result, rows):
    questions = [f"q{i // 2}" for i in range(len(rows))]
    both = [make_result(name, mrr=[row[i] for row in rows], questions=questions) for name, i in (("a", 1), ("b", 2))]
    one, other = (compare(first, second, min_coverage=0).of("mrr") for first, second in (both, reversed(both)))
    assert (one.p_t, one.p_holm, one.p_permutation, one.n) == (other.p_t, other.p_holm, other.p_permutation, other.n)
    assert (one.wins, one.ties, one.losses) == (other.losses, other.ties, other.wins)
    assert (one.lost, one.gained) == (other.gained, other.lost)
    for name in ("mean_difference", "t", "d_z"):
        value = getattr(one, name)
        assert getattr(other, name) == (None if value is None else -value)
    flipped = {"better": "worse", "worse": "better"}
    assert other.verdict == flipped.get(one.verdict, one.verdict)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(score, score), min_size=2, max_size=25), st.integers(-8, 8))
def test_a_constant_added_to_both_changes_nothing(make_result, rows, constant):
    def compared(shift):
        old, new = ([row[i] + shift for row in rows] for i in (0, 1))
        return compare(make_result("old", kindness=old), make_result("new", kindness=new)).of("kindness")

    plain, shifted = compared(0), compared(constant)
    assert shifted.verdict == plain.verdict
    assert (shifted.wins, shifted.ties, shifted.losses) == (plain.wins, plain.ties, plain.losses)
    for name in ("mean_difference", "p_t", "p_holm", "p_permutation", "d_z"):
        value = getattr(plain, name)
        expected = None if value is None else pytest.approx(value, rel=1e-6, abs=1e-9)
        assert getattr(shifted, name) == expected, name


def test_the_seed_decides_the_random_flips(make_result):
    old, new = make_result("old", noisy(0.5, 40, 1)), make_result("new", noisy(0.53, 40, 2))
    one, again, other = (compare(old, new, seed=seed, permutations=199) for seed in (1, 1, 2))
    assert one == again
    assert one.of("ndcg@10").p_permutation != other.of("ndcg@10").p_permutation
    assert one.of("ndcg@10") == replace(other.of("ndcg@10"), p_permutation=one.of("ndcg@10").p_permutation)


def test_which_comparison_is_asked_for(make_result):
    old = make_result("old", [0.1, 0.2])
    found = compare(old, make_result("x", [0.1, 0.2]), make_result("y", [0.1, 0.2]))
    assert found.of("ndcg@10", "y").candidate == "y"
    with pytest.raises(ConfigurationError, match="more than one"):
        found.of("ndcg@10")
    with pytest.raises(ConfigurationError, match=r"no comparison is of mrr; there are: ndcg@10 of x, ndcg@10 of y"):
        found.of("mrr")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"metrics": ["mrr"]}, r"does not have the metric 'mrr'; it has: ndcg@10"),
        ({"metrics": "mrr"}, "list of names"),
        ({"metrics": []}, "there are no metrics"),
        ({"alpha": 0}, "alpha"),
        ({"min_coverage": 2}, "min_coverage"),
        ({"margin": 0}, "margin"),
        ({"margin": {"mrr": 0.1}}, "margin for 'mrr'"),
        ({"permutations": 0}, "permutations"),
        ({"seed": -1}, "seed"),
        ({"ranges": {"ndcg@10": (1, 0)}}, "upwards"),
        ({"ranges": {"ndcg@10": (0.5, 1)}}, "outside"),
    ],
)
def test_wrong_arguments(make_result, options, match):
    with pytest.raises(ConfigurationError, match=match):
        compare(make_result("old", [0.1, 0.2]), make_result("new", [0.1, 0.2]), **options)


def test_wrong_results(make_result):
    result = make_result("old", [0.1, 0.2])
    with pytest.raises(ConfigurationError, match="no candidate"):
        compare(result)
    with pytest.raises(ConfigurationError, match=r"not 'new.json'; read a file with BenchmarkResult.load"):
        compare(result, "new.json")
    with pytest.raises(ConfigurationError, match="new has no samples"):
        compare(result, replace(make_result("new", [0.1]), samples=[]))
    with pytest.raises(ConfigurationError, match="disagree"):
        compare(result, make_result("new", [0.1], higher={"ndcg@10": False}))


def test_scores_too_large_to_compare(make_result):
    for most in (1e150, -1e150):
        assert compare(make_result("old", x=[most, 0.0, 1.0]), make_result("new", x=[-most, most, 2.0])).of("x").n == 3
    for score in (1e160, -1.7e308):
        for runs in (([score, 1.0], [1.0, 1.0]), ([1.0, 1.0], [1.0, score])):
            old, new = (make_result(f"run{i}", x=scores) for i, scores in enumerate(runs))
            for call in (lambda old=old, new=new: compare(old, new), lambda old=old, new=new: rank([old, new], "x")):
                with pytest.raises(ConfigurationError, match=r"x has the score .*: only scores of at most 1e\+150"):
                    call()
