"""Sample sets as files: JSON lines or a JSON list."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from fastrag._support.files import write_atomically
from fastrag.benchmark.checks import sample_ids, sample_problems
from fastrag.benchmark.json_form import decode, encode
from fastrag.benchmark.samples import EvalSample, Span
from fastrag.errors import ConfigurationError


class _Record(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    question: str
    relevant_ids: list[str] | dict[str, float] = msgspec.field(default_factory=list)
    reference_answer: str | None = None
    relevant_spans: list[Span] = msgspec.field(default_factory=list)
    id: str | None = None
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)


def read(path: Path) -> list[EvalSample]:
    """See `fastrag.benchmark.read_samples`."""
    try:
        data = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        raise ConfigurationError(f"{path}: the samples could not be read: {error.strerror or error}") from error
    samples = []
    for place, raw in _records(path, data):
        try:
            record = decode(raw, _Record)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"{path}, {place}: not a sample: {error}") from error
        if not record.question.strip():
            raise ConfigurationError(f"{path}, {place}: the question is empty")
        samples.append(EvalSample(*msgspec.structs.astuple(record)))
    for sample, id in zip(samples, sample_ids(samples), strict=True):
        sample.id = id
    repeated = [id for id, times in Counter(sample.id for sample in samples).items() if times > 1]
    if repeated:
        raise ConfigurationError(f"{path}: the id {repeated[0]!r} occurs more than once; ids must be distinct")
    return samples


def write(path: Path, samples: Sequence[EvalSample]) -> None:
    """See `fastrag.benchmark.write_samples`."""
    if samples and (problems := sample_problems(samples)):
        raise ConfigurationError("\n- ".join(["these samples cannot be written:", *problems]))
    lines = []
    for position, sample in enumerate(samples):
        try:
            record = _record(sample)
            line = encode(record)
            # msgspec makes null of NaN without a word.
            if decode(line, _Record) != record:
                raise ValueError("it would not read back as it is: metadata has a value that JSON does not have")
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise ConfigurationError(f"sample {position} cannot be written as JSON: {error}") from error
        lines.append(line)
    data = b"\n".join(lines) + b"\n" if _is_lines(path) else b"[\n" + b",\n".join(lines) + b"\n]\n"
    try:
        write_atomically(path, data)
    except OSError as error:
        raise ConfigurationError(f"{path}: the samples could not be written: {error}") from error


def _record(sample: EvalSample) -> _Record:
    relevant = sample.relevant_ids
    return _Record(
        sample.question,
        dict(relevant) if isinstance(relevant, Mapping) else list(relevant),
        sample.reference_answer,
        [Span(*span) for span in sample.relevant_spans],
        sample.id,
        sample.metadata,
    )


def _records(path: Path, data: bytes) -> list[tuple[str, bytes]]:
    """Each record's JSON, and where it stands for the reader of an error."""
    if _is_lines(path):
        lines = enumerate(data.split(b"\n"), start=1)
        return [(f"line {number}", line) for number, line in lines if line.strip()]
    try:
        items = msgspec.json.decode(data, type=list[msgspec.Raw])
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: not a list of samples: {error}") from error
    return [(f"item {number}", bytes(item)) for number, item in enumerate(items)]


def _is_lines(path: Path) -> bool:
    return path.suffix.lower() in {".jsonl", ".ndjson"}
