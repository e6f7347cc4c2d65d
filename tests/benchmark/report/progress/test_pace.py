"""The pace is that of the recent past, and an earlier part of a run is no part of it."""

from hypothesis import given
from hypothesis import strategies as st

from fastrag.benchmark.report.progress.pace import Pace
from fastrag.benchmark.report.progress.view import duration, rate_text


def test_before_any_time_has_passed_there_is_none():
    assert Pace(5, 10.0).at(5, 10.0) is None


def test_what_was_done_before_does_not_count():
    assert Pace(900, 0.0).at(910, 10.0) == 1.0


def test_the_beginning_is_forgotten_after_half_a_minute():
    pace = Pace(0, 0.0)
    for second in range(1, 61):
        assert pace.at(10 * second, float(second)) == 10.0
    # Nothing ends any more.
    rates = [pace.at(600, float(second)) for second in range(61, 100)]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] == 0.0


def test_with_lines_half_a_minute_apart_it_is_that_since_the_last_line():
    pace = Pace(0, 0.0)
    assert [pace.at(done, now) for done, now in ((30, 30.0), (330, 60.0), (330, 90.0))] == [1.0, 10.0, 0.0]


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0.125, 40)), min_size=1, max_size=60))
def test_it_lies_between_the_slowest_and_the_fastest_step_and_little_is_kept(steps):
    pace, done, now = Pace(0, 0.0), 0, 0.0
    for more, later in steps:
        done, now = done + more, now + later
        rate = pace.at(done, now)
    paces = [more / later for more, later in steps]
    assert min(paces) * (1 - 1e-9) <= rate <= max(paces) * (1 + 1e-9)
    assert all(time > now - 30 for time, _ in list(pace._seen)[1:])


def test_numbers_for_people():
    assert [duration(seconds) for seconds in (0, 59.4, 59.6, 3599.6, 86400)] == [
        "0:00", "0:59", "1:00", "1:00:00", "24:00:00",
    ]  # fmt: skip
    assert [rate_text(rate) for rate in (12345.6, 99.94, 0.5, 0.01)] == ["12,346/s", "99.9/s", "0.5/s", "0.6/min"]
