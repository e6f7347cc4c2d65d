"""PgVectorStore on real servers, with pg_textsearch and without."""

import asyncio
import math
import sys
from collections import Counter

import numpy as np
import pytest

from fastrag.document import Document
from fastrag.errors import ConfigurationError, EmbedderMismatchError, StoreError
from fastrag.store import And, Contains, Eq, Exists, In, InMemoryStore, Not, Or, PgVectorStore, Range
from fastrag.store.base import Binding
from fastrag.store.postgres.table import TableChangedError
from fastrag.testing.store_conformance import DurableStoreConformance
from fastrag.testing.store_conformance.case import StoreCase
from fastrag.testing.store_conformance.dense import DenseTests
from fastrag.testing.store_conformance.filtering import FilterTests

if sys.platform != "linux":
    pytest.skip("the servers' packages are for Linux", allow_module_level=True)
pytest.importorskip("psycopg")

from .postgres_server import running_plain, running_with_textsearch


@pytest.fixture(scope="module")
def plain_server():
    yield from running_plain()


@pytest.fixture(scope="module")
def textsearch_server():
    yield from running_with_textsearch()


@pytest.fixture(params=["plain", "textsearch"])
def server(request):
    return request.getfixturevalue(f"{request.param}_server")


@pytest.fixture
def place(server, tmp_path):
    """Connection string of an empty schema."""
    return server.conninfo(server.schema_for(tmp_path))


class PgVectorCase(StoreCase):
    scans_a_snapshot = True

    def make_store(self, folder, namespace="default"):
        return PgVectorStore(self.server.conninfo(self.server.schema_for(folder)), namespace=namespace)


class TestPgVectorStore(PgVectorCase, DurableStoreConformance):
    @pytest.fixture(autouse=True)
    def _place(self, plain_server):
        self.server = plain_server


class TestPgVectorStoreWithTextsearch(PgVectorCase, DurableStoreConformance):
    @pytest.fixture(autouse=True)
    def _place(self, textsearch_server):
        self.server = textsearch_server


class TestPgVectorStoreWithAnIndexFromTheStart(PgVectorCase, DenseTests, FilterTests):
    @pytest.fixture(autouse=True)
    def _place(self, plain_server):
        self.server = plain_server

    def make_store(self, folder, namespace="default"):
        conninfo = self.server.conninfo(self.server.schema_for(folder))
        store = PgVectorStore(conninfo, exact_up_to=1, ef_search=1000)
        upsert = store.upsert

        async def upsert_and_optimize(*batch):
            await upsert(*batch)
            await store.optimize()

        store.upsert = upsert_and_optimize
        return store


def clustered(count, dimension, clusters=100, seed=0):
    random = np.random.default_rng(seed)
    centres = random.standard_normal((clusters, dimension))
    rows = centres[random.integers(0, clusters, count)] + 0.4 * random.standard_normal((count, dimension))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32)


@pytest.mark.parametrize("dimension", [32, 2100])
async def test_recall_of_the_index_with_and_without_filters(plain_server, tmp_path, dimension):
    count = 6000 if dimension == 32 else 600
    vectors, queries = clustered(count, dimension), clustered(20, dimension, seed=0)
    metadata = [{"tenth": n % 10, "hundredth": n % 100, "n": n} for n in range(count)]
    documents = [Document(str(n), "", metadata=each) for n, each in enumerate(metadata)]
    store = PgVectorStore(plain_server.conninfo(plain_server.schema_for(tmp_path)), exact_up_to=500)
    await store.upsert(documents, vectors)
    await store.optimize()
    table = f"{plain_server.schema_for(tmp_path)}.fastrag_default"
    indexes = plain_server.execute(f"SELECT indexdef FROM pg_indexes WHERE schemaname || '.' || tablename = '{table}'")
    assert any("USING hnsw" in definition for (definition,) in indexes)
    for filter, of in (
        (None, 1),
        (Eq("tenth", 3), 10),
        (Range("n", lt=count // 10), 10),
        (Eq("hundredth", 3), 100),
        (Range("n", gte=count - count // 100), 100),
    ):
        found = 0
        for query in queries:
            allowed = [n for n in range(count) if filter is None or _satisfies(filter, metadata[n])]
            assert len(allowed) == count // of
            k = min(10, len(allowed))
            best = sorted(allowed, key=lambda n: -float(vectors[n] @ query))[:k]
            result = await store.search(embedding=query, k=10, filter=filter)
            assert len(result) == k
            scores = [document.metadata["score"] for document in result]
            assert scores == sorted(scores, reverse=True)
            assert scores == pytest.approx([float(vectors[int(d.id)] @ query) for d in result], abs=1e-5)
            found += len({int(document.id) for document in result} & set(best)) / k
        assert found / len(queries) >= 0.95, filter
    await store.close()


def _satisfies(filter, metadata):
    from fastrag.store import matches

    return matches(filter, metadata)


async def test_a_filter_that_keeps_few_finds_them_all(plain_server, tmp_path):
    vectors = clustered(5000, 16)
    documents = [Document(str(n), "", metadata={"rare": n % 1000 == 7, "n": n}) for n in range(5000)]
    store = PgVectorStore(plain_server.conninfo(plain_server.schema_for(tmp_path)), exact_up_to=100)
    await store.upsert(documents, vectors)
    await store.optimize()
    for filter in (Eq("rare", True), Range("n", gte=4990, lt=4995), Or([Eq("n", n) for n in range(5)])):
        assert len(await store.search(embedding=vectors[0], k=5, filter=filter)) == 5
        assert len(await store.search(embedding=vectors[0], k=50, filter=filter)) == 5
    await store.close()


async def test_it_ranks_words_as_the_store_in_memory_does(server, place):
    random = np.random.default_rng(3)
    words = [f"word{n}" for n in range(200)]
    documents = [
        Document(
            str(n), " ".join(random.choice(words, size=random.integers(1, 60))), metadata={"n": n % 4, "m": n % 50}
        )
        for n in range(1000)
    ]
    memory, store = InMemoryStore(), PgVectorStore(place)
    for each in (memory, store):
        await each.upsert(documents)
        await each.optimize()
    for filter in (None, Eq("n", 1), Range("n", lt=2), Eq("m", 7)):
        for _ in range(10):
            text = " ".join(random.choice(words, size=3))
            one = await memory.search(text=text, k=1000, filter=filter)
            other = await store.search(text=text, k=1000, filter=filter)
            assert {document.id for document in one} == {document.id for document in other}
            # Tantivy and pg_textsearch round document lengths, each in its way, which moves neighbours.
            assert len({d.id for d in one[:10]} & {d.id for d in other[:10]}) >= min(7, len(one) - 3)
            scores = {document.id: document.metadata["score"] for document in one}
            for document in other[:5]:
                assert document.metadata["score"] == pytest.approx(scores[document.id], rel=0.15)
    await store.close()


async def test_words_are_found_after_many_changes_and_much_tidying(server, place):
    random = np.random.default_rng(0)
    store = PgVectorStore(place)
    written = set()
    for turn in range(30):
        ids = random.choice(400, 60, replace=False)
        texts = [" ".join(f"word{n}" for n in random.integers(0, 3000, 80)) for _ in ids]
        await store.upsert([Document(f"d{n}", f"cat turn{turn} {text}") for n, text in zip(ids, texts, strict=True)])
        await store.optimize()
        written.update(f"d{n}" for n in ids)
        assert {document.id for document in await store.search(text="cat", k=1000)} == written
        assert len(await store.search(text=f"turn{turn}", k=1000)) == 60
    await store.close()


async def test_it_says_what_ranks(plain_server, textsearch_server, tmp_path):
    for server, expected in (
        (plain_server, "BM25 computed in SQL from a tsvector"),
        (textsearch_server, "BM25 (pg_textsearch)"),
    ):
        store = PgVectorStore(server.conninfo(server.schema_for(tmp_path)))
        assert await store.lexical_ranking() == "none"
        await store.upsert([Document("a", "cat")])
        assert await store.lexical_ranking() == expected
        await store.close()


async def test_a_text_of_more_words_than_postgres_can_index(server, place):
    store = PgVectorStore(place)
    text = " ".join(f"{n:x}z" for n in range(300_000))
    await store.upsert([Document("long", text), Document("repeated", "cat " * 600_000)])
    assert (await store.get(["long"]))[0].text == text
    assert [document.id for document in await store.search(text="0z")] == ["long"]
    assert [document.id for document in await store.search(text="cats")] == ["repeated"]
    assert len(await store.search(text=text)) == 1
    await store.close()


async def test_the_language_is_fixed_by_the_first_write(place):
    store = PgVectorStore(place, language="de")
    await store.upsert([Document("a", "Die Häuser")])
    assert len(await store.search(text="haus")) == 1
    for language in ("en", None):
        other = PgVectorStore(place, language=language)
        for call in (other.count, lambda other=other: other.upsert([Document("b", "")])):
            with pytest.raises(ConfigurationError, match="language='german'"):
                await call()
        await other.close()
    await store.close()


async def test_tables_of_others_and_of_newer_versions_are_refused(plain_server, tmp_path):
    schema = plain_server.schema_for(tmp_path)
    store = PgVectorStore(plain_server.conninfo(schema))
    for comment, message in (
        ("NULL", "not made by fastrag"),
        ("'a table of mine'", "not made by fastrag"),
        ("'[1]'", "not made by fastrag"),
        ("""'{"fastrag": {"format": "2"}}'""", "format 2.*update fastrag"),
        ("""'{"fastrag": {"format": "1", "shape": 3}}'""", "not what fastrag wrote"),
    ):
        plain_server.execute(
            f"DROP TABLE IF EXISTS {schema}.fastrag_default",
            f"CREATE TABLE {schema}.fastrag_default (id integer)",
            f"COMMENT ON TABLE {schema}.fastrag_default IS {comment}",
        )
        for call in (
            store.count,
            store.drop,
            store.binding,
            store.optimize,
            lambda: store.upsert([Document("a", "")]),
            lambda: store.bind("a", 3),
            lambda: store.search(text="cat"),
        ):
            with pytest.raises(ConfigurationError, match=message):
                await call()
    assert plain_server.execute(f"SELECT count(*) FROM {schema}.fastrag_default") == [(0,)]
    assert await store.namespaces() == (["default"] if "shape" in comment else [])
    await store.close()


async def test_namespaces_whose_names_could_be_those_of_parts_of_others(place):
    names = ["a", "a_id_idx", "a_pkey", "a_seq", "a_written_seq", "x" * 48]
    stores = [PgVectorStore(place, namespace=name, exact_up_to=1) for name in names]
    for store in stores:
        await store.upsert([Document("1", "cat"), Document("2", "dog")], np.eye(2))
        await store.optimize()
    assert await stores[0].namespaces() == names
    for store in stores:
        assert [document.id for document in await store.search(text="cat", embedding=np.array([1, 0]), k=1)] == ["1"]
        await store.drop()
        await store.close()


async def test_it_installs_what_the_database_needs(textsearch_server):
    textsearch_server.execute("DROP DATABASE IF EXISTS fresh", "CREATE DATABASE fresh")
    store = PgVectorStore(textsearch_server.conninfo().replace("dbname=postgres", "dbname=fresh"))
    await store.upsert([Document("a", "cat")], np.eye(1))
    assert await store.lexical_ranking() == "BM25 (pg_textsearch)"
    await store.close()


async def test_a_database_that_cannot_hold_a_store(plain_server):
    plain_server.execute(
        "DROP DATABASE IF EXISTS latin",
        "DROP DATABASE IF EXISTS bare",
        "DROP ROLE IF EXISTS guest",
        "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0",
        "CREATE DATABASE bare",
        "CREATE ROLE guest LOGIN",
    )
    base = plain_server.conninfo()
    for conninfo, message in (
        (base.replace("dbname=postgres", "dbname=latin"), "LATIN1"),
        (base.replace("dbname=postgres", "dbname=bare").replace("user=postgres", "user=guest"), "CREATE EXTENSION"),
    ):
        store = PgVectorStore(conninfo)
        with pytest.raises(ConfigurationError, match=message):
            await store.bind("embedder", 3)
        await store.close()


async def test_vectors_of_any_length_that_pgvector_takes(place):
    store = PgVectorStore(place, exact_up_to=1)
    for dimension in (1, 4096, 16_000):
        vectors = clustered(3, dimension, clusters=3)
        await store.upsert([Document(str(n), "") for n in range(3)], vectors)
        await store.optimize()
        assert (await store.search(embedding=vectors[2], k=1))[0].metadata["score"] == pytest.approx(1)
        await store.drop()
    for call in (
        lambda: store.bind("embedder", 16_001),
        lambda: store.upsert([Document("a", "")], np.ones((1, 16_001))),
    ):
        with pytest.raises(ConfigurationError, match="16000 numbers, not of 16001"):
            await call()
    await store.close()


async def test_ids_and_names_as_long_as_they_may_be(place):
    store = PgVectorStore(place)
    random = np.random.default_rng(0)
    long = "".join(chr(each) for each in random.integers(0x4E00, 0x9FFF, 866))
    field = "".join(chr(each) for each in random.integers(0x4E00, 0x9FFF, 5000))
    await store.upsert([Document(long, "cat", metadata={field: "x", "list": [field]})])
    assert [document.id for document in await store.search(text="cat", filter=Eq(field, "x"))] == [long]
    assert await store.count(And([Exists(field), Contains("list", field), Range(field, gte="x")])) == 1
    assert await store.count(Or([Not(In(field, ["x"])), Eq(f"{field}y", "x")])) == 0
    assert await store.delete(ids=[long]) == 1
    with pytest.raises(ConfigurationError, match="2600 bytes"):
        await store.upsert([Document("a", ""), Document(f"{long}xyz", "")])
    assert await store.count() == 0
    await store.close()


@pytest.mark.parametrize(
    "arguments",
    [
        {"conninfo": None},
        {"conninfo": 5},
        {"timeout_s": 0},
        {"timeout_s": math.inf},
        {"timeout_s": 10**400},
        {"timeout_s": "1"},
        {"pool_size": 0},
        {"exact_up_to": 0},
        {"m": 1},
        {"m": 101},
        {"ef_construction": 31},
        {"ef_search": 1001},
        {"ef_search": True},
        {"build_memory_mb": 0},
        {"build_workers": -1},
        {"language": "xx"},
    ],
)
def test_arguments_that_make_no_sense(arguments):
    with pytest.raises(ConfigurationError, match=next(iter(arguments))):
        PgVectorStore(**arguments)


async def test_no_secret_is_told(caplog):
    secret = "s3 cr%et"
    for conninfo in (
        f"postgresql://ann:{secret}@localhost/docs",
        f"host=localhost password={secret}",
        lambda: f"postgresql://ann:{secret}@localhost/docs",
        "postgresql://ann:s3%20cr%25et@localhost:1/docs",
        "host=localhost port=1 password='s3 cr%et'",
    ):
        store = PgVectorStore(conninfo)
        assert "s3" not in repr(store)
        with pytest.raises((ConfigurationError, StoreError)) as caught:
            await store.count()
        error = caught.value
        while error is not None:
            assert "s3" not in str(error)
            assert "cr" not in str(error).replace("described", "")
            error = error.__cause__
        await store.close()
    assert "s3" not in caplog.text


async def test_the_connection_string_may_come_from_a_function_or_the_environment(plain_server, tmp_path, monkeypatch):
    schema = plain_server.schema_for(tmp_path)
    asked = Counter()

    def now():
        asked["now"] += 1
        return plain_server.conninfo(schema)

    async def later():
        asked["later"] += 1
        return plain_server.conninfo(schema)

    for conninfo in (now, later):
        store = PgVectorStore(conninfo)
        await store.count()
        await store.count()
        await store.close()
        await store.count()
        await store.close()
    assert asked == {"now": 2, "later": 2}
    monkeypatch.setenv("PGHOST", plain_server.conninfo().split()[0].removeprefix("host="))
    monkeypatch.setenv("PGUSER", "postgres")
    monkeypatch.setenv("PGOPTIONS", f"-c search_path={schema},public")
    store = PgVectorStore()
    await store.upsert([Document("a", "cat")])
    assert await store.count() == 1
    await store.close()
    store = PgVectorStore(lambda: None)
    with pytest.raises(ConfigurationError, match="conninfo must return a text, not a NoneType"):
        await store.count()


async def test_what_another_process_changes_is_noticed(place):
    one, other = PgVectorStore(place), PgVectorStore(place)
    documents = [Document("a", "cat"), Document("b", "dog")]
    for store in (one, other):
        await store.upsert(documents, np.eye(4)[:2])
    await one.drop()
    assert await other.search(embedding=np.eye(4)[0]) == []
    assert await other.search(text="cat") == []
    await one.upsert(documents, np.eye(3)[:2])
    assert [document.id for document in await other.search(embedding=np.eye(3)[0], k=1)] == ["a"]
    with pytest.raises(EmbedderMismatchError, match="dimension 3, and was given dimension 4"):
        await other.search(embedding=np.eye(4)[0])
    await one.drop()
    await one.upsert(documents, np.eye(4)[:2])
    with pytest.raises(EmbedderMismatchError, match="dimension 4, and was given dimension 3"):
        await other.upsert(documents, np.eye(3)[:2])
    await one.drop()
    await other.upsert(documents, np.eye(5)[:2])
    assert await one.binding() == Binding(None, 5)
    await one.bind("embedder", 5)
    with pytest.raises(EmbedderMismatchError):
        await other.check_binding("another", 5)
    await other.drop()
    await other.upsert(documents, np.eye(4)[:2])
    with pytest.raises(EmbedderMismatchError, match="dimension 4"):
        await one.upsert([Document("c", "")], np.eye(5)[:1])
    assert len(await one.search(embedding=np.eye(4)[0])) == 2
    for store in (one, other):
        await store.close()


async def test_a_table_that_others_change_at_every_attempt(place, monkeypatch):
    def changed(comment, table, names):
        raise TableChangedError(names)

    store = PgVectorStore(place)
    await store.upsert([Document("a", "cat")])
    monkeypatch.setattr("fastrag.store.postgres.rows.check_unchanged", changed)
    with pytest.raises(StoreError, match="fastrag_default was dropped or made anew"):
        await store.upsert([Document("a", "dog")])
    assert await store.get(["a"]) == [Document("a", "cat")]
    await store.close()


async def test_a_store_may_be_changed_by_whoever_scans_it(place):
    store = PgVectorStore(place, pool_size=1, timeout_s=0.3, exact_up_to=1)
    await store.upsert([Document(str(n), "cat") for n in range(300)])
    seen = 0
    async for document in store.scan():
        # Vectors come later, into a store that had none.
        if seen < 20:
            await store.upsert([document], np.array([[1, float(seen)]]))
            if seen == 10:
                await store.optimize()
        seen += 1
    assert seen == 300
    assert len(await store.search(embedding=np.array([1, 0]), k=30)) == 20
    async for _ in store.scan():
        with pytest.raises(StoreError, match="lock timeout"):
            await store.drop()
        break
    await store.close()


@pytest.mark.parametrize("timeout_s", [1e7, 1e300])
async def test_a_store_that_waits_for_ever(place, timeout_s):
    store = PgVectorStore(place, timeout_s=timeout_s)
    await store.upsert([Document("a", "cat")])
    await store.drop()
    assert await store.count() == 0
    await store.close()


async def test_a_plan_for_each_filter(plain_server, tmp_path):
    """A look into the index of facts, where a filter asks for facts."""
    from fastrag.store.postgres.filters import Condition

    a, b, c = Exists("a"), Eq("b", 1), Contains("c", "x")
    assert Condition(And([a, b, c])).sql == "facts @> %(filter_0)s"
    assert Condition(Or([a, b, c])).sql == "facts && %(filter_0)s"
    assert (Condition(And([])).sql, Condition(Or([])).sql, Condition(In("a", [])).sql) == ("true", "false", "false")
    assert Condition(None).sql == "true"


def test_nothing_is_left_open_when_a_loop_ends(plain_server, tmp_path):
    conninfo = plain_server.conninfo(plain_server.schema_for(tmp_path)) + " application_name=left_open"
    store = PgVectorStore(conninfo)

    async def use():
        await asyncio.gather(*(store.count() for _ in range(5)))
        assert _open(plain_server)

    for _ in range(2):
        asyncio.run(use())
        # The server notices in its own time.
        while _open(plain_server):
            pass


def _open(server):
    return server.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'left_open'") != [(0,)]
