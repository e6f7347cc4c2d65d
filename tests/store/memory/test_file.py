import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrag.document import Document
from fastrag.errors import ConfigurationError, EmbedderMismatchError, StoreError
from fastrag.store import Eq, InMemoryStore
from fastrag.store.base import Binding

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
METADATA = st.dictionaries(
    st.text(), st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=9)
)


async def everything(store):
    documents = [document async for document in store.scan()]
    vectors = await store.get_embeddings([document.id for document in documents])
    return documents, {id: vector.tolist() for id, vector in vectors.items()}, await store.binding()


async def filled(**options):
    store = InMemoryStore(**options)
    await store.bind("embedder", 5)
    rows = np.random.default_rng(1).standard_normal((6, 5))
    rows[3] = 0
    documents = [Document(f"d{n}", f"Häuser\0\r\n{n}", f"u{n}" * (n % 2), {"n": n, "big": 2**70 + n}) for n in range(6)]
    await store.upsert(documents, rows)
    await store.upsert([Document("none", "no vector"), Document("d1", "written again")])
    await store.delete(ids=["d0"])
    return store


async def test_what_was_saved_is_loaded(tmp_path):
    store = await filled(language="de")
    await store.save(tmp_path)
    loaded = await InMemoryStore.load(tmp_path)
    assert await everything(loaded) == await everything(store)
    assert repr(await everything(loaded)) == repr(await everything(store)), "types, too"
    assert await loaded.namespaces() == ["default"]
    query = {"text": "haus", "embedding": np.ones(5), "k": 9, "filter": Eq("big", 2**70 + 4)}
    assert await loaded.search(**query) == await store.search(**query)
    assert len(await loaded.search(text="haus")) == 4, "of the language that it had"
    await loaded.upsert([Document("new", "haus")], np.ones((1, 5)))
    assert await loaded.count() == await store.count() + 1
    with pytest.raises(EmbedderMismatchError):
        await loaded.bind("another", 5)


@settings(max_examples=50)
@given(METADATA, st.text(), st.none() | st.text())
def test_every_document_comes_back(tmp_path_factory, metadata, text, uri):
    async def scenario():
        store = InMemoryStore()
        await store.upsert([Document("a", text, uri, metadata)])
        folder = tmp_path_factory.mktemp("saved")
        await store.save(folder)
        assert repr(await (await InMemoryStore.load(folder)).get(["a"])) == repr(await store.get(["a"]))

    asyncio.run(scenario())


async def test_stores_without_vectors_and_empty_ones(tmp_path):
    store = InMemoryStore()
    for change in (lambda: store.bind("e", 3), lambda: store.upsert([Document("a", "cat")]), store.drop):
        await store.save(tmp_path)
        loaded = await InMemoryStore.load(tmp_path)
        assert await everything(loaded) == await everything(store)
        assert await loaded.search(text="cat", embedding=np.ones(3)) == await store.search(
            text="cat", embedding=np.ones(3)
        )
        await change()
    await store.upsert([Document("a", "cat")])
    await store.save(tmp_path)
    assert await everything(await InMemoryStore.load(tmp_path)) == ([Document("a", "cat")], {}, None)


async def test_one_folder_has_several_namespaces(tmp_path):
    folder = tmp_path / "not" / "there"
    for namespace in ("one", "two"):
        store = InMemoryStore(namespace=namespace)
        await store.upsert([Document(namespace, "cat")])
        await store.save(str(folder))
    for namespace in ("one", "two"):
        store = await InMemoryStore.load(folder, namespace=namespace)
        assert store.namespace == namespace
        assert [document.id async for document in store.scan()] == [namespace]
    with pytest.raises(ConfigurationError, match=r"no store was saved as 'default' .* default\.zip"):
        await InMemoryStore.load(folder)
    (folder / "two.zip").replace(folder / "three.zip")
    with pytest.raises(ConfigurationError, match="namespace 'two'"):
        await InMemoryStore.load(folder, namespace="three")
    for wrong in ("../one", "One", "", None):
        with pytest.raises(ConfigurationError, match="namespace"):
            await InMemoryStore.load(folder, namespace=wrong)
    for wrong in (None, 3, "s3://bucket"):
        with pytest.raises(ConfigurationError, match="path must be"):
            await store.save(wrong)
        with pytest.raises(ConfigurationError, match="path must be"):
            await InMemoryStore.load(wrong)


async def test_no_byte_can_be_wrong_unnoticed(tmp_path):
    store = await filled()
    await store.save(tmp_path)
    path = tmp_path / "default.zip"
    data = path.read_bytes()
    whole = await everything(store)
    for position in range(0, len(data), 7):
        path.write_bytes(data[:position])
        with pytest.raises(ConfigurationError, match="damaged"):
            await InMemoryStore.load(tmp_path)
    for position in range(len(data)):
        path.write_bytes(data[:position] + bytes([data[position] ^ 0x10]) + data[position + 1 :])
        try:
            loaded = await InMemoryStore.load(tmp_path)
        except ConfigurationError:
            continue
        # Some bytes of a zip archive, such as its times of day, mean nothing.
        assert await everything(loaded) == whole


def rewritten(path, **changed):
    """Put other members into the archive, with checksums that are right."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    compression = changed.pop("compression", zipfile.ZIP_STORED)
    members |= {name.replace("_", "."): content for name, content in changed.items()}
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            if content is not None:
                archive.writestr(name, content)


def npy(array, **options):
    import io

    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def manifest(**changed):
    fields = {
        "format": "fastrag store",
        "schema_version": 1,
        "namespace": "default",
        "language": "english",
        "embedder_id": "embedder",
        "dimension": 5,
        "documents": 6,
    }
    return json.dumps(fields | changed)


LINE = json.dumps({"id": "a", "text": "", "uri": None, "metadata": {}})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"manifest_json": manifest(schema_version=2, more="x")}, "schema version 2.*update fastrag"),
        ({"manifest_json": manifest(format="other")}, "'other'"),
        ({"manifest_json": manifest(more="x")}, "unknown field"),
        ({"manifest_json": manifest(documents=7)}, "should have 7"),
        ({"manifest_json": manifest(dimension=4)}, r"should be \(6, 4\)"),
        ({"manifest_json": manifest(dimension="5")}, "Expected `int"),
        ({"manifest_json": manifest(language="xx")}, "language"),
        ({"manifest_json": None}, "manifest.json"),
        ({"documents_jsonl": None}, "documents.jsonl"),
        ({"vectors_npy": None}, "vectors.npy"),
        ({"documents_jsonl": "\n".join([LINE] * 6)}, "twice"),
        ({"documents_jsonl": f"{LINE}\n[]"}, "Expected `object`"),
        ({"documents_jsonl": LINE.replace("{}", '{"n": NaN}')}, "malformed"),
        ({"documents_jsonl": LINE.replace("{}", "[" * 100_000)}, "damaged"),
        ({"documents_jsonl": LINE.replace("{}", '{"a":' * 60 + "1" + "}" * 60)}, "nested"),
        ({"vectors_npy": npy(np.full((6, 5), None, dtype=object), allow_pickle=True)}, "should be"),
        ({"vectors_npy": npy(np.ones((6, 5), dtype=np.float64))}, "should be"),
        ({"vectors_npy": npy(np.asfortranarray(np.eye(6, 5, dtype=np.float32)))}, "should be"),
        ({"vectors_npy": npy(np.eye(6, 5, dtype=np.float32))[:-1]}, "should be"),
        ({"vectors_npy": npy(np.eye(6, 5, dtype=np.float32)) + b"x"}, "should be"),
        ({"vectors_npy": npy(np.eye(6, 5, dtype=np.float32) * 2)}, "norm 1"),
        ({"vectors_npy": npy(np.eye(6, 5, dtype=np.float32) * np.nan)}, "norm 1"),
        ({"vectors_npy": b"x"}, "damaged"),
        ({"compression": zipfile.ZIP_DEFLATED}, "compressed"),
    ],
)
async def test_what_no_store_wrote_is_refused(tmp_path, changed, message):
    store = await filled()
    await store.save(tmp_path)
    rewritten(tmp_path / "default.zip", manifest_json=manifest())
    await InMemoryStore.load(tmp_path)
    rewritten(tmp_path / "default.zip", **changed)
    with pytest.raises(ConfigurationError, match=message) as caught:
        await InMemoryStore.load(tmp_path)
    assert "default.zip" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip archive at all" * 9])
async def test_files_of_something_else_are_refused(tmp_path, content):
    (tmp_path / "default.zip").write_bytes(content)
    with pytest.raises(ConfigurationError, match="damaged, or no saved store"):
        await InMemoryStore.load(tmp_path)


async def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    store = await filled()
    await store.save(tmp_path)
    before = await everything(store)
    await store.upsert([Document("more", "cat")])
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(StoreError, match="No space left"):
        await store.save(tmp_path)
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["default.zip"]
    assert await everything(await InMemoryStore.load(tmp_path)) == before
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="could not be saved"):
        await store.save(tmp_path / "file")


async def test_saving_beside_writers_saves_one_moment(tmp_path):
    store = InMemoryStore()

    async def write():
        for turn in range(40):
            await store.upsert([Document(str(n), "cat", metadata={"turn": turn}) for n in range(200)])

    async def save():
        while True:
            await store.save(tmp_path)
            loaded = await InMemoryStore.load(tmp_path)
            turns = {document.metadata["turn"] async for document in loaded.scan()}
            assert len(turns) <= 1
            if turns == {39}:
                return

    await asyncio.gather(write(), save())


WORKER = """
    import asyncio, sys
    import numpy as np
    from fastrag.document import Document
    from fastrag.store import InMemoryStore

    async def main(folder, turn):
        while True:
            store = InMemoryStore()
            documents = [Document(str(n), "cat " * 50, metadata={"turn": turn}) for n in range(1000 + turn % 7)]
            await store.upsert(documents, np.full((len(documents), 64), turn + 1))
            await store.save(folder)
            print(turn, flush=True)
            turn += 1

    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
@pytest.mark.timeout(600)
def test_a_save_that_is_killed_leaves_the_old_file_or_the_new_one(tmp_path):
    randomly = random.Random(3)
    turn = 0
    for _ in range(20):
        command = [sys.executable, "-c", textwrap.dedent(WORKER), str(tmp_path), str(turn)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        saved = int(process.stdout.readline())
        time.sleep(randomly.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        saved = max([saved, *map(int, process.communicate()[0].split())])
        loaded = asyncio.run(InMemoryStore.load(tmp_path))
        documents, vectors, binding = asyncio.run(everything(loaded))
        (turn,) = {document.metadata["turn"] for document in documents}
        assert turn in (saved, saved + 1)
        assert len(documents) == len(vectors) == 1000 + turn % 7
        assert binding == Binding(None, 64)
