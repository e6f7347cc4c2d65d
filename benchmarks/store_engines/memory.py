"""numpy and tantivy, called directly."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastrag import Document
from store_engines.base import Condition, Engine
from store_engines.corpus import Block


class NumpyAndTantivy(Engine):
    """One matrix, one product a question, argpartition; a text index in memory. Blocking work is done in a thread."""

    def __init__(self, place: str) -> None:
        import tantivy

        self.tantivy = tantivy
        analyzer = (
            tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
            .filter(tantivy.Filter.lowercase())
            .filter(tantivy.Filter.ascii_fold())
            .filter(tantivy.Filter.stemmer("english"))
            .build()
        )
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("text", tokenizer_name="words", index_option="freq")
        schema.add_unsigned_field("row", fast=True)
        self.index = tantivy.Index(schema.build())
        self.index.register_tokenizer("words", analyzer)
        self.writer = self.index.writer(heap_size=50_000_000, num_threads=1)
        self.blocks: list[Block] = []
        self.documents: list[Document] = []

    async def add(self, block: Block) -> None:
        await asyncio.to_thread(self._add, block)

    def _add(self, block: Block) -> None:
        for number, text in enumerate(block.texts):
            document = self.tantivy.Document()
            document.add_text("text", text)
            document.add_unsigned("row", block.start + number)
            self.writer.add_document(document)
        self.documents += block.documents()
        self.blocks.append(block)

    async def finish(self) -> None:
        await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        self.writer.commit()
        self.index.reload()
        self.searcher = self.index.searcher()
        self.matrix = np.concatenate([block.vectors for block in self.blocks])
        self.fields = {
            name: np.concatenate([getattr(block, name) for block in self.blocks]) for name in ("tenth", "hundredth")
        }
        self.blocks = []

    async def dense(self, vector: NDArray[Any], k: int, condition: Condition = None) -> list[Any]:
        return await asyncio.to_thread(self._dense, vector, k, condition)

    def _dense(self, vector: NDArray[Any], k: int, condition: Condition) -> list[Any]:
        if condition is None:
            rows, scores = None, self.matrix @ vector
        else:
            rows = np.flatnonzero(self.fields[condition[0]] == condition[1])
            scores = self.matrix[rows] @ vector
        top = np.argpartition(-scores, k)[:k]
        top = top[np.argsort(-scores[top])]
        found = top if rows is None else rows[top]
        return [(self.documents[row], score) for row, score in zip(found.tolist(), scores[top].tolist(), strict=True)]

    async def lexical(self, text: str, k: int) -> list[Any]:
        return await asyncio.to_thread(self._lexical, text, k)

    def _lexical(self, text: str, k: int) -> list[Any]:
        hits = self.searcher.search(self.index.parse_query(text, ["text"]), limit=k, count=False).hits
        rows = self.searcher.fast_field_values("row", [address for _, address in hits])
        return [(self.documents[row], score) for row, (score, _) in zip(rows, hits, strict=True)]

    def id(self, hit: Any) -> str:
        return str(hit[0].id)
