"""CSV and Parquet hold every sample, and the libraries that they are for read it back."""

import csv
import errno
import io
import json
import re
from datetime import UTC, datetime, timedelta, timezone

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrag._support import files
from fastrag.benchmark import (
    BenchmarkResult,
    DistributionSummary,
    SampleResult,
    StatusCounts,
    write_csv,
    write_parquet,
)
from fastrag.benchmark.report.exports.csv_file import csv_pieces, defused, undefused
from fastrag.errors import ConfigurationError

FORMULA_STARTS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"

# What fastrag keeps of texts that are no Unicode, and of NUL, has its own tests.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
HOSTILE = TEXTS | st.text(st.sampled_from(FORMULA_STARTS + "'\",;\\ aé\ufeff"), max_size=8)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def results(draw):
    samples = [
        SampleResult(
            question=draw(HOSTILE),
            status="successful",
            scores={"m": draw(NUMBERS), "n": draw(st.none() | NUMBERS)},
            answer=draw(st.none() | HOSTILE),
            retrieved_ids=draw(st.lists(HOSTILE, max_size=3)),
            retrieved_uris=[],
            latency_ms=draw(NUMBERS),
            error=draw(st.none() | HOSTILE),
        )
        for _ in range(draw(st.integers(1, 3)))
    ]
    created_at = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone(timedelta(hours=2)))
    summary = {"m": DistributionSummary.of([0.5])}
    return BenchmarkResult(draw(HOSTILE), created_at, StatusCounts(1, 0, 0), summary, samples, 1.0, {"m": True})


def rows_of(listed):
    return [(result, place, sample) for result in listed for place, sample in enumerate(result.samples)]


@settings(deadline=None)
@given(listed=st.lists(results(), min_size=1, max_size=2))
def test_csv_comes_back_in_pandas(listed, tmp_path_factory):
    path = tmp_path_factory.mktemp("csv") / "samples.csv"
    write_csv(listed, path)
    texts = ["run", "question", "status", "answer", "error", "retrieved_ids", "retrieved_uris"]
    frame = pd.read_csv(path, dtype=dict.fromkeys(texts, str), keep_default_na=False, na_values={"score.n": [""]})
    assert list(frame.columns)[:7] == ["run", "created_at", "position", "question", "status", "score.m", "score.n"]
    for (result, place, sample), row in zip(rows_of(listed), frame.to_dict("records"), strict=True):
        assert (undefused(row["run"]), row["position"]) == (result.name, place)
        assert datetime.fromisoformat(row["created_at"]) == result.created_at
        assert undefused(row["question"]) == sample.question
        assert undefused(row["answer"]) == (sample.answer or "")
        assert undefused(row["error"]) == (sample.error or "")
        assert json.loads(row["retrieved_ids"]) == sample.retrieved_ids
        assert (row["score.m"], row["latency_ms"]) == (sample.scores["m"], sample.latency_ms)
        assert row["score.n"] == sample.scores["n"] or (pd.isna(row["score.n"]) and sample.scores["n"] is None)


@settings(deadline=None)
@given(listed=st.lists(results(), min_size=1, max_size=2))
def test_no_cell_of_a_csv_is_a_formula(listed):
    rows = list(csv.reader(io.StringIO("".join(csv_pieces(listed)), newline="")))
    texts = [cell for row in rows[1:] for cell in row if not re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", cell)]
    assert [text for text in texts if text[:1] and text[0] in FORMULA_STARTS] == []


@given(text=HOSTILE)
def test_defused_texts_are_given_back(text):
    assert undefused(defused(text)) == text


@pytest.mark.parametrize("text", ["1-1", "'", "''a", "", "a=b", " =1"])
def test_other_texts_are_as_they_were(text):
    assert defused(text) == text == undefused(text)


def test_polars_reads_the_csv_too(make_result, tmp_path):
    write_csv([make_result("=run", [0.5, None])], tmp_path / "samples.csv")
    frame = pl.read_csv(tmp_path / "samples.csv")
    assert frame["run"].to_list() == ["'=run", "'=run"]
    assert frame["score.ndcg@10"].to_list() == [0.5, None]


def test_files_begin_with_a_byte_order_mark_and_lines_end_as_in_rfc_4180(make_result, tmp_path):
    write_csv([make_result("run", [0.5])], tmp_path / "samples.csv")
    data = (tmp_path / "samples.csv").read_bytes()
    assert data.startswith(b'\xef\xbb\xbf"run",')
    assert (data.count(b"\r\n"), data.count(b"\n")) == (2, 2)


def test_an_empty_text_is_told_from_none():
    samples = [SampleResult("q", "successful", {}, answer=answer) for answer in ("", None)]
    result = BenchmarkResult("run", datetime.now(UTC), StatusCounts(2, 0, 0), {}, samples, 1.0)
    _, empty, none = csv_pieces([result])
    assert ',0.0,"",,' in empty
    assert ",0.0,,," in none


def test_nul_is_written_as_its_escape(make_result):
    assert '"a\\x00b"' in "".join(csv_pieces([make_result("a\0b", [0.5])]))


@settings(deadline=None)
@given(listed=st.lists(results(), min_size=1, max_size=2))
def test_parquet_comes_back_exactly(listed, tmp_path_factory):
    path = tmp_path_factory.mktemp("parquet") / "samples.parquet"
    write_parquet(listed, path)
    for (result, place, sample), row in zip(rows_of(listed), pl.read_parquet(path).to_dicts(), strict=True):
        assert row == {
            "run": result.name,
            "created_at": result.created_at,
            "position": place,
            "question": sample.question,
            "status": sample.status,
            "score.m": sample.scores["m"],
            "score.n": sample.scores["n"],
            "latency_ms": sample.latency_ms,
            "answer": sample.answer,
            "error": sample.error,
            "retrieved_ids": sample.retrieved_ids,
            "retrieved_uris": [],
        }


def test_parquet_keeps_nul(make_result, tmp_path):
    write_parquet([make_result("a\0b", [0.5])], tmp_path / "samples.parquet")
    assert pd.read_parquet(tmp_path / "samples.parquet")["run"].tolist() == ["a\0b"]


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_every_result_has_the_metrics_of_all(write, make_result, tmp_path):
    write([make_result("a", m=[0.5]), make_result("b", n=[0.25], m=[0.75])], tmp_path / "samples")
    frame = pd.read_csv(tmp_path / "samples") if write is write_csv else pd.read_parquet(tmp_path / "samples")
    assert list(frame.columns[5:8]) == ["score.m", "score.n", "latency_ms"]
    assert frame["score.m"].tolist() == [0.5, 0.75]
    assert frame["score.n"].isna().tolist() == [True, False]


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_a_full_disk_leaves_the_old_file(write, make_result, tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "samples"
    path.write_text("old")
    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(ConfigurationError, match="samples: the export could not be written: No space left on device"):
        write([make_result("run", [0.5])], path)
    assert [file.name for file in tmp_path.iterdir()] == ["samples"]
    assert path.read_text() == "old"
    with pytest.raises(ConfigurationError, match="could not be written: a name cannot have NUL in it"):
        write([make_result("run", [0.5])], tmp_path / "a\0b")


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_without_results_there_is_nothing_to_write(write, tmp_path):
    with pytest.raises(ConfigurationError, match="there are no results"):
        write([], tmp_path / "samples")
    assert list(tmp_path.iterdir()) == []
