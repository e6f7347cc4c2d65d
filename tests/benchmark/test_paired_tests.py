"""The paired tests give what scipy and statsmodels give, and nothing where there is nothing to give."""

import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fastrag.benchmark.paired_tests import (
    differences_of,
    equivalence_of,
    equivalence_p,
    holm,
    paired_test,
    sign_flip_test,
)

CASES = Path(__file__).resolve().parents[3] / "shared" / "reference" / "ir" / "stats_cases.json"
score = st.integers(0, 1000).map(lambda number: number / 1000)
pairs = st.lists(st.tuples(score, score), min_size=2, max_size=40)


@pytest.fixture(scope="module")
def cases():
    if not CASES.is_file():
        pytest.skip(f"{CASES} is not there")
    return json.loads(CASES.read_text("utf-8"))


def near(value, expected):
    if expected is None:
        return value is None
    return value == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.shared
def test_reference_cases(cases):
    for case in cases["cases"]:
        both = [(a, b) for a, b in zip(case["a"], case["b"], strict=True) if a is not None and b is not None]
        first, second = [a for a, _ in both], [b for _, b in both]
        expected = case["expected"]
        test = paired_test(first, second)
        assert test.n == expected["n"], case["id"]
        assert near(test.mean, expected["mean_difference"]), case["id"]
        assert near(test.sd, expected["sd_difference"]), case["id"]
        assert (test.higher, test.lower) == (expected["wins"], expected["losses"]), case["id"]
        if case["id"] == "almost-constant-difference":  # to be treated as a constant difference, as its note says
            assert test.t is test.p is test.d_z is None
        else:
            assert near(test.t, expected["t"]), case["id"]
            assert near(test.p, expected["p_t"]), case["id"]
            assert near(test.d_z, expected["d_z"]), case["id"]
        low, high = expected["ci95_t"] or (None, None)
        assert near(test.interval and test.interval.low, low), case["id"]
        assert near(test.interval and test.interval.high, high), case["id"]
        if expected["p_randomization_exact"] is not None:
            flips = sign_flip_test(differences_of(first, second), flips=2**14)
            assert flips.is_exact
            assert near(flips.p, expected["p_randomization_exact"]), case["id"]
    assert len(cases["cases"]) == 22


def holm_beside(p_values, position):
    return holm(p_values[position], [*p_values[:position], *p_values[position + 1 :]])


@pytest.mark.shared
def test_reference_families(cases):
    for family in cases["families"]:
        present = [p for p in family["p"] if p is not None]
        for value, expected in zip(family["p"], family["holm"], strict=True):
            assert value is None or near(holm_beside(present, present.index(value)), expected), family["id"]
    assert len(cases["families"]) == 11


@pytest.mark.shared
def test_a_tiny_p_is_right_in_its_digits(cases):
    case = next(case for case in cases["cases"] if case["id"] == "strong-60")
    assert paired_test(case["a"], case["b"]).p == pytest.approx(case["expected"]["p_t"], rel=1e-9)


@given(pairs)
def test_agrees_with_scipy(scores):
    first, second = (list(column) for column in zip(*scores, strict=True))
    test = paired_test(first, second)
    if test.t is None:
        return
    reference = stats.ttest_rel(second, first)
    assert test.t == pytest.approx(reference.statistic, rel=1e-6)
    assert test.p == pytest.approx(reference.pvalue, rel=1e-6, abs=1e-12)
    assert test.interval.low == pytest.approx(reference.confidence_interval(0.95).low, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("first", "second"), [([], []), ([0.4], [0.6])])
def test_below_two_pairs_there_is_no_test(first, second):
    test = paired_test(first, second)
    assert test.t is test.p is test.interval is test.sd is test.d_z is None


def test_no_difference_anywhere_is_no_evidence():
    test = paired_test([0.1 + 0.2, 0.5], [0.3, 0.5])  # the first differs by rounding
    assert (test.p, test.t, test.mean, test.d_z, test.higher) == (1.0, None, 0.0, 0.0, 0)


def test_large_scores_are_subtracted_before_anything_is_averaged():
    assert paired_test([1e9, 1e9, 1e9], [1e9 + 0.5, 1e9 + 0.25, 1e9 + 0.75]).mean == 0.5


@given(st.lists(st.integers(-8, 8), min_size=1, max_size=9))
def test_exact_sign_flips(differences):
    observed = abs(sum(differences))
    flips = product((1, -1), repeat=len(differences))
    sums = [abs(sum(s * d for s, d in zip(signs, differences, strict=True))) for signs in flips]
    expected = sum(one >= observed for one in sums) / len(sums)
    # In tenths, whose sums are not exact in binary.
    assert sign_flip_test([d / 10 for d in differences]) == sign_flip_test([float(d) for d in differences])
    assert sign_flip_test([d / 10 for d in differences]).p == pytest.approx(expected, abs=1e-15)


@settings(max_examples=20)
@given(st.lists(score.map(lambda s: s - 0.4), min_size=15, max_size=40), st.randoms(use_true_random=False))
def test_random_sign_flips_know_no_order_and_no_side(differences, random):
    one = sign_flip_test(differences, flips=500)
    shuffled = random.sample(differences, len(differences))
    assert sign_flip_test(shuffled, flips=500) == one
    assert sign_flip_test([-d for d in differences], flips=500) == one


def test_a_seed_gives_this_p_on_every_platform():
    differences = [(i * 37 % 100) / 100 - 0.4 for i in range(40)]
    assert sign_flip_test(differences, seed=7).p == 0.0601
    assert not sign_flip_test(differences, seed=7).is_exact
    assert sign_flip_test(differences, seed=8).p == pytest.approx(0.0601, abs=0.03)


def test_random_p_is_never_0():
    assert sign_flip_test([1.0] * 100, flips=99).p == 0.01


def test_random_flips_come_near_the_exact_p():
    differences = np.random.default_rng(3).normal(0.3, 1, 12).tolist()
    exact, drawn = sign_flip_test(differences), sign_flip_test(differences, flips=4_000)
    assert exact.is_exact
    assert not drawn.is_exact
    assert drawn.p == pytest.approx(exact.p, abs=4 * math.sqrt(exact.p * (1 - exact.p) / 4_000))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm(p_values):
    for position, p in enumerate(p_values):
        # By its definition: the largest over all p up to this one.
        expected = max(min(1.0, q * sum(other >= q for other in p_values)) for q in p_values if q <= p)
        assert holm_beside(p_values, position) == expected


def test_equivalence_agrees_with_two_tests_of_scipy():
    differences = np.random.default_rng(5).normal(0.01, 0.1, 50)
    expected = max(
        stats.ttest_1samp(differences, -0.05, alternative="greater").pvalue,
        stats.ttest_1samp(differences, 0.05, alternative="less").pvalue,
    )
    assert equivalence_p(differences.mean(), differences.std(ddof=1), 50, 0.05) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [6, 9, 13])
def test_equal_differences_are_decided_by_all_their_signs(n):
    test = paired_test([0.25] * n, [0.75] * n)
    assert test.p is None
    assert test.deciding_p == sign_flip_test([0.5] * n).p == 2 / 2**n


def test_too_few_equal_differences_decide_nothing_and_others_go_by_t():
    assert paired_test([0.25] * 5, [0.75] * 5).deciding_p is None
    assert paired_test([0.25] * 5, [0.25] * 5).deciding_p == 1.0
    test = paired_test([0.2, 0.4, 0.5], [0.5, 0.6, 0.6])
    assert test.deciding_p == test.p


@pytest.mark.parametrize("size", [1.0, 1e-200, 5e-323])
def test_differences_of_both_signs_go_by_t_however_small(size):
    first = [0.0] * 12
    second = [size, -size, size] * 4
    test = paired_test(first, second)
    assert test.deciding_p == test.p == pytest.approx(stats.ttest_1samp([1.0, -1.0, 1.0] * 4, 0).pvalue)
    assert equivalence_of(test, 10.0) < 0.05


def test_one_huge_score_does_not_make_all_differences_the_same():
    first, second = [1e15, *[0.5] * 12], [1e15, *[0.25, 0.75, 0.75] * 4]
    test = paired_test(first, second)
    assert test.deciding_p == test.p == pytest.approx(stats.ttest_rel(second, first).pvalue)
    assert test.p > 0.05


def test_equal_differences_are_equivalent_within_the_margin_only():
    within, outside, few = (paired_test([0.25] * n, [0.25 + d] * n) for n, d in ((6, 0.125), (6, 0.25), (5, 0.125)))
    assert [equivalence_of(test, 0.25) for test in (within, outside, few)] == [0.0, 1.0, None]
    assert equivalence_of(paired_test([0.5], [0.5]), 0.25) is None
    spread = paired_test([0.2, 0.4, 0.5], [0.5, 0.6, 0.6])
    assert equivalence_of(spread, 0.25) == equivalence_p(spread.mean, spread.sd, 3, 0.25)


def test_null_runs_are_called_different_no_more_often_than_stated():
    rng = np.random.default_rng(20)
    rejected = {0.05: 0, 0.01: 0}
    for _ in range(2_000):
        first = rng.beta(2, 2, 25)
        p = paired_test(first.tolist(), (first + rng.normal(0, 0.1, 25)).tolist()).p
        for alpha in rejected:
            rejected[alpha] += p <= alpha
    for alpha, count in rejected.items():
        # Four standard errors of 2,000 simulations: once in 30,000 a right test would fail here.
        assert count / 2_000 <= alpha + 4 * math.sqrt(alpha * (1 - alpha) / 2_000)
        assert count / 2_000 >= alpha - 4 * math.sqrt(alpha * (1 - alpha) / 2_000)


def test_null_runs_of_sign_flips_too():
    rng = np.random.default_rng(21)
    count = sum(sign_flip_test(rng.standard_t(3, 20).tolist(), flips=199, seed=i).p <= 0.05 for i in range(2_000))
    assert count / 2_000 <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / 2_000)
