"""Queries of a LanceDB table of Documents."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from fastrag.document import Document
from fastrag.embedding.base import Vector
from fastrag.store.filters import Filter
from fastrag.store.lance.engine import lancedb
from fastrag.store.lance.filters import sql_of
from fastrag.store.lance.rows import DOCUMENT_COLUMNS, binding_of, to_documents, to_embeddings

_SCAN_ROWS = 1000
_IDS_PER_QUERY = 1000
_ROWS_OF_A_TIE = 200
_LARGE_K = 1000
_SOME_TIE = 30


async def nearest(
    table: Any, embedding: Vector, k: int, filter: Filter | None, *, ef: int
) -> list[tuple[Document, float]]:
    """The ``k`` Documents nearest to ``embedding``, a vector of norm 1, with their cosine similarity.

    The index, where there is one, names candidates, and their vectors are compared exactly.
    """

    def query() -> Any:
        # The vectors are of norm 1, so that LanceDB's dot distance is 1 - cosine.
        query = table.query().nearest_to(embedding).column("vector").distance_type("dot")
        return query if filter is None else query.where(sql_of(filter))

    def exactly() -> Any:
        return query().bypass_vector_index()

    limit = await _limit(table, k)
    columns = [*DOCUMENT_COLUMNS, "_distance"]
    rows = None
    if limit <= _LARGE_K:
        refined = max(2, ef // (2 * limit))
        quickly = query().ef(max(ef, refined * limit)).refine_factor(refined)
        rows = await _rows_of(quickly, columns, limit)
    # Fewer than asked may be all that the filter leaves, or all that the index finds.
    if rows is None or len(rows) < limit:
        rows = await _rows_of(exactly(), columns, limit)
    found = await _best(table, exactly, rows, "_distance", k, descending=False)
    return [(document, min(1.0, max(-1.0, 1.0 - distance))) for document, distance in found]


async def fitting(table: Any, text: str, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
    """The ``k`` Documents whose words fit those of ``text`` best, with their BM25 score."""
    # A match of words, which takes the text as data; LanceDB's query syntax is never parsed.
    match = lancedb("lancedb.query").MatchQuery(text, "text")

    def query() -> Any:
        query = table.query().nearest_to_text(match)
        return query if filter is None else query.where(sql_of(filter))

    # Among ten scores there are seldom two that are equal, among a hundred nearly always.
    order = ["written_ns"] if k >= _SOME_TIE else []
    rows = await _rows_of(query(), [*DOCUMENT_COLUMNS, *order, "_score"], await _limit(table, k))
    return await _best(table, query, rows, "_score", k, descending=True)


async def with_ids(table: Any, ids: Sequence[str]) -> dict[str, Document]:
    """Id -> Document, of those that are there."""
    found: dict[str, Document] = {}
    for some in _portions(ids):
        rows = await table.query().where(has_id(some)).select(DOCUMENT_COLUMNS).to_arrow()
        found.update({document.id: document for document in to_documents(rows)})
    return found


async def embeddings_of(table: Any, ids: Sequence[str]) -> dict[str, Vector]:
    """Id -> vector, of those that are there and have one."""
    found: dict[str, Vector] = {}
    if binding_of(await table.schema()) is not None:
        for some in _portions(ids):
            found.update(to_embeddings(await table.query().where(has_id(some)).select(["id", "vector"]).to_arrow()))
    return found


async def batches_of(table: Any, filter: Filter | None) -> AsyncIterator[Any]:
    """All rows that satisfy ``filter``, as the table is now, in batches."""
    query = table.query().select(DOCUMENT_COLUMNS)
    batches: AsyncIterator[Any] = await (query if filter is None else query.where(sql_of(filter))).to_batches(
        max_batch_length=_SCAN_ROWS
    )
    return batches


def has_id(ids: Sequence[str]) -> Any:
    """The condition that a row's id is one of ``ids``."""
    expr = lancedb("lancedb.expr")
    return expr.col("id").isin([expr.lit(each) for each in ids])


def _portions(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """``ids`` in parts that one query can ask for."""
    return (ids[start : start + _IDS_PER_QUERY] for start in range(0, len(ids), _IDS_PER_QUERY))


async def _limit(table: Any, k: int) -> int:
    # One more than asked, to see ties. LanceDB makes room for as many rows as it is asked for, so it is not asked
    # for many more than there are.
    return k + 1 if k < _LARGE_K else min(k + 1, max(_LARGE_K, await table.count_rows()))


async def _rows_of(query: Any, columns: Sequence[str], limit: int) -> Any:
    return await query.select(columns).limit(limit).to_arrow()


async def _best(
    table: Any, query: Callable[[], Any], rows: Any, column: str, k: int, *, descending: bool
) -> list[tuple[Document, float]]:
    """The best ``k`` by ``column``; equal ones in the order they were written.

    Args:
        table: The table.
        query: Makes the query that finds all candidates.
        rows: What it, or a quicker one, found first: more than ``k``, if there are.
        column: What is best by.
        k: How many are asked for.
        descending: Whether more is better.
    """
    hits = _in_order(rows, column, descending=descending)
    documents = {document.id: document for document in to_documents(rows)}
    if _is_open(rows, hits, k):
        hits = await _hits_with_ties(table, query, column, k, descending=descending)
        if missing := [hit.id for hit in hits[:k] if hit.id not in documents]:
            documents |= await with_ids(table, missing)
    return [(documents[hit.id], hit.value) for hit in hits[:k] if hit.id in documents]


class _Hit(NamedTuple):
    value: float
    written_ns: int
    id: str


def _in_order(rows: Any, column: str, *, descending: bool) -> list[_Hit]:
    written = rows.column("written_ns").to_pylist() if "written_ns" in rows.column_names else [0] * len(rows)
    hits = list(map(_Hit, rows.column(column).to_pylist(), written, rows.column("id").to_pylist()))
    hits.sort(key=lambda hit: (-hit.value if descending else hit.value, hit.written_ns, hit.id))
    return hits


def _is_open(rows: Any, hits: Sequence[_Hit], k: int) -> bool:
    """Whether ``rows`` do not tell which are the best ``k``, or in which order, because their values are equal."""
    if len(hits) > k and hits[k - 1].value == hits[-1].value:
        return True
    return "written_ns" not in rows.column_names and any(a.value == b.value for a, b in pairwise(hits))


async def _hits_with_ties(table: Any, query: Callable[[], Any], column: str, k: int, *, descending: bool) -> list[_Hit]:
    """The best ``k`` and every other whose value equals that of the k-th: which of those come is up to the engine."""
    total = await table.count_rows()
    limit = min(max(_ROWS_OF_A_TIE, 4 * k), total)
    while True:
        rows = await _rows_of(query(), ["id", "written_ns", column], limit)
        hits = _in_order(rows, column, descending=descending)
        if limit == total or len(hits) < limit or hits[k - 1].value != hits[-1].value:
            return hits
        limit = min(4 * limit, total)
