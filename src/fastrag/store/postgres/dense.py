"""Search by vectors in PostgreSQL, exact or by pgvector's HNSW, and making that index."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from fastrag.embedding.base import Vector
from fastrag.store.filters import Filter
from fastrag.store.postgres.engine import psycopg
from fastrag.store.postgres.filters import Condition
from fastrag.store.postgres.rows import DOCUMENT_COLUMNS
from fastrag.store.postgres.shares import Shares
from fastrag.store.postgres.table import Names, is_there

DISTANCE = len(DOCUMENT_COLUMNS.split(","))
WRITTEN = DISTANCE + 1

# What pgvector indexes: vectors up to the former, vectors of half precision up to the latter.
_MAX_INDEXED = 2000
_MAX_INDEXED_HALF = 4000

# Beyond so many candidates comparing every vector is no slower, and misses nothing.
_MAX_CANDIDATES = 1000
_SOON_COMPARED = 10_000
# Where a filter keeps less than this, the index is slow and misses many: what it keeps is compared one by one.
_LEAST_SHARE = 0.05
# An index scan that filters gives near ones late: more candidates are looked at than asked for.
_FILTERED_CANDIDATES = 2
_HALF_CANDIDATES = 2


@dataclass(frozen=True, slots=True)
class HnswSettings:
    """How the index is built; see `PgVectorStore`."""

    m: int
    ef_construction: int
    exact_up_to: int
    build_memory_mb: int
    build_workers: int


async def nearest(
    connection: Any, names: Names, dimension: int, embedding: Vector, k: int, filter: Filter | None, shares: Shares
) -> list[tuple[Any, ...]]:
    """The ``k`` rows of `DOCUMENT_COLUMNS` and `DISTANCE` (minus the cosine) closest to ``embedding``, closest first.

    Equal ones are in the order they were written. Where the index comes short of ``k``, or cannot tell which of many
    equal ones come first, all that satisfy ``filter`` are compared.
    """
    condition = Condition(filter)
    if filter is not None:
        share = await shares.of(connection, names, condition)
        if share.matching < _LEAST_SHARE * share.rows:
            return await _compared(connection, names, embedding, k, condition)
    found = await _by_index(connection, names, dimension, embedding, k, Condition(filter, past_index=True))
    return await _compared(connection, names, embedding, k, condition) if found is None else found


async def _compared(
    connection: Any, names: Names, embedding: Vector, k: int, condition: Condition
) -> list[tuple[Any, ...]]:
    # In a subquery, the embedding becomes a vector once, and not for each row anew.
    cursor = await connection.execute(
        f"SELECT {DOCUMENT_COLUMNS}, vector <#> (SELECT %(embedding)s::vector) AS distance FROM {names.table}"
        f" WHERE vector IS NOT NULL AND {condition.sql} ORDER BY distance, written LIMIT {k}",
        {"embedding": embedding, **condition.values},
        binary=True,
    )
    rows: list[tuple[Any, ...]] = await cursor.fetchall()
    return rows


async def _by_index(
    connection: Any, names: Names, dimension: int, embedding: Vector, k: int, condition: Condition
) -> list[tuple[Any, ...]] | None:
    """The same by the index; None where that does not do. (Without an index, all are compared.)"""
    # One more than asked for at the least, to see whether the last one is as close as those that did not come.
    first = candidates = _candidates(dimension, k, filtered=bool(condition.values))
    while candidates <= _MAX_CANDIDATES:
        cursor = await connection.execute(
            f"SELECT {DOCUMENT_COLUMNS}, vector <#> %(embedding)s::vector AS distance, written FROM {names.table}"
            f" WHERE vector IS NOT NULL AND {condition.sql}"
            f" ORDER BY {_indexed(dimension)} <#> %(embedding)s::vector{_as_half(dimension)} LIMIT {candidates}",
            {"embedding": embedding, **condition.values},
            binary=True,
        )
        rows = sorted(await cursor.fetchall(), key=itemgetter(DISTANCE, WRITTEN))
        if len(rows) < candidates:
            return None if await is_there(connection, names.vectors) else rows[:k]
        if rows[k - 1][DISTANCE] < rows[-1][DISTANCE]:
            return rows[:k]
        if candidates == first and await _is_soon_compared(connection, names):
            return None
        candidates *= 4
    return None


async def _is_soon_compared(connection: Any, names: Names) -> bool:
    """Whether comparing every vector takes no longer than asking the index again.

    Of many equal vectors an index finds some, and those need not be the ones that were written first.
    """
    cursor = await connection.execute(
        f"SELECT count(*) <= {_SOON_COMPARED} FROM (SELECT FROM {names.table} LIMIT {_SOON_COMPARED + 1}) AS rows"
    )
    (is_small,) = await cursor.fetchone()
    return bool(is_small)


async def index_vectors(connection: Any, names: Names, dimension: int, settings: HnswSettings) -> None:
    """Build the index where there is none and the table is large enough for one. Writers wait, readers do not."""
    if dimension > _MAX_INDEXED_HALF or await is_there(connection, names.vectors):
        return
    cursor = await connection.execute(
        f"SELECT count(*) FROM (SELECT FROM {names.table} WHERE vector IS NOT NULL LIMIT %s) AS vectors",
        [settings.exact_up_to + 1],
    )
    (vectors,) = await cursor.fetchone()
    if vectors <= settings.exact_up_to:
        return
    try:
        await _build(connection, names, dimension, settings, settings.build_workers)
    except psycopg("psycopg.errors").DiskFull:
        # Workers share memory that a container may have little of (/dev/shm); alone, none is needed.
        await _build(connection, names, dimension, settings, 0)


async def _build(connection: Any, names: Names, dimension: int, settings: HnswSettings, workers: int) -> None:
    async with connection.transaction():
        await connection.execute(
            "SELECT set_config('maintenance_work_mem', %s, true), "
            "set_config('max_parallel_maintenance_workers', %s, true)",
            [f"{settings.build_memory_mb}MB", str(workers)],
        )
        kind = "halfvec" if _as_half(dimension) else "vector"
        # Vectors are of norm 1, so that the inner product is the cosine.
        await connection.execute(
            f"CREATE INDEX IF NOT EXISTS {names.vectors} ON {names.table}"
            f" USING hnsw (({_indexed(dimension)}) {kind}_ip_ops)"
            f" WITH (m = {settings.m}, ef_construction = {settings.ef_construction})"
        )


def _candidates(dimension: int, k: int, *, filtered: bool) -> int:
    if filtered:
        return _FILTERED_CANDIDATES * k + 1
    return (_HALF_CANDIDATES if _as_half(dimension) else 1) * k + 1


def _indexed(dimension: int) -> str:
    """The expression that is indexed: the column takes vectors of any dimension, an index does not."""
    return f"(vector::vector({dimension}){_as_half(dimension)})"


def _as_half(dimension: int) -> str:
    return f"::halfvec({dimension})" if _MAX_INDEXED < dimension <= _MAX_INDEXED_HALF else ""
