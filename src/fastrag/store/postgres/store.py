"""A store in PostgreSQL, by pgvector."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from fastrag._support.checks import require_int, require_number, require_positive_int
from fastrag.document import Document
from fastrag.embedding.base import Matrix, Vector
from fastrag.errors import ConfigurationError
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
from fastrag.store.postgres.dense import DISTANCE, HnswSettings, index_vectors, nearest
from fastrag.store.postgres.filters import Condition
from fastrag.store.postgres.lexical import SCORE, best_by_words
from fastrag.store.postgres.namespace import PostgresNamespace
from fastrag.store.postgres.rows import (
    DOCUMENT_COLUMNS,
    check_ids,
    from_column,
    to_column,
    to_document,
    to_rows,
    to_vector,
    write_rows,
)
from fastrag.store.postgres.server import Conninfo, PostgresServer
from fastrag.store.postgres.shares import Shares
from fastrag.store.postgres.table import Table, list_namespaces
from fastrag.store.postgres.textsearch import index_words
from fastrag.store.postgres.words import WordTexts

_SCAN_ROWS = 100
_MAX_K = 1 << 62
_MAX_DIMENSION = 16_000
_WORTH_A_THREAD = 20
_RANKINGS = {"bm25": "BM25 (pg_textsearch)", "tsvector": "BM25 computed in SQL from a tsvector"}


class PgVectorStore(VectorStore):
    """Keeps everything in a PostgreSQL database, one table (``fastrag_<namespace>``) for each namespace.

    Needs pgvector 0.8 or newer on the server.

    - What a write has returned from is committed; a batch is there as a whole or not at all. Several processes may
      write at once.
    - Dense search compares every vector, until there are more than ``exact_up_to`` and `optimize` has built an HNSW
      index. Call it after bulk writes: an index that is there slows writing down, so none is built before, and none by
      itself. Writers wait while it is built, readers do not. Vectors of more than 2,000 numbers are indexed in half
      precision, and ranked in full; of more than 4,000, always compared one by one.
    - A filter is applied within the search. How many Documents it keeps is estimated from a sample, and remembered for
      a minute: where that is less than 5 %, or the index gives fewer than ``k``, all that it keeps are compared.
      Facts (Eq, In, Exists, Contains) have an index; a Range looks at every Document that the rest of the filter keeps.
    - Lexical search is BM25 by pg_textsearch, where that is installed and preloaded when the namespace is made; its
      index is built by `optimize`, or by the first lexical search. Versions of it before 1.3 lose their index when the
      server restarts or crashes, so it is rebuilt then, and removed Documents weigh on its word statistics. Without
      pg_textsearch BM25 is computed in SQL for every text with any of the words, which takes long where many have them,
      with the number of texts and their average length estimated. `lexical_ranking` tells which. Of a text above 1 MB
      or so, the words at the beginning are indexed.
    - `scan` shows the table as it was when the scan began. It has a connection of its own, and a transaction that
      lasts until it ends; `drop` waits for it ``timeout_s`` long.
    - Equal scores are in the order the Documents were written.
    - Ids may have 2,600 bytes.

    Connections are opened at first use. A call on a server that is down fails at once; the next one connects anew. To
    a proxy that pools connections (PgBouncer), connect in session mode. In Windows, psycopg needs a
    `asyncio.SelectorEventLoop`.

    Needs ``pip install 'fastrag[postgres]'``.

    Args:
        conninfo: A URL (``postgresql://user@host:5432/database``), or ``host=... dbname=...``; what it leaves out
            comes from libpq's environment variables (``PGHOST``, ``PGPASSWORD``...) and password file. Or a function,
            async or not, that returns one and is called for each new connection, for passwords that expire.
        namespace: Which corpus of the database this store is.
        language: Whose word endings to take off for lexical search: an ISO 639-1 code or English name; None for
            none. It is fixed by the first write.
        pool_size: How many connections at once, in each event loop; further calls wait for one.
        timeout_s: Seconds until connecting is given up.
        exact_up_to: Up to how many vectors none are indexed.
        m: How many neighbours a vector has in the HNSW index (2 to 100): more find better, and take room and time.
        ef_construction: How many candidates are kept while the index is built (4 to 1000, twice ``m`` at the least).
        ef_search: How many candidates are kept while the index is searched (1 to 1000): more find better and take
            longer.
        build_memory_mb: How much memory the server may take to build the index; where it does not fit in, building
            takes several times as long. 384 numbers for each of a million vectors take some 2,500.
        build_workers: How many processes the server may start to help building it, within its own limits.

    Raises:
        ConfigurationError: There is no stemmer for ``language``, ``namespace`` cannot be one, or a number is out of
            range. The first call raises it where ``conninfo`` is malformed, pgvector is missing or too old, or the
            table is another's, of another language, or of a newer format.

    >>> async def example():
    ...     store = PgVectorStore("postgresql://localhost/docs", namespace="handbook")
    ...     await store.upsert([Document("a", "apples"), Document("b", "pears")], np.eye(2))
    ...     await store.optimize()
    ...     found = await store.search(text="an apple", k=1)
    ...     await store.close()
    ...     return [document.id for document in found]
    >>> asyncio.run(example())  # doctest: +SKIP
    ['a']
    """

    def __init__(
        self,
        conninfo: Conninfo = "",
        *,
        namespace: str = DEFAULT_NAMESPACE,
        language: str | None = "en",
        pool_size: int = 8,
        timeout_s: float = 10.0,
        exact_up_to: int = 10_000,
        m: int = 16,
        ef_construction: int = 100,
        ef_search: int = 100,
        build_memory_mb: int = 1024,
        build_workers: int = 4,
    ) -> None:
        if not isinstance(conninfo, str) and not callable(conninfo):
            raise ConfigurationError(f"conninfo must be a text or a function, not a {type(conninfo).__name__}")
        self._namespace = checked_namespace(namespace)
        self._language = language_name(language)
        self._timeout_s = require_number("timeout_s", timeout_s, above=0)
        self._hnsw = HnswSettings(
            m=require_int("m", m, at_least=2, at_most=100),
            ef_construction=require_int("ef_construction", ef_construction, at_least=max(4, 2 * m), at_most=1000),
            exact_up_to=require_positive_int("exact_up_to", exact_up_to),
            build_memory_mb=require_positive_int("build_memory_mb", build_memory_mb),
            build_workers=require_int("build_workers", build_workers, at_least=0, at_most=1024),
        )
        self._server = PostgresServer(
            conninfo,
            pool_size=require_positive_int("pool_size", pool_size),
            timeout_s=self._timeout_s,
            settings={"hnsw.ef_search": str(require_int("ef_search", ef_search, at_least=1, at_most=1000))},
        )
        self._table = PostgresNamespace(self._server, self._namespace, self._language)
        self._names = self._table.names
        self._shares = Shares()
        self._words: WordTexts | None = None

    @property
    def namespace(self) -> str:
        """See `VectorStore.namespace`."""
        return self._namespace

    async def namespaces(self) -> list[str]:
        """See `VectorStore.namespaces`."""
        async with self._server.connection("list", "the namespaces") as connection:
            return await list_namespaces(connection)

    async def drop(self) -> None:
        """See `VectorStore.drop`."""
        await self._table.drop(self._timeout_s)

    async def lexical_ranking(self) -> str:
        """What ranks in lexical searches of this namespace; it is decided when the namespace is made.

        Returns:
            ``"BM25 (pg_textsearch)"``, ``"BM25 computed in SQL from a tsvector"``, or ``"none"`` for a namespace that
            is not there yet.

        Raises:
            StoreError: The engine failed.
        """

        async def told(_: Any, table: Table) -> str:
            return _RANKINGS[table.ranking]

        return await self._table.read("open", told, "none")

    async def bind(self, embedder_id: str, dimension: int) -> None:
        """See `VectorStore.bind`."""
        agreed_binding(None, embedder_id, dimension)
        _check_size(dimension)
        await self._table.bind(embedder_id, dimension)

    async def binding(self) -> Binding | None:
        """See `VectorStore.binding`."""
        return await self._table.binding()

    async def upsert(self, documents: Sequence[Document], embeddings: Matrix | None = None) -> None:
        """See `VectorStore.upsert`.

        Raises:
            MissingDependencyError: psycopg or tantivy is not installed.
        """
        # Copied before the first await: the caller may change its Documents while others run.
        copies = checked_documents(documents)
        vectors = None if embeddings is None else unit_rows(embeddings, rows=len(copies))
        check_ids([document.id for document in copies])
        if not copies:
            return
        dimension = None if vectors is None else vectors.shape[1]
        if dimension is not None:
            _check_size(dimension)
        if len(copies) < _WORTH_A_THREAD:
            rows = to_rows(copies, vectors, self._to_words())
        else:
            rows = await asyncio.to_thread(to_rows, copies, vectors, self._to_words())

        async def put(connection: Any, table: Table) -> None:
            await write_rows(connection, self._names, table, rows)

        await self._table.write(put, None, make=True, dimension=dimension)

    async def delete(self, *, ids: Sequence[str] | None = None, filter: Filter | None = None) -> int:
        """See `VectorStore.delete`."""
        ids, filter = checked_deletion(ids, filter)
        condition = Condition(filter)
        where, values = condition.sql, condition.values
        if ids is not None:
            where, values = "id = ANY(%(ids)s)", {"ids": [to_column(each) for each in ids]}

        async def remove(connection: Any, _: Table) -> int:
            cursor = await connection.execute(f"DELETE FROM {self._names.table} WHERE {where}", values)
            return int(cursor.rowcount)

        return await self._table.write(remove, 0)

    async def get(self, ids: Sequence[str]) -> list[Document]:
        """See `VectorStore.get`."""
        ids = checked_ids(ids)
        found = await self._with_ids(ids, DOCUMENT_COLUMNS)
        documents = {document.id: document for document in map(to_document, found)}
        return [documents[key] for key in ids if key in documents]

    async def get_embeddings(self, ids: Sequence[str]) -> dict[str, Vector]:
        """See `VectorStore.get_embeddings`."""
        found = await self._with_ids(checked_ids(ids), "id, vector_send(vector)")
        return {from_column(id): to_vector(sent) for id, sent in found if sent is not None}

    async def count(self, filter: Filter | None = None) -> int:
        """See `VectorStore.count`."""
        check_filter(filter)
        condition = Condition(filter)

        async def counted(connection: Any, _: Table) -> int:
            cursor = await connection.execute(
                f"SELECT count(*) FROM {self._names.table} WHERE {condition.sql}", condition.values
            )
            (count,) = await cursor.fetchone()
            return int(count)

        return await self._table.read("count", counted, 0)

    async def scan(self, filter: Filter | None = None) -> AsyncIterator[Document]:
        """See `VectorStore.scan`."""
        check_filter(filter)
        condition = Condition(filter)
        async with self._table.scanned() as connection:
            if connection is None:
                return
            async with connection.cursor(name="fastrag_scan") as cursor:
                cursor.itersize = _SCAN_ROWS
                await cursor.execute(
                    f"SELECT {DOCUMENT_COLUMNS} FROM {self._names.table} WHERE {condition.sql}",
                    condition.values,
                    binary=True,
                )
                async for row in cursor:
                    yield to_document(row)

    async def search_dense(self, embedding: Vector, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        """See `VectorStore.search_dense`."""

        async def found(connection: Any, table: Table) -> list[tuple[Any, ...]]:
            if table.dimension is None:
                return []
            check_dimension(embedding.size, table.dimension)
            if not embedding.any():
                return []
            most = min(k, _MAX_K)
            return await nearest(connection, self._names, table.dimension, embedding, most, filter, self._shares)

        rows: list[tuple[Any, ...]] = await self._table.read("search", found, [])
        return [(to_document(row), min(1.0, max(-1.0, -row[DISTANCE]))) for row in rows]

    async def search_lexical(self, text: str, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        """See `VectorStore.search_lexical`.

        Raises:
            MissingDependencyError: psycopg or tantivy is not installed.
        """
        words = self._to_words().of_query(text)

        async def found(connection: Any, table: Table) -> list[tuple[Any, ...]]:
            most = min(k, _MAX_K)
            return await best_by_words(connection, self._names, table.ranking, words, most, filter, self._shares)

        rows: list[tuple[Any, ...]] = await self._table.read("search", found, []) if words else []
        return [(to_document(row), row[SCORE]) for row in rows]

    async def optimize(self) -> None:
        """Build the indexes that are due, of vectors and of words; tidy up, and count for the planner."""

        async def tidied(connection: Any, table: Table) -> None:
            if table.dimension is not None:
                await index_vectors(connection, self._names, table.dimension, self._hnsw)
            if table.ranking == "bm25":
                await index_words(connection, self._names)
            await connection.execute(f"VACUUM (ANALYZE) {self._names.table}")

        await self._table.read("optimize", tidied, None)

    async def close(self) -> None:
        """Close the connections of this event loop; those of others are closed when they end. A later call opens
        them again."""
        await self._server.close()

    async def _with_ids(self, ids: Sequence[str], columns: str) -> list[tuple[Any, ...]]:
        async def found(connection: Any, _: Table) -> list[tuple[Any, ...]]:
            cursor = await connection.execute(
                f"SELECT {columns} FROM {self._names.table} WHERE id = ANY(%s)",
                [[to_column(each) for each in ids]],
                binary=True,
            )
            rows: list[tuple[Any, ...]] = await cursor.fetchall()
            return rows

        return await self._table.read("read", found, []) if ids else []

    def _to_words(self) -> WordTexts:
        if self._words is None:
            self._words = WordTexts(self._language)
        return self._words


def _check_size(dimension: int) -> None:
    if dimension > _MAX_DIMENSION:
        raise ConfigurationError(f"pgvector takes vectors of up to {_MAX_DIMENSION} numbers, not of {dimension}")
