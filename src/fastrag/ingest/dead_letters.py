"""The list of what could not be ingested, kept in a file from one run to the next."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from fastrag._support.files import write_chunks_atomically
from fastrag.errors import ConfigurationError
from fastrag.ingest.report import IngestFailure
from fastrag.ingest.sources import DOCUMENTS_ROOT, Source

FailedBefore: TypeAlias = Literal["retry", "skip", "only"]


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One line of the file that `ingest` writes with ``dead_letters``: a source that failed when last tried.

    Attributes:
        source: The path of a file or folder, or the id of a Document.
        reason: Why it failed.
        failed_at: When, ISO 8601 in UTC.
        digest: Fingerprint of its content and of all that decided what was to be made of it (chunker, embedder, the
            release of the library that reads its format); None where it could not be read.
        id: Id of the Document; None for a folder that could not be listed, or a name that cannot be an id.
        root: Folder that ``id`` is a path below; empty for a Document given as such.
    """

    source: str
    reason: str
    failed_at: str
    digest: str | None = None
    id: str | None = None
    root: str = DOCUMENTS_ROOT


def read_dead_letters(path: str | PathLike[str]) -> list[DeadLetter]:
    """The lines of a file of dead letters, in order.

    Raises:
        ConfigurationError: The file is not there, cannot be read, or a line is none of a dead letter; says which.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path}: dead letters cannot be read: {error}") from error
    letters = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            letters.append(msgspec.convert(json.loads(line), DeadLetter))
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"{path}: line {number} is no dead letter: {error}") from error
    return letters


class DeadLetterFile:
    """What failed in earlier runs and still stands, with what fails in this one.

    Args:
        path: The file. It is written at once, so that a place that cannot be written to is found before the work.
        must_exist: Whether a file that is not there is a mistake.

    Raises:
        ConfigurationError: The file cannot be read or written, or is none of dead letters.
    """

    def __init__(self, path: str | PathLike[str], *, must_exist: bool = False) -> None:
        self._path = Path(path)
        there = must_exist or self._path.exists()
        self._letters = {_key(letter): letter for letter in (read_dead_letters(path) if there else [])}
        self.save()

    def of(self, source: Source) -> DeadLetter | None:
        """How ``source`` failed before."""
        return self._letters.get((source.root, source.id))

    def tried(self, source: Source, reason: str | None, digest: str | None) -> None:
        """Note why ``source`` failed now; for None, that it did not."""
        self._letters.pop((source.root, source.id), None)
        if reason is not None:
            self._add(DeadLetter(str(source), reason, _now(), digest, source.id, source.root))

    def listed(self, roots: Iterable[str], failures: Iterable[IngestFailure]) -> None:
        """Note what could not even be listed below ``roots``, in place of what could not be listed there before."""
        folders = [Path(root) for root in roots]
        self.drop(
            lambda letter: letter.id is None and any(Path(letter.source).is_relative_to(folder) for folder in folders)
        )
        for failure in failures:
            self._add(DeadLetter(failure.source, failure.reason, _now()))

    def drop(self, is_gone: Callable[[DeadLetter], bool]) -> None:
        """Forget the letters of what is gone."""
        self._letters = {key: letter for key, letter in self._letters.items() if not is_gone(letter)}

    def save(self) -> None:
        """Write the file, as a whole or not at all.

        Raises:
            ConfigurationError: It cannot be written.
        """
        # Escaped as ASCII: an id may be what cannot be written as UTF-8.
        lines = (json.dumps(asdict(letter)).encode() + b"\n" for letter in self._letters.values())
        try:
            write_chunks_atomically(self._path, lines)
        except OSError as error:
            raise ConfigurationError(f"{self._path}: dead letters cannot be written: {error}") from error

    def _add(self, letter: DeadLetter) -> None:
        self._letters[_key(letter)] = letter


def _key(letter: DeadLetter) -> tuple[str | None, str]:
    return (None, letter.source) if letter.id is None else (letter.root, letter.id)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
