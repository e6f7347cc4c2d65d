"""MilvusStore on files of milvus-lite, which has the BM25 function; and what needs no server."""

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fastrag.document import Document
from fastrag.errors import ConfigurationError, StoreError
from fastrag.store import Contains, Eq, Exists, In, MilvusStore, Not, Range, matches
from fastrag.store.base import Binding
from fastrag.store.milvus import rows as milvus_rows
from fastrag.testing.store_conformance import DurableStoreConformance
from fastrag.testing.store_conformance.filtering import FilterTests

pymilvus = pytest.importorskip("pymilvus")
pytest.importorskip("milvus_lite", reason="milvus-lite is not for this system")

WORKER = Path(__file__).with_name("milvus_worker.py")


class TestMilvusStoreOnAFile(DurableStoreConformance):
    def make_store(self, folder, namespace="default"):
        return MilvusStore(folder / "store.db", namespace=namespace)


class TestFiltersOfColumnsInAFile(FilterTests):
    def make_store(self, folder, namespace="default"):
        return MilvusStore(folder / "store.db", namespace=namespace, filtered_fields=["a", "a.b", "v", "n", "ü"])


@pytest.fixture
async def store(tmp_path):
    store = MilvusStore(tmp_path / "store.db")
    yield store
    await store.close()


def start(task, uri, name="", *options):
    command = [sys.executable, *options, str(WORKER), task, str(uri), name]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, **pipes, text=True)


def finish(process):
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, err
    return out, err


async def ids_found(store, **query):
    return [document.id for document in await store.search(**query)]


async def batches(path):
    store = MilvusStore(path)
    try:
        found = [document async for document in store.scan()]
        counted = await store.count()
        searched = await store.search(text="cat", k=10_000)
    finally:
        await store.close()
    assert len(found) == counted == len(searched)
    return Counter(document.metadata["batch"] for document in found), {document.id for document in found}


def test_a_killed_writer_loses_nothing_acknowledged_and_leaves_no_half_batch(tmp_path):
    path = tmp_path / "store.db"
    written, removed = set(), set()
    for number in range(int(os.environ.get("FASTRAG_TEST_KILLS", "3"))):
        process = start("write_until_killed", path, f"n{number}")
        lines = [process.stdout.readline() for _ in range(5 + 11 * (number % 5))]
        process.send_signal(signal.SIGKILL)
        lines += process.communicate()[0].splitlines(keepends=True)
        acknowledged = [line.strip() for line in lines if line.endswith("\n")]
        removed |= {line.removeprefix("without ") for line in acknowledged if line.startswith("without ")}
        written |= {line for line in acknowledged if not line.startswith("without ")}
        sizes, ids = asyncio.run(batches(path))
        assert written <= set(sizes)
        assert not removed & ids
        # A removal may have been under way, too.
        assert set(sizes.values()) <= {9, 10}


def test_a_file_is_for_one_process_at_a_time(tmp_path):
    path = tmp_path / "store.db"
    process = start("hold", path)
    assert process.stdout.readline() == "open\n"
    store = MilvusStore(path)
    for call in (store.count, lambda: store.upsert([Document("b", "dog")]), store.namespaces):
        with pytest.raises(StoreError, match=r"store\.db is open in another process"):
            asyncio.run(call())
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "closed\n"

    async def use():
        assert await store.count() == 1
        await store.close()

    asyncio.run(use())
    process.stdin.write("\n")
    finish(process)


@pytest.fixture
def temporary(monkeypatch):
    """A folder for temporary files that nobody else has; its name is short, as names of sockets must be."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def test_nothing_is_written_to_stderr_or_left_behind(temporary, tmp_path):
    _, err = finish(start("everything", tmp_path / "store.db"))
    assert err == ""
    assert list(temporary.glob("fastrag-milvus-*")) == []


def test_a_child_forked_from_a_user_of_a_store_is_told_so(tmp_path):
    out, err = finish(start("fork", tmp_path / "store.db", "", "-W", "ignore"))
    assert len(out.splitlines()) == 6
    assert all("'spawn' or 'forkserver'" in line for line in out.splitlines())
    assert err == ""


async def test_only_the_user_of_a_file_can_reach_its_engine(temporary, store):
    await store.upsert([Document("a", "cat")])
    [folder] = temporary.glob("fastrag-milvus-*")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_ISSOCK((folder / "socket").stat().st_mode)


async def test_reading_makes_nothing(tmp_path):
    store = MilvusStore(tmp_path / "store.db")
    assert await store.count() == 0
    assert await store.search(text="cat", embedding=np.ones(3)) == []
    assert await store.delete(ids=["a"]) == 0
    assert await store.namespaces() == []
    await store.optimize()
    await store.drop()
    await store.close()
    assert list(tmp_path.iterdir()) == []


async def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "store.db"
    path.write_bytes(b"SQLite format 3\0")
    with pytest.raises(ConfigurationError, match="file of something else"):
        await MilvusStore(path).count()
    assert path.read_bytes() == b"SQLite format 3\0"


@pytest.mark.parametrize(
    "uri",
    [
        *(
            "",
            "store",
            "store.db/",
            "localhost:19530",
            "tcp://localhost",
            "http://",
            "http://:1",
            "http://h:x",
            None,
            3,
        ),
        *("http://h:0", "ftp://h/x", "a\n.db", "http://h/a/b", "http://h?x=1", "http://h#f", "http://[::1", b"a.db"),
    ],
)
def test_uris_that_name_no_place(uri):
    with pytest.raises(ConfigurationError, match=r"uri must be|more in it"):
        MilvusStore(uri)


def test_a_uri_with_a_password_is_refused_without_showing_it():
    with pytest.raises(ConfigurationError, match="token='user:password'") as caught:
        MilvusStore("http://ann:s3cret@localhost:19530")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        *({"timeout_s": 0}, {"timeout_s": float("nan")}, {"timeout_s": "1"}, {"timeout_s": True}),
        *({"timeout_s": 10**400}, {"token": 3}),
        *({"consistency": "Strong"}, {"consistency": None}, {"shards": 0}, {"m": 1.5}, {"ef_construction": -1}),
        *({"ef_search": 0}, {"filtered_ef_search": True}, {"namespace": "A"}, {"language": "xx"}),
        *({"filtered_fields": "a"}, {"filtered_fields": [""]}, {"filtered_fields": ["a"] * 33}),
    ],
)
def test_options_that_make_no_sense(options):
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        MilvusStore("http://localhost", **options)


async def test_a_token_with_a_line_break_is_refused():
    with pytest.raises(ConfigurationError, match="token has characters"):
        await MilvusStore("http://localhost", token="a\nb").count()


async def test_no_connection_is_told_soon_and_again():
    store = MilvusStore("http://127.0.0.1:1", token="user:s3cret")
    for call in (store.count, lambda: store.upsert([Document("a", "")]), store.drop, store.namespaces):
        with pytest.raises(StoreError, match=r"http://127\.0\.0\.1:1.*Connection refused") as caught:
            await call()
        assert "s3cret" not in repr(caught.value)
    await store.close()


async def test_a_server_that_does_not_answer():
    async def silent(reader, writer):
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    store = MilvusStore(f"http://127.0.0.1:{port}", timeout_s=0.5)
    for call in (store.count, lambda: store.upsert([Document("a", "")])):
        with pytest.raises(StoreError, match=r"no answer within|server unavailable"):
            await call()
    await store.close()
    server.close()


async def test_collections_of_others_and_of_newer_versions_are_refused_and_left_alone(tmp_path):
    path = tmp_path / "store.db"
    store = MilvusStore(path)
    await store.upsert([Document("a", "cat")], np.eye(2)[:1])
    client = pymilvus.AsyncMilvusClient(store._server._session.address, dedicated=True)
    schema = client.create_schema()
    schema.add_field("id", pymilvus.DataType.INT64, is_primary=True)
    schema.add_field("vector", pymilvus.DataType.FLOAT_VECTOR, dim=2)
    for name, properties in (("fastrag_foreign", {}), ("fastrag_newer", {"fastrag.format": "2"}), ("other", {})):
        await client.create_collection(name, schema=schema, properties=properties)
    for name, message in (("foreign", "not made by fastrag"), ("newer", "format 2.*update fastrag")):
        strange = MilvusStore(path, namespace=name)
        for call in (strange.count, lambda strange=strange: strange.upsert([Document("a", "")])):
            with pytest.raises(ConfigurationError, match=message):
                await call()
        await strange.close()
    await MilvusStore(path, namespace="foreign").drop()
    assert await store.namespaces() == ["default", "newer"]
    assert sorted(await client.list_collections()) == ["fastrag_default", "fastrag_foreign", "fastrag_newer", "other"]
    await client.close()
    await store.close()


async def test_the_language_is_fixed_by_the_first_write(tmp_path):
    path = tmp_path / "store.db"
    store = MilvusStore(path, language="de")
    await store.upsert([Document("a", "Die Häuser")])
    assert await ids_found(store, text="haus") == ["a"]
    assert await MilvusStore(path, language="German").count() == 1
    for language in ("en", None):
        with pytest.raises(ConfigurationError, match="language='german'"):
            await MilvusStore(path, language=language).count()
    await store.close()


async def test_without_a_language_words_are_kept_whole(tmp_path):
    store = MilvusStore(tmp_path / "store.db", language=None)
    await store.upsert([Document("a", "running")])
    assert await ids_found(store, text="runs") == []
    assert await ids_found(store, text="Running") == ["a"]
    await store.close()


async def test_ids_and_fields_and_texts_of_any_length(store):
    long = "ü" * 3000
    documents = [Document(long, long * 30, long, {long: long, "list": [long, 10**300]}), Document("ü" * 2999, "")]
    await store.upsert(documents)
    assert await store.get([document.id for document in documents]) == documents
    for filter in (Eq(long, long), Exists(long), Contains("list", long), Range(long, gte=long, lt=long + "a")):
        assert [document async for document in store.scan(filter)] == documents[:1], filter
    assert await store.delete(ids=[long]) == 1


async def test_the_start_of_a_text_too_long_for_the_word_index_is_searched(store):
    text = "walrus " + "ünï " * 30_000 + "penguin"
    await store.upsert([Document("a", text)])
    assert await ids_found(store, text="walrus") == ["a"]
    assert await ids_found(store, text="uni") == ["a"]
    assert await ids_found(store, text="penguin") == []
    assert (await store.get(["a"]))[0].text == text


def test_words_are_cut_between_two():
    class Analyzer:
        def analyze(self, text):
            return text.split()

    words = milvus_rows.words_of("é" * 100 + " " + "ab " * 40_000, Analyzer())
    assert 65_530 < len(words.encode()) <= 65_535
    assert set(words.split()) == {"é" * 100, "ab"}
    assert milvus_rows.words_of("a b", Analyzer()) == "a b"


async def test_ranges_with_long_bounds_are_exact(store):
    texts = ["a" * length + end for length in (60, 64, 70, 200) for end in ("", "a", "b", "é", "\x00")]
    numbers = [sign * (2**600 + step) for sign in (1, -1) for step in (0, 1, 2**400)] + [2**600 * 2, 1.5, True]
    documents = [Document(str(n), "", metadata={"v": value}) for n, value in enumerate([*texts, *numbers, None, [1]])]
    await store.upsert(documents)
    bounds = [*texts, *(number for number in numbers if number is not True)]
    for bound in bounds:
        for condition in (Range("v", gte=bound), Range("v", gt=bound), Range("v", lte=bound), Range("v", lt=bound)):
            for filter in (condition, Not(condition)):
                expected = {document.id for document in documents if matches(filter, document.metadata)}
                assert {document.id async for document in store.scan(filter)} == expected, filter
    both = Range("v", gt="a" * 64, lte="a" * 200 + "a")
    expected = {document.id for document in documents if matches(both, document.metadata)}
    assert await store.count(both) == len(expected)
    assert await store.delete(filter=both) == len(expected)


async def test_what_is_larger_than_one_request_is_sent_in_parts(store, monkeypatch):
    monkeypatch.setattr("fastrag.store.milvus.store._REQUEST_BYTES", 20_000)
    documents = [Document(str(n), "cat " * 100, metadata={"n": n}) for n in range(200)]
    vectors = np.random.default_rng(0).standard_normal((200, 8))
    await store.upsert(documents, vectors)
    assert await store.get([document.id for document in documents]) == documents
    found = await store.get_embeddings([document.id for document in documents])
    np.testing.assert_allclose(found["199"], vectors[199] / np.linalg.norm(vectors[199]), atol=1e-6)
    assert await ids_found(store, embedding=vectors[150], k=1) == ["150"]


async def test_many_documents_without_vectors_get_a_dimension(store):
    documents = [Document(str(n), f"cat {n}", f"u{n}", {"n": n, "tags": ["a", n]}) for n in range(1203)]
    await store.upsert(documents)
    await store.upsert(documents[:1])
    await store.bind("embedder", 3)
    assert await store.namespaces() == ["default"]
    assert await store.count() == 1203
    assert await store.get([document.id for document in documents]) == documents
    assert await store.count(Range("n", gte=1000)) == 203
    assert await store.count(Contains("tags", 7)) == 1
    found = await store.search(text="cat", k=1203)
    assert [document.id for document in found][-1] == "0", "the order of writing is kept"
    assert await store.search(embedding=np.ones(3)) == []
    await store.upsert([Document("new", "dog")], np.eye(3)[:1])
    assert await ids_found(store, embedding=np.ones(3)) == ["new"]


async def test_a_copy_that_was_not_finished_is_begun_anew(store):
    await store.upsert([Document("a", "cat")])
    await store._collections._create("fastrag_default_NEXT", Binding("embedder", 5))
    assert await store.namespaces() == ["default"]
    assert await store.count() == 1
    await store.bind("embedder", 3)
    assert await ids_found(store, text="cat") == ["a"]
    assert (await store.binding()).dimension == 3
    await store.drop()
    assert await store.namespaces() == []


async def test_stores_at_one_place_see_what_others_make_of_it(tmp_path):
    path = tmp_path / "store.db"
    one, other = MilvusStore(path), MilvusStore(path)
    await one.upsert([Document("a", "cat")])
    assert await ids_found(other, text="cat") == ["a"]
    await other.bind("embedder", 2)
    await one.upsert([Document("b", "cat")], np.eye(2)[:1])
    assert await ids_found(other, embedding=np.ones(2)) == ["b"]
    await one.drop()
    assert await other.count() == 0
    assert await other.search(embedding=np.ones(2)) == []
    await one.bind("embedder", 3)
    await one.upsert([Document("c", "cat")], np.eye(3)[:1])
    assert await ids_found(other, embedding=np.ones(3)) == ["c"]
    await one.drop()
    await other.upsert([Document("d", "cat")], np.eye(3)[:1])
    assert await ids_found(one, embedding=np.ones(3)) == ["d"]
    await one.close()
    assert await other.count() == 1
    await other.close()


async def test_closing_lets_calls_under_way_end(store):
    await store.upsert([Document(str(n), "cat") for n in range(1500)], np.ones((1500, 8)))

    async def use():
        for number in range(3):
            assert len(await store.search(text="cat", embedding=np.ones(8), k=5)) == 5
            await store.upsert([Document(str(number), "cat")], np.ones((1, 8)))

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(use()) for _ in range(3)]
        while not all(task.done() for task in tasks):
            await store.close()
            await asyncio.sleep(0)
    scan = store.scan()
    await anext(scan)
    await store.close()
    assert len([document async for document in scan]) == 1499


async def test_a_damaged_file_says_so(tmp_path):
    path = tmp_path / "store.db"
    store = MilvusStore(path)
    await store.upsert([Document("a", "cat")], np.eye(2)[:1])
    await store.close()
    for file in path.rglob("schema.json"):
        file.write_text(json.dumps({"fields": 3}))
    with pytest.raises(StoreError, match=str(path)):
        await store.count()
    await store.close()


async def test_large_conditions(store):
    await store.upsert([Document(str(n), "", metadata={"n": n}) for n in range(20)])
    assert await store.count(In("n", range(15, 50_000))) == 5
    assert await store.count(Not(In("n", range(15, 50_000)))) == 15
