"""A store in this process's memory: exact search, nothing on disk."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fastrag.document import Document
from fastrag.embedding.base import Matrix, Vector
from fastrag.store.base import Binding, VectorStore, agreed_binding
from fastrag.store.bm25 import LexicalIndex
from fastrag.store.checks import (
    DEFAULT_NAMESPACE,
    check_dimension,
    checked_deletion,
    checked_documents,
    checked_ids,
    checked_namespace,
    copied_metadata,
    unit_rows,
)
from fastrag.store.filters import Filter, check_filter, matches
from fastrag.store.languages import language_name

_SCAN_ROWS = 1000
_RESCORE_ROWS = 4096


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The store at one moment. Rows are only ever added, so lists and arrays are shared with later snapshots.

    A Document that is written again gets a new row; `live` says which rows still count.
    """

    documents: list[Document]  # may have grown beyond `live`: later rows belong to later snapshots
    vectors: Matrix  # at least as many rows as `live`
    live: NDArray[np.bool_]
    pointed: NDArray[np.bool_]  # live, and with a vector that is not all zeros
    row_of: dict[str, int]
    binding: Binding | None
    generation: int  # counts the times rows were renumbered
    begun: bool = True  # something was written or bound since the store was made or dropped


def _empty(generation: int) -> _Snapshot:
    none = np.zeros(0, dtype=np.bool_)
    return _Snapshot([], np.zeros((0, 0), dtype=np.float32), none, none, {}, None, generation, begun=False)


class InMemoryStore(VectorStore):
    """Keeps everything in memory and searches it exactly: cosine by numpy, BM25 by tantivy.

    For tests and for corpora of up to some 100,000 chunks. Equal scores are in the order the Documents were
    last written. Filters are applied before the ranking, so a search finds ``k`` wherever ``k`` match.

    Lexical search needs ``pip install 'fastrag[memory]'``; the rest does not. The texts are indexed at the
    first lexical search after a write. Removed and replaced Documents weigh on the word statistics of BM25
    until they outnumber the others or `optimize` is called.

    Args:
        language: Whose word endings to take off for lexical search: an ISO 639-1 code or English name; None
            for none.
        namespace: What the store says its name is; no other store shares its memory.

    Raises:
        ConfigurationError: There is no stemmer for ``language``, or ``namespace`` cannot be one.

    >>> async def example():
    ...     store = InMemoryStore()
    ...     await store.upsert([Document("a", "apples"), Document("b", "pears")], np.eye(2, dtype=np.float32))
    ...     found = await store.search(embedding=np.array([0.6, 0.8], dtype=np.float32), k=1)
    ...     return [(document.id, round(document.metadata["score"], 6)) for document in found]
    >>> asyncio.run(example())
    [('b', 0.8)]
    """

    def __init__(self, *, language: str | None = "en", namespace: str = DEFAULT_NAMESPACE) -> None:
        self._language = language_name(language)
        self._namespace = checked_namespace(namespace)
        self._now = _empty(0)
        self._writing = threading.Lock()
        self._indexing = threading.Lock()
        self._index: LexicalIndex | None = None
        self._indexed = self._now

    @property
    def namespace(self) -> str:
        """See `VectorStore.namespace`."""
        return self._namespace

    async def namespaces(self) -> list[str]:
        """See `VectorStore.namespaces`: this store's own, or none."""
        return [self._namespace] if self._now.begun else []

    async def drop(self) -> None:
        """See `VectorStore.drop`."""
        await asyncio.to_thread(self._drop)

    async def bind(self, embedder_id: str, dimension: int) -> None:
        """See `VectorStore.bind`."""
        await asyncio.to_thread(self._bind, embedder_id, dimension)

    async def binding(self) -> Binding | None:
        """See `VectorStore.binding`."""
        return self._now.binding

    async def upsert(self, documents: Sequence[Document], embeddings: Matrix | None = None) -> None:
        """See `VectorStore.upsert`."""
        # Copied before the first await: the caller may change its Documents while the thread works.
        copies = checked_documents(documents)
        rows = None if embeddings is None else unit_rows(embeddings, rows=len(copies))
        if copies:
            await asyncio.to_thread(self._upsert, copies, rows)

    async def delete(self, *, ids: Sequence[str] | None = None, filter: Filter | None = None) -> int:
        """See `VectorStore.delete`."""
        return await asyncio.to_thread(self._delete, *checked_deletion(ids, filter))

    async def get(self, ids: Sequence[str]) -> list[Document]:
        """See `VectorStore.get`."""
        now = self._now
        return [_copy(now.documents[now.row_of[key]]) for key in checked_ids(ids) if key in now.row_of]

    async def get_embeddings(self, ids: Sequence[str]) -> dict[str, Vector]:
        """See `VectorStore.get_embeddings`."""
        now = self._now
        rows = {key: now.row_of[key] for key in checked_ids(ids) if key in now.row_of}
        return {key: now.vectors[row].copy() for key, row in rows.items() if now.pointed[row]}

    async def count(self, filter: Filter | None = None) -> int:
        """See `VectorStore.count`."""
        check_filter(filter)
        now = self._now
        if filter is None:
            return len(now.row_of)
        return int(np.count_nonzero(await asyncio.to_thread(_select, now, now.live, filter)))

    async def scan(self, filter: Filter | None = None) -> AsyncIterator[Document]:
        """See `VectorStore.scan`."""
        check_filter(filter)
        now = self._now
        rows = np.flatnonzero(now.live)
        for start in range(0, len(rows), _SCAN_ROWS):
            for document in await asyncio.to_thread(_part, now, rows[start : start + _SCAN_ROWS], filter):
                yield document

    async def search_dense(self, embedding: Vector, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        """See `VectorStore.search_dense`."""
        return await asyncio.to_thread(_search_dense, self._now, embedding, k, filter)

    async def search_lexical(self, text: str, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        """See `VectorStore.search_lexical`.

        Raises:
            MissingDependencyError: tantivy is not installed.
        """
        return await asyncio.to_thread(self._search_lexical, text, k, filter)

    async def optimize(self) -> None:
        """Drop what removed and replaced Documents left behind."""
        await asyncio.to_thread(self._compact)

    def _drop(self) -> None:
        with self._writing:
            self._now = _empty(self._now.generation + 1)

    def _bind(self, embedder_id: str, dimension: int) -> None:
        with self._writing:
            binding = agreed_binding(self._now.binding, embedder_id, dimension)
            self._now = _with_dimension(replace(self._now, binding=binding, begun=True), dimension)

    def _upsert(self, documents: list[Document], embeddings: Matrix | None) -> None:
        with self._writing:
            now = self._now
            if embeddings is not None:
                width = embeddings.shape[1]
                binding = now.binding or Binding(None, width)
                check_dimension(width, binding.dimension)
                now = _with_dimension(replace(now, binding=binding), width)
            self._now = _appended(now, documents, embeddings)
            self._compact_if_sparse()

    def _delete(self, ids: list[str] | None, filter: Filter | None) -> int:
        with self._writing:
            now = self._now
            if ids is not None:
                rows = sorted({now.row_of[key] for key in ids if key in now.row_of})
            else:
                rows = np.flatnonzero(_select(now, now.live, filter)).tolist()
            if rows:
                gone = {now.documents[row].id for row in rows}
                row_of = {key: row for key, row in now.row_of.items() if key not in gone}
                self._now = replace(
                    now, live=_without(now.live, rows), pointed=_without(now.pointed, rows), row_of=row_of
                )
                self._compact_if_sparse()
            return len(rows)

    def _compact(self) -> None:
        with self._writing:
            if len(self._now.row_of) < len(self._now.live):
                self._now = _compacted(self._now)

    def _compact_if_sparse(self) -> None:
        if 2 * len(self._now.row_of) < len(self._now.live):
            self._now = _compacted(self._now)

    def _search_lexical(self, text: str, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        with self._indexing:
            # Read under the lock: the index never runs ahead of the snapshot its row numbers are read in.
            now = self._now
            index = self._indexed_up_to(now)
            searcher = index.searcher()
        allowed = None if filter is None else _select(now, now.live, filter)
        return [(now.documents[row], score) for row, score in index.search(searcher, text, k, allowed)]

    def _indexed_up_to(self, now: _Snapshot) -> LexicalIndex:
        done, index = self._indexed, self._index
        if index is None or done.generation != now.generation:
            done, index = _empty(now.generation), LexicalIndex(self._language)
        known = len(done.live)
        if done is not now:
            # Until the commit has succeeded nothing is known to be indexed; a failure means starting anew.
            self._index = None
            for row in np.flatnonzero(done.live & ~now.live[:known]).tolist():
                index.remove(row)
            for row in np.flatnonzero(now.live[known:]).tolist():
                index.add(known + row, now.documents[known + row].text)
            index.commit()
            self._index, self._indexed = index, now
        return index


def _with_dimension(now: _Snapshot, dimension: int) -> _Snapshot:
    if now.vectors.shape[1] == dimension:
        return now
    return replace(now, vectors=np.zeros((len(now.live), dimension), dtype=np.float32))


def _appended(now: _Snapshot, documents: list[Document], embeddings: Matrix | None) -> _Snapshot:
    start = len(now.live)
    end = start + len(documents)
    vectors = now.vectors
    if len(vectors) < end:
        vectors = np.zeros((max(end, 2 * start), vectors.shape[1]), dtype=np.float32)
        vectors[:start] = now.vectors[:start]
    pointed: NDArray[np.bool_] = np.zeros(len(documents), dtype=np.bool_)
    if embeddings is not None:
        vectors[start:end] = embeddings
        pointed = np.asarray(embeddings.any(axis=1))
    replaced = [now.row_of[document.id] for document in documents if document.id in now.row_of]
    now.documents.extend(documents)
    return replace(
        now,
        vectors=vectors,
        live=np.concatenate([_without(now.live, replaced), np.ones(len(documents), dtype=np.bool_)]),
        pointed=np.concatenate([_without(now.pointed, replaced), pointed]),
        row_of={**now.row_of, **{document.id: start + offset for offset, document in enumerate(documents)}},
        begun=True,
    )


def _compacted(now: _Snapshot) -> _Snapshot:
    rows = np.flatnonzero(now.live)
    documents = [now.documents[row] for row in rows.tolist()]
    return replace(
        now,
        documents=documents,
        vectors=now.vectors[rows],
        live=np.ones(len(rows), dtype=np.bool_),
        pointed=now.pointed[rows],
        row_of={document.id: row for row, document in enumerate(documents)},
        generation=now.generation + 1,
    )


def _without(mask: NDArray[np.bool_], rows: Iterable[int]) -> NDArray[np.bool_]:
    left = mask.copy()
    left[list(rows)] = False
    return left


def _select(now: _Snapshot, among: NDArray[np.bool_], filter: Filter | None) -> NDArray[np.bool_]:
    if filter is None:
        return among
    selected = among.copy()
    for row in np.flatnonzero(among).tolist():
        selected[row] = matches(filter, now.documents[row].metadata)
    return selected


def _part(now: _Snapshot, rows: NDArray[np.intp], filter: Filter | None) -> list[Document]:
    documents = (now.documents[row] for row in rows.tolist())
    return [_copy(document) for document in documents if filter is None or matches(filter, document.metadata)]


def _search_dense(now: _Snapshot, embedding: Vector, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
    if now.binding is None:
        return []
    check_dimension(embedding.size, now.binding.dimension)
    if not embedding.any():
        return []
    rows = np.flatnonzero(_select(now, now.pointed, filter))
    if not len(rows):
        return []
    vectors = now.vectors[: len(now.live)]
    rough = (vectors if len(rows) == len(vectors) else vectors[rows]) @ embedding
    if k < len(rows):
        # A dot product of unit vectors in float32 is off by at most this much, whatever the order of
        # summation, and that order depends on the row. What could be among the best k is ranked again,
        # exactly.
        error = 2 * embedding.size * np.finfo(np.float32).eps
        kth = np.partition(rough, len(rows) - k)[len(rows) - k]
        rows = rows[rough >= kth - error]
    exact = np.concatenate(
        [
            (vectors[rows[start : start + _RESCORE_ROWS]] * embedding.astype(np.float64)).sum(axis=1)
            for start in range(0, len(rows), _RESCORE_ROWS)
        ]
    )
    best = np.lexsort((rows, -exact))[:k]
    scores = np.clip(exact[best], -1.0, 1.0).tolist()
    return [(now.documents[row], float(score)) for row, score in zip(rows[best].tolist(), scores, strict=True)]


def _copy(document: Document) -> Document:
    return Document(document.id, document.text, document.uri, copied_metadata(document.metadata))
