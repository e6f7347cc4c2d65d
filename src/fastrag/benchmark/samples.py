"""The questions a benchmark asks, and reading and writing sets of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple


class Span(NamedTuple):
    """Characters ``start`` to ``end`` (exclusive) of the text at ``uri``."""

    uri: str
    start: int
    end: int


@dataclass(slots=True)
class EvalSample:
    """One question and what is known about its right answer.

    Attributes:
        question: What to ask; not empty.
        relevant_ids: Ids of the relevant Documents, or a mapping id -> gain where some matter more (qrels). Gains
            above 0 are relevant, all others are not. Empty: unknown or none; retrieval metrics give None.
        reference_answer: A right answer, None where there is none.
        relevant_spans: Where in the corpus the answer stands.
        id: Identity within the set; None means its position, given when the set is read or a Benchmark is built.
        metadata: Anything to slice results by: topic, difficulty, language.

    >>> EvalSample("What is a tuple?", relevant_ids={"typesseq": 2, "exprlists": 1}).reference_answer is None
    True
    """

    question: str
    relevant_ids: Sequence[str] | Mapping[str, float] = field(default_factory=list)
    reference_answer: str | None = None
    relevant_spans: Sequence[Span] = field(default_factory=list)
    id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


def read_samples(path: str | Path) -> list[EvalSample]:
    """Read a sample set: JSON lines (``.jsonl``), or a JSON list (any other name), of objects with EvalSample's fields.

    Only ``question`` has to be there. ``relevant_ids`` is a list of ids or an object id -> gain;
    ``relevant_spans`` a list of ``[uri, start, end]``. A sample without an ``id`` gets its position, from 0.

    Raises:
        ConfigurationError: The file cannot be read, or something in it is not a sample; names the file, the line
            or position, and the reason. Unknown fields are refused, so that a misspelt one is not ignored.
    """
    from fastrag.benchmark import sample_file  # decoding by msgspec is paid for only when a file is touched

    return sample_file.read(Path(path))


def write_samples(path: str | Path, samples: Sequence[EvalSample]) -> None:
    """Write a sample set that `read_samples` reads back equal, atomically, in the form that the name asks for.

    Raises:
        ConfigurationError: A sample cannot be written as JSON, or ``path`` cannot be written.
    """
    from fastrag.benchmark import sample_file

    sample_file.write(Path(path), samples)
