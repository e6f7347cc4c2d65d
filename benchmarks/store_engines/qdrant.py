"""Qdrant, called directly: the client's own imitation of a server, behind HTTP, as no server can be had for tests."""

from __future__ import annotations

import uuid
from typing import Any

from numpy.typing import NDArray

from fastrag.store.word_vectors import WordVectors
from store_engines.base import Condition, Engine
from store_engines.corpus import Block

POINTS_A_REQUEST, EF = 500, 128


class Qdrant(Engine):
    """A collection with dense and sparse vectors; the latter are made by the store's own `WordVectors`."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.words = WordVectors("english", extra="qdrant")
        self.client: Any = None

    async def _open(self, dimension: int) -> None:
        from qdrant_client import AsyncQdrantClient, models

        self.models = models
        self.client = AsyncQdrantClient(self.place, timeout=600, check_compatibility=False)
        await self.client.delete_collection("direct")
        await self.client.create_collection(
            "direct",
            vectors_config={"dense": models.VectorParams(size=dimension, distance=models.Distance.COSINE)},
            sparse_vectors_config={"words": models.SparseVectorParams(modifier=models.Modifier.IDF)},
        )

    async def add(self, block: Block) -> None:
        if self.client is None:
            await self._open(block.vectors.shape[1])
        points = [
            self.models.PointStruct(
                id=str(uuid.uuid5(uuid.NAMESPACE_URL, id)),
                vector={"dense": vector.tolist(), "words": self._sparse(self.words.of_text(text))},
                payload={"id": id, "text": text, "uri": f"https://example.org/{id}", "tenth": t, "hundredth": h},
            )
            for id, text, t, h, vector in zip(
                block.ids, block.texts, block.tenth.tolist(), block.hundredth.tolist(), block.vectors, strict=True
            )
        ]
        for start in range(0, len(points), POINTS_A_REQUEST):
            await self.client.upsert("direct", points[start : start + POINTS_A_REQUEST], wait=True)

    async def finish(self) -> None:
        for field in ("tenth", "hundredth"):
            await self.client.create_payload_index("direct", field, self.models.PayloadSchemaType.INTEGER, wait=True)

    async def dense(self, vector: NDArray[Any], k: int, condition: Condition = None) -> list[Any]:
        filter = None
        if condition is not None:
            value = self.models.MatchValue(value=condition[1])
            filter = self.models.Filter(must=[self.models.FieldCondition(key=condition[0], match=value)])
        params = self.models.SearchParams(hnsw_ef=EF)
        return await self._query(vector.tolist(), using="dense", limit=k, query_filter=filter, search_params=params)

    async def lexical(self, text: str, k: int) -> list[Any]:
        return await self._query(self._sparse(self.words.of_query(text)), using="words", limit=k)

    async def _query(self, query: Any, **options: Any) -> list[Any]:
        found = await self.client.query_points("direct", query=query, with_payload=True, **options)
        hits: list[Any] = found.points
        return hits

    def _sparse(self, words: tuple[list[int], list[float]]) -> Any:
        return self.models.SparseVector(indices=words[0], values=words[1])

    def id(self, hit: Any) -> str:
        return str(hit.payload["id"])

    async def close(self) -> None:
        await self.client.delete_collection("direct")
        await self.client.close()
