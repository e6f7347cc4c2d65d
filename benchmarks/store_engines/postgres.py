"""PostgreSQL with pgvector and pg_textsearch, called directly."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from store_engines.base import Condition, Engine
from store_engines.corpus import Block

M, EF_CONSTRUCTION, EF_SEARCH = 16, 100, 100
CONNECTIONS = 8
HIT = "id, text, uri, tenth, hundredth"


class Postgres(Engine):
    """A table with a column for each thing, filled by COPY in binary; HNSW, BM25 and B-trees, built afterwards."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.pool: Any = None

    async def _open(self, dimension: int) -> None:
        from pgvector.psycopg import register_vector_async
        from psycopg_pool import AsyncConnectionPool

        async def configure(connection: Any) -> None:
            await register_vector_async(connection)

        settings = f"-c hnsw.ef_search={EF_SEARCH} -c hnsw.iterative_scan=relaxed_order"
        self.pool = AsyncConnectionPool(
            self.place,
            kwargs={"autocommit": True, "options": settings},
            min_size=CONNECTIONS,
            max_size=CONNECTIONS,
            configure=configure,
            open=False,
        )
        await self.pool.open(wait=True)
        await self._execute("DROP TABLE IF EXISTS direct")
        await self._execute(
            "CREATE TABLE direct (id text PRIMARY KEY, text text NOT NULL, uri text, tenth int, hundredth int, "
            f"vector vector({dimension}))"
        )
        await self._execute("ALTER TABLE direct ALTER vector SET STORAGE MAIN")

    async def _execute(self, statement: str) -> None:
        async with self.pool.connection() as connection:
            await connection.execute(statement)

    async def add(self, block: Block) -> None:
        if self.pool is None:
            await self._open(block.vectors.shape[1])
        rows = zip(
            block.ids,
            block.texts,
            [f"https://example.org/{id}" for id in block.ids],
            block.tenth.tolist(),
            block.hundredth.tolist(),
            block.vectors,
            strict=True,
        )
        statement = f"COPY direct ({HIT}, vector) FROM STDIN (FORMAT binary)"
        async with self.pool.connection() as connection, connection.cursor().copy(statement) as copy:
            copy.set_types(["text", "text", "text", "int4", "int4", "vector"])
            for row in rows:
                await copy.write_row(row)

    async def finish(self) -> None:
        import psycopg

        try:
            await self._index(workers=4)
        except psycopg.errors.DiskFull:
            # Workers share memory that a container may have little of.
            await self._index(workers=0)
        await self._execute("CREATE INDEX ON direct (tenth)")
        await self._execute("CREATE INDEX ON direct (hundredth)")
        await self._execute("CREATE INDEX direct_words ON direct USING bm25 (text) WITH (text_config = 'english')")
        await self._execute("VACUUM ANALYZE direct")

    async def _index(self, workers: int) -> None:
        async with self.pool.connection() as connection, connection.transaction():
            await connection.execute(f"SET LOCAL max_parallel_maintenance_workers = {workers}")
            await connection.execute("SET LOCAL maintenance_work_mem = '1GB'")
            await connection.execute(
                "CREATE INDEX ON direct USING hnsw (vector vector_ip_ops) "
                f"WITH (m = {M}, ef_construction = {EF_CONSTRUCTION})"
            )

    async def dense(self, vector: NDArray[Any], k: int, condition: Condition = None) -> list[Any]:
        where = "" if condition is None else f"WHERE {condition[0]} = %(value)s"
        values = {"vector": vector, "k": k, "value": condition and condition[1]}
        async with self.pool.connection() as connection:
            cursor = await connection.execute(
                f"SELECT {HIT}, -(vector <#> %(vector)s) AS score FROM direct {where} "
                "ORDER BY vector <#> %(vector)s LIMIT %(k)s",
                values,
                binary=True,
            )
            hits: list[Any] = await cursor.fetchall()
            return hits

    async def lexical(self, text: str, k: int) -> list[Any]:
        async with self.pool.connection() as connection:
            cursor = await connection.execute(
                f"SELECT {HIT}, -(text <@> to_bm25query(%(text)s, 'direct_words')) AS score FROM direct "
                "ORDER BY text <@> to_bm25query(%(text)s, 'direct_words') LIMIT %(k)s",
                {"text": text, "k": k},
                binary=True,
            )
            hits: list[Any] = await cursor.fetchall()
            return hits

    def id(self, hit: Any) -> str:
        return str(hit[0])

    async def close(self) -> None:
        await self._execute("DROP TABLE direct")
        await self.pool.close()
