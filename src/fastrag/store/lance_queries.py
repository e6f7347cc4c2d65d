"""Queries of a LanceDB table of Documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fastrag.document import Document
from fastrag.embedding.base import Vector
from fastrag.store.filters import Filter
from fastrag.store.lance_engine import lancedb
from fastrag.store.lance_filters import sql_of
from fastrag.store.lance_rows import DOCUMENT_COLUMNS, to_documents

_IDS_PER_QUERY = 1000
# Where a search wants so large a part of all rows, looking at each is as fast as the index.
_SMALL_PART = 4


def filtered(query: Any, filter: Filter | None) -> Any:
    """``query``, of the rows that satisfy ``filter`` only."""
    return query if filter is None else query.where(sql_of(filter))


async def nearest(
    table: Any, embedding: Vector, k: int, filter: Filter | None, *, ef: int
) -> list[tuple[Document, float]]:
    """The ``k`` Documents nearest to ``embedding``, a vector of norm 1, with their cosine similarity.

    The index, where there is one, names candidates, and their vectors are compared exactly.
    """
    total = await table.count_rows()
    if not total:
        return []
    limit = min(k + 1, total)
    # The vectors are of norm 1, so that LanceDB's dot distance is 1 - cosine.
    query = table.query().nearest_to(embedding).column("vector").distance_type("dot")
    query = _of_columns(filtered(query, filter), "_distance")
    found = None
    if _SMALL_PART * limit < total:
        refined = max(2, ef // (2 * limit))
        rows = await query.ef(max(ef, refined * limit)).refine_factor(refined).limit(limit).to_arrow()
        # Fewer than asked are what is left after the filter, or what the index did not find.
        if len(rows) == limit:
            found = _best(rows, "_distance", k, limit if limit < total else None, descending=False)
    if found is None:
        found = await _exactly_best(query.bypass_vector_index(), "_distance", k, total, descending=False)
    return [(document, min(1.0, max(-1.0, 1.0 - distance))) for document, distance in found]


async def fitting(table: Any, text: str, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
    """The ``k`` Documents whose words fit those of ``text`` best, with their BM25 score."""
    total = await table.count_rows()
    if not total:
        return []
    # A match of words, which takes the text as data; LanceDB's query syntax is never parsed.
    match = lancedb("lancedb.query").MatchQuery(text, "text")
    query = _of_columns(filtered(table.query().nearest_to_text(match), filter), "_score")
    return await _exactly_best(query, "_score", k, total, descending=True)


def _of_columns(query: Any, column: str) -> Any:
    return query.select([*DOCUMENT_COLUMNS, "written_ns", column])


async def _exactly_best(
    query: Any, column: str, k: int, total: int, *, descending: bool
) -> list[tuple[Document, float]]:
    # LanceDB makes room for as many rows as it is asked for, so it is not asked for more than there are.
    limit = min(k + 1, total)
    while True:
        rows = await query.limit(limit).to_arrow()
        found = _best(rows, column, k, limit if limit < total else None, descending=descending)
        if found is not None:
            return found
        limit = min(limit * 4, total)


def _best(
    rows: Any, column: str, k: int, limit: int | None, *, descending: bool
) -> list[tuple[Document, float]] | None:
    """The best ``k`` of ``rows`` by ``column``; equal ones in the order they were written.

    None where rows beyond the ``limit`` that was asked for, if there was one, might be among them.
    """
    values = sorted(rows.column(column).to_pylist(), reverse=descending)
    # Where the k-th value goes on beyond the limit, which of its rows came is up to the engine.
    if len(values) == limit and values[k - 1] == values[-1]:
        return None
    order = [(column, "descending" if descending else "ascending"), ("written_ns", "ascending"), ("id", "ascending")]
    kept = rows.sort_by(order).slice(0, min(k, len(rows)))
    return list(zip(to_documents(kept), kept.column(column).to_pylist(), strict=True))


def has_id(ids: Sequence[str]) -> Any:
    """The condition that a row's id is one of ``ids``."""
    expr = lancedb("lancedb.expr")
    return expr.col("id").isin([expr.lit(each) for each in ids])


def portions(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """``ids`` in parts that one query can ask for."""
    return (ids[start : start + _IDS_PER_QUERY] for start in range(0, len(ids), _IDS_PER_QUERY))
