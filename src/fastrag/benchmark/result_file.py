"""The JSON form of a BenchmarkResult, schema version 1.

One object with the fields of the dataclass, ``schema_version`` first, and one sample a line, so that two files can be
compared by eye and by diff. Types are checked on reading, arithmetic is not.

The last field, ``checksum``, is the BLAKE2b digest of everything before it as `save` writes it, so that a file that was
damaged or altered is told from one that was only laid out anew. A file without it is accepted: take it out to vouch for
what was altered. A large file is written and read line by line, so that it is never in memory whole.
"""

from __future__ import annotations

import hashlib
import math
import numbers
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from fastrag._support.files import write_chunks_atomically
from fastrag.benchmark.json_form import decode, encode, encode_lines
from fastrag.benchmark.metrics.base import DistributionSummary
from fastrag.benchmark.results import BenchmarkResult, SampleResult, StatusCounts
from fastrag.benchmark.run_header import START as HEADER_START
from fastrag.errors import ConfigurationError

SCHEMA_VERSION = 1

_SAMPLES_LINE = b'"samples": [\n'
_SAMPLES_ENDS = (b"]\n", b"],\n")
_SAMPLES_AT_ONCE = 256
_MOST_HEAD_LINES = 16
# A file without ends of lines is not read to its end before it is known to be none of ours.
_LONGEST_LINE = 1 << 28
_LONGEST_END = 100

_FILES_OF_RUNS = {
    b"journal": "it is the journal of a run that has not ended: fastrag show and fastrag report read it; run again "
    "with resume=True to end it",
    b"outcomes": "it is what a run's pipeline returned, kept beside its result: read_outcomes reads it",
    b"judgements": "it is what judges said in a run, kept beside its result: read_judgements reads it",
}


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


class SampleRecord(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A SampleResult as a file holds it: every field there, and of its type."""

    question: str
    status: Literal["successful", "errored", "incomplete"]
    scores: dict[str, float | None]
    answer: str | None
    retrieved_ids: list[str]
    retrieved_uris: list[str]
    latency_ms: float
    error: str | None


class _Head(msgspec.Struct, forbid_unknown_fields=True):
    schema_version: int
    name: str
    created_at: str
    status: _Status
    summary: dict[str, _Summary]
    duration_s: float
    higher_is_better: dict[str, bool]


class _File(_Head, forbid_unknown_fields=True):
    samples: list[SampleRecord]
    checksum: str | None = None


class _Version(msgspec.Struct):
    schema_version: int


def save(result: BenchmarkResult, path: Path) -> None:
    """See `BenchmarkResult.save`."""
    try:
        _refuse_what_load_would(result, path)
        fields = [field for field in _Head.__struct_fields__ if field != "schema_version"]
        values = {field: getattr(result, field) for field in fields}
        head = _encode_head(values | {"created_at": result.created_at.isoformat()})
        decode(head[:-2] + b"}", _Head)
        write_chunks_atomically(path, _with_checksum(_parts(head, result.samples)))
    except ConfigurationError:
        raise
    except (TypeError, ValueError, OverflowError, RecursionError, AttributeError) as error:
        raise ConfigurationError(f"{path}: the result cannot be written as JSON: {error}") from error
    except OSError as error:
        raise ConfigurationError(f"{path}: the result could not be written: {error}") from error


def load(path: Path) -> BenchmarkResult:
    """See `BenchmarkResult.load`."""
    try:
        result = _load_lines(path)
        return _load_whole(path) if result is None else result
    except ConfigurationError:
        raise
    except (OSError, ValueError) as error:  # a ValueError: a path with NUL in it
        reason = error.strerror if isinstance(error, OSError) else None
        raise ConfigurationError(f"{path}: the result could not be read: {reason or error}") from error


def to_sample(record: SampleRecord) -> SampleResult:
    """The SampleResult of a record."""
    return SampleResult(*_values(record))


def _encode_head(head: dict[str, Any]) -> bytes:
    values = head | {"schema_version": SCHEMA_VERSION}
    lines = [encode(field) + b": " + encode(values[field]) for field in _Head.__struct_fields__]
    return b"{\n" + b",\n".join(lines) + b",\n"


def _parts(head: bytes, samples: Sequence[object]) -> Iterator[bytes]:
    """What the checksum is over, piece by piece."""
    yield head + _SAMPLES_LINE
    for start in range(0, len(samples), _SAMPLES_AT_ONCE):
        # JSON escapes the ends of lines in texts: every one that is there parts two samples.
        lines = encode_lines(samples[start : start + _SAMPLES_AT_ONCE]).replace(b"\n", b",\n")
        yield lines if start + _SAMPLES_AT_ONCE < len(samples) else lines[:-2] + b"\n"
    yield b"]"


def _with_checksum(parts: Iterator[bytes]) -> Iterator[bytes]:
    digest = _new_digest()
    for part in parts:
        digest.update(part)
        yield part
    yield b',\n"checksum": "%b"\n}\n' % _checksum(digest).encode()


def _new_digest() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=16)


def _checksum(digest: hashlib.blake2b) -> str:
    return f"blake2b-128:{digest.hexdigest()}"


def _load_lines(path: Path) -> BenchmarkResult | None:
    """Read a file that is laid out as `save` does it; None for one that is not."""
    digest = _new_digest()
    with path.open("rb") as file:
        head_lines: list[bytes] = []
        while (line := file.readline(_LONGEST_LINE)) != _SAMPLES_LINE:
            if not line.endswith(b"\n") or len(head_lines) >= _MOST_HEAD_LINES:
                return None
            head_lines.append(line)
        head_text = b"".join(head_lines)
        digest.update(head_text)
        digest.update(line)
        if not head_text.endswith(b",\n"):
            return None
        samples: list[SampleResult] = []
        more = True
        try:
            head = decode(head_text[:-2] + b"}", _Head)
            created_at = datetime.fromisoformat(head.created_at)
            while (line := file.readline(_LONGEST_LINE)) not in _SAMPLES_ENDS:
                if not more or not line.endswith(b"\n"):
                    return None
                digest.update(line)
                more = line.endswith(b",\n")
                samples.append(to_sample(decode(line[:-2] if more else line, SampleRecord)))
        except (ValueError, RecursionError):
            return None
        rest = file.read(_LONGEST_END + 1)
    if (more and samples) or head.schema_version != SCHEMA_VERSION or len(rest) > _LONGEST_END:
        return None
    digest.update(b"]")
    expected = b'"checksum": "%b"\n}\n' % _checksum(digest).encode() if line == b"],\n" else b"}\n"
    return _result(head, created_at, samples) if rest == expected else None


def _load_whole(path: Path) -> BenchmarkResult:
    """Read a file laid out in any way, or say what is wrong with it."""
    data = path.read_bytes()
    try:
        file = decode(data, _File)
        created_at = datetime.fromisoformat(file.created_at)
    except (ValueError, RecursionError) as error:  # msgspec's errors, UnicodeDecodeError, a bad date
        raise ConfigurationError(f"{path}: not a result file: {_why(data, error)}") from error
    if file.schema_version != SCHEMA_VERSION:
        raise ConfigurationError(f"{path}: {_version_problem(file.schema_version)}")
    if file.checksum is not None and file.checksum != _checksum_of(decode(data, dict)):
        raise ConfigurationError(
            f"{path}: its checksum does not match: the file was damaged, or altered. Take the line "
            '"checksum" out to have it accepted as it is'
        )
    return _result(file, created_at, [to_sample(sample) for sample in file.samples])


def _checksum_of(file: dict[str, Any]) -> str:
    digest = _new_digest()
    # As they stand in the file, not as the types make them: a whole number stays one.
    samples = [{field: sample[field] for field in SampleRecord.__struct_fields__} for sample in file["samples"]]
    for part in _parts(_encode_head(file), samples):
        digest.update(part)
    return _checksum(digest)


def _result(head: _Head, created_at: datetime, samples: list[SampleResult]) -> BenchmarkResult:
    return BenchmarkResult(
        name=head.name,
        created_at=created_at,
        status=StatusCounts(head.status.successful, head.status.errored, head.status.incomplete),
        summary={name: DistributionSummary(*_values(summary)) for name, summary in head.summary.items()},
        samples=samples,
        duration_s=head.duration_s,
        higher_is_better=head.higher_is_better,
    )


def _values(record: Any) -> tuple[Any, ...]:
    return msgspec.structs.astuple(record)


def _why(data: bytes, error: Exception) -> str:
    if not data.strip():
        return "it is empty"
    if data.startswith(HEADER_START):
        content, _, _ = data[len(HEADER_START) : len(HEADER_START) + _LONGEST_END].partition(b'"')
        if content in _FILES_OF_RUNS:
            return _FILES_OF_RUNS[content]
    try:
        version = decode(data, _Version).schema_version
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


def _refuse_what_load_would(result: BenchmarkResult, path: Path) -> None:
    """Refuse values that would be written as something else (msgspec makes null of NaN) or that `load` refuses."""
    for index, sample in enumerate(result.samples):
        if problem := _sample_problem(sample):
            raise ConfigurationError(f"{path}: samples[{index}].{problem}")
    for metric, summary in result.summary.items():
        values = {"mean": summary.mean, "median": summary.median, "std": summary.std}
        values |= {"min": summary.min, "max": summary.max} | summary.percentiles
        for name, value in values.items():
            if problem := _number_problem(value):
                raise ConfigurationError(f"{path}: summary[{metric!r}].{name} {problem}")
    if problem := _number_problem(result.duration_s):
        raise ConfigurationError(f"{path}: duration_s {problem}")


def _sample_problem(sample: SampleResult) -> str | None:
    for name, score in sample.scores.items():
        # What is a finite float already needs no further look; x - x is 0 for finite numbers only.
        is_fine = score is None or (type(score) is float and score - score == 0)
        if not is_fine and (problem := _number_problem(score)):
            return f"scores[{name!r}] {problem}"
    if problem := _number_problem(sample.latency_ms):
        return f"latency_ms {problem}"
    if sample.status not in ("successful", "errored", "incomplete"):
        return f"status is {sample.status!r}"
    for field in ("answer", "error"):
        value = getattr(sample, field)
        if value is not None and type(value) is not str:
            return f"{field} must be a text or None, not {value!r}"
    if type(sample.question) is not str:
        return f"question must be a text, not {sample.question!r}"
    try:
        # The quickest way to learn that all of them are texts.
        "".join(sample.scores)
        "".join(sample.retrieved_ids)
        "".join(sample.retrieved_uris)
    except TypeError as error:
        return f"scores, retrieved_ids and retrieved_uris must have texts: {error}"
    return None


def _number_problem(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return f"must be a number, not {value!r}"
    try:
        number = float(value)
    except OverflowError:
        return "is beyond the range of a float"
    return None if math.isfinite(number) else f"is {number!r}; JSON has no NaN and no infinity"
