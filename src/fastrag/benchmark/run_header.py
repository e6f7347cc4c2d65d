"""Which run a file of lines belongs to: its first line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Literal

import msgspec

from fastrag.benchmark.json_form import decode, encode
from fastrag.benchmark.samples import EvalSample

SCHEMA_VERSION = 1
START = b'{"kind":"fastrag '
"""What every header begins with."""


class RunHeader(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Which run a file belongs to; its first line."""

    kind: Literal["fastrag journal", "fastrag outcomes", "fastrag judgements"]
    schema_version: int
    name: str
    created_at: str
    metrics: dict[str, bool]
    """Name -> whether higher is better."""
    samples: int
    repeats: int
    digests: dict[str, str]
    """Of each field of the samples that an answer or a score depends on."""

    def require_position(self, position: int) -> None:
        """Raise ValueError where no result of the run stands at ``position``."""
        total = self.samples * self.repeats
        if not 0 <= position < total:
            raise ValueError(f"position {position} is not among {total} results")

    def differences(self, wanted: RunHeader) -> list[str]:
        """What keeps the run of this header from being gone on with as ``wanted``."""
        found = []
        if self.name != wanted.name:
            found.append(f"its name is {self.name!r}, not {wanted.name!r}")
        if self.metrics.keys() != wanted.metrics.keys():
            found.append(f"its metrics are {', '.join(self.metrics)}, not {', '.join(wanted.metrics)}")
        if self.samples != wanted.samples:
            found.append(f"it has {self.samples} samples, not {wanted.samples}")
        else:
            changed = [field for field, digest in wanted.digests.items() if self.digests.get(field) != digest]
            if changed:
                found.append(f"the samples differ in their {', '.join(changed)}")
        if self.repeats != wanted.repeats:
            found.append(f"its repeats are {self.repeats}, not {wanted.repeats}")
        return found


def read_header(line: bytes, kind: str) -> RunHeader:
    """The header in ``line``.

    Raises:
        ValueError: It is none of that kind, or of a newer version.
    """
    header = decode(line, RunHeader)
    if header.kind != kind:
        raise ValueError(f"it holds {header.kind.removeprefix('fastrag ')}, not {kind.removeprefix('fastrag ')}")
    if header.schema_version != SCHEMA_VERSION:
        raise ValueError(f"its schema_version is {header.schema_version}; this fastrag reads {SCHEMA_VERSION}")
    datetime.fromisoformat(header.created_at)
    if header.samples < 1 or header.repeats < 1:
        raise ValueError("it has no samples")
    return header


def run_header(
    name: str, created_at: datetime, metrics: Mapping[str, bool], samples: Sequence[EvalSample], repeats: int
) -> RunHeader:
    """The header of a run's journal."""
    return RunHeader(
        "fastrag journal",
        SCHEMA_VERSION,
        name,
        created_at.isoformat(),
        dict(metrics),
        len(samples),
        repeats,
        {
            "questions": _digest([sample.question for sample in samples]),
            "ids": _digest([sample.id for sample in samples]),
            "relevant_ids": _digest([_relevance(sample) for sample in samples]),
            "reference answers": _digest([sample.reference_answer for sample in samples]),
            "relevant_spans": _digest([[list(span) for span in sample.relevant_spans] for sample in samples]),
        },
    )


def _relevance(sample: EvalSample) -> Sequence[object]:
    relevant = sample.relevant_ids
    if isinstance(relevant, Mapping):
        return sorted((str(id), float(gain)) for id, gain in relevant.items())
    return sorted(map(str, relevant))


def _digest(column: Sequence[object]) -> str:
    return blake2b(encode(column), digest_size=16).hexdigest()
