"""What an ingest notes in the metadata of the chunks it stores, and what the next one reads there.

There is no other record, so the store and what is known of it cannot disagree, whenever a run is killed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec

from fastrag.document import Document
from fastrag.errors import ConfigurationError, EmbedderMismatchError
from fastrag.ingest.sources import DOCUMENTS_ROOT, Source
from fastrag.store.base import VectorStore

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
class _StoredNotes(Notes):
    parent_id: str


@dataclass(slots=True)
class StoredSource:
    """What the store has of one Document. A run that was killed may have left chunks of several digests."""

    root: str
    chunk_ids: dict[str, list[str]] = field(default_factory=dict)  # by digest
    chunk_count: dict[str, int] = field(default_factory=dict)

    def is_complete(self, digest: str) -> bool:
        """Whether all chunks of this digest are there."""
        return len(self.chunk_ids.get(digest, ())) == self.chunk_count.get(digest)

    def ids(self, *, but_of: str | None = None) -> list[str]:
        """Ids of its chunks, those of one digest left out."""
        return [id for digest, ids in self.chunk_ids.items() if digest != but_of for id in ids]


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


async def read_stored(store: VectorStore, *, embedder_id: str | None) -> dict[str, StoredSource]:
    """What earlier ingests put into ``store``, by Document id. What came there by other ways is passed over.

    Raises:
        EmbedderMismatchError: They embedded with another embedder, or they did and ``embedder_id`` is None.
        StoreError: The store cannot be read.
    """
    stored: dict[str, StoredSource] = {}
    async for chunk in store.scan():
        try:
            notes = msgspec.convert(chunk.metadata, _StoredNotes)
        except msgspec.ValidationError:
            continue
        if notes.embedder_id is not None and notes.embedder_id != embedder_id:
            raise EmbedderMismatchError(
                f"the store holds chunks embedded by {notes.embedder_id!r}, and this ingest has "
                + (f"the embedder {embedder_id!r}" if embedder_id else "no embedder")
                + ": use that embedder, or another store"
            )
        source = stored.setdefault(notes.parent_id, StoredSource(notes.source_root))
        source.chunk_ids.setdefault(notes.source_digest, []).append(chunk.id)
        source.chunk_count[notes.source_digest] = notes.chunk_count
    return stored


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
