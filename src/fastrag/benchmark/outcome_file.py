"""The file that keeps what a pipeline returned: JSON lines (`fastrag.benchmark.line_file`).

A header says which run it is; then comes a line for each question that the pipeline was done with, in the order in
which it was. A question that was asked again, after a crash or an error, has more than one; the last counts.
"""

from __future__ import annotations

import logging
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from fastrag.benchmark.asking import Asked
from fastrag.benchmark.checks import plain_text
from fastrag.benchmark.json_form import decode, encode
from fastrag.benchmark.line_file import LineFile, read_lines
from fastrag.benchmark.outcomes import Outcome, Outcomes
from fastrag.benchmark.run_header import RunHeader, read_header
from fastrag.benchmark.samples import EvalSample
from fastrag.document import Document
from fastrag.errors import ConfigurationError

_KIND = "fastrag outcomes"

_log = logging.getLogger(__name__)


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
    outcomes: Outcomes | None = None

    def take(number: int, data: bytes) -> None:
        nonlocal outcomes
        try:
            if outcomes is None:
                header = read_header(data, _KIND)
                outcomes = Outcomes(
                    header.name, datetime.fromisoformat(header.created_at), header.samples, header.repeats
                )
                return
            line = decode(data, _Line)
            if not 0 <= line.position < outcomes.samples * outcomes.repeats:
                raise ValueError(f"position {line.position} is not among the run's")
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"{path}, line {number}: not a line of outcomes: {error}") from error
        outcomes.by_position[line.position] = Outcome(
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

    read_lines(path, take)
    if outcomes is None:
        raise ConfigurationError(f"{path}: holds no outcomes: it has no header")
    return outcomes


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
        self.path = outcomes_path(path)
        self._header = msgspec.structs.replace(header, kind=_KIND)
        self._file = self._open()
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
        if self._file.was_lost:
            _log.warning("%s was removed while the run goes on; what was in it is lost", self.path)
            self._file.close()
            self._file = self._open()
            self._append(encode(self._header))
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
        self._append(encode(line))

    def close(self) -> None:
        """Everything that was added is in the file."""
        self._file.close()

    def _open(self) -> LineFile:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return LineFile(self.path)
        except OSError as error:
            raise ConfigurationError(f"{self.path}: outcomes cannot be written: {error.strerror or error}") from error

    def _start(self, go_on: bool) -> None:
        size = self.path.stat().st_size
        if size == 0:
            if go_on:
                self._file.remove()
                raise ConfigurationError(
                    f"{self.path} is absent: this run was begun without keep_outcomes=True, and the outcomes of what "
                    "is done are lost; go on without keep_outcomes, or delete the journal to begin anew"
                )
            self._append(encode(self._header))
            return
        try:
            kept = read_header_of(self.path)
        except ConfigurationError:
            if go_on:
                raise
            kept = None
        if kept is None or kept[0] != self._header:
            raise ConfigurationError(
                f"{self.path} holds the outcomes of an earlier run; move or delete it, or give another path"
            )
        self._file.cut(kept[1])

    def _append(self, line: bytes) -> None:
        try:
            self._file.append(line)
        except OSError as error:
            raise ConfigurationError(
                f"{self.path}: an outcome could not be written: {error.strerror or error}. The run was stopped; make "
                "the file writable again and run with resume=True"
            ) from error


def read_header_of(path: Path) -> tuple[RunHeader, int]:
    """The header of an outcome file, and the bytes that its whole lines fill.

    Raises:
        ConfigurationError: It is none, or is damaged.
    """
    header: RunHeader | None = None

    def take(number: int, data: bytes) -> None:
        nonlocal header
        if number == 1:
            try:
                header = read_header(data, _KIND)
            except (ValueError, RecursionError) as error:
                raise ConfigurationError(f"{path}: not a file of outcomes: {error}") from error

    size = read_lines(path, take)
    if header is None:
        raise ConfigurationError(f"{path}: not a file of outcomes: it has no header")
    return header, size


def keeps_outcomes(path: Path, header: RunHeader) -> bool:
    """Whether the outcomes of the run with ``header``, whose result belongs at ``path``, are being kept."""
    try:
        return read_header_of(outcomes_path(path))[0] == msgspec.structs.replace(header, kind=_KIND)
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
