"""Reading a Milvus collection: by primary keys, by filter in pages, and the best hits of a search."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from fastrag.store.filters import Filter, Range, matches
from fastrag.store.milvus.filters import ArrayExpressions, KeyExpressions, has_key, left_open, long_ranges
from fastrag.store.milvus.rows import Collection, document_of
from fastrag.store.milvus.server import MilvusServer, TooMuchError

MOST_FOUND = 16_384
"""The most hits that a server answers with."""

_PAGE = 1000
_KEYS_PER_CALL = 1000
_HIT = ["written", "pointed"]


class Queries:
    """Reads collections of ``server``, at a level of ``consistency`` as Milvus names it."""

    def __init__(self, server: MilvusServer, consistency: str) -> None:
        self._server = server
        self._consistency = consistency

    async def read(self, collection: Collection, method: str, **options: Any) -> Any:
        """Call a ``method`` of the client that reads."""
        name = collection.name
        return await self._server.ask(
            f"read the collection {name}", method, name, consistency_level=self._consistency, **options
        )

    async def expression(self, collection: Collection, filter: Filter | None) -> str:
        """What selects the rows that satisfy ``filter``; an empty text for all."""
        if filter is None:
            return ""
        settled: dict[Range, list[str]] = {}
        for condition in long_ranges(filter):
            rows = self.pages(collection, left_open(condition), ["document"])
            settled[condition] = [row["id"] async for row in rows if matches(condition, document_of(row).metadata)]
        layout = collection.layout
        return (ArrayExpressions if layout.facts else KeyExpressions)(layout.columns, settled).of(filter)

    async def pages(
        self, collection: Collection, expression: str, fields: Sequence[str]
    ) -> AsyncIterator[dict[str, Any]]:
        """The rows that ``expression`` selects, by primary key, with their ``id`` and ``fields``."""
        last, limit = "", _PAGE
        while True:
            beyond = f'id > "{last}"'
            try:
                # The last two, which pymilvus' own iterator gives too, make a server keep the order of keys. They
                # leave no choice of the level of consistency.
                rows = await self._server.ask(
                    f"read the collection {collection.name}",
                    "query",
                    collection.name,
                    filter=f"({expression}) and {beyond}" if expression else beyond,
                    output_fields=["id", *fields],
                    limit=limit,
                    iterator="True",
                    reduce_stop_for_best=True,
                )
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

    async def with_keys(
        self, collection: Collection, keys: Sequence[str], fields: Sequence[str]
    ) -> list[dict[str, Any]]:
        """Those rows with these primary ``keys`` that there are, with their ``id`` and ``fields``."""
        found: list[dict[str, Any]] = []
        for some in portions(keys):
            try:
                found += await self.read(collection, "query", filter=has_key(some), output_fields=["id", *fields])
            except TooMuchError:
                if len(some) == 1:
                    raise
                half = len(some) // 2
                for part in (some[:half], some[half:]):
                    found += await self.with_keys(collection, part, fields)
        return found

    async def best(
        self, collection: Collection, k: int, *, search_params: dict[str, Any], **options: Any
    ) -> list[dict[str, Any]]:
        """The best ``k`` hits with their documents; equal ones in the order they were written."""
        limit = min(k + 1, MOST_FOUND)
        while True:
            hits = await self._hits(collection, limit=limit, search_params=_at_least(search_params, limit), **options)
            # Where the k-th score goes on beyond the limit, which of its hits came is up to the engine.
            if limit == MOST_FOUND or len(hits) < limit or hits[k - 1]["distance"] != hits[-1]["distance"]:
                break
            limit = min(limit * 4, MOST_FOUND)
        # The best come first, whatever their sign; among equal ones the engine knows no order.
        place = {distance: number for number, distance in enumerate(dict.fromkeys(hit["distance"] for hit in hits))}
        hits.sort(key=lambda hit: (place[hit["distance"]], hit["entity"]["written"]))
        return hits[:k]

    async def _hits(self, collection: Collection, **options: Any) -> list[dict[str, Any]]:
        try:
            return list((await self.read(collection, "search", output_fields=["document", *_HIT], **options))[0])
        except TooMuchError:
            # Long texts, which are read in parts then.
            hits = list((await self.read(collection, "search", output_fields=_HIT, **options))[0])
        rows = await self.with_keys(collection, [hit["id"] for hit in hits], ["document"])
        documents = {row["id"]: row["document"] for row in rows}
        for hit in hits:
            hit["entity"]["document"] = documents.get(hit["id"])
        return [hit for hit in hits if hit["entity"]["document"] is not None]


def portions(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    """``keys`` in parts that one call can ask for."""
    return (keys[start : start + _KEYS_PER_CALL] for start in range(0, len(keys), _KEYS_PER_CALL))


def _at_least(search_params: dict[str, Any], limit: int) -> dict[str, Any]:
    """``search_params`` with as many candidates as hits are asked for, which the graph insists on."""
    params = search_params.get("params", {})
    return {**search_params, "params": {**params, "ef": max(params["ef"], limit)}} if "ef" in params else search_params
