"""Intervals agree with scipy's own and are absent where none exists."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fastrag.benchmark.statistics import bootstrap_interval, mean_interval, percentile_interval, share_interval
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


def test_the_bootstrap_where_there_is_little():
    assert bootstrap_interval([1.0, None]) is None
    assert bootstrap_interval([1.0, math.inf, 2.0]) is None
    equal = bootstrap_interval([0.5, 0.5, 0.5])
    assert equal.low == equal.high == 0.5


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
