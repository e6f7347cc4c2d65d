"""LanceDB, called directly."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from numpy.typing import NDArray

from store_engines.base import Condition, Engine
from store_engines.corpus import Block

COLUMNS = ["id", "text", "uri", "tenth", "hundredth"]
EF, COMPARED = 200, 100  # candidates of the graph, and how many of them are compared exactly


class LanceDB(Engine):
    """A table with a column for each thing, appended to; IVF_HNSW_SQ, refined; indexes of words and filtered fields."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.table: Any = None

    async def add(self, block: Block) -> None:
        import lancedb
        import pyarrow as pa

        dimension = block.vectors.shape[1]
        rows = pa.table(
            {
                "id": block.ids,
                "text": block.texts,
                "uri": [f"https://example.org/{id}" for id in block.ids],
                "tenth": block.tenth,
                "hundredth": block.hundredth,
                "vector": pa.FixedSizeListArray.from_arrays(pa.array(block.vectors.reshape(-1)), dimension),
            }
        )
        if self.table is None:
            # As the store: every search sees what other processes have written.
            self.connection = await lancedb.connect_async(self.place, read_consistency_interval=timedelta(0))
            self.table = await self.connection.create_table("direct", rows)
        else:
            await self.table.add(rows)

    async def finish(self) -> None:
        from lancedb.index import FTS, Bitmap, BTree, HnswSq

        await self.table.optimize()
        config = HnswSq(distance_type="dot", num_partitions=1, m=16, ef_construction=100)
        await self.table.create_index("vector", config=config)
        await self.table.create_index("text", config=FTS(language="English", stem=True, remove_stop_words=False))
        await self.table.create_index("tenth", config=Bitmap())
        await self.table.create_index("hundredth", config=Bitmap())
        await self.table.create_index("id", config=BTree())

    async def dense(self, vector: NDArray[Any], k: int, condition: Condition = None) -> list[Any]:
        query = self.table.query().nearest_to(vector).column("vector").distance_type("dot")
        query = query.ef(max(EF, 2 * k)).refine_factor(max(2, COMPARED // k))
        if condition is not None:
            query = query.where(f"{condition[0]} = {condition[1]}")
        hits: list[Any] = await query.select([*COLUMNS, "_distance"]).limit(k).to_list()
        return hits

    async def lexical(self, text: str, k: int) -> list[Any]:
        from lancedb.query import MatchQuery

        query = self.table.query().nearest_to_text(MatchQuery(text, "text")).select([*COLUMNS, "_score"])
        hits: list[Any] = await query.limit(k).to_list()
        return hits

    def id(self, hit: Any) -> str:
        return str(hit["id"])

    async def close(self) -> None:
        self.connection.close()
