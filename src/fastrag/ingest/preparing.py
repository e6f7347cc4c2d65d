"""From a source to the chunks that are to be stored for it: the part of an ingest that blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from fastrag._support.panics import panics_as
from fastrag.document import Document
from fastrag.errors import ConfigurationError, LoadError, MissingDependencyError
from fastrag.ingest.base import Chunker
from fastrag.ingest.bookkeeping import Notes, digest, stamp
from fastrag.ingest.dead_letters import DeadLetter
from fastrag.ingest.ledger import StoredSource, chunk_id
from fastrag.ingest.loaders.formats import format_of, parse_file
from fastrag.ingest.loaders.reading import read_file
from fastrag.ingest.parsing import Parse
from fastrag.ingest.sources import FileSource, Source
from fastrag.store.checks import checked_documents

Outcome: TypeAlias = Literal["added", "updated", "unchanged", "skipped", "failed", "given up"]


@dataclass(slots=True)
class Prepared:
    """What is to be done for one source.

    Attributes:
        outcome: What became of it; "given up" where it failed before and nothing has changed since.
        digest: See `fastrag.ingest.bookkeeping.Notes.source_digest`; None where it could not be read.
        chunks: To be written.
        stale_ids: Of chunks that are to be removed once ``chunks`` are written; they need not be there.
        reason: Why it failed or is skipped.
    """

    source: Source
    outcome: Outcome
    digest: str | None = None
    chunks: list[Document] = field(default_factory=list)
    stale_ids: list[str] = field(default_factory=list)
    reason: str = ""

    def fail(self, reason: str) -> None:
        """Leave what is stored of the source as it is."""
        self.outcome, self.reason = "failed", reason
        self.chunks, self.stale_ids = [], []


@dataclass(frozen=True, slots=True)
class Preparer:
    """Loads and chunks sources, and leaves alone what is stored already. Used from threads."""

    chunker: Chunker
    embedder_id: str | None
    max_bytes: int
    parse: Parse = parse_file

    def prepare(self, source: Source, stored: StoredSource | None, given_up: DeadLetter | None = None) -> Prepared:
        """Find out what is to be done for ``source``.

        Args:
            source: What to load.
            stored: What the store has of it.
            given_up: Why it failed before, if it is not to be tried again unless something has changed.
        """
        prepared = Prepared(source, "failed")
        try:
            self._prepare(prepared, stored, given_up)
        except (LoadError, MissingDependencyError, _UnfitError) as error:
            prepared.fail(str(error).removeprefix(f"{source}: "))
        return prepared

    def _prepare(self, prepared: Prepared, stored: StoredSource | None, given_up: DeadLetter | None) -> None:
        source = prepared.source
        # A file's digest is of its bytes: one that has not changed is not even parsed.
        if isinstance(source, FileSource):
            path, data = source.path, read_file(source.path, self.max_bytes)
            file_format = format_of(path)
            prepared.digest = self._digest(data, [file_format.id, path.as_uri()])
        else:
            document = _fit_to_be_stored(source.document)
            prepared.digest = self._digest(document.text.encode(), [document.uri, document.metadata])
        if given_up is not None and given_up.digest == prepared.digest:
            prepared.outcome, prepared.reason = "given up", given_up.reason
            return
        if stored is not None and (count := stored.complete(prepared.digest)):
            prepared.outcome = "unchanged"
            prepared.stale_ids = stored.ids_from(source.id, count)
            return
        if isinstance(source, FileSource):
            document = _fit_to_be_stored(self.parse(path, data, file_format, id=source.id, max_bytes=self.max_bytes))
        prepared.chunks = self._chunk(document)
        if not prepared.chunks:
            prepared.outcome, prepared.reason = "skipped", _no_text(document)
        else:
            prepared.outcome = "added" if stored is None else "updated"
            notes = Notes(prepared.digest, len(prepared.chunks), source.root, self.embedder_id)
            stamp(prepared.chunks, notes)
        if stored is not None:
            prepared.stale_ids = stored.ids_from(source.id, len(prepared.chunks))

    def _chunk(self, document: Document) -> list[Document]:
        try:
            with panics_as(ConfigurationError, "it cannot be chunked"):
                chunks = self.chunker.chunk(document)
        except ConfigurationError as error:
            raise _UnfitError(str(error)) from error
        for number, chunk in enumerate(chunks):
            # Whatever has other ids would never be found again to be removed.
            if chunk.id != (expected := chunk_id(document.id, number)):
                raise _UnfitError(f"{self.chunker.id} gave its chunk {number} the id {chunk.id!r}, not {expected!r}")
        return chunks

    def _digest(self, content: bytes, facts: list[object]) -> str:
        return digest(content, [*facts, self.chunker.id, self.embedder_id])


class _UnfitError(Exception):
    """A Document that cannot be chunked, or that no store takes."""


def _fit_to_be_stored(document: Document) -> Document:
    # One bad Document would make the store refuse the whole batch it is in.
    try:
        return checked_documents([document])[0]
    except ConfigurationError as error:
        raise _UnfitError(str(error)) from error


def _no_text(document: Document) -> str:
    hint = " (scanned pages need text recognition first)" if document.metadata.get("format") == "pdf" else ""
    return f"no text in it{hint}"
