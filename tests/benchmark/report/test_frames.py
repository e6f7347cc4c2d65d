"""What each library reads back out of its frame is what the record says."""

import dataclasses
import math
import sys
from datetime import UTC, datetime, timedelta, timezone

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrag.benchmark import (
    BenchmarkResult,
    DistributionSummary,
    MetricComparison,
    RankedResult,
    SampleResult,
    StatusCounts,
    compare,
    rank,
)
from fastrag.benchmark.report.frames import comparison_columns, ranking_columns
from fastrag.errors import ConfigurationError, MissingDependencyError

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
METRICS = ("latency_ms", "ndcg@10", "")
SAMPLES = st.builds(
    SampleResult,
    question=TEXTS,
    status=st.sampled_from(["successful", "errored", "incomplete"]),
    scores=st.fixed_dictionaries({metric: st.none() | NUMBERS for metric in METRICS}),
    answer=st.none() | TEXTS,
    retrieved_ids=st.lists(TEXTS, max_size=3),
    retrieved_uris=st.lists(TEXTS, max_size=3),
    latency_ms=NUMBERS,
    error=st.none() | TEXTS,
)
TIMES = st.datetimes(timezones=st.just(timezone(timedelta(hours=-7)))).filter(lambda time: 1700 < time.year < 2250)


def null(value):
    """None for whatever a library has for it."""
    if isinstance(value, list | tuple):
        return list(value)
    return None if value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value)) else value


def rows_of(record):
    """The rows as each of the libraries reads them, as plain values."""
    frame = record.to_pandas()
    yield [{name: null(row[name]) for name in frame.columns} for row in frame.to_dict("records")]
    yield record.to_polars().to_dicts()
    yield record.to_arrow().to_pylist()


def rows_from(columns):
    return [
        dict(zip([c.name for c in columns], row, strict=True)) for row in zip(*(c.values for c in columns), strict=True)
    ]


@given(name=TEXTS, created_at=TIMES, samples=st.lists(SAMPLES, max_size=4))
def test_a_result_is_read_back_by_every_library(name, created_at, samples):
    summary = {metric: DistributionSummary.of([]) for metric in METRICS}
    result = BenchmarkResult(name, created_at, StatusCounts(0, 0, 0), summary, samples, 1.0)
    expected = [
        {
            "run": name,
            "created_at": created_at,
            "position": position,
            "question": sample.question,
            "status": sample.status,
            **{f"score.{metric}": sample.scores[metric] for metric in METRICS},
            "latency_ms": sample.latency_ms,
            "answer": sample.answer,
            "error": sample.error,
            "retrieved_ids": sample.retrieved_ids,
            "retrieved_uris": sample.retrieved_uris,
        }
        for position, sample in enumerate(samples)
    ]
    for rows in rows_of(result):
        assert rows == expected


@pytest.fixture
def results(make_result):
    old = make_result("old", mrr=[0.2, 0.5, 0.3, 0.25], latency=[1.0, 2.0, 3.0, None], higher={"latency": False})
    new = make_result("new", mrr=[0.5, 0.75, 0.5, 0.5], latency=[2.0, 2.5, 3.5, 4.0], higher={"latency": False})
    none = make_result("none", mrr=[None] * 4)
    return old, new, none


def test_a_comparison_is_read_back_by_every_library(results):
    comparison = compare(*results[:2], margin=0.1)
    expected = rows_from(comparison_columns(comparison))
    assert [row["metric"] for row in expected] == ["mrr", "latency"]
    for rows in rows_of(comparison):
        assert rows == expected
    mrr, latency = expected
    one = comparison.of("mrr")
    assert {name: mrr[name] for name in ("candidate", "n", "p_holm", "wins", "verdict", "margin")} == {
        "candidate": "new", "n": 4, "p_holm": one.p_holm, "wins": 4, "verdict": one.verdict, "margin": 0.1,
    }  # fmt: skip
    assert (mrr["interval_low"], mrr["interval_high"]) == (one.interval.low, one.interval.high)
    assert (latency["baseline_coverage_measured"], latency["baseline_coverage_share"]) == (3, 0.75)
    assert (latency["lost"], latency["gained"]) == ([], ["q3"])


def test_a_ranking_is_read_back_by_every_library(results):
    ranking = rank(results, "mrr")
    expected = rows_from(ranking_columns(ranking))
    for rows in rows_of(ranking):
        assert rows == expected
    assert [(row["run"], row["rank"], row["beaten_by"]) for row in expected] == [
        ("new", 1, []), ("old", 2, ["new"]), ("none", None, []),
    ]  # fmt: skip
    assert [row["created_at"] for row in expected] == [entry.result.created_at for entry in ranking.entries]
    assert {(row["metric"], row["higher_is_better"]) for row in expected} == {("mrr", True)}
    assert expected[2]["interval_low"] is None
    assert expected[2]["reason"] is not None


@pytest.mark.parametrize(
    ("record", "columns", "named_otherwise"),
    [(MetricComparison, comparison_columns, {}), (RankedResult, ranking_columns, {"result": "run"})],
)
def test_no_field_is_left_out(results, record, columns, named_otherwise):
    found = columns(compare(*results[:2]) if columns is comparison_columns else rank(results, "mrr"))
    for field in dataclasses.fields(record):
        name = named_otherwise.get(field.name, field.name)
        assert any(column.name == name or column.name.startswith(f"{name}_") for column in found), field.name
    assert len({column.name for column in found}) == len(found)


def types_of(record):
    frame = record.to_pandas()
    return (
        {name: str(dtype) for name, dtype in frame.dtypes.items()},
        dict(record.to_polars().schema),
        {field.name: field.type for field in record.to_arrow().schema},
    )


def test_types_do_not_depend_on_what_is_there(make_result, results):
    full = make_result("r", mrr=[0.5])
    full.samples[0].answer, full.samples[0].error = "a", "e"
    full.samples[0].retrieved_ids = full.samples[0].retrieved_uris = ["x"]
    empty = make_result("r", mrr=[None])
    empty.samples[0].error = None
    nothing = make_result("r", mrr=[])
    assert types_of(full) == types_of(empty) == types_of(nothing)
    in_pandas, in_polars, in_arrow = types_of(empty)
    assert in_pandas == {
        "run": "string", "created_at": "datetime64[us, UTC]", "position": "Int64", "question": "string",
        "status": "string", "score.mrr": "float64", "latency_ms": "float64", "answer": "string", "error": "string",
        "retrieved_ids": "object", "retrieved_uris": "object",
    }  # fmt: skip
    assert in_polars["score.mrr"] == pl.Float64
    assert in_polars["created_at"] == pl.Datetime("us", "UTC")
    assert in_polars["retrieved_ids"] == pl.List(pl.String)
    assert in_arrow["error"] == pa.string()
    assert in_arrow["position"] == pa.int64()
    assert types_of(rank(results, "mrr")) == types_of(rank([results[2]], "mrr"))


def test_frames_of_several_runs_can_be_put_together(results):
    assert pd.concat([result.to_pandas() for result in results[:2]]).groupby("run")["score.mrr"].mean().to_dict() == {
        "new": 0.5625, "old": 0.3125,
    }  # fmt: skip
    assert pl.concat([result.to_polars() for result in results[:2]]).height == 8
    assert pa.concat_tables([result.to_arrow() for result in results[:2]]).num_rows == 8


def test_what_is_no_unicode_is_written_as_its_escape(make_result):
    result = make_result("r\ud800", **{"m\ud800": [0.5]})
    result.samples[0].answer = "half \ud83d of a pair"
    result.samples[0].retrieved_ids = ["\udcff", "é"]
    for [row] in rows_of(result):
        assert (row["answer"], row["retrieved_ids"]) == ("half \\ud83d of a pair", ["\\udcff", "é"])
        assert (row["run"], row["score.m\\ud800"]) == ("r\\ud800", 0.5)


@pytest.mark.parametrize(
    ("method", "module", "extra"),
    [("pandas", "pandas", "pandas"), ("polars", "polars", "polars"), ("arrow", "pyarrow", "arrow")],
)
def test_without_the_library_the_extra_is_named(results, monkeypatch, method, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    for record in (results[0], compare(*results[:2]), rank(results, "mrr")):
        with pytest.raises(MissingDependencyError, match=rf"to_{method}\(\).*fastrag\[{extra}\]"):
            getattr(record, f"to_{method}")()


def test_a_time_without_an_offset_is_the_local_time(make_result):
    result = make_result("r", mrr=[0.5])
    result.created_at = datetime(2026, 1, 2, 3, 4, 5)  # noqa: DTZ001
    for [row] in rows_of(result):
        assert row["created_at"] == result.created_at.astimezone(UTC)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
@pytest.mark.parametrize("method", ["to_pandas", "to_polars", "to_arrow"])
def test_a_time_that_there_is_not_in_utc_is_refused(text, method, make_result):
    result = dataclasses.replace(make_result("run", a=[0.5]), created_at=datetime.fromisoformat(text))
    with pytest.raises(ConfigurationError, match=r"created_at of run is \d{4}-.*there is no such time in UTC"):
        getattr(result, method)()
