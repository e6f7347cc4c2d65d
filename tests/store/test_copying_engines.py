"""What is copied through every engine comes back as it was."""

import json
import sys
from urllib.parse import quote

import numpy as np
import pytest

from fastrag.document import Document
from fastrag.store import InMemoryStore, Range, copy_store, open_store

ODD = [
    Document("ünï\x00😀", "text\x00 cat", "file:///a b", {"big": 2**80, "one": [1, 1.0, True, "1", None], "a.b": {}}),
    Document("words only", "a cat", None, {"n": -1.5}),
    Document("it's; DROP", "", "", {"deep": {"er": {"n": 5e-324}}}),
    Document("long", "word " * 50_000, "u", {"text": "x" * 5000}),
]


@pytest.fixture(scope="module")
def postgres():
    if sys.platform != "linux":
        pytest.skip("the servers' packages are for Linux")
    pytest.importorskip("psycopg")
    from .postgres.postgres_server import running_plain

    yield from running_plain()


@pytest.fixture
def qdrant():
    pytest.importorskip("qdrant_client")
    from .qdrant.qdrant_stub import QdrantStub

    server = QdrantStub("k:/@?#%")
    yield server
    server.stop()


@pytest.fixture
def urls(tmp_path, postgres, qdrant):
    """A new place of each engine, by URL."""
    pytest.importorskip("pymilvus")
    pytest.importorskip("milvus_lite", reason="milvus-lite is not for this system")
    pg = dict(part.split("=", 1) for part in postgres.conninfo().split())
    schema = postgres.schema_for(tmp_path)
    postgres.conninfo(schema)
    options = quote(f"-c search_path={schema},public")
    return [
        f"lance://{quote(str(tmp_path))}/a%20folder?namespace=one",
        f"postgresql://{pg['user']}@/{pg['dbname']}?host={quote(pg['host'], safe='')}&options={options}&namespace=two",
        f"qdrant://:{quote(qdrant.api_key, safe='')}@{qdrant.url.removeprefix('http://')}?namespace=three",
        f"milvus://{quote(str(tmp_path))}/docs.db?namespace=four",
        f"lance:{quote(str(tmp_path))}/again",
    ]


async def test_a_chain_of_copies_ends_as_it_began(urls):
    random = np.random.default_rng(1)
    first = InMemoryStore()
    await first.bind("embedder", 16)
    documents = [Document(f"d{n}", f"cat number {n}", f"u{n}", {"n": n}) for n in range(700)]
    vectors = random.standard_normal((700, 16)).astype(np.float32)
    vectors[3] = 0
    await first.upsert(documents, vectors)
    await first.upsert(ODD[:1], vectors[:1])
    await first.upsert(ODD[1:])
    source = first
    for url in urls:
        target = open_store(url)
        report = await copy_store(source, target, batch_size=300)
        assert (report.read, report.written, report.compared) == (704, 704, 704), url
        assert report.problems == (), url
        assert (await copy_store(first, target)).unchanged == 704, url
        assert len(await target.search(text="cats", embedding=vectors[7], filter=Range("n", gte=600), k=200)) == 100
        if source is not first:
            await source.close()
        source = target
    copied = {document.id: document async for document in source.scan()}
    for document in [*documents, *ODD]:
        assert copied[document.id] == document
        assert json.dumps(copied[document.id].metadata) == json.dumps(document.metadata)
    assert (await source.binding()) == (await first.binding())
    await source.close()
