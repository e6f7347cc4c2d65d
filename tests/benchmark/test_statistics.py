"""Intervals agree with scipy's own and are absent where none exists."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fastrag.benchmark.statistics import (
    bootstrap_interval,
    mean_interval,
    mean_of,
    percentile_interval,
    sd_of,
    share_interval,
)
from fastrag.errors import ConfigurationError

score = st.integers(-(10**6), 10**6).map(lambda number: number / 1000)


@given(st.lists(score | st.none(), min_size=0, max_size=40))
def test_agrees_with_scipy(scores):
    present = [score for score in scores if score is not None]
    interval = mean_interval(scores)
    if len(present) < 2:
        assert interval is None
        return
    if len(set(present)) == 1:
        assert interval.low == interval.high == present[0]
        return
    low, high = stats.t.interval(
        0.95, len(present) - 1, loc=math.fsum(present) / len(present), scale=stats.sem(present)
    )
    assert interval.low == pytest.approx(low, rel=1e-6, abs=1e-9)
    assert interval.high == pytest.approx(high, rel=1e-6, abs=1e-9)
    assert interval.level == 0.95


def test_a_wider_level_is_wider():
    narrow, wide = mean_interval([1.0, 2.0, 4.0]), mean_interval([1.0, 2.0, 4.0], level=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_an_infinite_score_has_no_interval():
    assert mean_interval([1.0, 2.0, math.inf]) is None


@given(st.lists(st.sampled_from([0.0, 1.0, None]), max_size=40))
def test_shares_agree_with_scipy(scores):
    present = [score for score in scores if score is not None]
    interval = share_interval(scores)
    if len(present) < 2:
        assert interval is None
        return
    expected = stats.binomtest(int(sum(present)), len(present)).proportion_ci(0.95, method="wilson")
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_the_bootstrap_knows_its_seed_and_no_order():
    scores = np.random.default_rng(2).exponential(1, 60).tolist()
    one = bootstrap_interval(scores, seed=1)
    assert one == bootstrap_interval(random.Random(5).sample(scores, 60), seed=1)
    assert one != bootstrap_interval(scores, seed=2)
    plain = mean_interval(scores)
    assert one.low > plain.low  # it leans to the long side
    assert one.high > plain.high


def test_the_bootstrap_is_bias_corrected_and_accelerated():
    scores = sorted(np.random.default_rng(2).exponential(1, 60).tolist())
    found = bootstrap_interval(scores, seed=1)
    # Efron 1987: the quantiles of the resampled means, moved by their bias (z0) and by the skew of the scores (a).
    resampled = np.random.default_rng(9).choice(scores, (20_000, 60)).mean(axis=1)
    z0 = stats.norm.ppf((resampled < np.mean(scores)).mean())
    off = np.mean(scores) - np.array(scores)
    a = -(off**3).sum() / (6 * (off**2).sum() ** 1.5)
    moved = stats.norm.cdf(z0 + (z0 + stats.norm.ppf([0.025, 0.975])) / (1 - a * (z0 + stats.norm.ppf([0.025, 0.975]))))
    assert (found.low, found.high) == pytest.approx(np.quantile(resampled, moved), abs=0.005)
    assert found.high > np.quantile(resampled, 0.975) + 0.015


def test_the_bootstrap_where_there_is_little():
    assert bootstrap_interval([1.0, None]) is None
    assert bootstrap_interval([1.0, math.inf, 2.0]) is None
    equal = bootstrap_interval([0.5, 0.5, 0.5])
    assert equal.low == equal.high == 0.5


def slack(runs):
    """How far a share of 95 % in so many runs may be off by chance."""
    return 4 * math.sqrt(0.95 * 0.05 / runs)


@pytest.mark.parametrize("n", [2, 5, 30])
def test_students_interval_holds_a_mean_as_often_as_it_says(n):
    draws = np.random.default_rng(n).normal(3.0, 2.0, (2_000, n)).tolist()
    held = [interval.low <= 3.0 <= interval.high for interval in map(mean_interval, draws)]
    assert np.mean(held) == pytest.approx(0.95, abs=slack(2_000))


def exact_coverage(interval_of, n):
    """How often the interval holds a share, of each of many shares, by adding up the binomial distribution."""
    shares = np.linspace(0.02, 0.98, 97)
    found = [interval_of([1.0] * ones + [0.0] * (n - ones)) for ones in range(n + 1)]
    lows, highs = np.array([one.low for one in found]), np.array([one.high for one in found])
    holds = (lows[:, None] <= shares) & (shares <= highs[:, None])
    return (stats.binom.pmf(np.arange(n + 1)[:, None], n, shares) * holds).sum(axis=0)


@pytest.mark.parametrize("n", [10, 50, 200])
def test_wilsons_interval_holds_a_share_as_often_as_it_says_and_students_does_not(n):
    wilson, student = exact_coverage(share_interval, n), exact_coverage(mean_interval, n)
    assert wilson.mean() == pytest.approx(0.95, abs=0.01)
    assert wilson.min() > 0.91
    assert student.min() < 0.9


@pytest.mark.parametrize(("n", "least", "most"), [(12, 0.82, 0.93), (60, 0.95 - slack(400), 0.95 + slack(400))])
def test_the_bootstrap_holds_the_mean_of_skewed_scores_less_often_of_few_than_of_dozens(n, least, most):
    draws = np.random.default_rng(n).exponential(1.0, (400, n)).tolist()
    found = [bootstrap_interval(scores, resamples=999) for scores in draws]
    assert least < np.mean([interval.low <= 1.0 <= interval.high for interval in found]) < most


def test_numbers_at_the_ends_of_what_a_float_holds():
    assert mean_of([1.7e308, 1.7e308, -1.7e308]) == pytest.approx(1.7e308 / 3)
    assert sd_of([1.7e308, -1.7e308]) == math.inf
    assert mean_interval([1.7e308, -1.7e308]) is None
    assert mean_interval([1e308] * 3).low == 1e308
    scores = [1.0, 1.1, 1.2, 1.0, 1.3, 1.1, 1.2, 5.0] * 4
    usual = bootstrap_interval(scores)
    for exponent in (1000, -1000):
        scaled = bootstrap_interval([math.ldexp(score, exponent) for score in scores])
        assert (scaled.low, scaled.high) == (math.ldexp(usual.low, exponent), math.ldexp(usual.high, exponent))


@pytest.mark.parametrize(("percentile", "least"), [(50, 6), (90, 36), (95, 72), (99, 368), (5, 72)])
def test_percentiles_need_their_data(percentile, least):
    assert percentile_interval([float(i) for i in range(least - 1)], percentile) is None
    assert percentile_interval([float(i) for i in range(least)], percentile) is not None


@pytest.mark.parametrize(("percentile", "n"), [(50, 6), (50, 25), (95, 80), (90, 200)])
def test_percentiles_are_covered_as_often_as_stated(percentile, n):
    rng, true, hits = np.random.default_rng(n), stats.norm.ppf(percentile / 100), 0
    for _ in range(1_000):
        interval = percentile_interval(rng.normal(size=n).tolist(), percentile)
        hits += interval.low <= true <= interval.high
    assert hits / 1_000 >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / 1_000)


def test_wrong_arguments():
    with pytest.raises(ConfigurationError, match="percentile"):
        percentile_interval([1.0], 100)
    with pytest.raises(ConfigurationError, match="level"):
        mean_interval([1.0, 2.0], level=95)
    with pytest.raises(ConfigurationError, match="0 or 1"):
        share_interval([0.5, 1.0])
