"""Intervals agree with scipy's own and are absent where none exists."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fastrag.benchmark.statistics import mean_interval

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
