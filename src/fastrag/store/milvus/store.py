"""A store in Milvus: a file of milvus-lite, a server, or a cluster."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from fastrag._support.checks import require_choice, require_positive_int, require_text
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
from fastrag.store.filters import Filter, check_filter
from fastrag.store.languages import language_name
from fastrag.store.milvus.collection import Collections
from fastrag.store.milvus.filters import has_key, key_name
from fastrag.store.milvus.loading import GraphSettings, Loading
from fastrag.store.milvus.queries import Queries, portions
from fastrag.store.milvus.rows import Collection, document_of, row_key
from fastrag.store.milvus.server import CollectionGoneError, MilvusServer

T = TypeVar("T")

_MOST_COLUMNS = 32
_REQUEST_BYTES = 32_000_000  # about; a server takes 64 MB


class MilvusStore(VectorStore):
    """Keeps everything in Milvus: the same code for a ``.db`` file, a standalone server and a cluster.

    A namespace is a collection named ``fastrag_`` and the namespace; other collections are left alone. It is made at
    the first write or `bind`; reading one that is not there finds nothing.

    **Dense search** uses an HNSW graph, or compares every vector in a file and in what is too new or too small to have
    a graph. Filters are applied by the engine before the ranking. Call `optimize` after bulk writes: from 5,000 new
    rows on, and until it or the server itself (after ten minutes without a write) has put them into a graph, a server
    looks at an eighth of them, and with a filter that keeps 1 % finds some five of the ten closest.

    **Lexical search** is Milvus' BM25, of servers from 2.5 on and of files; an older server keeps Documents and finds
    them by vector, and refuses a search by words. Words are taken apart and reduced to their stems here, by tantivy, so
    that all of them find the same; of a text longer than some 60,000 bytes, those at its beginning.

    **Writes** of up to 32 MB are there as a whole or not at all, unless there is more than one shard; larger ones are
    sent in parts. `delete` removes a thousand Documents at a time. A server makes a write visible with the next tick of
    its clock, some 200 ms later. ``consistency`` says who waits for it:

    - ``"bounded"``: the writer, where the collection is in memory, so that it can be read; that is from the first read
      on. What a write has returned from is seen by every later call of any process, and reads do not wait. In a cluster
      that holds a collection in memory more than once, another copy may show a write up to five seconds later.
    - ``"strong"``: the reader, at every read, also of a cluster with many copies.

    Since a write waits, write Documents by the thousand, or several batches at once. The first read of a collection
    loads it into the server's memory, which takes seconds. The first vectors, or `bind`, in a namespace that holds
    Documents without vectors copy it; others must not write meanwhile.

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
        filtered_fields: Fields of the metadata that are often filtered by, up to 32, with dots for nested ones: in a
            new collection each gets an indexed column. Others can be filtered by, too.

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
        filtered_fields: Sequence[str] = (),
    ) -> None:
        self._namespace = checked_namespace(namespace)
        self._language = language_name(language)
        self._consistency = require_choice("consistency", consistency, ("bounded", "strong")).capitalize()
        self._ef_search = require_positive_int("ef_search", ef_search)
        self._filtered_ef_search = require_positive_int("filtered_ef_search", filtered_ef_search)
        graph = GraphSettings(require_positive_int("m", m), require_positive_int("ef_construction", ef_construction))
        options = {"num_shards": require_positive_int("shards", shards), "consistency_level": self._consistency}
        self._server = MilvusServer(uri, token=token, timeout_s=timeout_s)
        self._loading = Loading(self._server, graph)
        self._queries = Queries(self._server, self._consistency)
        self._collections = Collections(
            self._server,
            self._namespace,
            language=self._language,
            columns=_columns(filtered_fields),
            options=options,
            queries=self._queries,
            loading=self._loading,
        )

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
        except CollectionGoneError:
            # Dropped, or replaced by one with a dimension, since it was last seen.
            self._collections.forget()
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
                found = [row["id"] for row in await self._queries.with_keys(collection, asked, [])]
            else:
                found = [row["id"] async for row in self._scan(collection, filter, [])]
            name = collection.name
            for some in portions(found):
                await self._server.ask(f"remove from the collection {name}", "delete", name, filter=has_key(some))
            if found:
                await self._settle(collection)
            return len(found)

        return await self._with_collection(remove, absent=0)

    async def get(self, ids: Sequence[str]) -> list[Document]:
        """See `VectorStore.get`."""
        keys = {id: row_key(id) for id in checked_ids(ids)}

        async def read(collection: Collection) -> list[Document]:
            rows = await self._queries.with_keys(collection, list(keys.values()), ["document"])
            found = {row["id"]: row for row in rows}
            return [document_of(found[keys[id]]) for id in ids if keys[id] in found]

        return await self._with_collection(read, absent=[])

    async def get_embeddings(self, ids: Sequence[str]) -> dict[str, Vector]:
        """See `VectorStore.get_embeddings`."""
        keys = {row_key(id): id for id in checked_ids(ids)}

        async def read(collection: Collection) -> dict[str, Vector]:
            if collection.binding is None:
                return {}
            rows = await self._queries.with_keys(collection, list(keys), ["vector", "pointed"])
            return {keys[row["id"]]: np.array(row["vector"], dtype=np.float32) for row in rows if row["pointed"]}

        return await self._with_collection(read, absent={})

    async def count(self, filter: Filter | None = None) -> int:
        """See `VectorStore.count`."""
        check_filter(filter)

        async def read(collection: Collection) -> int:
            expression = await self._queries.expression(collection, filter)
            rows = await self._queries.read(collection, "query", filter=expression, output_fields=["count(*)"])
            return int(rows[0]["count(*)"])

        return await self._with_collection(read, absent=0)

    async def scan(self, filter: Filter | None = None) -> AsyncIterator[Document]:
        """See `VectorStore.scan`."""
        check_filter(filter)

        async def begin(collection: Collection) -> tuple[AsyncIterator[dict[str, Any]], dict[str, Any] | None]:
            rows = self._scan(collection, filter, ["document"])
            return rows, await anext(rows, None)

        begun = await self._with_collection(begin, absent=None)
        if begun is not None:
            rows, row = begun
            while row is not None:
                yield document_of(row)
                row = await anext(rows, None)

    async def search_dense(self, embedding: Vector, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        """See `VectorStore.search_dense`."""

        async def search(collection: Collection) -> list[tuple[Document, float]]:
            if collection.binding is None:
                return []
            check_dimension(embedding.size, collection.binding.dimension)
            if not embedding.any():
                return []
            expression = await self._queries.expression(collection, filter)
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
            words = " ".join(self._collections.words(text))
            if not words:
                return []
            expression = await self._queries.expression(collection, filter)
            found = await self._queries.best(
                collection, k, filter=expression, data=[words], anns_field="bm25", search_params={"metric_type": "BM25"}
            )
            return [(document_of(hit["entity"]), _bm25(hit)) for hit in found]

        if not await self._server.has_bm25():
            raise await self._without_words(None)
        return await self._with_collection(search, absent=[])

    async def optimize(self) -> None:
        """Have Milvus put what was written into segments of their final form, and wait until those are indexed."""
        await self._with_collection(self._loading.tidy, absent=None, load=False)

    async def close(self) -> None:
        """Close connections and file once the calls under way have ended; a later call opens them again."""
        await self._server.close()

    async def _write(self, documents: list[Document], vectors: Matrix | None) -> None:
        collection = await self._collections.make(None if vectors is None else Binding(None, vectors.shape[1]))
        if vectors is not None and collection.binding is not None:
            check_dimension(vectors.shape[1], collection.binding.dimension)
        for part in _requests(documents, 0 if vectors is None else vectors.shape[1]):
            await self._collections.write(collection, documents[part], None if vectors is None else vectors[part])
        await self._settle(collection)

    async def _settle(self, collection: Collection) -> None:
        if self._consistency == "Bounded":
            await self._loading.settle(collection)

    async def _with_collection(self, act: Callable[[Collection], Awaitable[T]], *, absent: T, load: bool = True) -> T:
        """What ``act`` makes of the collection; ``absent`` where there is none."""
        for _ in range(2):
            try:
                collection = await (self._collections.get_loaded() if load else self._collections.get())
                return absent if collection is None else await act(collection)
            except CollectionGoneError:
                # Dropped, or replaced by one with a dimension, since it was last seen.
                self._collections.forget()
            except StoreError:
                self._collections.forget()
                raise
        return absent

    async def _scan(
        self, collection: Collection, filter: Filter | None, fields: Sequence[str]
    ) -> AsyncIterator[dict[str, Any]]:
        """The rows that satisfy ``filter``, by primary key."""
        if self._consistency == "Strong":
            await self._loading.wait_for_writes(collection)
        expression = await self._queries.expression(collection, filter)
        async for row in self._queries.pages(collection, expression, fields):
            yield row

    async def _search_dense(
        self, collection: Collection, embedding: Vector, k: int, expression: str
    ) -> list[dict[str, Any]]:
        ef = self._filtered_ef_search if expression else self._ef_search
        params = {"metric_type": "IP", "params": {"ef": ef}}
        return await self._queries.best(
            collection, k, filter=expression, data=[embedding], anns_field="vector", search_params=params
        )

    async def _without_words(self, collection: Collection | None) -> ConfigurationError:
        version = await self._server.version()
        if collection is not None and await self._server.has_bm25():
            return ConfigurationError(
                f"the collection {collection.name} of {self._server.place} has no word index: it was made before the "
                f"server was version {version}. Copy it into another namespace"
            )
        return ConfigurationError(
            f"the server at {self._server.place} is Milvus {version}, and lexical search needs the BM25 function that "
            "came with 2.5: search by embedding, or update the server"
        )


def _columns(fields: Sequence[str]) -> tuple[str, ...]:
    if isinstance(fields, str) or not isinstance(fields, Sequence) or len(fields) > _MOST_COLUMNS:
        raise ConfigurationError(f"filtered_fields must be a list of up to {_MOST_COLUMNS} fields, not {fields!r}")
    return tuple(sorted({key_name(require_text("a name in filtered_fields", field)) for field in fields}))


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
