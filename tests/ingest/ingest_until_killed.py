"""Run by test_many_kills.py in a process of its own, which is killed at some moment.

Usage: ingest_until_killed.py ROUND. The store's URL is in the environment, as it may have a password in it. Says
"started" on stdout, then "finished ID" of each Document, and at the end waits to be killed.
"""

from __future__ import annotations

import asyncio
import os
import sys

from fastrag.document import Document
from fastrag.ingest import CharacterChunker, IngestProgress, IngestReport, ingest
from fastrag.store.base import VectorStore
from fastrag.store.opening import open_store
from fastrag.testing import HashEmbedder

URL = "FASTRAG_TEST_STORE_URL"
DIMENSION = 8
DOCUMENTS = 60
LARGE = 1100  # chunks, more than one write takes
CHUNK_SIZE = 11  # less than two texts


def version_of(number: int, turn: int) -> int:
    """Each round changes a quarter of the Documents."""
    return (turn + number) // 4


def texts_of(number: int, version: int) -> list[str]:
    count = LARGE - version % 3 if number == DOCUMENTS // 2 else 1 + (number + version) % 7
    return [f"{number} {version} {chunk}" for chunk in range(count)]


def corpus(turn: int) -> list[Document]:
    versions = [version_of(number, turn) for number in range(DOCUMENTS)]
    return [
        Document(f"d{number}", "\n\n".join(texts_of(number, version)), None, {"version": version})
        for number, version in enumerate(versions)
    ]


async def ingest_round(store: VectorStore, turn: int, progress: object = None) -> IngestReport:
    return await ingest(
        corpus(turn),
        store=store,
        embedder=HashEmbedder(DIMENSION),
        chunker=CharacterChunker(size=CHUNK_SIZE),
        batch_size=16,
        progress=progress,  # type: ignore[arg-type]
    )


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201


def finished(progress: IngestProgress) -> None:
    say("finished", progress.source)


async def main(turn: str) -> None:
    store = open_store(os.environ[URL])
    say("started")
    await ingest_round(store, int(turn), finished)
    say("done")
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
