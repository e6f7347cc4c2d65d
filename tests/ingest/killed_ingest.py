"""Run by test_kill.py in a process of its own, which is killed while it ingests.

Usage: killed_ingest.py INDEX VERSION STAGE NUMBER. Says on stdout what is embedded and finished, and says "now" when
Document NUMBER enters STAGE (embed or write); then it is killed. By itself it never gets to the Documents after the
next one.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from fastrag.document import Document
from fastrag.embedding.base import Matrix
from fastrag.ingest import CharacterChunker, IngestProgress, ingest
from fastrag.store.lance.store import LanceStore
from fastrag.testing import HashEmbedder

DOCUMENTS = 12
CHUNKS = 5
DIMENSION = 8
CHUNK_SIZE = 8
BATCH = 7  # so that batches and Documents do not end together


def corpus(version: str) -> list[Document]:
    return [
        Document(f"d{number}", "\n\n".join(f"{version} {number} {chunk}" for chunk in range(CHUNKS)))
        for number in range(DOCUMENTS)
    ]


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201


class Embedder(HashEmbedder):
    def __init__(self, stage: str, number: int) -> None:
        super().__init__(DIMENSION)
        self.stage, self.number = stage, number
        self.something_is_finished = asyncio.Event()

    async def embed_documents(self, texts: Sequence[str]) -> Matrix:
        last = max(int(text.split()[1]) for text in texts)
        if last >= 2:
            await self.something_is_finished.wait()
        if self.stage == "embed" and last >= self.number:
            say("now")
        if last > self.number + 1:
            await asyncio.Event().wait()
        for text in texts:
            say("embedded", text)
        return await super().embed_documents(texts)

    def finished(self, progress: IngestProgress) -> None:
        say("finished", progress.source)
        self.something_is_finished.set()


class Store(LanceStore):
    def __init__(self, path: Path, stage: str, number: int) -> None:
        super().__init__(path)
        self.stage, self.number = stage, number

    async def upsert(self, documents: Sequence[Document], embeddings: Matrix | None = None) -> None:
        if self.stage == "write" and f"d{self.number}#0" in {document.id for document in documents}:
            say("now")
        await super().upsert(documents, embeddings)


async def main(index: str, version: str, stage: str, number: str) -> None:
    store, embedder = Store(Path(index), stage, int(number)), Embedder(stage, int(number))
    await ingest(
        corpus(version),
        store=store,
        embedder=embedder,
        chunker=CharacterChunker(size=CHUNK_SIZE),
        batch_size=BATCH,
        progress=embedder.finished,
    )


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
