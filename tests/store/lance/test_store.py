import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fastrag.document import Document
from fastrag.errors import ConfigurationError, StoreError
from fastrag.store import Eq, InMemoryStore, LanceStore
from fastrag.testing.store_conformance import DurableStoreConformance

WORKER = Path(__file__).with_name("lance_worker.py")
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals, limits or fork")


class TestLanceStore(DurableStoreConformance):
    scans_a_snapshot = True

    def make_store(self, folder, namespace="default"):
        return LanceStore(folder, namespace=namespace)


def start(task, folder, name="", *options):
    command = [sys.executable, *options, str(WORKER), task, str(folder), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, err
    return out, err


async def batches(folder):
    return Counter([document.metadata.get("batch") async for document in LanceStore(folder).scan()])


@posix
def test_a_killed_writer_loses_nothing_acknowledged_and_leaves_no_half_batch(tmp_path):
    acknowledged = set()
    for name in ("a", "b"):
        process = start("write_until_killed", tmp_path, name)
        for _ in range(4):
            acknowledged.add(process.stdout.readline().strip())
        process.send_signal(signal.SIGKILL)
        out, _ = process.communicate()
        acknowledged |= {line for line in out.splitlines(keepends=False) if line}
        found = asyncio.run(batches(tmp_path))
        assert acknowledged <= set(found)
        assert set(found.values()) == {10}
    asyncio.run(LanceStore(tmp_path).upsert([Document("after", "walrus")]))
    assert len(asyncio.run(LanceStore(tmp_path).search(text="walrus"))) == 1


def test_several_processes_write_and_read_one_folder(tmp_path):
    processes = [start("write_beside_others", tmp_path, name) for name in ("a", "b")]
    reader = LanceStore(tmp_path)
    counts = []

    async def read():
        while any(process.poll() is None for process in processes):
            counts.append(await reader.count())
            await reader.search(text="cat", embedding=np.ones(16))
        assert await reader.count() == 161
        return [document.id async for document in reader.scan()]

    ids = asyncio.run(read())
    for process in processes:
        _, err = finish(process)
        assert err == "", "giving way to each other is nothing to warn of"
    assert len(set(ids)) == len(ids), "no id is there twice"
    assert counts == sorted(counts)


@posix
def test_a_full_disk_leaves_what_was_there(tmp_path):
    out, _ = finish(start("run_out_of_space", tmp_path))
    assert out.strip() in {"RuntimeError", "OSError"}
    assert asyncio.run(batches(tmp_path)) == {"kept-0": 10, "small-2": 10}


@posix
def test_a_child_forked_from_a_user_of_a_store_is_told_so(tmp_path):
    # LanceDB warns about forks as such.
    out, _ = finish(start("fork", tmp_path, "", "-W", "ignore"))
    assert len(out.splitlines()) == 2
    assert all("'spawn' or 'forkserver'" in line for line in out.splitlines())


@posix
def test_a_child_forked_before_the_first_use_has_its_own(tmp_path):
    finish(start("fork_before_use", tmp_path, "", "-W", "ignore"))


def test_nothing_is_written_to_stderr(tmp_path):
    _, err = finish(start("everything", tmp_path))
    assert err == ""


async def test_every_file_is_synced_before_a_write_returns(tmp_path, monkeypatch):
    synced = set()
    fsync = os.fsync

    def record(handle):
        synced.add(os.fstat(handle).st_ino)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", record)
    store = LanceStore(tmp_path)
    for change in (
        lambda: store.bind("embedder", 2),
        lambda: store.upsert([Document("a", "cat"), Document("b", "dog")], np.eye(2)),
        lambda: store.delete(ids=["b"]),
        store.optimize,
    ):
        await change()
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert files
        for path in files:
            assert path.stat().st_ino in synced, path
            assert path.parent.stat().st_ino in synced, path.parent
    await store.close()


async def test_reading_makes_nothing(tmp_path):
    store = LanceStore(tmp_path / "not" / "there")
    assert await store.count() == 0
    assert await store.search(text="cat") == []
    await store.optimize()
    await store.delete(ids=["a"])
    assert list(tmp_path.iterdir()) == []
    await store.upsert([Document("a", "cat")])
    assert await LanceStore(tmp_path / "not" / "there").count() == 1


async def test_paths_that_cannot_be_a_store(tmp_path):
    file = tmp_path / "file"
    file.write_text("x")
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    for path, message in ((file, "not a folder"), (file / "sub", "not a folder"), (other, "notes.txt")):
        store = LanceStore(path)
        for call in (store.count, store.optimize, lambda store=store: store.upsert([Document("a", "")])):
            with pytest.raises(ConfigurationError, match=message):
                await call()
    assert [path.name for path in other.iterdir()] == ["notes.txt"]
    with pytest.raises(StoreError, match="could not open"):
        await LanceStore("/dev/null/store" if os.name != "posix" else "/proc/store").upsert([Document("a", "")])


async def test_a_path_means_one_folder(tmp_path, monkeypatch):
    for name in ("home", "here", "elsewhere"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "here")
    await LanceStore("~/index").upsert([Document("a", "cat")])
    assert await LanceStore("~/index").count() == 1
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["index"]

    store = LanceStore("index")
    monkeypatch.chdir(tmp_path / "elsewhere")
    await store.upsert([Document("b", "cat"), Document("c", "cat")])
    await store.close()
    assert await store.count() == 2
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["index"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("path", ["file:///tmp/index", "s3://bucket/index", "nul\0", "", b"index", 5, None])
def test_what_is_no_path_of_a_folder_here_is_refused(path):
    with pytest.raises(ConfigurationError, match="path must be"):
        LanceStore(path)


async def test_a_deletion_counts_only_what_it_deleted(tmp_path, monkeypatch):
    import lancedb

    store, other = LanceStore(tmp_path), LanceStore(tmp_path)
    await store.upsert([Document(str(n), "cat", metadata={"n": n}) for n in range(4)])
    delete = lancedb.table.AsyncTable.delete

    async def beside_another_writer(table, condition):
        result = await delete(table, condition)
        await other.upsert([Document(f"new{n}", "cat") for n in range(9)])
        return result

    monkeypatch.setattr(lancedb.table.AsyncTable, "delete", beside_another_writer)
    assert await store.delete(ids=["0", "1", "unknown"]) == 2
    assert await store.delete(filter=Eq("n", 3)) == 1
    assert await store.delete(filter=Eq("n", 3)) == 0
    assert await store.delete(ids=[]) == 0


async def test_closing_leaves_calls_under_way_their_files(tmp_path):
    store = LanceStore(tmp_path)
    await store.upsert([Document(str(n), "cat") for n in range(3000)], np.ones((3000, 8)))

    async def search():
        for _ in range(20):
            assert len(await store.search(text="cat", embedding=np.ones(8), k=5)) == 5
            assert await store.count() == 3000
            assert len(await store.get(["1", "2"])) == 2

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(search()) for _ in range(3)]
        while not all(task.done() for task in tasks):
            await asyncio.gather(store.close(), store.upsert([Document("1", "cat")]))

    scan = store.scan()
    await anext(scan)
    await store.close()
    assert len([document async for document in scan]) == 2999


@pytest.mark.parametrize("left", ["data", "_transactions", "_indices"])
async def test_a_store_copied_in_part_is_refused_and_left_alone(tmp_path, left):
    store = LanceStore(tmp_path / "whole")
    await store.upsert([Document("a", "cat")])
    await store.close()
    table = tmp_path / "part" / "default.lance"
    shutil.copytree(tmp_path / "whole" / "default.lance" / left, table / left)
    before = sorted(table.rglob("*"))
    store = LanceStore(tmp_path / "part")
    for call in (store.count, lambda: store.upsert([Document("b", "cat")]), store.optimize):
        with pytest.raises(StoreError, match="copied in part"):
            await call()
    assert sorted(table.rglob("*")) == before


async def test_a_store_whose_making_was_killed_is_made(tmp_path):
    begun = tmp_path / "default.lance" / "_transactions" / "0-a720138b.txn"
    begun.parent.mkdir(parents=True)
    begun.write_bytes(b"")
    store = LanceStore(tmp_path)
    assert await store.count() == 0
    await store.upsert([Document("a", "cat")])
    assert await LanceStore(tmp_path).count() == 1


async def test_tables_of_others_and_of_newer_versions_are_refused(tmp_path):
    import lancedb
    import pyarrow as pa

    for folder, metadata, message in (
        ("foreign", None, "not made by fastrag"),
        ("newer", {"fastrag.format": "2", "fastrag.language": "english"}, "format 2.*update fastrag"),
    ):
        connection = await lancedb.connect_async(tmp_path / folder)
        schema = pa.schema([pa.field("id", pa.string())], metadata=metadata)
        await connection.create_table("default", schema=schema)
        with pytest.raises(ConfigurationError, match=message):
            await LanceStore(tmp_path / folder).upsert([Document("a", "")])
        with pytest.raises(ConfigurationError, match=message):
            await LanceStore(tmp_path / folder).count()


async def test_the_language_is_fixed_by_the_first_write(tmp_path):
    store = LanceStore(tmp_path, language="de")
    await store.upsert([Document("a", "Die Häuser")])
    assert len(await store.search(text="haus")) == 1
    assert await LanceStore(tmp_path, language="German").count() == 1
    for language in ("en", None):
        with pytest.raises(ConfigurationError, match="language='german'"):
            await LanceStore(tmp_path, language=language).count()
    with pytest.raises(ConfigurationError, match="language"):
        LanceStore(tmp_path, language="xx")


async def test_without_a_language_words_are_kept_whole(tmp_path):
    store = LanceStore(tmp_path, language=None)
    await store.upsert([Document("a", "running")])
    assert await store.search(text="runs") == []
    assert len(await store.search(text="Running")) == 1


async def test_a_damaged_store_says_so(tmp_path):
    store = LanceStore(tmp_path)
    await store.upsert([Document("a", "cat")], np.ones((1, 3)))
    await store.close()
    for path in (tmp_path / "default.lance" / "_versions").iterdir():
        path.write_bytes(b"garbage")
    for call in (store.count(), store.search(text="cat"), store.upsert([Document("b", "")]), store.bind("e", 3)):
        with pytest.raises(StoreError, match=str(tmp_path)) as caught:
            await call
        assert caught.value.__cause__ is not None


async def test_a_folder_removed_under_an_open_store(tmp_path):
    store = LanceStore(tmp_path / "store")
    await store.upsert([Document("a", "cat")], np.ones((1, 3)))
    shutil.rmtree(tmp_path / "store")
    with pytest.raises(StoreError):
        await store.search(text="cat")
    await store.close()
    assert await store.count() == 0


async def test_writers_that_insert_one_id_at_once_leave_one_document(tmp_path):
    # Stores of their own, as those of other processes are: they share no lock.
    stores = [LanceStore(tmp_path) for _ in range(5)]
    await stores[0].bind("embedder", 3)
    for n in range(6):
        async with asyncio.TaskGroup() as group:
            for store in stores:
                group.create_task(store.upsert([Document(str(n), "cat")], np.ones((1, 3))))
    ids = [document.id async for document in stores[0].scan()]
    assert sorted(ids) == [str(n) for n in range(6)]


async def test_calls_at_once_on_a_new_store(tmp_path):
    store = LanceStore(tmp_path)
    async with asyncio.TaskGroup() as group:
        for n in range(8):
            group.create_task(store.upsert([Document(str(n), "cat")], np.ones((1, 3))))
            group.create_task(store.search(text="cat", embedding=np.ones(3)))
    assert await store.count() == 8


async def test_both_stores_find_the_same(tmp_path):
    random = np.random.default_rng(3)
    words = [f"word{n}" for n in range(200)]
    documents = [
        Document(str(n), " ".join(random.choice(words, size=random.integers(1, 60))), metadata={"n": n % 4})
        for n in range(400)
    ]
    vectors = random.standard_normal((400, 32)).astype(np.float32)
    memory, disk = InMemoryStore(), LanceStore(tmp_path)
    for store in (memory, disk):
        await store.upsert(documents, vectors)
        await store.optimize()
    for _ in range(20):
        for filter in (None, Eq("n", 1)):
            query = {"embedding": random.standard_normal(32), "k": 25, "filter": filter}
            one, other = await memory.search(**query), await disk.search(**query)
            assert [document.id for document in one] == [document.id for document in other]
            scores = [document.metadata["score"] for document in one]
            assert scores == pytest.approx([document.metadata["score"] for document in other], abs=1e-6)
        # The engines round document lengths differently, which moves neighbours.
        text = " ".join(random.choice(words, size=3))
        one, other = await memory.search(text=text, k=400), await disk.search(text=text, k=400)
        assert {document.id for document in one} == {document.id for document in other}
        assert len({d.id for d in one[:10]} & {d.id for d in other[:10]}) >= 7


async def test_what_another_process_dropped_is_not_there_any_more(tmp_path):
    # Stores of their own, as those of other processes are: they share no handle.
    store, other = LanceStore(tmp_path), LanceStore(tmp_path)
    await LanceStore(tmp_path, namespace="kept").upsert([Document("k", "cat")])
    for turn in range(2):
        await store.upsert([Document("a", "cat", metadata={"turn": turn})], np.ones((1, 3 + turn)))
        assert await other.count() == 1
        await store.drop()
        assert await other.namespaces() == ["kept"]
        assert await other.count() == 0
        assert await other.search(text="cat", embedding=np.ones(3)) == []
        assert await other.get(["a"]) == []
        assert await other.binding() is None
        assert await other.delete(ids=["a"]) == 0
        await other.optimize()
    await other.upsert([Document("b", "dog")], np.ones((1, 7)))
    assert await store.count() == 1
    await store.drop()
    await other.upsert([Document("c", "dog")], np.ones((1, 2)))
    assert [document.id async for document in store.scan()] == ["c"]


async def test_a_killed_drop_leaves_nothing_to_see(tmp_path):
    store = LanceStore(tmp_path)
    await store.upsert([Document("a", "cat")])
    left = tmp_path / ".dropped-0123456789abcdef"
    shutil.copytree(tmp_path / "default.lance", left)
    assert await store.namespaces() == ["default"]
    await store.drop()
    assert list(tmp_path.iterdir()) == []


async def test_only_tables_that_fastrag_made_are_namespaces(tmp_path):
    import lancedb
    import pyarrow as pa

    await LanceStore(tmp_path).upsert([Document("a", "cat")])
    connection = await lancedb.connect_async(tmp_path)
    await connection.create_table("theirs", schema=pa.schema([pa.field("id", pa.string())]))
    (tmp_path / "broken.lance").mkdir()
    store = LanceStore(tmp_path, namespace="theirs")
    assert await store.namespaces() == ["default"]
    with pytest.raises(ConfigurationError, match="not made by fastrag"):
        await store.drop()
    assert (tmp_path / "theirs.lance").exists()
