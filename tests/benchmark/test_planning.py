"""Power is that of the paired t test: as statsmodels has it, as simulations show it, and each way round."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fastrag.benchmark import detectable_difference, questions_needed, smallest_detectable
from fastrag.benchmark.planning import detectable_d_z, pairs_for_power, power_of
from fastrag.errors import ConfigurationError

CASES = Path(__file__).resolve().parents[3] / "shared" / "reference" / "ir" / "stats_cases.json"


@pytest.fixture(scope="module")
def cases():
    if not CASES.is_file():
        pytest.skip(f"{CASES} is not there")
    return json.loads(CASES.read_text("utf-8"))


@pytest.mark.shared
def test_reference_values(cases):
    # They were found by a solver that stops early: the numbers of pairs are off by up to 5e-6, the effects and so the
    # powers at them by up to 2e-6.
    for case in cases["pairs_for_power"]:
        pairs = pairs_for_power(case["d_z"], case["power"], alpha=case["alpha"])
        assert pairs == pytest.approx(case["pairs"], abs=5e-6)
        assert questions_needed(case["d_z"], case["power"], alpha=case["alpha"]) == case["pairs_rounded_up"]
    for case in cases["smallest_detectable"]:
        d_z = detectable_d_z(case["pairs"], case["power"], alpha=case["alpha"])
        assert d_z == pytest.approx(case["smallest_detectable_d_z"], abs=2e-6)
    assert len(cases["pairs_for_power"]) + len(cases["smallest_detectable"]) == 17


def test_power_and_plans_as_statsmodels_has_them():
    reference = pytest.importorskip("statsmodels.stats.power").TTestPower()
    compared = 0
    for d_z in (0.05, 0.2, 0.5, 1.0, 2.5):
        for n in (2, 3, 10, 34, 200, 2_000):
            for alpha in (0.1, 0.05, 0.05 / 12):
                expected = reference.power(d_z, n, alpha, alternative="two-sided")
                if not math.isnan(expected):  # as it is where the far tail is too thin
                    assert power_of(d_z, n, alpha=alpha) == pytest.approx(expected, abs=1e-9)
                    compared += 1
        for power in (0.5, 0.8, 0.95):
            pairs = reference.solve_power(effect_size=d_z, power=power, alpha=0.05, alternative="two-sided")
            assert questions_needed(d_z, power) == max(2, math.ceil(float(pairs)))
    for n in (5, 50, 500):
        d_z = reference.solve_power(nobs=n, power=0.8, alpha=0.05, alternative="two-sided")
        assert detectable_difference(3.0, n) == pytest.approx(3 * d_z, rel=1e-5)
    assert compared > 60


@pytest.mark.parametrize("freedom", [1, 2, 5, 30, 200])
def test_strong_effects_as_scipy_has_them_where_it_converges(freedom):
    n = freedom + 1
    for alpha in (0.05, 1e-4, 1e-7):
        for noncentrality in (29.0, 31.0, 36.0):
            expected = stats.nct.sf(stats.t.isf(alpha / 2, freedom), freedom, noncentrality)
            assert power_of(noncentrality / math.sqrt(n), n, alpha=alpha) == pytest.approx(expected, abs=1e-12)


def test_strong_effects_take_two_questions_and_few_questions_strong_effects():
    for effect in (1e4, 1e100, 1e308):
        assert questions_needed(effect) == 2
        assert questions_needed(effect, sd=1e-10) == 2
    for n in (2, 3):
        for power in (0.8, 1 - 1e-9):
            d_z = detectable_difference(1.0, n, power, alpha=1e-9)
            assert power_of(d_z, n, alpha=1e-9) == pytest.approx(power, abs=1e-12)


def test_what_no_float_can_hold_is_none(make_result):
    assert detectable_difference(1e308, 2) is None
    result = make_result("pilot", cost=[1.7e308, -1.7e308], mrr=[0.1, 0.2])
    assert smallest_detectable(result, 10)["cost"] is None
    assert smallest_detectable(result, 10)["mrr"] > 0
    assert smallest_detectable(make_result("pilot", cost=[1e308, 1.1e308]), 100)["cost"] > 0


@pytest.mark.parametrize(("d_z", "n"), [(0.2, 40), (0.4, 40), (0.6, 20)])
def test_simulations_show_the_power_that_is_computed(d_z, n):
    draws = np.random.default_rng(8).normal(d_z, 1, (20_000, n))
    shown = (stats.ttest_1samp(draws, 0, axis=1).pvalue <= 0.05).mean()
    power = power_of(d_z, n)
    assert shown == pytest.approx(power, abs=4 * math.sqrt(power * (1 - power) / 20_000))


@given(st.integers(2, 5_000), st.sampled_from([0.5, 0.8, 0.95]), st.sampled_from([0.1, 0.05, 0.05 / 30]))
def test_what_is_detectable_needs_so_many(n, power, alpha):
    d_z = detectable_d_z(n, power, alpha=alpha)
    assert power_of(d_z, n, alpha=alpha) == pytest.approx(power, abs=1e-9)
    assert pairs_for_power(d_z, power, alpha=alpha) == pytest.approx(n, rel=1e-6)


@given(st.floats(0.001, 200), st.sampled_from([2, 3, 4, 5, 10, 100, 100_000]), st.sampled_from([0.1, 0.01, 0.0001]))
def test_power_is_always_a_probability(noncentrality, n, alpha):
    assert alpha - 1e-9 <= power_of(noncentrality / math.sqrt(n), n, alpha=alpha) <= 1 + 1e-9


def test_units_cancel():
    assert questions_needed(-12.0, sd=60.0) == questions_needed(0.2)
    assert detectable_difference(60.0, 199) == pytest.approx(60 * detectable_difference(1.0, 199))


def test_more_comparisons_need_more_questions():
    assert questions_needed(0.2) < questions_needed(0.2, comparisons=2) < questions_needed(0.2, comparisons=20)


def test_nothing_is_detectable_without_spread_or_a_second_question():
    assert detectable_difference(0.0, 100) is None
    assert detectable_difference(1.0, 1) is None


def test_from_a_result(make_result):
    result = make_result("pilot", mrr=[0.0, 0.5, 1.0, None], recall=[1.0] * 4, f1=[0.2, None, None, None])
    found = smallest_detectable(result, 100)
    assert found["mrr"] == pytest.approx(detectable_difference(0.5 * math.sqrt(2), 100))
    assert found["recall"] is found["f1"] is None
    alike = smallest_detectable(result, 100, metrics=["mrr"], correlation=0.75)
    assert alike == {"mrr": pytest.approx(detectable_difference(0.5 * math.sqrt(0.5), 100))}


def test_repeats_are_no_further_questions(make_result):
    once = make_result("once", [0.2, 0.9])
    thrice = make_result("thrice", [0.2, 0.2, 0.2, 0.9, 0.9, 0.9], questions=[*["q0"] * 3, *["q1"] * 3])
    assert smallest_detectable(thrice, 50) == pytest.approx(smallest_detectable(once, 50))


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: questions_needed(0.0), "effect"),
        (lambda: questions_needed(math.nan), "effect"),
        (lambda: questions_needed(0.2, 1.0), "power"),
        (lambda: questions_needed(0.2, 0.04), "power"),
        (lambda: questions_needed(0.2, alpha=0.0), "alpha"),
        (lambda: questions_needed(0.2, sd=0.0), "sd"),
        (lambda: questions_needed(0.2, comparisons=0), "comparisons"),
        (lambda: detectable_difference(-1.0, 10), "sd"),
        (lambda: detectable_difference(1.0, 0), "n must"),
    ],
)
def test_wrong_arguments(call, match):
    with pytest.raises(ConfigurationError, match=match):
        call()


def test_wrong_arguments_of_a_plan_from_a_result(make_result):
    result = make_result("pilot", [0.1, 0.2])
    with pytest.raises(ConfigurationError, match="correlation"):
        smallest_detectable(result, 10, correlation=1.0)
    with pytest.raises(ConfigurationError, match=r"does not have the metric 'mrr'; it has: ndcg@10"):
        smallest_detectable(result, 10, metrics=["mrr"])
