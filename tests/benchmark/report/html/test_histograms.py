"""Bins: every score in one, and such that what there is can be seen."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrag.benchmark.report.html.histograms import bin_ends, histogram

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.one_of(FINITE, st.floats(1, 2), st.integers(-20, 20).map(float)), min_size=1), st.booleans())
def test_every_score_is_in_one_bin_whatever_the_scores_are(values, is_known):
    scores = np.array(values)
    known = (float(scores.min()) - 1, math.inf) if is_known else None
    ends = bin_ends(scores, known)
    assert all(low < high for low, high in pairwise(ends))
    assert all(map(math.isfinite, ends))
    assert 2 <= len(ends) <= 33
    assert ends[0] <= min(values)
    assert max(values) <= ends[-1]
    counts = histogram(scores, ends)
    assert sum(counts) == len(values)
    for i, count in enumerate(counts):
        is_last = i == len(counts) - 1
        there = [v for v in values if ends[i] <= v < ends[i + 1] or (is_last and v == ends[-1])]
        assert count == len(there)


def test_shares_of_0_and_1_stand_at_the_ends_of_the_known_range():
    ends = bin_ends(np.array([0.0, 1.0, 1.0]), (0.0, 1.0))
    counts = histogram(np.array([0.0, 1.0, 1.0]), ends)
    assert (len(counts), counts[0], counts[-1]) == (20, 1, 2)


def test_the_largest_floats_have_bins():
    scores = np.array([1.5e308, 1.7e308, -1.7e308])
    assert sum(histogram(scores, bin_ends(scores, None))) == 3
    assert sum(histogram(scores[:2], bin_ends(scores[:2], None))) == 2
    assert sum(histogram(scores[:1], bin_ends(scores[:1], None))) == 1


def test_a_score_between_two_bins_is_in_the_upper_one():
    assert histogram(np.array([0.0, 0.5, 1.0]), [0.0, 0.5, 1.0]) == [1, 2]


def test_whole_numbers_have_a_bin_each():
    scores = np.array([1.0, 5.0, 5.0, 2.0])
    assert bin_ends(scores, None) == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
    assert histogram(scores, bin_ends(scores, None)) == [1, 1, 0, 0, 2]


def test_a_heavy_tail_is_counted_in_bins_that_grow_by_a_factor():
    ends = bin_ends(np.array([1.5, 2.0, 3.0, 4000.0]), (0.0, math.inf))
    factors = [high / low for low, high in pairwise(ends)]
    assert factors == pytest.approx([factors[0]] * 24)


@pytest.mark.parametrize("scores", [[0.0, 0.5, 4000.0], [1.5, 9.0, 20.25]])
def test_other_scores_are_counted_in_bins_of_one_width(scores):
    ends = bin_ends(np.array(scores), None)
    assert np.diff(ends) == pytest.approx([(scores[-1] - scores[0]) / 24] * 24)


def test_without_scores_there_are_no_bins():
    assert bin_ends(np.empty(0), (0.0, 1.0)) == []
    assert histogram(np.empty(0), []) == []
    assert histogram(np.empty(0), [0.0, 1.0, 2.0]) == [0, 0]
