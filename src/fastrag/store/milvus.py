"""A store in Milvus: a file of milvus-lite, a server, or a cluster."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from fastrag._support.checks import require_positive_int
from fastrag.document import Document
from fastrag.embedding.base import Matrix, Vector
from fastrag.errors import ConfigurationError, StoreError
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
from fastrag.store.filters import Filter, Range, check_filter, matches
from fastrag.store.languages import language_name
from fastrag.store.milvus_collection import Collection, Collections, IndexSettings
from fastrag.store.milvus_filters import (
    EVERYTHING,
    NOTHING,
    ArrayExpressions,
    KeyExpressions,
    has_key,
    left_open,
    long_ranges,
)
from fastrag.store.milvus_rows import document_of, row_key
from fastrag.store.milvus_server import SLOW_S, CollectionGoneError, MilvusServer, TooMuchError

T = TypeVar("T")

_MOST_FOUND = 16_384  # the most hits, or rows, that a server answers with
_PAGE = 1000
_KEYS_PER_CALL = 1000
_REQUEST_BYTES = 32_000_000  # about; a server takes 64 MB


class MilvusStore(VectorStore):
    """Keeps everything in Milvus: the same code for a ``.db`` file, a standalone server and a cluster.

    A namespace is a collection named ``fastrag_`` and the namespace; other collections are left alone. It is made at
    the first write or `bind`; reading one that is not there finds nothing.

    **Dense search** uses an HNSW graph, or compares every vector in a file and in what is too new or too small to have
    a graph. Filters are applied by the engine before the ranking.

    **Lexical search** is Milvus' BM25, of servers from 2.5 on and of files; an older server keeps Documents and finds
    them by vector, and refuses a search by words. Words are taken apart and reduced to their stems here, by tantivy, so
    that all of them find the same; of a text longer than some 60,000 bytes, those at its beginning.

    **Writes** of up to 32 MB are there as a whole or not at all, unless there is more than one shard; larger ones are
    sent in parts. `delete` removes a thousand Documents at a time. A server makes a write visible with its next tick of
    the clock, some 200 ms later. ``consistency`` says who waits for it:

    - ``"bounded"``: the writer. What a write has returned from is seen by every later call of any process, and reads
      do not wait. In a cluster that holds a collection in memory more than once, another copy may show a write up to
      five seconds later.
    - ``"strong"``: the reader, at every read, also of a cluster with many copies.

    Since a write waits, write Documents by the thousand, or several batches at once. Call `optimize` after bulk writes.
    The first vectors, or `bind`, in a namespace that holds Documents without vectors copy it; others must not write
    meanwhile.

    **Limits**: a search finds 16,384 Documents at the most; a Document's metadata may have 4,096 facts in it to filter
    by (a field with a text has two, a list one and one for each different item) and about 65,000 bytes of keys on a
    server (up to 400 for each field). `scan` shows what is written while it runs as it was or as it is.

    **A file** is for one process at a time: another is refused. It survives a killed process, and not a loss of power.
    Its engine is made for tests and small collections: it is slow beyond some ten thousand Documents, and weighs words
    by each of its segments alone. `close` lets others open it. Milvus' connections do not survive a fork: in a child
    forked from a process that has used a MilvusStore every call raises StoreError, so start processes with
    multiprocessing's ``spawn`` or ``forkserver``.

    Needs ``pip install 'fastrag[milvus]'``.

    Args:
        uri: The URL of a server (``http://host:19530``, with ``https://`` for TLS, and ``/name`` for a database other
            than its default one), or the path of a file that ends in ``.db``; a file is made where there is none.
        namespace: Which corpus of the server or file.
        language: Whose word endings to take off for lexical search: an ISO 639-1 code or English name; None for none.
            It is fixed by the first write.
        token: ``user:password`` or an API key of a server; a function is asked for it at each new connection. None
            takes it from the environment's ``MILVUS_TOKEN``, where that is set.
        timeout_s: Seconds until an unanswered call fails with StoreError; building an index and loading a collection
            may take ten minutes.
        consistency: See above.
        shards: How many parts the writes of a new collection are spread over.
        m: How many links a vector of a new collection has in the graph: more need more memory and find more.
        ef_construction: How many candidates are looked at when a vector of a new collection is linked.
        ef_search: How many candidates a search looks at: more take longer and find more.
        filtered_ef_search: The same for a search with a filter, which passes over those that do not satisfy it.

    Raises:
        ConfigurationError: An argument is wrong. The first call raises it where the collection is one that fastrag did
            not make, of another language, or of a newer format.

    >>> import asyncio, tempfile
    >>> async def example(folder):
    ...     store = MilvusStore(f"{folder}/docs.db")
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
        uri: str | os.PathLike[str],
        *,
        namespace: str = DEFAULT_NAMESPACE,
        language: str | None = "en",
        token: str | Callable[[], str] | None = None,
        timeout_s: float = 30.0,
        consistency: Literal["bounded", "strong"] = "bounded",
        shards: int = 1,
        m: int = 16,
        ef_construction: int = 128,
        ef_search: int = 128,
        filtered_ef_search: int = 800,
    ) -> None:
        self._namespace = checked_namespace(namespace)
        self._language = language_name(language)
        if consistency not in ("bounded", "strong"):
            raise ConfigurationError(f"consistency must be 'bounded' or 'strong', not {consistency!r}")
        self._consistency = consistency.capitalize()
        self._ef_search = require_positive_int("ef_search", ef_search)
        self._filtered_ef_search = require_positive_int("filtered_ef_search", filtered_ef_search)
        settings = IndexSettings(
            language=self._language,
            consistency=self._consistency,
            shards=require_positive_int("shards", shards),
            m=require_positive_int("m", m),
            ef_construction=require_positive_int("ef_construction", ef_construction),
        )
        self._server = MilvusServer(uri, token=token, timeout_s=timeout_s)
        self._collections = Collections(self._server, self._namespace, settings)

    @property
    def namespace(self) -> str:
        """See `VectorStore.namespace`."""
        return self._namespace

    async def namespaces(self) -> list[str]:
        """See `VectorStore.namespaces`."""
        return await self._collections.namespaces()

    async def drop(self) -> None:
        """See `VectorStore.drop`."""
        await self._collections.drop()

    async def bind(self, embedder_id: str, dimension: int) -> None:
        """See `VectorStore.bind`."""
        asked = agreed_binding(None, embedder_id, dimension)
        self._collections.forget()
        collection = await self._collections.make(asked)
        agreed = agreed_binding(collection.binding, embedder_id, dimension)
        if agreed != collection.binding:
            await self._collections.rebind(collection, agreed)

    async def binding(self) -> Binding | None:
        """See `VectorStore.binding`."""
        collection = await self._collections.find()
        return None if collection is None else collection.binding

    async def upsert(self, documents: Sequence[Document], embeddings: Matrix | None = None) -> None:
        """See `VectorStore.upsert`."""
        # Copied before the first await: the caller may change its Documents while others run.
        copies = checked_documents(documents)
        vectors = None if embeddings is None else unit_rows(embeddings, rows=len(copies))
        if not copies:
            return
        try:
            await self._write(copies, vectors)
        except StoreError:
            self._collections.forget()
            raise

    async def delete(self, *, ids: Sequence[str] | None = None, filter: Filter | None = None) -> int:
        """See `VectorStore.delete`."""
        ids, filter = checked_deletion(ids, filter)

        async def remove(collection: Collection) -> int:
            if ids is not None:
                asked = list(dict.fromkeys(map(row_key, ids)))
                found = [row["id"] for row in await self._with_keys(collection, asked, [])]
            else:
                found = [row["id"] async for row in self._scan(collection, filter, [])]
            for some in _portions(found):
                await self._ask(collection, "remove from", "delete", filter=has_key(some))
            if found:
                await self._settle(collection)
            return len(found)

        return await self._with_collection(remove, absent=0)

    async def get(self, ids: Sequence[str]) -> list[Document]:
        """See `VectorStore.get`."""
        keys = {id: row_key(id) for id in checked_ids(ids)}

        async def read(collection: Collection) -> list[Document]:
            rows = await self._with_keys(collection, list(keys.values()), ["document"])
            found = {row["id"]: row for row in rows}
            return [document_of(found[keys[id]]) for id in ids if keys[id] in found]

        return await self._with_collection(read, absent=[])

    async def get_embeddings(self, ids: Sequence[str]) -> dict[str, Vector]:
        """See `VectorStore.get_embeddings`."""
        keys = {row_key(id): id for id in checked_ids(ids)}

        async def read(collection: Collection) -> dict[str, Vector]:
            if collection.binding is None:
                return {}
            rows = await self._with_keys(collection, list(keys), ["vector", "pointed"])
            return {keys[row["id"]]: np.array(row["vector"], dtype=np.float32) for row in rows if row["pointed"]}

        return await self._with_collection(read, absent={})

    async def count(self, filter: Filter | None = None) -> int:
        """See `VectorStore.count`."""
        check_filter(filter)

        async def read(collection: Collection) -> int:
            expression = "" if filter is None else await self._expression(collection, filter)
            rows = await self._read(collection, "query", filter=expression, output_fields=["count(*)"])
            return int(rows[0]["count(*)"])

        return await self._with_collection(read, absent=0)

    async def scan(self, filter: Filter | None = None) -> AsyncIterator[Document]:
        """See `VectorStore.scan`."""
        check_filter(filter)
        collection = await self._collections.find()
        if collection is not None:
            async for row in self._scan(collection, filter, ["document"]):
                yield document_of(row)

    async def search_dense(self, embedding: Vector, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        """See `VectorStore.search_dense`."""

        async def search(collection: Collection) -> list[tuple[Document, float]]:
            if collection.binding is None:
                return []
            check_dimension(embedding.size, collection.binding.dimension)
            if not embedding.any():
                return []
            expression = "" if filter is None else await self._expression(collection, filter)
            found = await self._search_dense(collection, embedding, k, expression)
            if not all(hit["entity"]["pointed"] for hit in found):
                # Those without direction are there with zeros, whose product with anything is 0. Few searches come
                # that far down, so that the others are spared the condition.
                pointed = f"({expression}) and pointed == true" if expression else "pointed == true"
                found = await self._search_dense(collection, embedding, k, pointed)
            return [(document_of(hit["entity"]), min(1.0, max(-1.0, hit["distance"]))) for hit in found]

        return await self._with_collection(search, absent=[])

    async def search_lexical(self, text: str, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        """See `VectorStore.search_lexical`.

        Raises:
            ConfigurationError: The server has no BM25, or had none when the collection was made.
        """

        async def search(collection: Collection) -> list[tuple[Document, float]]:
            if not collection.layout.words:
                raise await self._without_words(collection)
            words = " ".join(self._collections.analyzer().analyze(text))
            if not words:
                return []
            expression = "" if filter is None else await self._expression(collection, filter)
            found = await self._best(
                collection, k, filter=expression, data=[words], anns_field="bm25", search_params={"metric_type": "BM25"}
            )
            return [(document_of(hit["entity"]), _bm25(hit)) for hit in found]

        if not await self._collections.has_words():
            raise await self._without_words(None)
        return await self._with_collection(search, absent=[])

    async def optimize(self) -> None:
        """Have Milvus put what was written into segments of their final form, and wait until those are indexed."""

        async def tidy(collection: Collection) -> None:
            await self._ask(collection, "flush", "flush", timeout_s=SLOW_S)
            if not self._server.is_local:
                await self._collections.wait_for_indexes(collection)

        await self._with_collection(tidy, absent=None)

    async def close(self) -> None:
        """Close connections and file once the calls under way have ended; a later call opens them again."""
        await self._server.close()

    async def _write(self, documents: list[Document], vectors: Matrix | None) -> None:
        collection = await self._collections.make(None if vectors is None else Binding(None, vectors.shape[1]))
        if vectors is not None and collection.binding is not None:
            check_dimension(vectors.shape[1], collection.binding.dimension)
        for part in _requests(documents, 0 if vectors is None else vectors.shape[1]):
            rows = await self._collections.rows(collection, documents[part], None if vectors is None else vectors[part])
            await self._collections.write(collection, rows)
        await self._settle(collection)

    async def _settle(self, collection: Collection) -> None:
        """Wait until what was written is seen by every read."""
        if self._consistency == "Bounded" and not self._server.is_local:
            await self._wait_for_writes(collection)

    async def _wait_for_writes(self, collection: Collection) -> None:
        await self._ask(collection, "read", "query", filter=NOTHING, output_fields=["id"], consistency_level="Strong")

    async def _with_collection(self, act: Callable[[Collection], Awaitable[T]], *, absent: T) -> T:
        """What ``act`` makes of the collection; ``absent`` where there is none."""
        for _ in range(2):
            try:
                collection = await self._collections.get()
                return absent if collection is None else await act(collection)
            except CollectionGoneError:
                # Dropped, or replaced by one with a dimension, since it was last seen.
                self._collections.forget()
            except StoreError:
                self._collections.forget()
                raise
        return absent

    async def _ask(self, collection: Collection, action: str, method: str, **options: Any) -> Any:
        return await self._server.ask(f"{action} the collection {collection.name}", method, collection.name, **options)

    async def _read(self, collection: Collection, method: str, **options: Any) -> Any:
        return await self._ask(collection, "read", method, consistency_level=self._consistency, **options)

    async def _expression(self, collection: Collection, filter: Filter) -> str:
        settled: dict[Range, list[str]] = {}
        for condition in long_ranges(filter):
            rows = self._pages(collection, left_open(condition), ["document"])
            settled[condition] = [row["id"] async for row in rows if matches(condition, document_of(row).metadata)]
        return (ArrayExpressions if collection.layout.facts else KeyExpressions)(settled).of(filter)

    async def _scan(
        self, collection: Collection, filter: Filter | None, fields: Sequence[str]
    ) -> AsyncIterator[dict[str, Any]]:
        """The rows that satisfy ``filter``, by primary key."""
        if self._consistency == "Strong" and not self._server.is_local:
            await self._wait_for_writes(collection)
        expression = EVERYTHING if filter is None else await self._expression(collection, filter)
        async for row in self._pages(collection, expression, fields):
            yield row

    async def _pages(
        self, collection: Collection, expression: str, fields: Sequence[str]
    ) -> AsyncIterator[dict[str, Any]]:
        last, limit = "", _PAGE
        while True:
            try:
                rows = await self._collections.page(collection, f'({expression}) and id > "{last}"', fields, limit)
            except TooMuchError:
                if limit == 1:
                    raise
                limit //= 2
                continue
            if not rows:
                return
            for row in rows:
                yield row
            last = rows[-1]["id"]

    async def _with_keys(
        self, collection: Collection, keys: Sequence[str], fields: Sequence[str]
    ) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for some in _portions(keys):
            try:
                found += await self._read(collection, "query", filter=has_key(some), output_fields=["id", *fields])
            except TooMuchError:
                if len(some) == 1:
                    raise
                half = len(some) // 2
                for part in (some[:half], some[half:]):
                    found += await self._with_keys(collection, part, fields)
        return found

    async def _search_dense(
        self, collection: Collection, embedding: Vector, k: int, expression: str
    ) -> list[dict[str, Any]]:
        ef = self._filtered_ef_search if expression else self._ef_search
        params = {"metric_type": "IP", "params": {"ef": ef}}
        return await self._best(
            collection, k, filter=expression, data=[embedding], anns_field="vector", search_params=params
        )

    async def _best(
        self, collection: Collection, k: int, *, search_params: dict[str, Any], **options: Any
    ) -> list[dict[str, Any]]:
        """The best ``k`` hits; equal ones in the order they were written."""
        limit = min(k + 1, _MOST_FOUND)
        while True:
            if "params" in search_params:
                ef = max(search_params["params"]["ef"], limit)
                search_params = {**search_params, "params": {"ef": ef}}
            hits = await self._hits(collection, limit=limit, search_params=search_params, **options)
            # Where the k-th score goes on beyond the limit, which of its hits came is up to the engine.
            if limit == _MOST_FOUND or len(hits) < limit or hits[k - 1]["distance"] != hits[-1]["distance"]:
                break
            limit = min(limit * 4, _MOST_FOUND)
        # The best come first, whatever their sign; among equal ones the engine knows no order.
        place = {distance: number for number, distance in enumerate(dict.fromkeys(hit["distance"] for hit in hits))}
        hits.sort(key=lambda hit: (place[hit["distance"]], hit["entity"]["written"]))
        return hits[:k]

    async def _hits(self, collection: Collection, **options: Any) -> list[dict[str, Any]]:
        fields = ["written", "pointed"]
        try:
            found = await self._read(collection, "search", output_fields=["document", *fields], **options)
        except TooMuchError:
            # Long texts, which are read in parts then.
            found = await self._read(collection, "search", output_fields=fields, **options)
            rows = await self._with_keys(collection, [hit["id"] for hit in found[0]], ["document"])
            documents = {row["id"]: row["document"] for row in rows}
            for hit in found[0]:
                hit["entity"]["document"] = documents.get(hit["id"])
            return [hit for hit in found[0] if hit["entity"]["document"] is not None]
        return list(found[0])

    async def _without_words(self, collection: Collection | None) -> ConfigurationError:
        version = await self._collections.version()
        if collection is not None and await self._collections.has_words():
            return ConfigurationError(
                f"the collection {collection.name} of {self._server.place} has no word index: it was made before the "
                f"server was version {version}. Copy it into another namespace"
            )
        return ConfigurationError(
            f"the server at {self._server.place} is Milvus {version}, and lexical search needs the BM25 function that "
            "came with 2.5: search by embedding, or update the server"
        )


def _bm25(hit: dict[str, Any]) -> float:
    # A file's engine gives it with the opposite sign.
    return abs(float(hit["distance"]))


def _requests(documents: Sequence[Document], dimension: int) -> Iterator[slice]:
    """The parts of ``documents`` that one request can carry."""
    start, size = 0, 0
    for position, document in enumerate(documents):
        # Its words are sent too, and its metadata as facts and keys.
        text_bytes = len(document.text) * (1 if document.text.isascii() else 4)
        each = 2 * text_bytes + 16 * len(repr(document.metadata)) + 4 * dimension + 500
        if size and size + each > _REQUEST_BYTES:
            yield slice(start, position)
            start, size = position, 0
        size += each
    yield slice(start, len(documents))


def _portions(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    return (keys[start : start + _KEYS_PER_CALL] for start in range(0, len(keys), _KEYS_PER_CALL))
