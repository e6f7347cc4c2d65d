"""What a Milvus server does with a collection: indexes, memory, and when a write can be seen.

A collection is loaded into memory before it can be read, which is left for the first who reads it: one that is written
first is then loaded with its graph, and meanwhile no write waits until it can be seen. A file's collection needs none
of that: it is read as it is, and searched exactly.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Any

from fastrag.errors import StoreError
from fastrag.store.milvus.filters import NOTHING
from fastrag.store.milvus.rows import Collection
from fastrag.store.milvus.server import SLOW_S, MilvusServer

_POLLED_S = 0.2
_HANDED_OVER_S = 60.0


@dataclass(frozen=True, slots=True)
class GraphSettings:
    """How new HNSW graphs are made.

    Attributes:
        m: Links of a vector.
        ef_construction: Candidates looked at when a vector is linked.
    """

    m: int
    ef_construction: int


class Loading:
    """Makes collections of ``server`` ready, with graphs of ``settings``."""

    def __init__(self, server: MilvusServer, settings: GraphSettings) -> None:
        self._server = server
        self._settings = settings

    async def index(self, collection: Collection) -> None:
        """Make those indexes that the collection has not got."""
        if self._server.is_local:
            return
        name = collection.name
        milvus = await self._server.module()
        has = await self._server.ask(f"look at the indexes of {name}", "list_indexes", name)
        for field, options in (await self._indexes(collection)).items():
            if field not in has:
                index = milvus.MilvusClient.prepare_index_params()
                index.add_index(field, **options)
                # Loading waits for it; the asynchronous client would, too, and for half a second at the least.
                await self._server.ask_in_thread(
                    f"index the collection {name}", "create_index", name, index, sync=False
                )

    async def _indexes(self, collection: Collection) -> dict[str, dict[str, Any]]:
        graph = {"M": self._settings.m, "efConstruction": self._settings.ef_construction}
        indexes: dict[str, dict[str, Any]] = {"vector": {"index_type": "HNSW", "metric_type": "IP", "params": graph}}
        # What suits a text best differs between versions; with an empty name the server chooses.
        indexes |= {column: {"index_type": ""} for column in collection.layout.columns}
        if collection.layout.words:
            weights = {"bm25_k1": 1.2, "bm25_b": 0.75}
            indexes["bm25"] = {"index_type": "SPARSE_INVERTED_INDEX", "metric_type": "BM25", "params": weights}
        if await self._server.has_bm25():
            # An index of arrays is not much older.
            indexes["facts"] = {"index_type": "INVERTED"}
        return indexes

    async def load(self, collection: Collection) -> None:
        """Have the collection in memory, with all that was written."""
        if self._server.is_local:
            return
        if await self._state(collection) != "Loaded":
            await self.index(collection)
            name = collection.name
            await self._server.ask(f"load the collection {name}", "load_collection", name, timeout_s=SLOW_S)
        await self.wait_for_writes(collection)

    async def settle(self, collection: Collection) -> None:
        """Wait until what was written can be seen by all who read from now on."""
        # Whoever loads it later waits for all that was written before.
        if not self._server.is_local and await self._state(collection) != "NotLoad":
            await self.wait_for_writes(collection)

    async def wait_for_writes(self, collection: Collection) -> None:
        """Wait for the server's next tick of the clock, up to which a strong read sees everything."""
        if not self._server.is_local:
            await self._server.ask(
                f"read the collection {collection.name}",
                "query",
                collection.name,
                filter=NOTHING,
                output_fields=["id"],
                consistency_level="Strong",
            )

    async def tidy(self, collection: Collection) -> None:
        """Write out what is only in the engine's log, and wait until it is in the graph, and that in memory."""
        name = collection.name
        await self._server.ask(f"flush the collection {name}", "flush", name, timeout_s=SLOW_S)
        if self._server.is_local:
            return
        await self.index(collection)
        async with asyncio.timeout(SLOW_S):
            rows = await self._rows_indexed(collection)
        if await self._state(collection) != "NotLoad":
            # Not all of them need come: some may have been removed, or put together with others; nor need a service
            # tell of its segments.
            with contextlib.suppress(TimeoutError, StoreError):
                async with asyncio.timeout(_HANDED_OVER_S):
                    await self._wait_for_segments(collection, rows)

    async def _rows_indexed(self, collection: Collection) -> int:
        """How many rows are in the graph, once all that were written out are."""
        while True:
            state = await self._server.ask(
                f"look at the index of {collection.name}", "describe_index", collection.name, "vector"
            )
            if not state["pending_index_rows"]:
                return int(state["indexed_rows"])
            await asyncio.sleep(_POLLED_S)

    async def _wait_for_segments(self, collection: Collection, rows: int) -> None:
        """Wait until so many ``rows`` are searched in segments of their final form."""
        while True:
            segments = await self._server.ask_in_thread(
                f"look at the segments of {collection.name}", "list_loaded_segments", collection.name
            )
            if sum(segment.num_rows for segment in segments if str(segment.state) == "Sealed") >= rows:
                return
            await asyncio.sleep(_POLLED_S)

    async def _state(self, collection: Collection) -> str:
        name = collection.name
        return str((await self._server.ask(f"look at the collection {name}", "get_load_state", name))["state"])
