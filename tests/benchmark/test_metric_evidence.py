"""describe(): means with their intervals, coverage and bounds; what belongs together counts once."""

import math

import numpy as np
import pytest

from fastrag.benchmark import describe
from fastrag.benchmark.statistics import bootstrap_interval, mean_interval, percentile_interval, share_interval
from fastrag.errors import ConfigurationError

ERRORED = "errored"


def test_each_metric_has_its_kind_of_interval(make_result):
    scores, hits = [0.1, 0.5, 0.7, 0.2], [1.0, 0.0, 1.0, 1.0]
    found = describe(make_result("run", mrr=scores, exact_match=hits))
    assert found["mrr"].interval == mean_interval(scores)
    assert found["exact_match"].interval == share_interval(hits)
    assert describe(make_result("run", mrr=scores), method="bootstrap", seed=3)["mrr"].interval == bootstrap_interval(
        scores, seed=3
    )
    assert describe(make_result("run", exact_match=hits), method="t")["exact_match"].interval == mean_interval(hits)


def test_coverage_and_bounds(make_result):
    found = describe(make_result("run", mrr=[1.0, 0.5, ERRORED, None]))["mrr"]
    assert (found.mean, found.questions, found.groups) == (0.75, 2, 2)
    assert (found.coverage.measured, found.coverage.measurable) == (2, 4)
    assert (found.bounds.worst, found.bounds.best) == (0.375, 0.875)


def test_bounds_turn_with_the_direction(make_result):
    result = make_result("run", regret=[1.0, 0.5, None, 0.5], higher={"regret": False})
    assert describe(result)["regret"].bounds is None
    bounds = describe(result, ranges={"regret": (0, 2)})["regret"].bounds
    assert (bounds.worst, bounds.best) == (1.0, 0.5)
    latencies = make_result("run", latency_ms=[10.0, 20.0], higher={"latency_ms": False})
    bounds = describe(latencies)["latency_ms"].bounds
    assert bounds.worst == bounds.best == 15.0  # nothing is missing


def test_repeats_do_not_narrow_an_interval(make_result):
    once = describe(make_result("run", mrr=[0.1, 0.9, 0.5]))["mrr"]
    questions = [f"q{i // 4}" for i in range(12)]
    again = describe(make_result("run", mrr=[0.1] * 4 + [0.9] * 4 + [0.5] * 4, questions=questions))["mrr"]
    assert (again.questions, again.groups) == (3, 3)
    assert again.interval.low == pytest.approx(once.interval.low)


def test_questions_of_one_group_count_once(make_result):
    result = make_result("run", mrr=[0.0, 1.0, 0.4, 0.6, 0.2], questions=list("abcde"))
    found = describe(result, groups={"a": "x", "b": "x", "c": "y", "d": "y"})["mrr"]
    assert (found.questions, found.groups) == (5, 3)
    assert found.mean == pytest.approx((0.5 + 0.5 + 0.2) / 3)
    expected = mean_interval([0.5, 0.5, 0.2])
    assert (found.interval.low, found.interval.high) == pytest.approx((expected.low, expected.high))
    assert set(found.percentiles.values()) == {None}


RUNS = 500
# Of a share of 95 % in so many runs; no seed should decide.
SLACK = 4 * math.sqrt(0.95 * 0.05 / RUNS)


def covered(make_result, sizes, questions, groups=None):
    """In what share of runs the interval holds the true mean of 0.5, and the one that takes all scores as independent.

    ``sizes``: how many scores belong together, each lot around a mean of its own.
    """
    rng, held, held_naively = np.random.default_rng(11), 0, 0
    for _ in range(RUNS):
        middles = np.repeat(rng.normal(0.5, 0.2, len(sizes)), sizes)
        scores = rng.normal(middles, 0.1).tolist()
        interval = describe(make_result("run", kindness=scores, questions=questions), groups=groups)[
            "kindness"
        ].interval
        naive = mean_interval(scores)
        held += interval.low <= 0.5 <= interval.high
        held_naively += naive.low <= 0.5 <= naive.high
    return held / RUNS, held_naively / RUNS


def test_with_repeats_the_interval_holds_the_truth_as_often_as_it_says(make_result):
    sizes = [5] * 12
    share, naive = covered(make_result, sizes, [f"q{i}" for i, size in enumerate(sizes) for _ in range(size)])
    assert share == pytest.approx(0.95, abs=SLACK)
    assert naive < 0.75


def test_with_groups_the_interval_holds_the_truth_as_often_as_it_says(make_result):
    sizes = [1, 3, 8] * 6
    questions = [f"q{i}" for i in range(sum(sizes))]
    documents = [f"d{i}" for i, size in enumerate(sizes) for _ in range(size)]
    share, naive = covered(make_result, sizes, questions, dict(zip(questions, documents, strict=True)))
    assert share == pytest.approx(0.95, abs=SLACK)
    assert naive < 0.75


def test_percentiles_where_the_data_allow_them(make_result):
    scores = [float(i) for i in range(100)]
    found = describe(make_result("run", latency_ms=scores, higher={"latency_ms": False}))["latency_ms"]
    assert found.percentiles[50] == percentile_interval(scores, 50)
    assert found.percentiles[95] is not None
    assert found.percentiles[99] is None


def test_nothing_measured(make_result):
    found = describe(make_result("run", mrr=[ERRORED, ERRORED]))["mrr"]
    assert found.mean is found.interval is None
    assert (found.bounds.worst, found.bounds.best) == (0.0, 1.0)


def test_wrong_arguments(make_result):
    result = make_result("run", mrr=[0.1, 0.2])
    with pytest.raises(ConfigurationError, match="does not have the metric 'map'; it has: mrr"):
        describe(result, metrics=["map"])
    with pytest.raises(ConfigurationError, match="method"):
        describe(result, method="magic")
    with pytest.raises(ConfigurationError, match="level"):
        describe(result, level=95)
    with pytest.raises(ConfigurationError, match="0 or 1"):
        describe(result, method="wilson")
