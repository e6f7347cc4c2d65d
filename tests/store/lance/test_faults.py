"""A LanceStore whose writers are killed (SIGKILL) at random moments, twenty times, and one whose disk is full."""

import asyncio
import os
import random
import runpy
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from fastrag.store import Eq, Exists, LanceStore

from ...forking import Forks

KILLS = 20
WORKER = Path(__file__).with_name("lance_worker.py")
worker = runpy.run_path(str(WORKER))

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="has no SIGKILL"),
    pytest.mark.timeout(600),
]


@pytest.fixture
def start():
    """``start(task, folder, turn)``: a process of its own that does it."""
    # Most of what takes long in importing LanceDB.
    with Forks(WORKER, "fastrag.store.lance.store", "lance_namespace", "pandas") as forks:
        yield forks.start


def killed(process, randomly):
    """What ``process`` says until it is killed, at some moment after some lines."""
    lines = [process.stdout.readline() for _ in range(randomly.randint(1, 6))]
    time.sleep(randomly.uniform(0, 0.2))
    process.kill()
    out, code = process.communicate()
    assert code == -signal.SIGKILL
    return [line.split() for line in [*lines, *out.splitlines()]]


async def check(folder, written, removed, turn):
    store = LanceStore(folder, index_from=15)
    found = Counter([document.metadata["batch"] async for document in store.scan(Exists("batch"))])
    assert set(found.values()) <= {10}, "no half of a batch"
    assert not removed & found.keys()
    # The last removal may have been done and not have been told any more.
    missing = written - removed - found.keys()
    assert len(missing) <= 1
    assert all(batch.startswith(f"{turn}-") for batch in missing)
    removed |= missing
    last = max((int(batch.split("-")[1]) for batch in written if batch.startswith(f"{turn}-")), default=-1)
    assert (await store.get(["latest"]))[0].metadata["n"] >= turn * 1000 + last, "a replaced Document stays replaced"
    for batch in random.Random(turn).sample(sorted(found), min(5, len(found))):
        name, number = batch.split("-")
        documents, vectors = worker["batch"](name, int(number))
        ids = {document.id for document in documents}
        assert await store.count(Eq("batch", batch)) == 10
        assert {document.id for document in await store.search(text=f"b{name}b{number}", k=20)} == ids
        closest = await store.search(embedding=vectors[0], k=1, filter=Eq("batch", batch))
        assert closest[0].id == documents[0].id
        assert closest[0].metadata["score"] == pytest.approx(1)
        # Batches of one number have the same vectors.
        assert documents[0].id in {document.id for document in await store.search(embedding=vectors[0], k=KILLS)}
    await store.close()


def test_writers_killed_while_they_write_and_index_lose_nothing(start, tmp_path):
    randomly = random.Random(20)
    written, removed = set(), set()
    for turn in range(KILLS):
        for sign, batch in killed(start("tidy_until_killed", tmp_path, turn), randomly):
            (written if sign == "+" else removed).add(batch)
        asyncio.run(check(tmp_path, written, removed, turn))
    assert len(written) > KILLS

    async def finish():
        store = LanceStore(tmp_path, index_from=15)
        await store.optimize()
        assert await store.count() >= 10 * len(written - removed)
        await store.close()
        import lancedb

        table = await (await lancedb.connect_async(tmp_path)).open_table("default")
        return {index.name for index in await table.list_indices()}

    assert asyncio.run(finish()) == {"id_idx", "facts_idx", "text_idx", "vector_idx"}


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a file system of its own, and what makes that larger."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(options):
        return subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True)

    try:
        made = mount("size=1500k")
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if made.returncode:
        pytest.skip(f"a small file system cannot be mounted: {made.stderr.decode().strip()}")
    try:
        yield place, lambda: mount("remount,size=60m")
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_full_disk_stops_writing_only(start, small_disk):
    place, enlarge = small_disk
    folder = place / "store"
    process = start("write_until_refused", folder, 0)
    out, code = process.communicate()
    assert code == 0
    *lines, refusal = out.splitlines()
    assert "No space left" in refusal
    written = {line.split()[1] for line in lines}
    assert written
    asyncio.run(check(folder, written, set(), 0))

    assert enlarge().returncode == 0
    for sign, batch in killed(start("tidy_until_killed", folder, 1), random.Random(1)):
        if sign == "+":
            written.add(batch)
        else:
            written.discard(batch)
    found = Counter(asyncio.run(batches(folder)))
    assert written <= found.keys()


async def batches(folder):
    return [document.metadata["batch"] async for document in LanceStore(folder, index_from=15).scan(Exists("batch"))]
