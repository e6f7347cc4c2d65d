"""Results survive saving and loading exactly, and nothing else is taken for a result."""

import json
import math
import os
import random
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrag.benchmark import BenchmarkResult, DistributionSummary, SampleResult, StatusCounts
from fastrag.errors import ConfigurationError

# Without a checksum, as files were written at first, and with one.
GOLDEN = Path(__file__).parent / "golden" / "result-v1.json"
GOLDEN_WITH_CHECKSUM = GOLDEN.with_name("result-v1-checksum.json")


def a_result(**changes):
    samples = [
        SampleResult("What is é?", "successful", {"ndcg@10": 0.1 + 0.2, "latency_ms": 12.5}, "A letter.", ["d1"], ["u"],
                     12.5),
        SampleResult("crash", "errored", {"ndcg@10": None, "latency_ms": None}, latency_ms=3.0, error="ValueError: x"),
        SampleResult("odd", "incomplete", {"ndcg@10": None, "latency_ms": 2.0}, "", [], [], 2.0,
                     "ndcg@10: not_measured: x"),
    ]  # fmt: skip
    values = {
        "name": "golden",
        "created_at": datetime(2026, 11, 30, 12, 0, 1, 250000, timezone(timedelta(hours=5, minutes=30))),
        "status": StatusCounts(1, 1, 1),
        "summary": {
            "ndcg@10": DistributionSummary.of([0.1 + 0.2, None, None]),
            "latency_ms": DistributionSummary.of([12.5, None, 2.0]),
        },
        "samples": samples,
        "duration_s": 0.25,
        "higher_is_better": {"ndcg@10": True, "latency_ms": False},
    }
    return BenchmarkResult(**(values | changes))


def test_round_trip(tmp_path):
    path = tmp_path / "deep" / "result.json"
    a_result().save(path)
    assert BenchmarkResult.load(path) == a_result()
    assert BenchmarkResult.load(str(path)) == a_result()


def test_the_file_is_plain_json_with_a_version_and_an_offset(tmp_path):
    a_result().save(tmp_path / "r.json")
    data = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert data["schema_version"] == 1
    assert data["created_at"] == "2026-11-30T12:00:01.250000+05:30"
    assert data["samples"][1]["scores"] == {"ndcg@10": None, "latency_ms": None}
    assert len((tmp_path / "r.json").read_text().splitlines()) >= len(data["samples"])


@pytest.mark.parametrize("path", [GOLDEN, GOLDEN_WITH_CHECKSUM])
def test_the_golden_files_still_load(path):
    assert BenchmarkResult.load(path) == a_result()


def test_the_file_is_still_written_as_the_golden_one(tmp_path):
    a_result().save(tmp_path / "r.json")
    assert (tmp_path / "r.json").read_bytes() == GOLDEN_WITH_CHECKSUM.read_bytes()


text = st.text(st.characters(codec=None), max_size=20)  # lone surrogates and NUL included
number = st.floats(allow_nan=False, allow_infinity=False)
summaries = st.builds(
    DistributionSummary, st.integers(0), st.integers(0), *[number] * 5,
    percentiles=st.dictionaries(text, number, max_size=3),
)  # fmt: skip
samples = st.builds(
    SampleResult,
    text,
    st.sampled_from(["successful", "errored", "incomplete"]),
    st.dictionaries(text, st.none() | number, max_size=3),
    st.none() | text,
    st.lists(text, max_size=3),
    st.lists(text, max_size=3),
    number,
    st.none() | text,
)
moments = st.datetimes(timezones=st.just(UTC) | st.just(timezone(timedelta(hours=-9, minutes=-30)))) | st.datetimes()
results = st.builds(
    BenchmarkResult, text, moments, st.builds(StatusCounts, *[st.integers(0)] * 3),
    st.dictionaries(text, summaries, max_size=2), st.lists(samples, max_size=3), number,
    st.dictionaries(text, st.booleans(), max_size=3),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(result=results)
def test_whatever_has_the_right_types_comes_back_equal(result, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "round-trip.json"
    result.save(path)
    assert BenchmarkResult.load(path) == result


def test_negative_zero_and_extreme_floats_are_exact(tmp_path):
    values = [-0.0, 5e-324, 1.7976931348623157e308, 0.1, 1 / 3]
    sample = SampleResult("q", "successful", {f"m{i}": value for i, value in enumerate(values)})
    a_result(samples=[sample]).save(tmp_path / "r.json")
    back = BenchmarkResult.load(tmp_path / "r.json").samples[0].scores
    assert list(map(repr, back.values())) == list(map(repr, values))


def test_numbers_of_other_libraries_are_saved_as_numbers(tmp_path):
    sample = SampleResult("q", "successful", {"m": np.float64(0.5), "n": np.float32(0.25), "i": np.int64(3)})
    a_result(samples=[sample]).save(tmp_path / "r.json")
    assert BenchmarkResult.load(tmp_path / "r.json").samples[0].scores == {"m": 0.5, "n": 0.25, "i": 3.0}


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "place",
    [
        lambda result, bad: result.samples[0].scores.update({"ndcg@10": bad}),
        lambda result, bad: setattr(result.samples[0], "latency_ms", bad),
        lambda result, bad: setattr(result.summary["ndcg@10"], "std", bad),
        lambda result, bad: result.summary["ndcg@10"].percentiles.update({"p5": bad}),
        lambda result, bad: setattr(result, "duration_s", bad),
    ],
)
def test_no_nan_reaches_a_file(tmp_path, place, bad):
    path = tmp_path / "r.json"
    a_result().save(path)
    result = a_result()
    place(result, bad)
    with pytest.raises(ConfigurationError, match=r"JSON has no NaN"):
        result.save(path)
    assert BenchmarkResult.load(path) == a_result()


@pytest.mark.parametrize(
    "change",
    [{"name": object()}, {"samples": [object()]}, {"samples": None}, {"duration_s": "1"}, {"created_at": "now"}],
)
def test_values_that_do_not_fit_are_refused_and_the_old_file_stays(tmp_path, change):
    path = tmp_path / "r.json"
    a_result().save(path)
    with pytest.raises(ConfigurationError):
        a_result(**change).save(path)
    assert BenchmarkResult.load(path) == a_result()
    assert list(tmp_path.iterdir()) == [path]


def broken_files():
    good = GOLDEN.read_bytes()

    def edit(change):
        data = json.loads(good)
        change(data)
        return json.dumps(data).encode()

    def set_in(*path, value):
        def change(data):
            for step in path[:-1]:
                data = data[step]
            data[path[-1]] = value

        return edit(change)

    yield "empty", b"", "empty"
    yield "blank", b" \n", "empty"
    yield "cut", good[:300], "truncated"
    yield "cut at the end", good[:-3], "truncated"
    yield "trailing", good + b"{}", "trailing"
    yield "not utf-8", good.replace(b"letter", b"\xff\xfe"), "UTF-8"
    yield "list", b"[]", "object"
    yield "null", b"null", "object"
    yield "deep", b"[" * 100_000, "."
    yield "NaN", good.replace(b"0.25", b"NaN"), "malformed"
    yield "NaN beside a surrogate", good.replace(b"letter", rb"\ud800").replace(b"0.25", b"NaN"), "."
    yield "no version", edit(lambda data: data.pop("schema_version")), "schema_version"
    yield "newer", set_in("schema_version", value=2), "newer fastrag"
    yield "newer with more fields", edit(lambda data: data.update(schema_version=7, extra=1)), "newer fastrag"
    yield "version 0", set_in("schema_version", value=0), "does not exist"
    yield "unknown field", set_in("extra", value=1), "extra"
    yield "unknown field in a sample", set_in("samples", 0, "extra", value=1), r"samples\[0\]"
    yield "missing field", edit(lambda data: data.pop("duration_s")), "duration_s"
    yield "missing in a sample", edit(lambda data: data["samples"][0].pop("answer")), "answer"
    yield "status", set_in("samples", 0, "status", value="fine"), "status"
    yield "score is text", set_in("samples", 0, "scores", "ndcg@10", value="0.3"), "scores"
    yield "score is a bool", set_in("samples", 0, "scores", "ndcg@10", value=True), "scores"
    yield "count is a float", set_in("summary", "ndcg@10", "count", value=1.5), "count"
    yield "date", set_in("created_at", value="yesterday"), "yesterday"


@pytest.mark.parametrize(("data", "reason"), [pytest.param(d, r, id=name) for name, d, r in broken_files()])
def test_what_is_no_result_is_refused(tmp_path, data, reason):
    path = tmp_path / "broken.json"
    path.write_bytes(data)
    with pytest.raises(ConfigurationError, match=reason) as caught:
        BenchmarkResult.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"question": None}, {"question": b"q"}, {"status": "fine"}, {"scores": {"m": True}}, {"scores": {"m": 10**400}},
        {"scores": {"m": "1"}}, {"scores": {1: 1.0}}, {"answer": b"a"}, {"answer": 3}, {"retrieved_ids": [1]},
        {"retrieved_uris": [None]}, {"latency_ms": None}, {"error": 3},
    ],
)  # fmt: skip
def test_nothing_is_saved_that_would_not_load(tmp_path, changes):
    path = tmp_path / "r.json"
    a_result().save(path)
    values = {"question": "q", "status": "successful", "scores": {}} | changes
    with pytest.raises(ConfigurationError):
        a_result(samples=[SampleResult(**values)]).save(path)
    assert BenchmarkResult.load(path) == a_result()


def test_what_is_no_regular_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigurationError, match="not a regular file"):
        a_result().save(tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_path_with_nul():
    with pytest.raises(ConfigurationError):
        BenchmarkResult.load("a\0b")
    with pytest.raises(ConfigurationError):
        a_result().save("a\0b")


def test_a_number_beyond_a_float_is_refused_whatever_stands_beside_it(tmp_path):
    data = GOLDEN.read_bytes().replace(b"letter", rb"\ud800").replace(b'"duration_s": 0.25', b'"duration_s": 1e400')
    (tmp_path / "r.json").write_bytes(data)
    with pytest.raises(ConfigurationError, match="out of range"):
        BenchmarkResult.load(tmp_path / "r.json")


def test_absent_files_and_folders(tmp_path):
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(ConfigurationError, match="could not be read"):
            BenchmarkResult.load(path)


def test_a_flipped_byte_is_refused_or_changes_nothing(tmp_path):
    chance = random.Random(20261130)
    path = tmp_path / "r.json"
    result = a_result()
    result.save(path)
    data = path.read_bytes()
    refused = 0
    for _ in range(200):
        flipped = bytearray(data)
        flipped[chance.randrange(len(data))] ^= chance.randrange(1, 256)
        path.write_bytes(flipped)
        try:
            assert BenchmarkResult.load(path) == result
        except ConfigurationError as error:
            assert str(path) in str(error)  # noqa: PT017
            refused += 1
    assert refused > 150


@pytest.mark.parametrize("indent", [None, 0, 4])
def test_a_file_laid_out_anew_is_the_same_file(tmp_path, indent):
    path = tmp_path / "r.json"
    a_result().save(path)
    path.write_text(json.dumps(json.loads(path.read_text()), indent=indent, ensure_ascii=indent == 4))
    assert BenchmarkResult.load(path) == a_result()


@pytest.mark.parametrize("layout", ["lines", "indented"])
@pytest.mark.parametrize(
    ("old", "new"), [("golden", "golder"), ("12.5", "12.6"), ('"errored":1', '"errored":2'), ("A letter", "A lettre")]
)
def test_an_altered_value_is_refused_unless_someone_vouches_for_it(tmp_path, layout, old, new):
    path = tmp_path / "r.json"
    a_result().save(path)
    data = json.loads(path.read_text().replace(old, new))
    if layout == "indented":
        path.write_text(json.dumps(data, indent=2))
    else:
        path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ConfigurationError, match="checksum does not match"):
        BenchmarkResult.load(path)
    del data["checksum"]
    path.write_text(json.dumps(data))
    assert BenchmarkResult.load(path) != a_result()


@pytest.mark.parametrize("checksum", ["", "blake2b-128:", "md5:1234", "x" * 1000])
def test_a_checksum_of_another_kind_is_refused(tmp_path, checksum):
    path = tmp_path / "r.json"
    a_result().save(path)
    data = json.loads(path.read_text())
    path.write_text(json.dumps(data | {"checksum": checksum}))
    with pytest.raises(ConfigurationError, match="checksum"):
        BenchmarkResult.load(path)


def test_more_samples_than_are_written_at_once(tmp_path):
    one = a_result().samples[0]
    for count in (0, 1, 255, 256, 257, 600):
        result = a_result(
            samples=[replace(one, question=f"line\nbreak \ud800 {i}"[: 9 + i % 30]) for i in range(count)]
        )
        result.save(tmp_path / "r.json")
        assert BenchmarkResult.load(tmp_path / "r.json") == result
        assert len((tmp_path / "r.json").read_bytes().splitlines()) == count + 12


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_whatever_bytes_come_only_configuration_errors(data, tmp_path_factory):
    content = bytearray(data.draw(st.sampled_from([GOLDEN, GOLDEN_WITH_CHECKSUM])).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        piece = data.draw(
            st.binary(max_size=6)
            | st.sampled_from([b"\n", b'"samples": [\n', b"]\n", b"],\n", b"[" * 5000, b"1e999", b"null", b'"\\ud800"'])
        )
        content[at : at + data.draw(st.integers(0, 30))] = piece
    path = tmp_path_factory.getbasetemp() / "fuzzed.json"
    path.write_bytes(content)
    try:
        loaded = BenchmarkResult.load(path)
    except ConfigurationError:
        return
    assert all(isinstance(sample, SampleResult) for sample in loaded.samples)


@settings(max_examples=200, deadline=None)
@given(position=st.integers(0, 2000), byte=st.integers(0, 255))
def test_a_changed_byte_is_refused_or_loads(position, byte, tmp_path_factory):
    data = bytearray(GOLDEN.read_bytes())
    data[position % len(data)] = byte
    path = tmp_path_factory.getbasetemp() / "flipped.json"
    path.write_bytes(data)
    try:
        loaded = BenchmarkResult.load(path)
    except ConfigurationError:
        return
    assert isinstance(loaded, BenchmarkResult)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigurationError, match="could not be written"):
        a_result().save(tmp_path / "file" / "r.json")


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "r.json"
    a_result().save(path)

    def no_space(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(ConfigurationError, match="No space left"):
        a_result(name="new").save(path)
    assert list(tmp_path.iterdir()) == [path]
    assert BenchmarkResult.load(path).name == "golden"


def test_permissions_and_links_are_kept(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    a_result().save(real)
    real.chmod(0o640)
    link.symlink_to(real)
    a_result(name="new").save(link)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert BenchmarkResult.load(real).name == "new"


def test_a_long_file_name(tmp_path):
    path = tmp_path / ("n" * 250 + ".json")
    a_result().save(path)
    assert BenchmarkResult.load(path) == a_result()
