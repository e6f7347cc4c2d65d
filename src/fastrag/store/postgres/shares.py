"""How many rows satisfy a filter, roughly: what decides by which way a search goes."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import Any

from fastrag.store.postgres.filters import Condition
from fastrag.store.postgres.table import Names

SAMPLE = "TABLESAMPLE SYSTEM ((SELECT percent FROM part)) REPEATABLE (1)"
"""Some rows of a table, or all of a small one; after `part_of`."""

_SAMPLED_PAGES = 300
_PAGE_BYTES = 8192
_KEPT_S = 60.0
_KEPT = 256


def part_of(table: str) -> str:
    """The start of a statement that takes a `SAMPLE` of ``table``."""
    pages = f"greatest(1, pg_relation_size('{table}') / {_PAGE_BYTES})"
    return f"WITH part AS MATERIALIZED (SELECT least(100, {100 * _SAMPLED_PAGES}::float8 / {pages}) AS percent)"


@dataclass(frozen=True, slots=True)
class Share:
    """Roughly, how many rows satisfy a filter, of how many."""

    matching: float
    rows: float


class Shares:
    """Estimates shares from a sample of the table, and keeps the last 256 for a minute."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[float, Share]] = {}

    async def of(self, connection: Any, names: Names, condition: Condition) -> Share:
        """The share of the rows that satisfy ``condition``."""
        key = (condition.sql, repr(condition.values))
        until, share = self._known.get(key, (0.0, None))
        if share is not None and monotonic() < until:
            return share
        cursor = await connection.execute(
            f"{part_of(names.table)} SELECT (SELECT percent FROM part), count(*),"
            f" count(*) FILTER (WHERE {condition.sql}) FROM {names.table} {SAMPLE}",
            condition.values,
        )
        percent, rows, matching = await cursor.fetchone()
        share = Share(matching * 100 / percent, rows * 100 / percent)
        if len(self._known) >= _KEPT:
            self._known.pop(next(iter(self._known)))
        self._known[key] = (monotonic() + _KEPT_S, share)
        return share
