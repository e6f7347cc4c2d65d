"""A store in a Qdrant server or cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from typing import Any

from fastrag._support.checks import require_list, require_positive_int, require_text
from fastrag.document import Document
from fastrag.embedding.base import Matrix, Vector
from fastrag.store.base import Binding, VectorStore
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
from fastrag.store.languages import language_name
from fastrag.store.qdrant.collection import QdrantCollection
from fastrag.store.qdrant.filters import Conditions, long_bounds
from fastrag.store.qdrant.points import (
    DENSE,
    DOCUMENT_FIELDS,
    WORDS,
    WRITTEN,
    document_of,
    embeddings_of,
    is_ours,
    metadata_of,
    point_id,
    points_of,
)
from fastrag.store.qdrant.server import NoCollectionError, QdrantServer
from fastrag.store.word_vectors import WordVectors

_PREFIX = "fastrag_"
_PAGE = 256
_POINTS_A_REQUEST = 500
_BYTES_A_REQUEST = 8_000_000  # the server takes 32 MB, unless it was told otherwise
_ASKED_WITHOUT_COUNTING = 1000
_MOST_TIED = 10_000


class QdrantStore(VectorStore):
    """Keeps everything in a Qdrant server or cluster, one collection (``fastrag_<namespace>``) for each namespace.

    Written for Qdrant 1.16 and newer; vectors can join Documents that were first stored without any from 1.18 on.
    It is tested against the client's own imitation of a server behind real HTTP, not against a real server.

    - What a write has returned from is there for every later call. A batch is sent in requests of at most 500
      Documents or some 8 MB, each of which Qdrant takes as a whole; where one fails, those before it stay.
    - Dense search is by HNSW once Qdrant has built it, which it does by itself (from 10 MB of vectors on, unless it
      was told otherwise), and exact before. Filters are applied within the search.
    - Lexical search multiplies sparse vectors: BM25 by the words of `word_analyzer`, with Qdrant's own document
      frequencies, and 256 words for the average length of a text.
    - Equal scores are in the order the Documents were written, among the 10,000 best.
    - `scan` shows changes that are made while it runs. `delete` counts first and then removes; what another process
      writes in between is not counted.
    - Nothing is there for `optimize` to do: the server tidies up by itself.

    Needs ``pip install 'fastrag[qdrant]'``.

    Args:
        url: ``http://`` or ``https://``; the port is 6333 unless given.
        api_key: Sent with every request, where the server asks for one. None takes it from the environment's
            ``QDRANT_API_KEY``, where that is set. Over ``http://`` it can be read on the way.
        language: Whose word endings to take off for lexical search: an ISO 639-1 code or English name; None for
            none. It is fixed by the first write.
        namespace: Which corpus of the server this store is.
        range_fields: Metadata fields that `Range` asks for often: Qdrant indexes them at the next write. Others
            are compared too, by looking at every Document that the rest of the filter allows.
        ef: How many candidates HNSW keeps while it searches: more find better and take longer.
        timeout_s: Seconds until an unanswered request fails; a connection is given up after five at the most.

    Raises:
        ConfigurationError: An argument is wrong. The first call raises it where the collection was not made by
            fastrag, or is one of another language or a newer format.

    Example::

        store = QdrantStore("https://qdrant.example.com", namespace="handbook")
    """

    def __init__(
        self,
        url: str = "http://localhost:6333",
        *,
        api_key: str | None = None,
        language: str | None = "en",
        namespace: str = DEFAULT_NAMESPACE,
        range_fields: Sequence[str] = (),
        ef: int = 128,
        timeout_s: float = 30.0,
    ) -> None:
        self._namespace = checked_namespace(namespace)
        self._language = language_name(language)
        self._ef = require_positive_int("ef", ef)
        fields = require_list("range_fields", range_fields, of="names of fields")
        self._server = QdrantServer(url, api_key=api_key, timeout_s=timeout_s)
        self._collection = QdrantCollection(
            self._server,
            f"{_PREFIX}{namespace}",
            language=self._language,
            range_fields=[require_text("a name in range_fields", field) for field in fields],
        )

    @property
    def namespace(self) -> str:
        """See `VectorStore.namespace`."""
        return self._namespace

    async def namespaces(self) -> list[str]:
        """See `VectorStore.namespaces`."""
        found = []
        response = await self._server.ask("list its collections", "get_collections")
        for name in sorted(each.name for each in response.collections if each.name.startswith(_PREFIX)):
            try:
                info = await self._server.ask("read", "get_collection", collection_name=name)
            except NoCollectionError:
                continue
            if is_ours(info):
                found.append(name.removeprefix(_PREFIX))
        return found

    async def drop(self) -> None:
        """See `VectorStore.drop`."""
        await self._collection.drop()

    async def bind(self, embedder_id: str, dimension: int) -> None:
        """See `VectorStore.bind`."""
        await self._collection.bind(embedder_id, dimension)

    async def binding(self) -> Binding | None:
        """See `VectorStore.binding`."""
        return await self._collection.binding(fresh=True)

    async def upsert(self, documents: Sequence[Document], embeddings: Matrix | None = None) -> None:
        """See `VectorStore.upsert`."""
        # Copied before the first await: the caller may change its Documents while others run.
        copies = checked_documents(documents)
        rows = None if embeddings is None else unit_rows(embeddings, rows=len(copies))
        if not copies:
            return
        models = await self._server.models()
        requests = await asyncio.to_thread(lambda: list(self._requests(models, copies, rows)))
        try:
            await self._write(models, requests, rows)
        except NoCollectionError:
            # Another process has dropped it since it was last seen.
            await self._write(models, requests, rows)

    async def delete(self, *, ids: Sequence[str] | None = None, filter: Filter | None = None) -> int:
        """See `VectorStore.delete`."""
        ids, filter = checked_deletion(ids, filter)
        deleted = 0
        with suppress(NoCollectionError):
            if not await self._collection.is_there():
                return 0
            models = await self._server.models()
            if filter is not None:
                deleted = await self.count(filter)
                selector = models.FilterSelector(filter=await self._conditions(filter))
                await self._delete(models, selector)
            for some in _pages(_distinct(ids or [])):
                found = await self._collection.ask("read", "retrieve", ids=some, with_payload=False)
                await self._delete(models, models.PointIdsList(points=some))
                deleted += len(found)
        return deleted

    async def get(self, ids: Sequence[str]) -> list[Document]:
        """See `VectorStore.get`."""
        ids = checked_ids(ids)
        found: dict[str, Document] = {}
        with suppress(NoCollectionError):
            if await self._collection.is_there():
                for some in _pages(_distinct(ids)):
                    points = await self._collection.ask("read", "retrieve", ids=some, with_payload=DOCUMENT_FIELDS)
                    documents = [document_of(point, self._collection.where) for point in points]
                    found.update({document.id: document for document in documents})
        return [found[key] for key in ids if key in found]

    async def get_embeddings(self, ids: Sequence[str]) -> dict[str, Vector]:
        """See `VectorStore.get_embeddings`."""
        ids = checked_ids(ids)
        found: dict[str, Vector] = {}
        with suppress(NoCollectionError):
            if await self._collection.binding() is not None:
                for some in _pages(_distinct(ids)):
                    points = await self._collection.ask(
                        "read", "retrieve", ids=some, with_payload=["id"], with_vectors=[DENSE]
                    )
                    found.update(embeddings_of(points))
        return found

    async def count(self, filter: Filter | None = None) -> int:
        """See `VectorStore.count`."""
        check_filter(filter)
        with suppress(NoCollectionError):
            if await self._collection.is_there():
                conditions = await self._conditions(filter)
                result = await self._collection.ask("count", "count", count_filter=conditions, exact=True)
                return int(result.count)
        return 0

    async def scan(self, filter: Filter | None = None) -> AsyncIterator[Document]:
        """See `VectorStore.scan`."""
        check_filter(filter)
        with suppress(NoCollectionError):
            if await self._collection.is_there():
                async for point in self._scroll(await self._conditions(filter), DOCUMENT_FIELDS):
                    yield document_of(point, self._collection.where)

    async def search_dense(self, embedding: Vector, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        """See `VectorStore.search_dense`."""
        with suppress(NoCollectionError):
            binding = await self._collection.binding()
            if binding is None:
                return []
            check_dimension(embedding.size, binding.dimension)
            if embedding.any():
                found = await self._best(embedding.tolist(), DENSE, k, filter)
                return [(document, min(1.0, max(-1.0, score))) for document, score in found]
        return []

    async def search_lexical(self, text: str, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        """See `VectorStore.search_lexical`."""
        places, weights = self._words().of_query(text)
        if not places:
            return []
        models = await self._server.models()
        with suppress(NoCollectionError):
            if await self._collection.is_there():
                return await self._best(models.SparseVector(indices=places, values=weights), WORDS, k, filter)
        return []

    async def close(self) -> None:
        """Close the connections once the calls under way have ended; a later call opens others."""
        await self._server.close()

    def _words(self) -> WordVectors:
        return WordVectors(self._language, extra="qdrant")

    def _requests(self, models: Any, documents: Sequence[Document], rows: Matrix | None) -> Iterator[list[Any]]:
        points: list[Any] = []
        bytes_so_far = 0
        for point, size in points_of(models, documents, rows, self._words()):
            if points and (len(points) == _POINTS_A_REQUEST or bytes_so_far + size > _BYTES_A_REQUEST):
                yield points
                points, bytes_so_far = [], 0
            points.append(point)
            bytes_so_far += size
        yield points

    async def _write(self, models: Any, requests: list[list[Any]], rows: Matrix | None) -> None:
        bound = await self._collection.make(None if rows is None else Binding(None, rows.shape[1]))
        if rows is not None and bound is not None:
            check_dimension(rows.shape[1], bound.dimension)
        for points in requests:
            await self._collection.ask(
                "write", "upsert", points=points, wait=True, ordering=models.WriteOrdering.MEDIUM
            )

    async def _delete(self, models: Any, selector: Any) -> None:
        await self._collection.ask(
            "remove", "delete", points_selector=selector, wait=True, ordering=models.WriteOrdering.MEDIUM
        )

    async def _conditions(self, filter: Filter | None) -> Any:
        """``filter`` in Qdrant's terms, once it is known for which points its long bounds hold."""
        if filter is None:
            return None
        models = await self._server.models()
        beyond = {
            bound: [
                point.id
                async for point in self._scroll(Conditions(models, {}).alike(bound), ["metadata"])
                if bound.holds(metadata_of(point, self._collection.where))
            ]
            for bound in long_bounds(filter)
        }
        return Conditions(models, beyond).of(filter)

    async def _scroll(self, conditions: Any, fields: list[str]) -> AsyncIterator[Any]:
        place = None
        while True:
            points, place = await self._collection.ask(
                "read", "scroll", scroll_filter=conditions, limit=_PAGE, offset=place, with_payload=fields
            )
            for point in points:
                yield point
            if place is None:
                return

    async def _best(self, query: Any, using: str, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        """The best ``k``; equal ones in the order they were written."""
        models = await self._server.models()
        conditions = await self._conditions(filter)

        async def ask(limit: int, fields: list[str]) -> Any:
            response = await self._collection.ask(
                "search",
                "query_points",
                query=query,
                using=using,
                query_filter=conditions,
                search_params=models.SearchParams(hnsw_ef=self._ef) if using == DENSE else None,
                limit=limit,
                with_payload=fields,
            )
            return response.points

        limit = k + 1
        if k >= _ASKED_WITHOUT_COUNTING:
            # The server makes room for as many as it is asked for.
            limit = min(limit, max(1, await self.count()))
        hits = await ask(limit, [*DOCUMENT_FIELDS, WRITTEN])
        points = {hit.id: hit for hit in hits}
        # Where the k-th score goes on beyond the limit, which of its points came is up to the engine.
        while k < limit == len(hits) and hits[k - 1].score == hits[-1].score and limit < _MOST_TIED:
            limit = min(limit * 4, _MOST_TIED)
            hits = await ask(limit, [WRITTEN])
        best = sorted(hits, key=lambda hit: (-hit.score, hit.payload.get(WRITTEN, 0), hit.id))[:k]
        for some in _pages([hit.id for hit in best if hit.id not in points]):
            found = await self._collection.ask("read", "retrieve", ids=some, with_payload=DOCUMENT_FIELDS)
            points.update({point.id: point for point in found})
        return [
            (document_of(points[hit.id], self._collection.where), float(hit.score)) for hit in best if hit.id in points
        ]


def _distinct(ids: Sequence[str]) -> list[str]:
    return [point_id(id) for id in dict.fromkeys(ids)]


def _pages(ids: list[str]) -> Iterator[list[str]]:
    return (ids[start : start + _PAGE] for start in range(0, len(ids), _PAGE))
