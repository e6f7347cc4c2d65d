"""What failures could have changed, against every choice of what they might have been."""

import itertools
import math
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.special import stdtr

from fastrag.benchmark.doubt import Doubt, highest_p, lowest_p

P = 0.025
differences = st.lists(st.integers(-10, 10).map(lambda number: number / 10), min_size=2, max_size=8)
doubts = st.tuples(st.integers(0, 3), st.integers(-10, 0), st.integers(0, 10)).map(
    lambda drawn: alike(drawn[0], drawn[1] / 10, drawn[2] / 10)
)


def alike(count, low, high):
    return Doubt.of([(low, high)] * count)


def upper_p(values):
    n, mean = len(values), math.fsum(values) / max(1, len(values))
    if n < 2 or abs(mean) < 1e-9:
        return 1.0
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    if sd < 1e-9:
        return 0.0 if mean > 0 else 1.0
    return float(stdtr(n - 1, -mean / sd * math.sqrt(n)))  # many times the speed of scipy's own test


def choices(known, doubt):
    """Every number of differences in doubt, each at one of eleven values from end to end."""
    grid = [doubt.low + (doubt.high - doubt.low) * i / 10 for i in range(11)]
    for filled in range(doubt.count + 1):
        for values in itertools.combinations_with_replacement(grid, filled):
            yield filled, [*known, *values]


def corners(known, doubt):
    """Every number of differences in doubt, some of them at the low end, the others at the high end."""
    for filled in range(doubt.count + 1):
        for at_low in range(filled + 1):
            yield [*known, *[doubt.low] * at_low, *[doubt.high] * (filled - at_low)]


def choices_apart(known, doubt):
    """Some of the differences in doubt, each at one of five values of its own."""
    grids = [[None, *(low + (high - low) * i / 4 for i in range(5))] for low, high in doubt.reaches]
    for values in itertools.product(*grids):
        filled = [value for value in values if value is not None]
        yield len(filled), [*known, *filled]


reaches = st.tuples(st.integers(-10, 10), st.integers(0, 10)).map(lambda drawn: (drawn[0] / 10, sum(drawn) / 10))


@pytest.mark.parametrize("levels", [1, 2, 32])
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(differences, st.lists(reaches, max_size=3).map(Doubt.of))
def test_no_choice_within_reaches_of_their_own_goes_further(levels, monkeypatch, known, doubt):
    monkeypatch.setattr("fastrag.benchmark.doubt._LEVELS", levels)
    highest, lowest = highest_p(known, doubt), min(0.5, lowest_p(known, doubt))
    for filled, values in choices_apart(known, doubt):
        p = upper_p(values)
        assert min(0.5, p) <= highest + 1e-9
        assert not filled or p >= lowest - 1e-9


@pytest.mark.parametrize("levels", [1, 2, 32])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(differences, st.lists(reaches, max_size=6), reaches, st.floats(0, 1))
def test_one_more_doubt_widens_what_is_possible(levels, monkeypatch, known, some, reach, share):
    monkeypatch.setattr("fastrag.benchmark.doubt._LEVELS", levels)
    known = [*known, reach[0] + share * (reach[1] - reach[0])]
    before, after = Doubt.of(some), Doubt.of([*some, reach])
    assert highest_p(known[:-1], after) >= min(0.5, highest_p(known, before)) - 1e-9
    assert min(0.5, lowest_p(known[:-1], after)) <= min(upper_p(known), lowest_p(known, before)) + 1e-9


def test_what_each_question_could_be_is_known():
    # Right and wrong answers: failing on what was wrong before cannot have made anything worse.
    known = [0.0] * 94
    failed = Doubt.of([(-1.0, 0.0), *[(0.0, 1.0)] * 5]).turned()
    assert lowest_p(known, failed) > P > lowest_p(known, alike(6, -1.0, 1.0))
    ahead = [0.2, 0.3, 0.25] * 10
    assert highest_p(ahead, Doubt.of([(-1.0, 0.0), *[(0.0, 1.0)] * 5])) <= P < highest_p(ahead, alike(6, -1.0, 1.0))


@settings(max_examples=60, deadline=None)
@given(differences, doubts)
def test_no_choice_has_a_higher_p(known, doubt):
    highest = highest_p(known, doubt)
    # From 0.5 on, where the mean is 0, it does not matter how high it is.
    assert all(min(0.5, upper_p(values)) <= highest + 1e-9 for _, values in choices(known, doubt))


@settings(max_examples=200, deadline=None)
@given(differences, st.tuples(st.integers(0, 12), st.integers(-15, 15), st.integers(0, 20)))
def test_the_highest_p_is_that_of_the_worst_corner(known, drawn):
    count, low, width = drawn
    doubt = alike(count, low / 10, (low + width) / 10)
    worst = max(map(upper_p, corners(known, doubt)))
    if worst < 0.5 - 1e-9:
        assert highest_p(known, doubt) == pytest.approx(worst, rel=1e-6, abs=1e-12)
    else:
        assert highest_p(known, doubt) >= 0.5 - 1e-9


def test_the_worst_is_not_always_an_end():
    known, doubt = [0.5, 0.6, 0.4, 0.55, 0.45] * 3, alike(6, 0.0, 1.5)
    ends = [[*known, *[end] * count] for end in (doubt.low, doubt.high) for count in range(7)]
    assert highest_p(known, doubt) == pytest.approx(upper_p([*known, 0.0, 0.0, 0.0, 0.0, 1.5, 1.5]))
    assert highest_p(known, doubt) > max(map(upper_p, ends))


@settings(max_examples=60, deadline=None)
@given(differences, doubts)
def test_no_choice_has_a_lower_p(known, doubt):
    lowest = min(0.5, lowest_p(known, doubt))
    assert all(upper_p(values) >= lowest - 1e-9 for filled, values in choices(known, doubt) if filled)


def test_the_lowest_p_is_attained():
    known, doubt = [0.1, 0.3, 0.2, -0.05, 0.1], alike(1, -1.0, 1.0)
    value = sum(d * d for d in known) / sum(known)
    assert upper_p(known) > P
    assert lowest_p(known, doubt) == pytest.approx(upper_p([*known, value]))
    assert lowest_p(known, doubt) <= P
    assert lowest_p(known, alike(1, -1.0, -0.5)) == pytest.approx(upper_p([*known, -0.5]))
    assert lowest_p(known, alike(0, 0.0, 0.0)) == 1.0


@given(differences, doubts, st.data())
def test_a_difference_that_becomes_doubtful_widens_what_is_possible(known, doubt, data):
    position = data.draw(st.integers(0, len(known) - 1))
    rest = known[:position] + known[position + 1 :]
    wider = Doubt.of([*doubt.reaches, (known[position], known[position])])
    assert highest_p(rest, wider) >= min(0.5, highest_p(known, doubt)) - 1e-9
    assert min(0.5, lowest_p(rest, wider)) <= min(upper_p(known), lowest_p(known, doubt)) + 1e-9


@pytest.mark.parametrize("known", [[0.2, 0.3, 0.25] * 10, [5.0, 6.0, 7.0] * 10])
def test_what_has_no_limit_leaves_nothing_certain(known):
    assert highest_p(known, alike(0, 0.0, 0.0)) <= P
    assert highest_p(known, alike(1, -math.inf, 1.0)) == 1.0
    assert lowest_p([-d for d in known], alike(1, -math.inf, math.inf)) > P  # one outlier shows nothing


def test_many_failures_without_a_limit_could_be_anything():
    known = [-0.01] * 20 + [-0.02] * 20
    lowest = lowest_p(known, alike(6, -math.inf, math.inf))
    assert lowest == pytest.approx(upper_p([*known, *[1e9] * 6]), rel=1e-6)
    assert lowest <= P


def test_thousands_of_failures_are_no_burden():
    known = [0.5, 0.4, 0.6, 0.55] * 4_000
    before, after = alike(4_000, -1.0, 1.0), alike(12_000, -1.0, 1.0)
    tracemalloc.start()
    assert highest_p(known, before) <= P < highest_p(known, after)
    assert lowest_p([-d for d in known], before) > P
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000_000  # of each number of failures with each number of bad ones among them it would be 1 GB


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1.0, 1e150, 1e300])
def test_no_unit_is_too_small_or_too_large(unit):
    known, doubt = [0.2, 0.3, -0.1, 0.3] * 5, alike(2, -0.5, 1.0)
    here, there = [d * unit for d in known], alike(2, -0.5 * unit, 1.0 * unit)
    assert highest_p(here, there) == pytest.approx(highest_p(known, doubt), rel=1e-9)
    assert lowest_p(here, there) == pytest.approx(lowest_p(known, doubt), rel=1e-9)
