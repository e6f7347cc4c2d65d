"""DistributionSummary and the Metric contract."""

import dataclasses
import inspect
import json
import math
from fractions import Fraction
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrag.benchmark.metrics import DistributionSummary, Metric, QueryOutcome
from fastrag.benchmark.samples import EvalSample
from fastrag.errors import ConfigurationError

KEYS = ["p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99"]
no_deadline = settings(deadline=None)  # a busy machine is no failure
finite = st.floats(allow_nan=False, allow_infinity=False)


class Length(Metric):
    name = "length"

    async def score(self, sample, outcome):
        return float(len(outcome.answer))


def test_contract_shapes():
    assert [field.name for field in dataclasses.fields(QueryOutcome)] == [
        "answer", "sources", "latency_ms", "input_tokens", "output_tokens",
    ]  # fmt: skip
    outcome = QueryOutcome("", [], 1.5)
    assert (outcome.input_tokens, outcome.output_tokens) == (None, None)
    assert [field.name for field in dataclasses.fields(DistributionSummary)] == [
        "count", "missing", "mean", "median", "std", "min", "max", "percentiles",
    ]  # fmt: skip
    assert DistributionSummary(0, 0, 0.0, 0.0, 0.0, 0.0, 0.0).percentiles == {}


def test_metric_defaults_and_abstract_members():
    assert (Metric.needs_relevant_ids, Metric.needs_answer, Metric.higher_is_better) == (False, False, True)
    assert Metric.__abstractmethods__ == {"name", "score"}
    assert inspect.iscoroutinefunction(Metric.score)
    with pytest.raises(TypeError):
        Metric()


async def test_a_metric_of_ones_own_scores_and_aggregates():
    metric = Length()
    scores = [await metric.score(EvalSample("q"), QueryOutcome(answer, [], 0.0)) for answer in ("a", "abc")]
    summary = metric.aggregate([*scores, None])
    assert (summary.count, summary.missing, summary.mean, summary.median) == (2, 1, 2.0, 2.0)


@pytest.mark.parametrize("scores", [[], [None], [None, math.nan, None]])
def test_without_scores_everything_is_zero(scores):
    summary = DistributionSummary.of(scores)
    assert summary == DistributionSummary(0, len(scores), 0.0, 0.0, 0.0, 0.0, 0.0, dict.fromkeys(KEYS, 0.0))


def test_known_values():
    summary = DistributionSummary.of([4, 1, None, 3, 2, 10])
    assert (summary.count, summary.missing, summary.mean, summary.median) == (5, 1, 4.0, 3.0)
    assert (summary.min, summary.max) == (1.0, 10.0)
    assert summary.std == math.sqrt(10)  # the population's: 50 / 5
    assert summary.percentiles == pytest.approx(
        {"p1": 1.04, "p5": 1.2, "p10": 1.4, "p25": 2, "p50": 3, "p75": 4, "p90": 7.6, "p95": 8.8, "p99": 9.76},
        abs=1e-12,
    )
    assert list(summary.percentiles) == KEYS
    assert all(type(value) is float for value in [summary.mean, summary.min, *summary.percentiles.values()])


def test_equal_scores_have_no_spread():
    summary = DistributionSummary.of([0.1] * 3)
    assert (summary.mean, summary.std) == (0.1, 0.0)


@pytest.mark.parametrize(
    "score",
    [True, np.float32(0.5), np.float64(0.5), np.int64(3), Fraction(1, 4)],
    ids=lambda score: type(score).__name__,
)
def test_every_real_number_is_a_score(score):
    summary = DistributionSummary.of([score])
    assert summary.count == 1
    assert type(summary.mean) is float
    assert summary.mean == float(score)


@pytest.mark.parametrize("score", ["0.5", 1j, [1.0], b"1"])
def test_anything_else_is_refused(score):
    with pytest.raises(ConfigurationError, match="real number or None"):
        DistributionSummary.of([1.0, score])


def test_an_infinite_score_is_a_score():
    summary = DistributionSummary.of([0.5, math.inf, 0.7])
    assert (summary.count, summary.mean, summary.median, summary.max) == (3, math.inf, 0.7, math.inf)
    assert math.isnan(summary.std)


@no_deadline
@given(st.lists(st.one_of(st.none(), st.just(math.nan), finite)))
def test_count_and_missing_add_up_and_bounds_hold(scores):
    summary = DistributionSummary.of(scores)
    assert summary.count + summary.missing == len(scores)
    if summary.count:
        ordered = [summary.min, *summary.percentiles.values(), summary.max]
        assert ordered == sorted(ordered)
        assert summary.min <= summary.mean <= summary.max
        assert summary.std >= 0
        assert summary.median == summary.percentiles["p50"]


@no_deadline
@given(st.lists(st.floats(0, 1), min_size=1), st.randoms())
def test_order_does_not_matter(scores, random):
    shuffled = list(scores)
    random.shuffle(shuffled)
    assert DistributionSummary.of(shuffled) == DistributionSummary.of(scores)
    assert DistributionSummary.of(scores).mean == pytest.approx(fmean(scores), abs=1e-12)


@no_deadline
@given(st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_percentiles_are_numpys(scores):
    expected = np.percentile(scores, [1, 5, 10, 25, 50, 75, 90, 95, 99])
    assert list(DistributionSummary.of(scores).percentiles.values()) == pytest.approx(expected, rel=1e-12, abs=1e-9)


@pytest.mark.shared
def test_reference_summaries(shared):
    special = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
    cases = json.loads((shared / "reference" / "ir" / "summary_cases.json").read_text())["cases"]
    assert len(cases) > 30
    for case in cases:
        summary = DistributionSummary.of([special.get(value, value) for value in case["values"]])
        assert (summary.count, summary.missing) == (case["count"], case["missing"]), case["id"]
        expected = case["expected"] or {}
        ours = dataclasses.asdict(summary) | {"pstd": summary.std}
        for field in ("mean", "median", "pstd", "min", "max"):
            assert same(ours[field], special.get(expected.get(field, 0.0), expected.get(field, 0.0))), case["id"]
        for key, value in expected.get("percentiles", {}).items():
            assert same(summary.percentiles[key], special.get(value, value)), (case["id"], key)


def same(ours, expected):
    return ours == expected or (math.isnan(ours) and math.isnan(expected))
