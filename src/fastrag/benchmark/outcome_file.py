"""The file that keeps what a pipeline returned: JSON lines (`fastrag.benchmark.line_file`).

A header says which run it is; then comes a line for each question that the pipeline was done with, in the order in
which it was. A question that was asked again, after a crash or an error, has more than one; the last counts.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from fastrag.benchmark.asking import Asked
from fastrag.benchmark.checks import plain_text
from fastrag.benchmark.json_form import decode, encode
from fastrag.benchmark.outcomes import Outcome, Outcomes
from fastrag.benchmark.run_header import RunHeader
from fastrag.benchmark.samples import EvalSample
from fastrag.benchmark.side_file import SideFile, header_of, read_side_file, read_side_header
from fastrag.document import Document
from fastrag.errors import ConfigurationError


class _Source(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    text: str
    uri: str | None
    metadata: dict[str, Any]


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    position: int
    sample_id: str
    question: str
    answer: str | None
    sources: list[_Source]
    input_tokens: int | None
    output_tokens: int | None
    latency_ms: float
    attempts: int
    error: str | None


def outcomes_path(path: Path) -> Path:
    """Where the outcomes of the result at ``path`` are."""
    return path.with_name(path.name + ".outcomes.jsonl")


def read(path: Path) -> Outcomes:
    """See `fastrag.benchmark.read_outcomes`."""
    by_position: dict[int, Outcome] = {}

    def take(header: RunHeader, data: bytes) -> None:
        line = decode(data, _Line)
        header.require_position(line.position)
        by_position[line.position] = Outcome(
            line.sample_id,
            line.question,
            line.answer,
            [Document(*msgspec.structs.astuple(source)) for source in line.sources],
            line.input_tokens,
            line.output_tokens,
            line.latency_ms,
            line.attempts,
            line.error,
        )

    header, _ = read_side_file(path, "outcomes", take)
    created_at = datetime.fromisoformat(header.created_at)
    return Outcomes(header.name, created_at, header.samples, header.repeats, by_position)


class OutcomeFile:
    """The outcomes of a run that is under way.

    Args:
        path: Of the result, links followed.
        header: Of the run's journal.
        go_on: The run has results already, and their outcomes should be here.

    Raises:
        ConfigurationError: There are outcomes of another run, or those of this run's beginning are absent, or the
            file cannot be written.
    """

    def __init__(self, path: Path, header: RunHeader, *, go_on: bool) -> None:
        self._file = SideFile(outcomes_path(path), header, "outcomes")
        try:
            self._start(go_on)
        except BaseException:
            self._file.close()
            raise

    def add(self, position: int, sample: EvalSample, asked: Asked) -> None:
        """Keep what the pipeline returned for one question.

        Raises:
            ConfigurationError: It could not be written.
        """
        outcome, result = asked.outcome, asked.result
        line = _Line(
            position,
            str(sample.id),
            sample.question,
            result.answer,
            [] if outcome is None else [_source(document) for document in outcome.sources],
            None if outcome is None else outcome.input_tokens,
            None if outcome is None else outcome.output_tokens,
            result.latency_ms,
            asked.attempts,
            result.error,
        )
        self._file.append(encode(line))

    def close(self) -> None:
        """Everything that was added is in the file."""
        self._file.close()

    def _start(self, go_on: bool) -> None:
        path = self._file.path
        if self._file.is_empty():
            if go_on:
                self._file.remove()
                raise ConfigurationError(
                    f"{path} is absent: this run was begun without keep_outcomes=True, and the outcomes of what "
                    "is done are lost; go on without keep_outcomes, or delete the journal to begin anew"
                )
            self._file.begin()
            return
        try:
            is_ours = self._file.go_on()
        except ConfigurationError:
            if go_on:
                raise
            is_ours = False
        if not is_ours:
            raise ConfigurationError(
                f"{path} holds the outcomes of an earlier run; move or delete it, or give another path"
            )


def keeps_outcomes(path: Path, header: RunHeader) -> bool:
    """Whether the outcomes of the run with ``header``, whose result belongs at ``path``, are being kept."""
    try:
        return read_side_header(outcomes_path(path), "outcomes")[0] == header_of(header, "outcomes")
    except ConfigurationError:
        return False


def _source(document: Document) -> _Source:
    try:
        metadata = decode(encode(document.metadata), dict)
    except (TypeError, ValueError, OverflowError, RecursionError):
        # Metadata may hold anything; what has no form in JSON is kept as text rather than failing the question.
        metadata = {_as_text(key): _plain(value) for key, value in document.metadata.items()}
    uri = None if document.uri is None else plain_text(document.uri)
    return _Source(plain_text(document.id), plain_text(document.text), uri, metadata)


def _plain(value: object) -> object:
    try:
        return decode(encode(value), object)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return _as_text(value)


def _as_text(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001 - the value is a stranger's object
        return f"<a {type(value).__name__} that could not be shown: {type(error).__name__}>"
