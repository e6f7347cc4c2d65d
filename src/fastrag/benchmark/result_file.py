"""The JSON form of a BenchmarkResult, schema version 1.

One object with the fields of the dataclass in their order, ``schema_version`` first, and one sample a line, so that
two files can be compared by eye and by diff. Types are checked on reading, arithmetic is not.
"""

from __future__ import annotations

import json
import numbers
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from fastrag._support.files import write_atomically
from fastrag.benchmark.metrics.base import DistributionSummary
from fastrag.benchmark.results import BenchmarkResult, SampleResult, StatusCounts
from fastrag.errors import ConfigurationError

SCHEMA_VERSION = 1


class _Status(msgspec.Struct, forbid_unknown_fields=True):
    successful: int
    errored: int
    incomplete: int


class _Summary(msgspec.Struct, forbid_unknown_fields=True):
    count: int
    missing: int
    mean: float
    median: float
    std: float
    min: float
    max: float
    percentiles: dict[str, float]


class _Sample(msgspec.Struct, forbid_unknown_fields=True):
    question: str
    status: Literal["successful", "errored", "incomplete"]
    scores: dict[str, float | None]
    answer: str | None
    retrieved_ids: list[str]
    retrieved_uris: list[str]
    latency_ms: float
    error: str | None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    schema_version: int
    name: str
    created_at: str
    status: _Status
    summary: dict[str, _Summary]
    duration_s: float
    higher_is_better: dict[str, bool]
    samples: list[_Sample]


class _Version(msgspec.Struct):
    schema_version: int


def save(result: BenchmarkResult, path: Path) -> None:
    """See `BenchmarkResult.save`."""
    _refuse_non_finite(result, path)
    try:
        data = _encode(result)
    except (TypeError, ValueError, OverflowError, RecursionError, AttributeError) as error:
        raise ConfigurationError(f"{path}: the result cannot be written as JSON: {error}") from error
    try:
        write_atomically(path, data)
    except OSError as error:
        raise ConfigurationError(f"{path}: the result could not be written: {error}") from error


def load(path: Path) -> BenchmarkResult:
    """See `BenchmarkResult.load`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path}: the result could not be read: {error.strerror or error}") from error
    try:
        file = _decode(data)
        created_at = datetime.fromisoformat(file.created_at)
    except (ValueError, RecursionError) as error:  # msgspec's errors, UnicodeDecodeError, a bad date
        raise ConfigurationError(f"{path}: not a result file: {_why(data, error)}") from error
    if file.schema_version != SCHEMA_VERSION:
        raise ConfigurationError(f"{path}: {_version_problem(file.schema_version)}")
    return BenchmarkResult(
        name=file.name,
        created_at=created_at,
        status=StatusCounts(file.status.successful, file.status.errored, file.status.incomplete),
        summary={name: DistributionSummary(*_values(summary)) for name, summary in file.summary.items()},
        samples=[SampleResult(*_values(sample)) for sample in file.samples],
        duration_s=file.duration_s,
        higher_is_better=file.higher_is_better,
    )


def encode_sample(sample: SampleResult) -> bytes:
    """One sample as one line of JSON, without the line's end.

    Raises:
        TypeError: A value is of a type that the field does not have.
    """
    try:
        return _encoder().encode(sample)
    except UnicodeEncodeError:
        # A lone surrogate (a file name, half of an escaped pair in a reply) is no UTF-8, but JSON can escape it.
        return json.dumps(msgspec.to_builtins(sample, enc_hook=_plain), allow_nan=False).encode("ascii")


def _encode(result: BenchmarkResult) -> bytes:
    head = {
        "schema_version": SCHEMA_VERSION,
        "name": result.name,
        "created_at": result.created_at.isoformat(),
        "status": result.status,
        "summary": result.summary,
        "duration_s": result.duration_s,
        "higher_is_better": result.higher_is_better,
    }
    lines = [f"{json.dumps(key)}: ".encode() + _encode_value(value) for key, value in head.items()]
    samples = b",\n".join(map(encode_sample, result.samples))
    return b"{\n" + b",\n".join(lines) + b',\n"samples": [\n' + samples + b"\n]\n}\n"


def _encode_value(value: object) -> bytes:
    try:
        return _encoder().encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value, enc_hook=_plain), allow_nan=False).encode("ascii")


@cache
def _encoder() -> msgspec.json.Encoder:
    return msgspec.json.Encoder(enc_hook=_plain)


@cache
def _decoder() -> msgspec.json.Decoder[_File]:
    return msgspec.json.Decoder(_File)


def _decode(data: bytes) -> _File:
    try:
        return _decoder().decode(data)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        if "surrogate" not in str(error):
            raise
        return msgspec.convert(json.loads(data, parse_constant=_refuse_constant), _File)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"JSON has no {name}")


def _plain(value: object) -> object:
    # numpy's scalars and the like, which metrics of other libraries return.
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise TypeError(f"{value!r} is a {type(value).__name__}")


def _values(record: Any) -> tuple[Any, ...]:
    return msgspec.structs.astuple(record)


def _why(data: bytes, error: Exception) -> str:
    if not data.strip():
        return "it is empty"
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
    except (ValueError, RecursionError):
        return str(error)
    return str(error) if version == SCHEMA_VERSION else _version_problem(version)


def _version_problem(version: int) -> str:
    if version > SCHEMA_VERSION:
        return (
            f"written by a newer fastrag: schema_version {version}, while this one reads {SCHEMA_VERSION}; "
            "upgrade with: pip install -U fastrag"
        )
    return f"schema_version {version} does not exist; this fastrag reads {SCHEMA_VERSION}"


def _refuse_non_finite(result: BenchmarkResult, path: Path) -> None:
    # msgspec writes NaN and infinities as null without a word. x - x is 0 for finite numbers only.
    def refuse(place: str, value: object) -> None:
        raise ConfigurationError(f"{path}: {place} is {value!r}; JSON has no NaN and no infinity")

    try:
        for index, sample in enumerate(result.samples):
            for name, score in sample.scores.items():
                if score is not None and score - score != 0:
                    refuse(f"samples[{index}].scores[{name!r}]", score)
            if sample.latency_ms - sample.latency_ms != 0:
                refuse(f"samples[{index}].latency_ms", sample.latency_ms)
        for metric, summary in result.summary.items():
            numbers_of = {"mean": summary.mean, "median": summary.median, "std": summary.std}
            numbers_of |= {"min": summary.min, "max": summary.max} | summary.percentiles
            for name, value in numbers_of.items():
                if value - value != 0:
                    refuse(f"summary[{metric!r}].{name}", value)
        if result.duration_s - result.duration_s != 0:
            refuse("duration_s", result.duration_s)
    except (TypeError, AttributeError) as error:
        raise ConfigurationError(f"{path}: the result cannot be written as JSON: {error}") from error


def load_all(paths: Sequence[Path]) -> list[BenchmarkResult]:
    """Load result files; a folder stands for every ``.json`` file directly in it, in the order of their names.

    Raises:
        ConfigurationError: A path does not exist, a folder has no result files, or a file is not one; a stranger
            among them is refused rather than skipped, so that no result is left out unnoticed.
    """
    results = []
    for path in paths:
        if not path.is_dir():
            results.append(load(path))
            continue
        files = sorted(file for file in path.glob("*.json") if file.is_file() and not file.name.startswith("."))
        if not files:
            raise ConfigurationError(f"{path}: the folder has no result files (*.json)")
        for file in files:
            try:
                results.append(load(file))
            except ConfigurationError as error:
                raise ConfigurationError(
                    f"{error}\nmove it out of the folder, or name the result files one by one"
                ) from error
    return results
