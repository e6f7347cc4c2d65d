"""What an ingest notes in the metadata of the chunks it stores, and what the next one reads there.

There is no other record, so the store and what is known of it cannot disagree, whenever a run is killed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from fastrag.document import Document
from fastrag.errors import ConfigurationError, EmbedderMismatchError
from fastrag.ingest.ledger import Ledger, StoredSource, chunk_id
from fastrag.ingest.sources import DOCUMENTS_ROOT, Source
from fastrag.store.base import VectorStore
from fastrag.store.filters import Filter

# Part of every digest; to be raised when what an older release stored has to be made anew.
_SCHEME = 1


@dataclass(frozen=True, slots=True)
class Notes:
    """What every chunk's metadata says of the Document it comes from, under these names.

    Attributes:
        source_digest: Fingerprint of all that decides what is stored for the Document (see `digest`).
        chunk_count: How many chunks the Document has.
        source_root: Folder that the Document's id is a path below; empty for a Document given as such.
        embedder_id: Who embedded the chunk; None for nobody.
    """

    source_digest: str
    chunk_count: int
    source_root: str
    embedder_id: str | None


@dataclass(frozen=True, slots=True)
class StoredNotes(Notes):
    """The notes of a chunk that is stored, and the Document it is of."""

    parent_id: str


def digest(content: bytes, facts: object) -> str:
    """Fingerprint of a Document's content and of the (JSON-like) facts that decide with it what is stored."""
    described = json.dumps([_SCHEME, facts], sort_keys=True).encode()
    hasher = hashlib.blake2b(len(described).to_bytes(8, "big"), digest_size=16)
    hasher.update(described)
    hasher.update(content)
    return hasher.hexdigest()


def stamp(chunks: list[Document], notes: Notes) -> None:
    """Write ``notes`` into the metadata of a Document's chunks."""
    for chunk in chunks:
        chunk.metadata |= asdict(notes)


async def stored_chunks(
    store: VectorStore, filter: Filter | None = None
) -> AsyncGenerator[tuple[Document, StoredNotes], None]:
    """The chunks in ``store`` that came there by an ingest (and satisfy ``filter``), with what it noted of them."""
    scanned = store.scan(filter)
    try:
        async for chunk in scanned:
            if notes := _notes_of(chunk):
                yield chunk, notes
    finally:
        # Engines keep a cursor or a snapshot for a scan until its generator is closed.
        if isinstance(scanned, AsyncGenerator):
            await scanned.aclose()


def _notes_of(chunk: Document) -> StoredNotes | None:
    try:
        notes = msgspec.convert(chunk.metadata, StoredNotes)
    except msgspec.ValidationError:
        return None
    number = chunk.id.removeprefix(f"{notes.parent_id}#")
    if not number.isdecimal() or int(number) >= notes.chunk_count or chunk.id != chunk_id(notes.parent_id, int(number)):
        return None
    return notes


async def read_stored(store: VectorStore, *, embedder_id: str | None) -> Ledger:
    """What earlier ingests put into ``store``. What came there by other ways is passed over.

    Raises:
        EmbedderMismatchError: They embedded with another embedder, or they did and ``embedder_id`` is None; or the
            store is bound to another one.
        StoreError: The store cannot be read.
    """
    binding = await store.binding()
    if binding is not None and binding.embedder_id is not None and embedder_id is not None:
        _refuse_other_embedder(binding.embedder_id, embedder_id)
    ledger = Ledger()
    async with aclosing(stored_chunks(store)) as chunks:
        async for _, notes in chunks:
            if notes.embedder_id is not None:
                _refuse_other_embedder(notes.embedder_id, embedder_id)
            ledger.note(
                notes.parent_id, root=notes.source_root, digest=notes.source_digest, chunk_count=notes.chunk_count
            )
    return ledger


def _refuse_other_embedder(stored: str, given: str | None) -> None:
    if stored != given:
        raise EmbedderMismatchError(
            f"the store holds chunks embedded by {stored!r}, and this ingest has "
            + (f"the embedder {given!r}" if given else "no embedder")
            + ": use that embedder, or another store"
        )


def refuse_other_origin(source: Source, stored: StoredSource | None) -> None:
    """Refuse to replace a Document by one that has its id and comes from elsewhere.

    Where the file that was ingested does not exist any more, its folder has been moved, and it may be replaced.

    Raises:
        ConfigurationError: Both are there; names them.
    """
    if stored is None or stored.root == source.root:
        return
    if DOCUMENTS_ROOT in (stored.root, source.root):
        other = "a Document that was ingested as such" if stored.root == DOCUMENTS_ROOT else f"a file in {stored.root}"
    elif (file := Path(stored.root, source.id)).exists():
        other = f"the file {file}"
    else:
        return
    raise ConfigurationError(
        f"{source} has the id {source.id!r}, under which the store already has {other}; "
        "ingest a folder above both, rename one, or use another store"
    )
