"""A store in a folder, by LanceDB: no server, several processes, nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from typing import Any

from fastrag._support.checks import require_positive_int
from fastrag.document import Document
from fastrag.embedding.base import Matrix, Vector
from fastrag.store.base import Binding, VectorStore, agreed_binding
from fastrag.store.checks import (
    DEFAULT_NAMESPACE,
    check_dimension,
    checked_deletion,
    checked_documents,
    checked_ids,
    checked_namespace,
    unit_rows,
)
from fastrag.store.filters import Filter, check_filter
from fastrag.store.lance.filters import sql_of
from fastrag.store.lance.indexes import Tidying
from fastrag.store.lance.queries import batches_of, embeddings_of, fitting, has_id, nearest, with_ids
from fastrag.store.lance.rows import binding_of, embedder_metadata, to_documents, to_rows, vector_field
from fastrag.store.lance.table import LanceTable, retried
from fastrag.store.languages import language_name


class LanceStore(VectorStore):
    """Keeps everything in a folder and searches it there; several processes may read and write it at once.

    Up to some 10,000 Documents dense search compares every vector. From then on an approximate index (HNSW over
    vectors rounded to 8 bits) names ``ef`` candidates and the nearest half of them are compared exactly, so that
    scores are exact cosines, and recall@10 is above 0.95 even in tight clusters. Filters are applied by the engine
    before the ranking.

    What a write has returned from is on disk (fsync) and survives a killed process; a batch that was not
    acknowledged is there as a whole or not at all. Each batch costs some files and milliseconds, so write
    Documents by the hundred. Call `optimize` after bulk writes: what is not in the indexes yet is found too, but
    slowly. Writing does the same by itself once that slows searches down, for at most a tenth of the time; such a
    write takes as long as the indexing does.

    The folder is made at the first write or `bind`; reading a store that is not there yet finds nothing.
    Files are opened at first use. `close` leaves calls under way their files; a call after it opens them again.
    LanceDB does not survive a fork: in a child forked from a process that has used a LanceStore every call raises
    StoreError, so start processes with multiprocessing's ``spawn`` or ``forkserver``.

    Needs ``pip install 'fastrag[lance]'``.

    Args:
        path: The folder on this machine, which holds stores and nothing else. ``~`` is the home folder; a
            relative path is taken from the folder that is current now.
        language: Whose word endings to take off for lexical search: an ISO 639-1 code or English name; None
            for none. It is fixed by the first write.
        namespace: Which corpus of the folder this store is; each is a LanceDB table of its own.
        index_from: From how many Documents on vectors, ids and metadata are indexed.
        ef: How many candidates the approximate index looks for: more find more and take longer; 100 to 1000 are of use.

    Raises:
        ConfigurationError: There is no stemmer for ``language``, ``namespace`` cannot be one, ``path`` is a URL or
            no path at all, or ``index_from`` or ``ef`` is below 1. The first call raises it where ``path`` is a
            file, a folder of something else, or a store of another language or a newer format.

    >>> import tempfile
    >>> import numpy as np
    >>> async def example(folder):
    ...     store = LanceStore(folder)
    ...     await store.upsert([Document("a", "apples"), Document("b", "pears")], np.eye(2, dtype=np.float32))
    ...     found = await store.search(text="an apple", k=1)
    ...     await store.close()
    ...     return [document.id for document in found]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     asyncio.run(example(folder))
    ['a']
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        language: str | None = "en",
        namespace: str = DEFAULT_NAMESPACE,
        index_from: int = 10_000,
        ef: int = 200,
    ) -> None:
        self._namespace = checked_namespace(namespace)
        require_positive_int("index_from", index_from)
        require_positive_int("ef", ef)
        self._ef = ef
        self._table = LanceTable(path, self._namespace, language_name(language))
        self._tidying = Tidying(index_from)

    @property
    def namespace(self) -> str:
        """See `VectorStore.namespace`."""
        return self._namespace

    async def namespaces(self) -> list[str]:
        """See `VectorStore.namespaces`."""
        return await self._table.namespaces()

    async def drop(self) -> None:
        """See `VectorStore.drop`."""
        await self._table.drop()

    async def bind(self, embedder_id: str, dimension: int) -> None:
        """See `VectorStore.bind`."""
        agreed_binding(None, embedder_id, dimension)
        async with self._table.writing() as table:
            await retried(lambda: _bind(table, embedder_id, dimension))

    async def binding(self) -> Binding | None:
        """See `VectorStore.binding`."""
        return await self._table.read("read", _binding, absent=None)

    async def upsert(self, documents: Sequence[Document], embeddings: Matrix | None = None) -> None:
        """See `VectorStore.upsert`."""
        # Copied before the first await: the caller may change its Documents while others run.
        copies = checked_documents(documents)
        rows = None if embeddings is None else unit_rows(embeddings, rows=len(copies))
        if not copies:
            return
        async with self._table.writing() as table:
            if rows is not None:
                width = rows.shape[1]
                await retried(lambda: _bind(table, None, width))
            batch = await asyncio.to_thread(to_rows, await table.schema(), copies, rows)
            merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
            # "null" leaves as they are the vectors that are missing on purpose; there are no bad ones.
            result = await merge.execute(batch, on_bad_vectors="null")
            vectors = 0 if rows is None else len(rows)
            await self._tidying.after_write(table, removed_rows=result.num_updated_rows, vectors=vectors)

    async def delete(self, *, ids: Sequence[str] | None = None, filter: Filter | None = None) -> int:
        """See `VectorStore.delete`."""
        ids, filter = checked_deletion(ids, filter)
        if filter is None and not ids:
            return 0
        if not await self._table.exists():
            return 0
        async with self._table.writing() as table:
            # Counted by the engine: rows counted before and after would tell what other processes write too.
            result = await table.delete(has_id(ids or []) if filter is None else sql_of(filter))
            removed = int(result.num_deleted_rows)
            await self._tidying.after_write(table, removed_rows=removed)
            return removed

    async def get(self, ids: Sequence[str]) -> list[Document]:
        """See `VectorStore.get`."""
        ids = checked_ids(ids)
        none: dict[str, Document] = {}
        found = await self._table.read("read", lambda table: with_ids(table, ids), absent=none)
        return [found[key] for key in ids if key in found]

    async def get_embeddings(self, ids: Sequence[str]) -> dict[str, Vector]:
        """See `VectorStore.get_embeddings`."""
        ids = checked_ids(ids)
        return await self._table.read("read", lambda table: embeddings_of(table, ids), absent={})

    async def count(self, filter: Filter | None = None) -> int:
        """See `VectorStore.count`."""
        check_filter(filter)
        condition = None if filter is None else sql_of(filter)
        return int(await self._table.read("read", lambda table: table.count_rows(condition), absent=0))

    async def scan(self, filter: Filter | None = None) -> AsyncIterator[Document]:
        """See `VectorStore.scan`: of the store as it was when the scan began."""
        check_filter(filter)
        batches = await self._table.read("read", lambda table: batches_of(table, filter), absent=None)
        while batches is not None:
            with self._table.translated("read"):
                batch = await anext(batches, None)
            if batch is None:
                return
            for document in to_documents(batch):
                yield document

    async def search_dense(self, embedding: Vector, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        """See `VectorStore.search_dense`."""
        if not embedding.any():
            binding = await self.binding()
            if binding is not None:
                check_dimension(embedding.size, binding.dimension)
            return []

        async def search(table: Any) -> list[tuple[Document, float]]:
            with contextlib.suppress(RuntimeError, ValueError):
                return await nearest(table, embedding, k, filter, ef=self._ef)
            # Only now: asking for it at every search would make searches slower by a tenth.
            binding = await _binding(table)
            if binding is None:
                return []
            check_dimension(embedding.size, binding.dimension)
            # The vectors may have come in between; else it fails once more.
            return await nearest(table, embedding, k, filter, ef=self._ef)

        return await self._table.read("search", search, absent=[])

    async def search_lexical(self, text: str, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        """See `VectorStore.search_lexical`."""
        return await self._table.read("search", lambda table: fitting(table, text, k, filter), absent=[])

    async def optimize(self) -> None:
        """Make or refresh the indexes, and merge the files of many writes into few.

        It returns at once where that is not worth its time. Where other processes write all the while, it may be
        left for a later call. Files of versions older than ten minutes are removed; a scan that has run for longer
        may then fail.
        """
        if await self._table.exists():
            async with self._table.writing() as table:
                await self._tidying.now(table)

    async def close(self) -> None:
        """Release the files once the calls under way have ended; a later call opens them again."""
        await self._table.close()


async def _binding(table: Any) -> Binding | None:
    return binding_of(await table.schema())


async def _bind(table: Any, embedder_id: str | None, dimension: int) -> None:
    """Make the binding agree with what is asked; without an ``embedder_id``, the dimension only."""
    bound = await _binding(table)
    if embedder_id is not None:
        agreed = agreed_binding(bound, embedder_id, dimension)
    else:
        agreed = bound or Binding(None, dimension)
        check_dimension(dimension, agreed.dimension)
    if bound is None:
        await table.add_columns([vector_field(agreed)])
    elif agreed != bound:
        await table.update_field_metadata({"path": "vector", "metadata": embedder_metadata(agreed)})
