"""What happens to a PgVectorStore when its server, its connection or its process goes away."""

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fastrag.benchmark import Benchmark, EvalSample
from fastrag.benchmark.metrics import RecallAtK
from fastrag.document import Document
from fastrag.errors import StoreError
from fastrag.retrieval import LexicalRetriever
from fastrag.store import Eq, PgVectorStore

if sys.platform != "linux":
    pytest.skip("the servers' packages are for Linux", allow_module_level=True)
pytest.importorskip("psycopg")

import psycopg

from .postgres_server import running_plain, running_with_textsearch

WORKER = Path(__file__).with_name("postgres_worker.py")


@pytest.fixture(scope="module")
def server():
    yield from running_plain()


@pytest.fixture
def place(server, tmp_path):
    return server.conninfo(server.schema_for(tmp_path))


@pytest.fixture
async def store(place):
    store = PgVectorStore(place)
    await store.upsert([Document(str(n), f"cat number{n}", metadata={"n": n}) for n in range(50)], np.eye(50))
    yield store
    await store.close()


def start(task, conninfo, name="", **options):
    command = [sys.executable, str(WORKER), task, conninfo, name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)


async def batches(place):
    store = PgVectorStore(place)
    found = Counter([document.metadata["batch"] async for document in store.scan()])
    await store.close()
    return found


def test_a_writer_killed_20_times_loses_nothing_acknowledged_and_leaves_no_half_batch(place):
    acknowledged = set()
    with start("fork_writers", place, stdin=subprocess.PIPE, bufsize=1) as parent:
        for number in range(20):
            parent.stdin.write(f"w{number}\n")
            child = int(parent.stdout.readline())
            # At another moment of a batch each time: the last one is under way.
            acknowledged |= {parent.stdout.readline().strip() for _ in range(1 + number % 4)}
            os.kill(child, signal.SIGKILL)
            while (line := parent.stdout.readline().strip()) != "killed":
                acknowledged.add(line)
            found = asyncio.run(batches(place))
            assert acknowledged <= set(found)
            assert set(found.values()) == {10}
        parent.stdin.close()
        assert parent.wait(timeout=60) == 0
    assert len(acknowledged) >= 20


def test_writers_of_the_same_documents_in_several_processes(place):
    writers = [start("write_beside_others", place, name) for name in "abc"]
    for writer in writers:
        writer.communicate(timeout=120)
        assert writer.returncode == 0

    found = asyncio.run(batches(place))
    last = [name for name, count in found.items() if count == 30]
    assert len(last) == 1, "the documents that all wrote are those of one batch"
    assert sum(found.values()) == 3 * 15 * 10 + 20


async def test_a_backend_ended_in_mid_search(server, store):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_outcome(store.search(text="cat", embedding=np.ones(50)))) for _ in range(30)]
        await asyncio.sleep(0)
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'fastrag' AND pid <> pg_backend_pid()"
        )
    for task in tasks:
        outcome = task.result()
        assert isinstance(outcome, list) or "terminat" in str(outcome), outcome
    assert len(await store.search(text="cat")) == 10


async def test_connections_that_ended_while_idle_are_not_used(server, store):
    for _ in range(3):
        await asyncio.gather(*(store.count() for _ in range(8)))
        ended = server.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = 'fastrag'"
        )
        assert ended
        await asyncio.gather(*(store.count() for _ in range(8)))


async def test_a_server_stopped_and_started_again(server, store):
    assert await store.count() == 50
    await asyncio.to_thread(server.stop)
    for call in (
        store.count,
        lambda: store.search(text="cat", embedding=np.ones(50)),
        lambda: store.upsert([Document("new", "dog")]),
        lambda: store.delete(ids=["1"]),
        store.binding,
        store.namespaces,
        lambda: anext(store.scan()),
    ):
        with pytest.raises(StoreError, match=r"No such file or directory|Connection refused") as caught:
            await call()
        assert isinstance(caught.value.__cause__, psycopg.Error)
    await asyncio.to_thread(server.start)
    assert await store.count() == 50
    assert len(await store.search(text="cat", embedding=np.ones(50))) == 10


async def test_a_server_killed_in_the_middle_of_work(server, store):
    written = set()

    async def write():
        for number in range(10_000):
            documents = [Document(f"{number}-{n}", "dog", metadata={"batch": number}) for n in range(10)]
            await store.upsert(documents, np.eye(50)[:10])
            written.add(number)

    async def read():
        while True:
            await store.search(text="cat", embedding=np.ones(50))
            [document async for document in store.scan(Eq("n", 3))]

    tasks = [asyncio.create_task(_outcome(each())) for each in (write, read, read)]
    while len(written) < 5:
        await asyncio.sleep(0)
    server.kill()
    outcomes = await asyncio.gather(*tasks)
    assert all(isinstance(outcome, StoreError) for outcome in outcomes), outcomes
    await asyncio.to_thread(server.start_again)
    found = Counter([d.metadata["batch"] async for d in store.scan() if "batch" in d.metadata])
    assert written <= set(found)
    assert set(found.values()) == {10}
    assert await store.delete(ids=[f"0-{n}" for n in range(10)]) == 10


async def test_words_outlive_a_restart_and_a_crash():
    for server in running_with_textsearch():
        stores = [PgVectorStore(server.conninfo()) for _ in range(3)]
        store = stores[0]
        for number in range(30):
            documents = [Document(f"{number}-{n}", f"cat number{number}" + " many words" * 200) for n in range(20)]
            await store.upsert(documents)
        await store.delete(ids=["0-0"])
        for number, ends in enumerate(
            ([server.stop, server.start], [server.kill, server.start_again], [server.kill_backend])
        ):
            for end in ends:
                await asyncio.to_thread(end)
            found = await asyncio.gather(*(each.search(text="cats", k=1000) for each in stores))
            assert [len(each) for each in found] == [599 + number] * 3
            await store.upsert([Document(f"new{number}", f"cat walrus{number}")])
            assert [document.id for document in await store.search(text=f"walrus{number}")] == [f"new{number}"]
            assert len(await store.search(text="number7", k=1000)) == 20
            await store.optimize()
        for each in stores:
            await each.close()


async def test_a_benchmark_over_a_server_that_is_down_for_a_while(server, store):
    class Interrupted:
        """Stops the server at one question, and starts it at another."""

        def __init__(self):
            self.retriever = LexicalRetriever(store, k=1)
            self.asked = 0

        async def retrieve(self, question):
            self.asked += 1
            if self.asked == 15:
                await asyncio.to_thread(server.stop)
            if self.asked == 30:
                await asyncio.to_thread(server.start)
            return await self.retriever.retrieve(question)

    samples = [EvalSample(f"number{n}?", relevant_ids=[str(n)]) for n in range(50)]
    result = await Benchmark(Interrupted(), samples, [RecallAtK(1)], concurrency=1).run("interrupted")
    statuses = [sample.status for sample in result.samples]
    assert statuses == ["successful"] * 14 + ["errored"] * 15 + ["successful"] * 21
    for sample in result.samples[14:29]:
        assert "StoreError" in sample.error
        assert "could not search the namespace 'default'" in sample.error
    assert all(sample.scores == {"recall@1": 1.0} for sample in result.samples if sample.status == "successful")


async def test_a_full_disk_leaves_what_was_there(server, store):
    documents = [Document(f"large{n}", f"walrus {n} " * 100, metadata={"n": n}) for n in range(3000)]
    await asyncio.to_thread(server.stop)
    await asyncio.to_thread(server.start, max_file_bytes=2_000_000)
    for _ in range(2):
        with pytest.raises(StoreError, match=r"could not extend file.*Check free disk space"):
            await store.upsert(documents, np.ones((3000, 50)))
        assert await store.count() == 50
        assert await store.search(text="walrus") == []
        assert len(await store.search(text="cat", embedding=np.ones(50))) == 10
    await asyncio.to_thread(server.stop)
    await asyncio.to_thread(server.start)
    await store.upsert(documents, np.ones((3000, 50)))
    assert await store.count() == 3050


async def test_a_cancelled_call_is_cancelled_on_the_server(server, place, tmp_path):
    store = PgVectorStore(place, pool_size=1)
    await store.upsert([Document("a", "cat")], np.eye(1))
    (before,) = _connections(server)
    with psycopg.connect(place) as holder:
        holder.execute("LOCK TABLE fastrag_default IN ACCESS EXCLUSIVE MODE")
        for call in (store.count, store.scan().__anext__, lambda: store.upsert([Document("b", "cat")], np.eye(1))):
            task = asyncio.create_task(call())
            while not _waiting(server):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not _waiting(server)
    assert await store.count() == 1
    assert before in _connections(server), "it goes on with the connection it had"
    await store.close()


def _connections(server):
    return [pid for (pid,) in server.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'fastrag'")]


def _waiting(server):
    return server.execute(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'fastrag' AND wait_event_type = 'Lock'"
    )


async def _outcome(call):
    try:
        return await call
    except StoreError as error:
        return error
