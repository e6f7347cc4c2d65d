"""A store in this process's memory: exact search, and nothing on disk but what is saved on demand."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Sequence

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
    checked_folder,
    checked_ids,
    checked_namespace,
    copied_metadata,
    unit_rows,
)
from fastrag.store.filters import Filter, check_filter
from fastrag.store.languages import language_name
from fastrag.store.memory.rows import Rows, no_rows

_SCAN_ROWS = 1000


class InMemoryStore(VectorStore):
    """Keeps everything in memory and searches it exactly: cosine by numpy, BM25 by tantivy.

    For tests and for corpora of up to some 100,000 chunks. Equal scores are in the order the Documents were
    last written. Filters are applied before the ranking, so a search finds ``k`` wherever ``k`` match. `save` writes
    everything to a folder, and `load` reads it again.

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
        self._now = no_rows(0)
        self._writing = threading.Lock()
        self._indexing = threading.Lock()
        self._index: LexicalIndex | None = None
        self._indexed = self._now

    async def save(self, folder: str | os.PathLike[str]) -> None:
        """Write everything to a file in ``folder``, named after the namespace, in place of what was saved before.

        Whatever happens meanwhile, the file is the old one or the new one. What is written to the store while this
        runs is not in it.

        Args:
            folder: Made if it is not there. Stores of several namespaces can be saved in one.

        Raises:
            ConfigurationError: ``folder`` is no path.
            StoreError: The file cannot be written.
        """
        from fastrag.store.memory import file as memory_file

        await asyncio.to_thread(
            memory_file.save, self._now, checked_folder(folder), namespace=self._namespace, language=self._language
        )

    @classmethod
    async def load(cls, folder: str | os.PathLike[str], *, namespace: str = DEFAULT_NAMESPACE) -> InMemoryStore:
        """A new store with what was saved as ``namespace`` in ``folder``, its language and binding too.

        Raises:
            ConfigurationError: Nothing was, ``namespace`` cannot be one, or the file is damaged or of a newer fastrag.
            StoreError: The file cannot be read.
        """
        from fastrag.store.memory import file as memory_file

        name = checked_namespace(namespace)
        rows, language = await asyncio.to_thread(memory_file.load, checked_folder(folder), namespace=name)
        store = cls(language=language, namespace=name)
        store._now = rows
        return store

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
        return int(np.count_nonzero(await asyncio.to_thread(now.matching, now.live, filter)))

    async def scan(self, filter: Filter | None = None) -> AsyncIterator[Document]:
        """See `VectorStore.scan`: of the store as it was when the scan began."""
        check_filter(filter)
        now = self._now
        rows = np.flatnonzero(await asyncio.to_thread(now.matching, now.live, filter))
        for start in range(0, len(rows), _SCAN_ROWS):
            for document in await asyncio.to_thread(_part, now, rows[start : start + _SCAN_ROWS]):
                yield document

    async def search_dense(self, embedding: Vector, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        """See `VectorStore.search_dense`."""
        return await asyncio.to_thread(self._now.nearest, embedding, k, filter)

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
            self._now = no_rows(self._now.generation + 1)

    def _bind(self, embedder_id: str, dimension: int) -> None:
        with self._writing:
            self._now = self._now.bound(agreed_binding(self._now.binding, embedder_id, dimension))

    def _upsert(self, documents: list[Document], embeddings: Matrix | None) -> None:
        with self._writing:
            now = self._now
            if embeddings is not None:
                width = embeddings.shape[1]
                binding = now.binding or Binding(None, width)
                check_dimension(width, binding.dimension)
                now = now.bound(binding)
            self._now = now.with_documents(documents, embeddings)

    def _delete(self, ids: list[str] | None, filter: Filter | None) -> int:
        with self._writing:
            now = self._now
            if ids is not None:
                rows = sorted({now.row_of[key] for key in ids if key in now.row_of})
            else:
                rows = np.flatnonzero(now.matching(now.live, filter)).tolist()
            if rows:
                self._now = now.without_rows(rows)
            return len(rows)

    def _compact(self) -> None:
        with self._writing:
            self._now = self._now.compacted()

    def _search_lexical(self, text: str, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        with self._indexing:
            # Read under the lock: the index never runs ahead of the snapshot its row numbers are read in.
            now = self._now
            index = self._indexed_up_to(now)
            searcher = index.searcher()
        is_whole = filter is None and len(now.row_of) == len(now.live)
        allowed = None if is_whole else now.matching(now.live, filter)
        return [(now.documents[row], score) for row, score in index.search(searcher, text, k, allowed)]

    def _indexed_up_to(self, now: Rows) -> LexicalIndex:
        done, index = self._indexed, self._index
        if index is None or done.generation != now.generation:
            done, index = no_rows(now.generation), LexicalIndex(self._language)
        known = len(done.live)
        if done is not now:
            # Until the commit has succeeded nothing is known to be indexed; a failure means starting anew.
            self._index = None
            for row in np.flatnonzero(now.live[known:]).tolist():
                index.add(known + row, now.documents[known + row].text)
            index.commit()
            self._index, self._indexed = index, now
        return index


def _part(now: Rows, rows: NDArray[np.intp]) -> list[Document]:
    return [_copy(now.documents[row]) for row in rows.tolist()]


def _copy(document: Document) -> Document:
    return Document(document.id, document.text, document.uri, copied_metadata(document.metadata))
