"""Queries of a LanceDB table of Documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fastrag.document import Document
from fastrag.store.filters import Filter
from fastrag.store.lance_engine import lancedb
from fastrag.store.lance_filters import sql_of
from fastrag.store.lance_rows import DOCUMENT_COLUMNS, to_documents

_IDS_PER_QUERY = 1000


def filtered(query: Any, filter: Filter | None) -> Any:
    """``query``, of the rows that satisfy ``filter`` only."""
    return query if filter is None else query.where(sql_of(filter))


async def best(table: Any, query: Any, k: int, column: str, *, descending: bool) -> list[tuple[Document, float]]:
    """The best ``k`` by ``column``; equal ones in the order they were written."""
    query = query.select([*DOCUMENT_COLUMNS, "written_ns", column])
    # LanceDB makes room for as many rows as it is asked for, so it is not asked for more than there are.
    total = max(1, await table.count_rows())
    limit = min(k + 1, total)
    while True:
        rows = await query.limit(limit).to_arrow()
        values = sorted(rows.column(column).to_pylist(), reverse=descending)
        # Where the k-th value goes on beyond the limit, which of its rows came is up to the engine.
        if limit == total or len(values) < limit or values[k - 1] != values[-1]:
            break
        limit = min(limit * 4, total)
    order = [(column, "descending" if descending else "ascending"), ("written_ns", "ascending")]
    kept = rows.sort_by(order).slice(0, min(k, len(rows)))
    return list(zip(to_documents(kept), kept.column(column).to_pylist(), strict=True))


def has_id(ids: Sequence[str]) -> Any:
    """The condition that a row's id is one of ``ids``."""
    expr = lancedb("lancedb.expr")
    return expr.col("id").isin([expr.lit(each) for each in ids])


def portions(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """``ids`` in parts that one query can ask for."""
    return (ids[start : start + _IDS_PER_QUERY] for start in range(0, len(ids), _IDS_PER_QUERY))
