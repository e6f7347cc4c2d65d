"""MilvusStore on a real server, of version 2.3.5: one without the BM25 function, and so without lexical search."""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fastrag.document import Document
from fastrag.errors import ConfigurationError, StoreError
from fastrag.store import And, Contains, Eq, In, MilvusStore, Not, Or, Range
from fastrag.testing.store_conformance import DurableStoreConformance
from fastrag.testing.store_conformance.filtering import FilterTests

if sys.platform != "linux":
    pytest.skip("the server's package is for Linux", allow_module_level=True)
pytest.importorskip("milvus", reason="the server's package is not installed")
pymilvus = pytest.importorskip("pymilvus")

from .milvus_server import RunningMilvus  # noqa: E402

WORKER = Path(__file__).with_name("milvus_worker.py")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    running = RunningMilvus(tmp_path_factory.mktemp("milvus"))
    try:
        running.start()
        running.set_password()
        yield running
    finally:
        running.kill()


def store_of(server, **options):
    return MilvusStore(server.url, token=server.token, **options)


@pytest.fixture
def empty(server):
    """Removes what a test left behind."""
    client = pymilvus.MilvusClient(server.url, token=server.token, dedicated=True)

    def remove_all():
        for name in client.list_collections():
            client.drop_collection(name)

    remove_all()
    yield remove_all
    client.close()


class TestMilvusStoreOnAServer(DurableStoreConformance):
    has_lexical_search = False

    @pytest.fixture(autouse=True)
    def _place(self, server, empty):
        self.server, self.empty, self.folder = server, empty, None

    def make_store(self, folder, namespace="default"):
        if folder != self.folder:
            self.empty()
            self.folder = folder
        return store_of(self.server, namespace=namespace)


class TestFiltersOfColumnsOnAServer(FilterTests):
    has_lexical_search = False

    @pytest.fixture(autouse=True)
    def _place(self, server, empty):
        self.server = server

    def make_store(self, folder, namespace="default"):
        return store_of(self.server, namespace=namespace, filtered_fields=["a", "a.b", "v", "n", "ü"])


@pytest.fixture
async def store(server, empty):
    store = store_of(server)
    yield store
    await store.close()


async def ids_found(store, **query):
    return [document.id for document in await store.search(**query)]


async def test_lexical_search_is_refused_naming_what_has_it(store):
    await store.upsert([Document("a", "cat")], np.eye(3)[:1])
    for query in ({"text": "cat"}, {"text": "cat", "embedding": np.ones(3)}):
        with pytest.raises(ConfigurationError, match=r"Milvus v2\.3\.5.*BM25 function that came with 2\.5"):
            await store.search(**query)
    assert await ids_found(store, embedding=np.ones(3)) == ["a"]


async def test_a_write_that_has_returned_is_seen_by_every_process(server, store):
    other = store_of(server)
    rows = np.random.default_rng(0).standard_normal((30, 4))
    for number, row in enumerate(rows):
        await store.upsert([Document(str(number), "", metadata={"n": number})], row[np.newaxis])
        assert await other.count() == number + 1
        assert await other.count(Eq("n", number)) == 1
        assert (await ids_found(other, embedding=row, k=1)) == [str(number)]
    for number in range(30):
        assert await store.delete(ids=[str(number)]) == 1
        assert await other.get([str(number)]) == []
        assert await other.count() == 29 - number
    await other.close()


async def test_stores_see_what_others_make_of_a_namespace(server, store):
    other = store_of(server)
    await store.upsert([Document("a", "cat")])
    assert [document.id async for document in other.scan()] == ["a"]
    await other.bind("embedder", 2)
    await store.upsert([Document("b", "cat")], np.eye(2)[:1])
    assert await ids_found(other, embedding=np.ones(2)) == ["b"]
    await store.drop()
    assert await other.count() == 0
    assert await other.search(embedding=np.ones(2)) == []
    await store.bind("embedder", 3)
    await store.upsert([Document("c", "cat")], np.eye(3)[:1])
    assert await ids_found(other, embedding=np.ones(3)) == ["c"]
    await store.drop()
    await other.upsert([Document("d", "cat")], np.eye(3)[:1])
    assert await ids_found(store, embedding=np.ones(3)) == ["d"]
    await other.close()


async def test_strong_reads_see_what_others_did_not_wait_for(server, empty):
    writer, reader = store_of(server, consistency="strong"), store_of(server, consistency="strong")
    for number in range(10):
        await writer.upsert([Document(str(number), "")], np.ones((1, 2)))
        assert await reader.count() == number + 1
        assert len(await reader.get([str(number)])) == 1
        assert len([document async for document in reader.scan()]) == number + 1
    for store in (writer, reader):
        await store.close()


async def test_filtered_searches_in_the_graph_find_what_is_closest(store):
    random = np.random.default_rng(1)
    centers = random.standard_normal((60, 48))
    rows = (centers[random.integers(0, 60, 6000)] + random.standard_normal((6000, 48))).astype(np.float32)
    groups = random.integers(0, 100, 6000)
    documents = [Document(str(n), "", metadata={"g": int(group)}) for n, group in enumerate(groups)]
    await store.upsert(documents, rows)
    await store.optimize()
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    for filter, kept in (
        (None, groups >= 0),
        (Range("g", lt=30), groups < 30),
        (In("g", range(10)), groups < 10),
        (Eq("g", 7), groups == 7),
    ):
        hits = 0
        for query in rows[random.integers(0, 6000, 30)] + random.standard_normal((30, 48)) / 2:
            scores = np.where(kept, unit @ query, -np.inf)
            found = await ids_found(store, embedding=query, k=10, filter=filter)
            assert len(found) == 10
            hits += len({int(id) for id in found} & set(np.argsort(-scores)[:10].tolist()))
        assert hits >= 0.95 * 300, filter


async def test_long_texts_are_read_in_parts(store):
    # The server that is started here answers with 8 MB at the most.
    text = "ü" * 500_000
    documents = [Document(f"{n:02}", text, metadata={"n": n}) for n in range(12)]
    await store.upsert(documents, np.eye(12))
    assert await store.get([document.id for document in documents]) == documents
    assert [document async for document in store.scan(Range("n", gte=2))] == documents[2:]
    found = await store.search(embedding=np.arange(12, 0, -1), k=12)
    assert [document.id for document in found] == [document.id for document in documents]
    assert {document.text for document in found} == {text}


async def test_documents_without_vectors_get_a_dimension(store):
    documents = [Document(str(n), f"cat {n}", f"u{n}", {"n": n, "tags": ["a", n]}) for n in range(1203)]
    await store.upsert(documents)
    await store.bind("it's one", 3)
    assert await store.namespaces() == ["default"]
    assert await store.get([document.id for document in documents]) == documents
    assert await store.count(Range("n", gte=1000)) == 203
    assert await store.search(embedding=np.ones(3)) == []
    await store.upsert([Document("new", "dog")], np.eye(3)[:1])
    assert await ids_found(store, embedding=np.ones(3)) == ["new"]


async def test_metadata_with_more_in_it_than_milvus_holds_is_refused(store):
    await store.upsert([Document("kept", "", metadata={"tags": list(range(4000))})], np.ones((1, 2)))
    for metadata in ({"tags": list(range(4096))}, {f"field{n:04}": "x" * 200 for n in range(400)}):
        with pytest.raises(ConfigurationError, match=r"'large'.*to filter by.*Milvus holds 4096 and 65000"):
            await store.upsert([Document("new", ""), Document("large", "", metadata=metadata)], np.ones((2, 2)))
    assert [document.id async for document in store.scan()] == ["kept"]
    assert await store.count(Contains("tags", 3999)) == 1


async def test_large_conditions(store):
    await store.upsert([Document(str(n), "", metadata={"n": n}) for n in range(20)], np.ones((20, 2)))
    assert await store.count(In("n", range(15, 50_000))) == 5
    assert await store.count(Not(In("n", range(15, 50_000)))) == 15
    assert await store.count(Or([Range("n", gte=n, lt=n + 1) for n in range(900)])) == 20
    assert await store.count(And([Not(Eq("n", n)) for n in range(5, 1000)])) == 5


async def test_collections_of_others_are_refused_and_left_alone(server, store):
    client = pymilvus.AsyncMilvusClient(server.url, token=server.token, dedicated=True)
    for name in ("fastrag_foreign", "other"):
        await client.create_collection(name, dimension=3)
    strange = store_of(server, namespace="foreign")
    for call in (strange.count, lambda: strange.upsert([Document("a", "")])):
        with pytest.raises(ConfigurationError, match=r"fastrag_foreign of http://127.* was not made by fastrag"):
            await call()
    await strange.drop()
    await store.bind("embedder", 2)
    assert await store.namespaces() == ["default"]
    await store.drop()
    assert sorted(await client.list_collections()) == ["fastrag_foreign", "other"]
    await strange.close()
    await client.close()


async def test_a_database_holds_namespaces_of_its_own(server, store):
    client = pymilvus.AsyncMilvusClient(server.url, token=server.token, dedicated=True)
    await client.create_database("handbooks")
    other = MilvusStore(f"{server.url}/handbooks", token=server.token)
    await other.upsert([Document("a", "cat")], np.ones((1, 2)))
    assert await store.namespaces() == []
    assert await other.namespaces() == ["default"]
    assert await other.count() == 1
    await other.drop()
    await other.close()
    await client.drop_database("handbooks")
    await client.close()


async def test_who_may_connect(server, empty, monkeypatch):
    for wrong in ("root:wr0ng-s3cret", "nobody", "", lambda: "root:wr0ng-s3cret"):
        store = MilvusStore(server.url, token=wrong)
        for call in (store.count, lambda store=store: store.upsert([Document("a", "")])):
            with pytest.raises(StoreError, match=r"http://127\.0\.0\.1") as caught:
                await call()
            assert "s3cret" not in repr(caught.value)
            assert "s3cret" not in repr(caught.value.__cause__)
        await store.close()
    asked = []

    def token():
        asked.append(1)
        return server.token

    monkeypatch.setenv("MILVUS_TOKEN", server.token)
    for store in (MilvusStore(server.url), MilvusStore(server.url, token=token)):
        await store.upsert([Document("a", "")], np.ones((1, 2)))
        assert await store.count() == 1
        await store.close()
    assert asked


def test_nothing_is_written_to_stderr(server, empty):
    command = [sys.executable, str(WORKER), "everything", server.url]
    environment = {**os.environ, "MILVUS_TOKEN": server.token}
    process = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=150)
    assert (process.returncode, process.stderr) == (0, "")


def test_a_killed_writer_loses_nothing_acknowledged_and_leaves_no_half_batch(server, empty):
    command = [sys.executable, str(WORKER), "write_until_killed", server.url, "a"]
    environment = {**os.environ, "MILVUS_TOKEN": server.token}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    lines = [process.stdout.readline() for _ in range(15)]
    process.send_signal(signal.SIGKILL)
    lines += process.communicate()[0].splitlines(keepends=True)
    acknowledged = {line.strip() for line in lines if line.endswith("\n")}

    async def batches():
        store = store_of(server)
        try:
            return Counter([document.metadata["batch"] async for document in store.scan()])
        finally:
            await store.close()

    found = asyncio.run(batches())
    assert {line for line in acknowledged if not line.startswith("without ")} <= set(found)
    assert set(found.values()) <= {9, 10}


async def test_a_server_that_hangs(server, empty):
    store = store_of(server, timeout_s=1)
    await store.upsert([Document("a", "cat")], np.ones((1, 4)))
    assert await store.count() == 1
    server.pause()
    try:
        for call in (
            store.count,
            lambda: store.search(embedding=np.ones(4)),
            lambda: store.upsert([Document("b", "cat")], np.ones((1, 4))),
        ):
            with pytest.raises(StoreError, match=rf"{server.url} could not .*(no answer within 1 s|[Dd]eadline)"):
                await call()
    finally:
        server.resume()
    patient = store_of(server)
    await patient.upsert([Document("c", "cat")], np.ones((1, 4)))
    assert {"a", "c"} <= {document.id async for document in patient.scan()}
    await patient.close()
    await store.close()


async def test_a_server_killed_in_the_middle_of_work(server, empty):
    store = store_of(server, timeout_s=20)
    await store.bind("embedder", 4)
    acknowledged, failures = [], []
    stopped = asyncio.Event()

    async def work(name, act):
        try:
            for number in itertools.count():
                await act(f"{name}-{number}")
                await asyncio.sleep(0)
        except StoreError as error:
            failures.append(error)
            stopped.set()

    async def write(id):
        await store.upsert([Document(id, "cat")], np.ones((1, 4)))
        acknowledged.append(id)

    async def search(_):
        await store.search(embedding=np.ones(4))

    async with asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(work(f"w{number}", write))
            group.create_task(work(f"s{number}", search))
        while len(acknowledged) < 20:
            await asyncio.sleep(0.01)
        server.kill()
    assert len(failures) == 6
    for error in failures:
        assert server.url in str(error)
        assert error.__cause__ is not None
    with pytest.raises(StoreError, match="Connection refused"):
        await store.count()

    await asyncio.to_thread(server.start)
    assert set(acknowledged) <= {document.id async for document in store.scan()}
    await store.upsert([Document("after", "cat")], np.eye(4)[:1])
    assert await ids_found(store, embedding=np.eye(4)[0], k=1) == ["after"]
    await store.close()
