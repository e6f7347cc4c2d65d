"""An ingest that is killed (SIGKILL) twenty times at random moments and goes on, into every durable store."""

from __future__ import annotations

import random
import runpy
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from fastrag.document import Document
from fastrag.embedding.base import Vector
from fastrag.store.base import VectorStore
from fastrag.store.opening import open_store
from fastrag.testing.embedder import hash_vector

from ..forking import Forks

KILLS = 20
CHILD = Path(__file__).with_name("ingest_until_killed.py")
child = runpy.run_path(str(CHILD))

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL"),
    pytest.mark.timeout(600),
]


@pytest.fixture
def lance(tmp_path: Path) -> str:
    return f"lance://{tmp_path / 'index'}"


@pytest.fixture
def milvus_file(tmp_path: Path) -> str:
    pytest.importorskip("milvus_lite")
    return f"milvus://{tmp_path / 'store.db'}"


@pytest.fixture
def milvus_server(tmp_path: Path) -> Iterator[str]:
    pytest.importorskip("milvus", reason="the server's package is not installed")
    from ..store.milvus.milvus_server import RunningMilvus

    server = RunningMilvus(tmp_path)
    try:
        server.start()
        server.set_password()
        yield server.url.replace("http://", f"milvus://{server.token}@")
    finally:
        server.kill()


@pytest.fixture
def postgres() -> Iterator[str]:
    pytest.importorskip("psycopg")
    from ..store.postgres.postgres_server import running_with_textsearch

    with contextmanager(running_with_textsearch)() as server:
        yield f"postgresql://postgres@/postgres?host={quote(str(server.home), safe='')}"


# What takes longest in importing each engine, and has no threads.
IMPORTS = {
    "lance": ["fastrag.store.lance.store", "lance_namespace", "pandas"],
    "milvus_file": ["fastrag.store.milvus.store", "pandas"],
    "milvus_server": ["fastrag.store.milvus.store", "pandas"],
    "postgres": ["fastrag.store.postgres.store", "psycopg"],
}


@pytest.fixture(params=IMPORTS)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def url(request: pytest.FixtureRequest, engine: str) -> str:
    """Where the store is; another namespace there is for one that nobody kills."""
    if engine != "lance" and sys.platform != "linux":
        pytest.skip("the servers' packages are for Linux")
    found: str = request.getfixturevalue(engine)
    return found


@pytest.fixture
def forks(engine: str, url: str) -> Iterator[Forks]:
    with Forks(CHILD, "fastrag.ingest", "fastrag.testing", *IMPORTS[engine], environment={child["URL"]: url}) as forks:
        yield forks


def ingest_and_kill(forks: Forks, turn: int, randomly: random.Random) -> tuple[set[str], bool]:
    """The Documents that were finished before the kill, and whether the ingest was through by then."""
    finished: set[str] = set()
    done = False
    # Killed after so many lines, and a moment.
    lines, moment_s = randomly.choice([1, randomly.randint(1, child["DOCUMENTS"])]), randomly.uniform(0, 0.1)
    process = forks.start(turn)
    for number, line in enumerate(process.stdout, start=1):
        if not line.endswith("\n"):
            break  # killed in the middle of it
        word, _, id = line.strip().partition(" ")
        done = done or word == "done"
        if word == "finished":
            finished.add(id)
        if number == lines:
            time.sleep(moment_s)
            process.kill()
    _, code = process.communicate()
    assert code == -signal.SIGKILL
    return finished, done


async def contents(store: VectorStore) -> tuple[dict[str, Document], dict[str, Vector]]:
    chunks = {chunk.id: chunk async for chunk in store.scan()}
    return chunks, await store.get_embeddings(list(chunks))


def by_document(chunks: dict[str, Document]) -> dict[str, dict[str, list[Document]]]:
    """The chunks of each Document, by the digest of the version that they are of."""
    found: dict[str, dict[str, list[Document]]] = defaultdict(lambda: defaultdict(list))
    for chunk in chunks.values():
        found[chunk.metadata["parent_id"]][chunk.metadata["source_digest"]].append(chunk)
    return found


def check_document(number: int, versions: dict[str, list[Document]], sure: int, *, is_whole: bool) -> None:
    """What the store has of a Document says which version it is of, and is not older than what was finished."""
    complete = []
    for chunks in versions.values():
        version = chunks[0].metadata["version"]
        texts = child["texts_of"](number, version)
        assert {chunk.metadata["version"] for chunk in chunks} == {version}
        assert {chunk.metadata["chunk_count"] for chunk in chunks} == {len(texts)}
        assert all(chunk.text == texts[int(chunk.id.partition("#")[2])] for chunk in chunks)
        if len(chunks) == len(texts):
            complete.append(version)
    if is_whole:
        # Of another version there may only be what it had more of.
        assert len(complete) == 1, versions
        assert complete[0] >= sure


async def test_nothing_that_was_finished_is_lost_and_nothing_half_written_passes_for_whole(
    forks: Forks, url: str
) -> None:
    randomly = random.Random(20)
    sure: dict[int, int] = {}
    through = 0
    for turn in range(KILLS):
        finished, done = ingest_and_kill(forks, turn, randomly)
        through += done
        store = open_store(url)
        chunks, vectors = await contents(store)
        await store.close()
        assert vectors.keys() == chunks.keys()
        if vectors:
            made = [hash_vector(chunks[id].text, child["DIMENSION"]) for id in vectors]
            assert np.allclose(list(vectors.values()), made, atol=1e-6)
        found = by_document(chunks)
        for id in finished:
            number = int(id[1:])
            sure[number] = child["version_of"](number, turn)
            # What is finished is there as it should be, and nothing of another version with it.
            (only,) = found[id].values()
            assert sorted(chunk.text for chunk in only) == sorted(child["texts_of"](number, sure[number]))
        for number in range(child["DOCUMENTS"]):
            versions = found.get(f"d{number}")
            assert versions is not None or number not in sure
            if versions is not None:
                is_large = number == child["DOCUMENTS"] // 2
                check_document(number, versions, sure.get(number, 0), is_whole=not is_large)
    assert through < KILLS // 2, "most were not killed in their work"

    store, fresh = open_store(url), open_store(url, namespace="fresh")
    report = await child["ingest_round"](store, KILLS)
    assert report.unchanged > 0
    await child["ingest_round"](fresh, KILLS)
    chunks, vectors = await contents(store)
    expected, expected_vectors = await contents(fresh)
    assert chunks == expected
    assert vectors.keys() == expected_vectors.keys()
    assert all((vectors[id] == expected_vectors[id]).all() for id in vectors)
    await store.close()
    await fresh.close()
