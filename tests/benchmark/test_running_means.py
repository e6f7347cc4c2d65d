"""Running means are those of all scores at once, to the last bit."""

import math

from hypothesis import example, given
from hypothesis import strategies as st

from fastrag.benchmark.running_means import RunningMeans

FINITE = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@given(st.lists(st.one_of(st.none(), FINITE), max_size=40))
@example([1e16, 1.0, -1e16, 1.0])
@example([0.1] * 10)
@example([1e300, 1.0, -1e300])
def test_the_mean_is_that_of_the_exact_sum(scores):
    means = RunningMeans(["m"])
    for score in scores:
        means.add({"m": score})
    measured = [score for score in scores if score is not None]
    expected = math.fsum(measured) / len(measured) if measured else None
    assert means.now() == {"m": (len(measured), expected)}


def test_what_was_told_stays():
    means = RunningMeans(["a", "b"])
    means.add({"a": 1.0, "b": None, "unknown": 3.0})
    first = means.now()
    means.add({"a": 2.0, "b": 4})
    assert first == {"a": (1, 1.0), "b": (0, None)}
    assert means.now() == {"a": (2, 1.5), "b": (1, 4.0)}


def test_a_sum_that_no_float_can_hold_has_no_mean_and_breaks_nothing():
    means = RunningMeans(["m"])
    told = []
    for score in (1.7e308, 1.7e308, -1.0):
        means.add({"m": score})
        told.append(means.now()["m"])
    assert told == [(1, 1.7e308), (2, None), (3, None)]
    for _ in range(100):
        means.add({"m": 1.0})
    assert len(means._sums["m"].parts) <= 2
