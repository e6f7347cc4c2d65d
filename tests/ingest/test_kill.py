"""An ingest into the embedded store that is killed (SIGKILL) and run again, until it gets through."""

from __future__ import annotations

import runpy
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from fastrag.ingest import CharacterChunker, ingest
from fastrag.store.lance.store import LanceStore
from fastrag.testing import HashEmbedder

CHILD = Path(__file__).with_name("killed_ingest.py")
child = runpy.run_path(str(CHILD))


def kill(index: Path, version: str, stage: str, number: int) -> tuple[set[str], list[str]]:
    """Ids of the Documents that were finished and texts that were embedded before the kill."""
    finished: set[str] = set()
    embedded: list[str] = []
    with subprocess.Popen(
        [sys.executable, str(CHILD), str(index), version, stage, str(number)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            word, _, rest = line.strip().partition(" ")
            if word == "now":
                process.kill()
            elif word == "finished":
                finished.add(rest)
            elif word == "embedded":
                embedded.append(rest)
    assert process.returncode == -signal.SIGKILL
    return finished, embedded


async def get_through(index: Path, version: str) -> list[str]:
    """The texts that were embedded by an ingest that nobody kills."""
    store, embedder = LanceStore(index), HashEmbedder(child["DIMENSION"])
    await ingest(
        child["corpus"](version),
        store=store,
        embedder=embedder,
        chunker=CharacterChunker(size=child["CHUNK_SIZE"]),
    )
    await store.close()
    return embedder.embedded


async def stored(index: Path) -> dict[str, set[str]]:
    """The texts the store has of each Document."""
    store = LanceStore(index)
    texts: dict[str, set[str]] = {}
    async for chunk in store.scan():
        texts.setdefault(chunk.metadata["parent_id"], set()).add(chunk.text)
    await store.close()
    return texts


def whole(version: str) -> dict[str, set[str]]:
    return {document.id: set(document.text.split("\n\n")) for document in child["corpus"](version)}


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
async def test_no_document_is_lost_and_none_that_was_finished_is_embedded_again(tmp_path: Path) -> None:
    index = tmp_path / "index"
    finished, _ = kill(index, "old", "write", 3)
    assert finished
    assert finished.isdisjoint(map(owner, await get_through(index, "old")))
    assert await stored(index) == whole("old")

    # Now every Document is replaced: at each moment the store has all of the old one or all of the new one.
    finished = set()
    for stage, number in (("write", 3), ("embed", 8)):
        newly, embedded = kill(index, "new", stage, number)
        assert finished.isdisjoint(map(owner, embedded))
        finished |= newly
        now = await stored(index)
        assert now.keys() == whole("old").keys()
        assert all(texts in (whole("old")[id], whole("new")[id]) for id, texts in now.items())
        assert {id: now[id] for id in finished} == {id: whole("new")[id] for id in finished}
    assert finished
    embedded = await get_through(index, "new")
    assert finished.isdisjoint(map(owner, embedded))
    assert max(Counter(embedded).values()) == 1
    assert await stored(index) == whole("new")
    assert await get_through(index, "new") == []


def owner(text: str) -> str:
    """Id of the Document that a text is of."""
    return f"d{text.split()[1]}"
