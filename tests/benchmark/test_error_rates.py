"""compare() claims no more often wrongly than stated, and finds what is there as often as the paired t test does.

2,000 simulated comparisons each. Four standard errors: a right test would fail here once in 30,000 times.
"""

import math

import numpy as np
import pytest
from scipy import stats

from fastrag.benchmark import compare
from fastrag.benchmark.planning import power_of

ERRORED = "errored"
RUNS = 2_000
N = 25


@pytest.fixture(autouse=True)
def no_plans(monkeypatch):
    """The smallest detectable difference takes most of a comparison's time, and no verdict comes from it."""
    monkeypatch.setattr("fastrag.benchmark.comparison.detectable_difference", lambda *_, **__: None)


def four_errors(share):
    return 4 * math.sqrt(share * (1 - share) / RUNS)


def share_of(claims, one_comparison):
    """How often one of the ``claims`` is the verdict on any metric of any candidate."""
    found = (one_comparison() for _ in range(RUNS))
    return sum(any(one.verdict in claims for one in comparison.comparisons) for comparison in found) / RUNS


def power(d_z, n, alpha=0.05):
    """As statsmodels computes it: the noncentral t beyond the two critical values."""
    critical = stats.t.isf(alpha / 2, n - 1)
    noncentrality = d_z * math.sqrt(n)
    return stats.nct.sf(critical, n - 1, noncentrality) + stats.nct.cdf(-critical, n - 1, noncentrality)


def test_one_comparison_is_wrong_as_often_as_alpha_says(make_result):
    rng = np.random.default_rng(31)

    def one():
        hard = rng.beta(2, 2, N)
        old, new = (make_result(name, (hard + rng.normal(0, 0.1, N)).tolist()) for name in ("old", "new"))
        return compare(old, new, permutations=1)

    assert share_of({"better", "worse"}, one) == pytest.approx(0.05, abs=four_errors(0.05))


@pytest.mark.parametrize(("candidates", "failing"), [("ab", 0.0), ("a", 0.05)])
def test_many_comparisons_together_are_wrong_no_more_often(make_result, candidates, failing):
    rng = np.random.default_rng(32)

    def run(name, hard):
        columns = {metric: (hard + rng.normal(0, 0.1, N)).tolist() for metric in ("mrr", "kindness")}
        for position in np.flatnonzero(rng.random(N) < failing):
            for column in columns.values():
                column[position] = ERRORED
        return make_result(name, **columns)

    def one():
        hard = rng.uniform(0.4, 0.6, N)
        old, *news = (run(name, hard) for name in ("old", *candidates))
        return compare(old, *news, permutations=1, min_coverage=0, ranges={"mrr": (-1, 2)})

    assert share_of({"better", "worse"}, one) <= 0.05 + four_errors(0.05)


def test_what_is_just_not_equivalent_is_called_so_no_more_often(make_result):
    rng = np.random.default_rng(33)

    def one():
        hard = rng.beta(2, 2, N)
        old, new = (
            make_result(name, kindness=(hard + shift + rng.normal(0, 0.02, N)).tolist())
            for name, shift in (("old", 0), ("new", 0.05))
        )
        return compare(old, new, margin=0.05, permutations=1)

    assert share_of({"equivalent"}, one) <= 0.05 + four_errors(0.05)


@pytest.mark.parametrize("d_z", [0.3, 0.6])
def test_what_is_there_is_found_as_often_as_the_power_says(make_result, d_z):
    rng = np.random.default_rng(34)

    def one():
        hard = rng.normal(0, 1, N)
        return compare(
            make_result("old", kindness=hard.tolist()),
            make_result("new", kindness=(hard + rng.normal(d_z, 1, N)).tolist()),
            permutations=1,
        )

    assert share_of({"better", "worse"}, one) == pytest.approx(power(d_z, N), abs=four_errors(power(d_z, N)))


def test_power_is_that_of_statsmodels():
    statsmodels = pytest.importorskip("statsmodels.stats.power")
    for d_z in (0.1, 0.3, 0.6):
        for n in (5, 25, 200):
            expected = statsmodels.TTestPower().power(d_z, n, 0.05, alternative="two-sided")
            assert power(d_z, n) == pytest.approx(expected, abs=1e-9)
            assert power_of(d_z, n) == pytest.approx(expected, abs=1e-9)
