"""Milvus, called directly: a server, or a file of milvus-lite."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

from numpy.typing import NDArray

from store_engines.base import Condition, Engine
from store_engines.corpus import Block

M, EF_CONSTRUCTION, EF_SEARCH, FILTERED_EF_SEARCH = 16, 128, 128, 800
HIT = ["id", "text", "uri", "tenth", "hundredth"]


class Milvus(Engine):
    """A collection with a field for each thing; HNSW; BM25 of a file, as the server that is tested has none.

    Args:
        place: ``milvus://user:password@host:port``, or the path of a ``.db`` file.
    """

    def __init__(self, place: str) -> None:
        parts = urlsplit(place)
        self.is_local = parts.scheme != "milvus"
        self.has_words = self.is_local
        self.options: dict[str, Any] = {"uri": place, "dedicated": True}
        if not self.is_local:
            token = f"{parts.username}:{parts.password}"
            self.options |= {"uri": f"http://{parts.hostname}:{parts.port}", "token": token}
        self.client: Any = None

    def _open(self, dimension: int) -> None:
        import pymilvus

        self.client = client = pymilvus.MilvusClient(**self.options)
        self.search = pymilvus.AsyncMilvusClient(**self.options)
        if client.has_collection("direct"):
            client.drop_collection("direct")
        types = pymilvus.DataType
        schema = client.create_schema()
        schema.add_field("id", types.VARCHAR, is_primary=True, max_length=100)
        schema.add_field("uri", types.VARCHAR, max_length=200)
        schema.add_field("tenth", types.INT64)
        schema.add_field("hundredth", types.INT64)
        schema.add_field("vector", types.FLOAT_VECTOR, dim=dimension)
        if self.is_local:
            schema.add_field(
                "text",
                types.VARCHAR,
                max_length=10_000,
                enable_analyzer=True,
                analyzer_params={"tokenizer": "standard", "filter": ["lowercase"]},
            )
            schema.add_field("bm25", types.SPARSE_FLOAT_VECTOR)
            kind = pymilvus.FunctionType.BM25
            schema.add_function(
                pymilvus.Function("bm25", kind, input_field_names=["text"], output_field_names=["bm25"])
            )
        else:
            schema.add_field("text", types.VARCHAR, max_length=10_000)
        client.create_collection("direct", schema=schema, consistency_level="Bounded")

    async def add(self, block: Block) -> None:
        await asyncio.to_thread(self._add, block)

    def _add(self, block: Block) -> None:
        if self.client is None:
            self._open(block.vectors.shape[1])
        self.client.insert(
            "direct",
            [
                {"id": id, "text": text, "uri": f"https://example.org/{id}", "tenth": t, "hundredth": h, "vector": v}
                for id, text, t, h, v in zip(
                    block.ids, block.texts, block.tenth.tolist(), block.hundredth.tolist(), block.vectors, strict=True
                )
            ],
        )

    async def finish(self) -> None:
        await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        self.client.flush("direct")
        indexes = self.client.prepare_index_params()
        graph = {"M": M, "efConstruction": EF_CONSTRUCTION}
        indexes.add_index("vector", index_type="HNSW", metric_type="IP", params=graph)
        if self.is_local:
            indexes.add_index("bm25", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        else:
            indexes.add_index("tenth", index_type="STL_SORT")
            indexes.add_index("hundredth", index_type="STL_SORT")
        self.client.create_index("direct", indexes, timeout=600)
        self.client.load_collection("direct", timeout=600)

    async def dense(self, vector: NDArray[Any], k: int, condition: Condition = None) -> list[Any]:
        ef = EF_SEARCH if condition is None else FILTERED_EF_SEARCH
        return await self._search(
            data=[vector],
            anns_field="vector",
            limit=k,
            filter="" if condition is None else f"{condition[0]} == {condition[1]}",
            search_params={"metric_type": "IP", "params": {"ef": max(ef, k)}},
        )

    async def lexical(self, text: str, k: int) -> list[Any]:
        return await self._search(data=[text], anns_field="bm25", limit=k, search_params={"metric_type": "BM25"})

    async def _search(self, **options: Any) -> list[Any]:
        found = await self.search.search("direct", output_fields=HIT, consistency_level="Bounded", **options)
        hits: list[Any] = found[0]
        return hits

    def id(self, hit: Any) -> str:
        return str(hit["id"])

    async def close(self) -> None:
        await self.search.close()
        await asyncio.to_thread(self.client.drop_collection, "direct")
        self.client.close()
