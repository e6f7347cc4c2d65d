"""From a source to the chunks that are to be stored for it: the part of an ingest that blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fastrag._support.panics import panics_as
from fastrag.document import Document
from fastrag.errors import ConfigurationError, LoadError, MissingDependencyError
from fastrag.ingest.base import Chunker
from fastrag.ingest.bookkeeping import Notes, StoredSource, digest, stamp
from fastrag.ingest.loaders.formats import format_of, parse_file
from fastrag.ingest.loaders.reading import read_file
from fastrag.ingest.sources import FileSource, Source
from fastrag.store.checks import checked_documents


@dataclass(slots=True)
class Prepared:
    """What is to be done for one source.

    Attributes:
        chunks: To be written.
        stale_ids: Of chunks that are to be removed once ``chunks`` are written.
        reason: Why it failed or is skipped.
    """

    source: Source
    outcome: Literal["added", "updated", "unchanged", "skipped", "failed"]
    chunks: list[Document] = field(default_factory=list)
    stale_ids: list[str] = field(default_factory=list)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Preparer:
    """Loads and chunks sources, and leaves alone what is stored already. Used from threads."""

    chunker: Chunker
    embedder_id: str | None
    max_bytes: int

    def prepare(self, source: Source, stored: StoredSource | None) -> Prepared:
        """Find out what is to be done for ``source``, of which the store has ``stored``."""
        try:
            return self._prepare(source, stored or StoredSource(source.root))
        except (LoadError, MissingDependencyError, _UnfitError) as error:
            return Prepared(source, "failed", reason=str(error).removeprefix(f"{source}: "))

    def _prepare(self, source: Source, stored: StoredSource) -> Prepared:
        # A file's digest is of its bytes: one that has not changed is not even parsed.
        if isinstance(source, FileSource):
            data = read_file(source.path, self.max_bytes)
            file_format = format_of(source.path)
            new_digest = self._digest(data, [file_format.id, source.path.as_uri()])
        else:
            document = _fit_to_be_stored(source.document)
            new_digest = self._digest(document.text.encode(), [document.uri, document.metadata])
        if stored.is_complete(new_digest):
            return Prepared(source, "unchanged", stale_ids=stored.ids(but_of=new_digest))
        if isinstance(source, FileSource):
            document = _fit_to_be_stored(
                parse_file(source.path, data, file_format, id=source.id, max_bytes=self.max_bytes)
            )
        chunks = self._chunk(document)
        if not chunks:
            return Prepared(source, "skipped", stale_ids=stored.ids(), reason=_no_text(document))
        stamp(chunks, Notes(new_digest, len(chunks), source.root, self.embedder_id))
        kept = {chunk.id for chunk in chunks}
        stale_ids = [id for id in stored.ids() if id not in kept]
        return Prepared(source, "updated" if stored.chunk_ids else "added", chunks, stale_ids)

    def _chunk(self, document: Document) -> list[Document]:
        try:
            with panics_as(ConfigurationError, "it cannot be chunked"):
                return self.chunker.chunk(document)
        except ConfigurationError as error:
            raise _UnfitError(str(error)) from error

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
