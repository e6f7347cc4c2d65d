import asyncio
import itertools
import logging
import socket
import traceback

import numpy as np
import pytest

from fastrag.document import Document
from fastrag.errors import ConfigurationError, EmbedderMismatchError, StoreError
from fastrag.store import Eq, Range
from fastrag.store.base import Binding
from fastrag.store.qdrant.filters import columns_of
from fastrag.store.qdrant.points import point_id
from fastrag.store.qdrant.store import QdrantStore
from fastrag.testing import Fault
from fastrag.testing.store_conformance import DurableStoreConformance

pytest.importorskip("qdrant_client")

from .qdrant_stub import QdrantStub

KEY = "s3cr3t-k3y-of-the-server"
SEARCH = "POST /collections/fastrag_default/points/query"
UPSERT = "PUT /collections/fastrag_default/points"


class TestQdrantStore(DurableStoreConformance):
    @pytest.fixture(autouse=True)
    def _servers(self):
        self.servers = {}
        yield
        for server in self.servers.values():
            server.stop()

    def make_store(self, folder, namespace="default"):
        if folder not in self.servers:
            self.servers[folder] = QdrantStub()
        return QdrantStore(self.servers[folder].url, namespace=namespace)


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    monkeypatch.delenv("QDRANT_API_KEY", raising=False)


@pytest.fixture
def server():
    server = QdrantStub()
    yield server
    server.stop()


@pytest.fixture
async def store(server):
    store = QdrantStore(server.url)
    yield store
    await store.close()


def some(count, start=0):
    documents = [Document(f"d{n}", f"cat {n}", metadata={"n": n}) for n in range(start, start + count)]
    return documents, np.random.default_rng(start).standard_normal((count, 4)).astype(np.float32)


CALLS = {
    "namespaces": lambda store: store.namespaces(),
    "drop": lambda store: store.drop(),
    "bind": lambda store: store.bind("embedder", 4),
    "binding": lambda store: store.binding(),
    "upsert": lambda store: store.upsert(*some(3)),
    "upsert words": lambda store: store.upsert(some(3)[0]),
    "delete by ids": lambda store: store.delete(ids=["d1"]),
    "delete by filter": lambda store: store.delete(filter=Eq("n", 1)),
    "get": lambda store: store.get(["d1"]),
    "get_embeddings": lambda store: store.get_embeddings(["d1"]),
    "count": lambda store: store.count(),
    "count by a long bound": lambda store: store.count(Range("n", gt=2**500 + 1)),
    "scan": lambda store: scanned(store),
    "dense": lambda store: store.search(embedding=np.ones(4)),
    "lexical": lambda store: store.search(text="cat"),
}
FAULTS = {
    "500": Fault.error(500),
    "503": Fault.error(503),
    "429": Fault.error(429, retry_after_s=1),
    "400": Fault.error(400),
    "a web page": Fault.html(),
    "a web page that is missing": Fault(status=404, body=b"<h1>Not Found</h1>", content_type="text/html"),
    "broken JSON": Fault.garbage(),
    "not UTF-8": Fault(body=b'{"result": "\xff"}'),
    "an empty body": Fault(body=b""),
    "no result": Fault.changed(result=None),
    "an empty object": Fault(body=b"{}"),
    "a list": Fault(body=b"[]"),
    "null": Fault(body=b"null"),
    "a text": Fault(body=b'"ok"'),
    "another form": Fault.changed(result={"points": [{"id": "x"}], "collections": 3, "config": None}),
    "cut off": Fault(cut_after=20),
    "nothing": Fault(cut_after=0),
    "a redirect": Fault(status=307, headers={"Location": "http://127.0.0.1:9/"}),
}


async def scanned(store):
    return [document async for document in store.scan()]


async def failure(call):
    try:
        await call
    except StoreError as error:
        return str(error)


@pytest.mark.parametrize("name", CALLS)
async def test_a_server_that_misbehaves_is_a_store_error(server, store, name):
    await store.upsert(*some(5))
    # At the first, second and third request of the call, those before it being answered well.
    for fault, position in itertools.product(FAULTS, range(3)):
        server.requests.clear()
        server.fail_next(*[Fault()] * position, FAULTS[fault])
        error = await failure(CALLS[name](store))
        if error is None:
            assert position >= len(server.requests), f"{fault} was not noticed"
        else:
            assert server.url in error, fault
            assert len(error) < 600
            assert "\n" not in error
        server.no_more_faults()
        if name in ("drop", "upsert words"):
            await store.upsert(*some(5))
    assert await store.count() >= 4
    assert len(await store.search(embedding=np.ones(4), text="cat")) >= 4


async def test_a_server_that_is_away_is_a_store_error_and_is_found_again(server, store):
    await store.upsert(*some(5))
    server.stop()
    for call in CALLS.values():
        with pytest.raises(StoreError, match="no connection") as caught:
            await call(store)
        assert server.url in str(caught.value)
    server.start()
    assert await store.count() == 5
    await store.upsert(*some(1, start=5))
    assert len(await store.search(text="cat")) == 6


async def test_a_port_where_nobody_listens():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        store = QdrantStore(f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(StoreError, match="no connection"):
            await store.count()
        await store.close()


async def test_a_server_that_says_nothing_is_given_up(server):
    store = QdrantStore(server.url, timeout_s=0.2)
    await store.upsert(*some(5))
    server.fail_next(Fault.slow(1.0))
    with pytest.raises(StoreError, match=r"no answer within 0\.2 s"):
        await store.search(text="cat")
    server.fail_next(Fault.slow(1.0))
    with pytest.raises(StoreError, match="no answer"):
        await store.upsert(*some(5, start=5))
    assert await QdrantStore(server.url).count() in (5, 10), "the whole batch or nothing of it"
    await store.close()


async def test_a_write_that_failed_leaves_the_requests_before_it(server, store):
    documents = [Document(f"d{n}", "x " * 300, metadata={"n": n}) for n in range(1200)]
    await store.bind("embedder", 4)
    await store.upsert([Document("first", "x")])
    server.requests.clear()
    server.fail_next(Fault(), Fault.error(500))
    with pytest.raises(StoreError, match="could not write"):
        await store.upsert(documents)
    assert server.requests == [UPSERT, UPSERT]
    assert await store.count() == 501
    await store.upsert(documents)
    assert await store.count() == 1201
    server.requests.clear()
    await store.upsert([Document(f"long {n}", "word " * 400_000) for n in range(5)])
    assert server.requests == [UPSERT] * 5, "not more at once than the server takes"


async def test_a_search_is_one_request(server, store):
    await store.bind("embedder", 4)
    documents, vectors = some(300)
    await store.upsert([Document(each.id, "cat " * n, metadata={"n": n}) for n, each in enumerate(documents)], vectors)
    server.requests.clear()
    for query in ({"embedding": np.ones(4)}, {"text": "cats"}):
        await store.search(**query, k=10, filter=Range("n", gte=3))
    assert server.requests == [SEARCH, SEARCH]


async def test_no_more_points_are_asked_for_than_there_are(server, store):
    await store.upsert(*some(30))
    for query in ({"embedding": np.ones(4)}, {"text": "cat"}):
        assert len(await store.search(**query, k=10**12)) == 30
    assert server.limits == [30, 30]


async def test_nothing_is_asked_before_it_is_needed_and_reading_makes_nothing(server):
    store = QdrantStore(server.url)
    assert server.requests == []
    assert await store.count() == 0
    assert await store.search(text="cat", embedding=np.ones(4)) == []
    assert await store.delete(filter=Eq("n", 1)) == 0
    await store.drop()
    await store.check_binding("embedder", 4)
    assert not any(request.startswith("PUT") for request in server.requests)
    await store.close()


async def test_a_store_that_another_process_drops_begins_anew(server, store):
    other = QdrantStore(server.url)
    for again in (
        store.count(),
        store.get(["d1"]),
        store.get_embeddings(["d1"]),
        store.search(embedding=np.ones(4)),
        store.search(text="cat"),
        store.delete(ids=["d1"]),
        store.delete(filter=Eq("n", 1)),
        scanned(store),
    ):
        await store.upsert(*some(5))
        await other.drop()
        assert not await again
    await store.upsert(*some(5))
    await other.drop()
    await store.upsert(*some(2))
    assert await store.count() == 2
    await other.drop()
    await store.bind("another", 3)
    assert await store.binding() == Binding("another", 3)
    await other.close()


async def test_vectors_that_another_process_brings_are_found(server, store):
    other = QdrantStore(server.url)
    documents, vectors = some(3)
    await store.upsert(documents)
    assert await store.search(embedding=vectors[0]) == []
    await other.upsert(documents, vectors)
    assert [document.id for document in await store.search(embedding=vectors[0], k=1)] == ["d0"]
    assert set(await store.get_embeddings(["d0", "d1"])) == {"d0", "d1"}
    await other.close()


async def test_many_stores_that_write_first_agree(server):
    stores = [QdrantStore(server.url) for _ in range(6)]
    documents, vectors = some(6)
    await asyncio.gather(
        *(
            store.upsert([document], row[np.newaxis])
            for store, document, row in zip(stores[:3], documents[:3], vectors[:3], strict=True)
        ),
        *(store.upsert([document]) for store, document in zip(stores[3:], documents[3:], strict=True)),
    )
    assert await stores[0].count() == 6
    assert len(await stores[5].get_embeddings([document.id for document in documents])) == 3
    outcomes = await asyncio.gather(
        *(store.bind(f"embedder {n % 2}", 4) for n, store in enumerate(stores)), return_exceptions=True
    )
    kinds = {outcome if outcome is None else type(outcome) for outcome in outcomes}
    assert EmbedderMismatchError in kinds
    assert kinds <= {None, EmbedderMismatchError}
    assert (await stores[0].binding()) in (Binding("embedder 0", 4), Binding("embedder 1", 4))
    for store in stores:
        await store.close()


async def test_closing_lets_searches_under_way_end(server, store):
    documents, vectors = some(6)
    await store.upsert(documents, vectors)
    server.fail_next(*[Fault.slow(0.2)] * 8)
    searches = [asyncio.create_task(store.search(embedding=vectors[0], k=1)) for _ in range(8)]
    asked = len(server.requests)
    while len(server.requests) == asked:
        await asyncio.sleep(0.005)
    await store.close()
    assert [len(found) for found in await asyncio.gather(*searches)] == [1] * 8
    assert await store.count() == 6


async def test_collections_of_others_are_left_alone(server, store):
    server.create_foreign("fastrag_default")
    server.create_foreign("mine")
    assert await store.namespaces() == []
    for call in (
        store.count(),
        store.upsert(*some(1)),
        store.bind("embedder", 4),
        store.search(text="cat"),
        store.search(embedding=np.ones(4)),
        store.delete(ids=["a"]),
    ):
        with pytest.raises(ConfigurationError, match=r"'fastrag_default'.*not made by fastrag"):
            await call
    await store.drop()
    assert server.collections() == {"fastrag_default", "mine"}


async def test_another_language_or_format_is_refused(server, store):
    await store.upsert(*some(1))
    german = QdrantStore(server.url, language="de")
    for call in (german.count(), german.upsert(*some(1)), german.search(text="cat")):
        with pytest.raises(ConfigurationError, match=r"language='english'.*language='german'"):
            await call
    server.mark("fastrag_default", {"fastrag_format": "2"})
    with pytest.raises(ConfigurationError, match="store format 2"):
        await QdrantStore(server.url).count()


async def test_points_of_others_are_said_to_be_so(server, store):
    await store.upsert(*some(3))
    server.add_foreign_point("fastrag_default", {"sort": columns_of({"n": 2**500 + 1})})
    for call in (scanned(store), store.count(Range("n", gt=2**500 + 1))):
        with pytest.raises(StoreError, match=r"'fastrag_default' .* point in it that fastrag did not write: 7"):
            await call


async def test_a_qdrant_that_is_too_old(server, store):
    server.keeps_metadata = False
    with pytest.raises(StoreError, match=r"update it to 1\.16"):
        await store.upsert(*some(1))
    assert server.collections() == set()
    server.keeps_metadata, server.adds_vectors = True, False
    await store.upsert([Document("words", "cat")])
    with pytest.raises(StoreError, match=r"from 1\.18 on\. Call bind\(\) before the first upsert"):
        await store.upsert(*some(1))
    await store.drop()
    await store.bind("embedder", 4)
    await store.upsert(*some(1))


async def test_what_is_filtered_is_indexed(server):
    store = QdrantStore(server.url, range_fields=["year", "é"])
    await store.upsert(*some(1))
    expected = {"facts", *(f"sort.{kind}{field}.c0" for kind in "ns" for field in ("79656172", "c3a9"))}
    assert server.indexes("fastrag_default") == expected
    later = QdrantStore(server.url, range_fields=(name for name in ("month",)))
    await later.upsert(*some(1))
    assert server.indexes("fastrag_default") == expected | {"sort.n6d6f6e7468.c0", "sort.s6d6f6e7468.c0"}
    await store.close()
    await later.close()


async def test_equal_scores_at_the_edge_are_looked_at_without_their_texts(server, store):
    await store.upsert([Document(f"d{n}", "cat", metadata={"n": n}) for n in range(400)])
    server.requests.clear()
    found = await store.search(text="cat", k=3)
    assert [document.id for document in found] == ["d0", "d1", "d2"]
    assert server.requests[-1].endswith("/points")
    assert server.requests.count(SEARCH) == 5


def shown(error):
    return "".join(traceback.format_exception(error)) + repr(error)


async def test_the_key_is_sent_and_shown_nowhere(caplog, recwarn, capfd):
    caplog.set_level(logging.DEBUG)
    server = QdrantStub(KEY)
    right, wrong = QdrantStore(server.url, api_key=KEY), QdrantStore(server.url, api_key=f"{KEY}?")
    await right.upsert(*some(2))
    assert await right.count() == 2
    said = [repr(right), repr(vars(right))]
    for call in CALLS.values():
        with pytest.raises(StoreError, match="is the API key right") as caught:
            await call(wrong)
        said.append(shown(caught.value))
    with pytest.raises(StoreError) as caught:
        await QdrantStore(server.url).count()
    for fault in (Fault.error(500), Fault(status=500, body=f"<b>{KEY}</b>".encode()), Fault(body=KEY.encode())):
        server.fail_next(fault)
        with pytest.raises(StoreError) as caught:
            await right.count()
        said.append(shown(caught.value))
    server.stop()
    with pytest.raises(StoreError) as caught:
        await right.count()
    said.append(shown(caught.value))
    said += [record.getMessage() for record in caplog.records] + [str(warning.message) for warning in recwarn.list]
    said += capfd.readouterr()
    assert not [line for line in said if KEY in line]
    # The client's warnings are of this kind; others may be of what earlier tests left to be collected.
    assert not [warning for warning in recwarn.list if issubclass(warning.category, UserWarning)]
    await right.close()
    await wrong.close()


async def test_the_key_is_taken_from_the_environment(monkeypatch):
    server = QdrantStub(KEY)
    monkeypatch.setenv("QDRANT_API_KEY", f"{KEY}\n")
    store = QdrantStore(server.url)
    assert await store.count() == 0
    await store.close()
    server.stop()


@pytest.mark.parametrize(
    "arguments",
    [
        {"url": 3},
        {"url": "localhost:6333"},
        {"url": "ftp://localhost"},
        {"url": "http://"},
        {"url": "http://[::1"},
        {"url": "http://host:66666"},
        {"url": f"http://:{KEY}@host"},
        {"url": f"http://host?api_key={KEY}"},
        {"url": "http://ho\nst"},
        {"api_key": f"{KEY}\nx"},
        {"api_key": 3},
        {"timeout_s": 0},
        {"timeout_s": float("nan")},
        {"timeout_s": "1"},
        {"timeout_s": 10**400},
        {"ef": 0},
        {"range_fields": "year"},
        {"range_fields": 5},
        {"range_fields": [""]},
        {"range_fields": ["\ud800"]},
        {"language": "klingon"},
    ],
)
def test_arguments_that_make_no_sense(arguments):
    with pytest.raises(ConfigurationError) as caught:
        QdrantStore(**arguments)
    assert KEY not in shown(caught.value)


async def test_settings_of_the_environment_that_cannot_be_used(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "nonsense://proxy")
    store = QdrantStore("http://qdrant.invalid")
    with pytest.raises(ConfigurationError, match="HTTP_PROXY"):
        await store.count()


def test_ids_of_points_are_the_same_in_every_process():
    # What is stored is found by them: they must never change.
    assert point_id("a") == "4d32ef5d-a127-59da-8d4e-ae23a837128c"
    assert point_id("ünï\x00😀") == "4893fb16-aa98-5677-a2e3-4688d88dbf5c"
