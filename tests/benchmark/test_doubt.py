"""What failures could have changed, against every choice of what they might have been."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fastrag.benchmark.doubt import Doubt, could_be_below, is_certainly_above

P = 0.025
differences = st.lists(st.integers(-10, 10).map(lambda number: number / 10), min_size=2, max_size=8)
doubts = st.tuples(st.integers(0, 3), st.integers(-10, 0), st.integers(0, 10)).map(
    lambda drawn: Doubt(drawn[0], drawn[1] / 10, drawn[2] / 10)
)


def upper_p(values):
    if len(values) < 2 or abs(math.fsum(values)) < 1e-9:
        return 1.0
    if max(values) - min(values) < 1e-9:  # of which scipy warns
        return 0.0 if values[0] > 0 else 1.0
    return stats.ttest_1samp(values, 0, alternative="greater").pvalue


def choices(known, doubt):
    """Every number of differences in doubt, each at one of eleven values from end to end."""
    grid = [doubt.low + (doubt.high - doubt.low) * i / 10 for i in range(11)]
    for filled in range(doubt.count + 1):
        for values in itertools.combinations_with_replacement(grid, filled):
            yield filled, [*known, *values]


@settings(max_examples=60, deadline=None)
@given(differences, doubts)
def test_certain_is_true_of_every_choice(known, doubt):
    if is_certainly_above(known, doubt, P):
        assert all(upper_p(values) <= P + 1e-9 for _, values in choices(known, doubt))
    else:
        # The ends are among the choices, and the lowest t stands in a corner.
        assert any(upper_p(values) > P - 1e-9 for _, values in choices(known, doubt))


@settings(max_examples=60, deadline=None)
@given(differences, doubts)
def test_what_no_choice_shows_is_not_possible(known, doubt):
    possible = could_be_below(known, doubt, P)
    if any(filled and upper_p([-v for v in values]) <= P - 1e-9 for filled, values in choices(known, doubt)):
        assert possible


def test_possible_is_attained():
    known = [-0.1, -0.3, -0.2, 0.05, -0.1]
    assert upper_p([-d for d in known]) > P
    assert could_be_below(known, Doubt(1, -1.0, 1.0), P)
    value = sum(d * d for d in known) / sum(known)
    assert upper_p([-d for d in [*known, value]]) <= P
    assert not could_be_below(known, Doubt(1, 0.5, 1.0), P)


@pytest.mark.parametrize("known", [[0.2, 0.3, 0.25] * 10, [5.0, 6.0, 7.0] * 10])
def test_what_has_no_limit_leaves_nothing_certain(known):
    assert is_certainly_above(known, Doubt(0, 0.0, 0.0), P)
    assert not is_certainly_above(known, Doubt(1, -math.inf, 1.0), P)
    assert not could_be_below(known, Doubt(1, -math.inf, math.inf), P)  # one outlier shows nothing


def test_many_failures_without_a_limit_could_be_anything():
    assert could_be_below([0.01] * 20 + [0.02] * 20, Doubt(6, -math.inf, math.inf), P)
