import traceback
from urllib.parse import quote

import pytest

from fastrag.document import Document
from fastrag.errors import ConfigurationError, StoreError
from fastrag.store import InMemoryStore, LanceStore, PgVectorStore, QdrantStore
from fastrag.store.opening import open_store

SECRET = "s3cr3t-k3y"


class Recorder:
    def __init__(self, *arguments, **named):
        self.arguments = arguments
        self.named = named


@pytest.fixture
def recorded(monkeypatch):
    """Stores of servers that keep what they were made with."""
    for name in ("MilvusStore", "PgVectorStore", "QdrantStore"):
        monkeypatch.setattr(f"fastrag.store.opening.{name}", Recorder)


async def test_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    await LanceStore(tmp_path / "a folder", namespace="faq").upsert([Document("a", "cat")])
    quoted = quote(str(tmp_path))
    for url in (
        f"lance://{quoted}/a%20folder?namespace=faq",
        "lance:a%20folder?namespace=faq",
        "LANCE:./a%20folder?namespace=f%61q&language=en",
    ):
        assert await open_store(url).count() == 1
    for path in (str(tmp_path / "a folder"), "a folder", "./a folder"):
        assert await open_store(path, namespace="faq").count() == 1
        assert await open_store(path).count() == 0
    odd = "./odd?name#%41:b"
    await open_store(odd).upsert([Document("a", "cat")])
    assert (tmp_path / odd).is_dir(), "a path is no URL"


async def test_memory():
    store = open_store("memory:?namespace=faq&language=de")
    assert isinstance(store, InMemoryStore)
    assert store.namespace == "faq"
    await store.upsert([Document("a", "die Katzen")])
    assert len(await store.search(text="Katze")) == 1


@pytest.mark.parametrize(
    ("url", "argument", "token"),
    [
        ("milvus://localhost", "http://localhost:19530", None),
        ("milvus://host:1/db%20x", "http://host:1/db%20x", None),
        (f"milvus+https://user:{SECRET}%3A%2F@[::1]:2", "https://[::1]:2", f"user:{SECRET}:/"),
        (f"milvus://{SECRET}@host", "http://host:19530", SECRET),
        (f"milvus://:{SECRET}@host", "http://host:19530", SECRET),
    ],
)
def test_milvus_servers(recorded, url, argument, token):
    store = open_store(f"{url}?namespace=faq&language=none")
    assert store.arguments == (argument,)
    assert store.named == {"token": token, "namespace": "faq", "language": None}


def test_milvus_files(recorded):
    assert open_store("milvus:///data/a%20b/docs.db").arguments == ("/data/a b/docs.db",)
    assert open_store("milvus:docs.db").arguments == ("docs.db",)


@pytest.mark.parametrize(
    ("url", "argument", "key"),
    [
        ("qdrant://localhost", "http://localhost:6333", None),
        (f"qdrant+https://:{SECRET}%40@host:443/pre%20fix", "https://host:443/pre%20fix", f"{SECRET}@"),
        (f"qdrant://{SECRET}@host", "http://host:6333", SECRET),
        (f"qdrant://user:{SECRET}@host", "http://host:6333", SECRET),
    ],
)
def test_qdrant_servers(recorded, url, argument, key):
    store = open_store(url, namespace="faq", language="de")
    assert store.arguments == (argument,)
    assert store.named == {"api_key": key, "namespace": "faq", "language": "de"}


def test_postgres(recorded):
    url = f"postgresql://ann:{SECRET}@one:5432,two:5433/db?sslmode=require"
    for scheme in ("postgresql", "postgres"):
        other = url.replace("postgresql", scheme)
        store = open_store(f"{other}&namespace=faq", language=None)
        assert store.arguments == (other,), "what is libpq's is left to it"
        assert store.named == {"namespace": "faq", "language": None}


def test_what_the_url_says_wins():
    assert open_store("memory:?namespace=one", namespace="two").namespace == "one"
    assert open_store("memory:", namespace="two").namespace == "two"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "its URL or the path"),
        (None, "its URL or the path"),
        (f"redis://:{SECRET}@host", "begins with none of lance:, memory:, postgresql:, postgres:, milvus:"),
        ("my:folder", r"Write \./"),
        ("lance://folder", "lance:///folder"),
        ("lance:", "no folder"),
        ("lance:/", "no folder"),
        (f"lance://:{SECRET}@/x", "no folder"),
        ("lance://:80/x", "no folder"),
        ("lance:x?namespace=A", "namespace"),
        ("lance:x?language=klingon", "language"),
        (f"lance:x?key={SECRET}", "the option 'key'"),
        ("memory:x", "names a place"),
        (f"memory://:{SECRET}@host", "names a place"),
        (f"memory://:{SECRET}@", "names a place"),
        ("milvus:", "no folder or file"),
        (f"milvus://:{SECRET}@/x.db", "no folder or file"),
        ("milvus:///x/docs", r"\.db"),
        (f"milvus://:{SECRET}@", "no folder or file"),
        (f"milvus://:{SECRET}@host/a/b", "database"),
        (f"qdrant://:{SECRET}@", "names a host"),
        (f"qdrant://:{SECRET}%0Ax@host", "API key"),
        (f"qdrant://:{SECRET}@host:0", "must be a URL like"),
        (f"qdrant://:{SECRET}@host:x", "malformed"),
        (f"qdrant://:{SECRET}@host?api_key={SECRET}", "the option 'api_key'"),
        (f"postgresql://:{SECRET}@host/db#x", "%23"),
        (f"postgresql://:{SECRET}@host/db?namespace", "malformed"),
    ],
)
def test_what_cannot_be_opened(url, message):
    with pytest.raises(ConfigurationError, match=message) as caught:
        open_store(url)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


async def test_no_secret_is_in_a_store_or_in_what_it_says(monkeypatch):
    for url in (
        f"qdrant://:{SECRET}@127.0.0.1:9",
        f"milvus://user:{SECRET}@127.0.0.1:9",
        f"postgresql://user:{SECRET}@127.0.0.1:9/db",
    ):
        store = open_store(url)
        with pytest.raises(StoreError) as caught:
            await store.count()
        assert SECRET not in "".join(traceback.format_exception(caught.value)), url
        assert SECRET not in repr(store)
        await store.close()


@pytest.mark.parametrize("odd", ["@", "/", "?", ":/", "@/?", "/?", "?@"])
async def test_a_password_of_postgresql_that_is_not_percent_encoded_is_not_taken_for_a_host(odd):
    # What libpq takes for the server's name, port or database is shown.
    for password in (f"a{odd}{SECRET}", f"{SECRET}{odd}a"):
        store = PgVectorStore(f"postgresql://user:{password}@127.0.0.1:9/db")
        with pytest.raises(ConfigurationError, match="percent-encoded") as caught:
            await store.count()
        assert SECRET not in "".join(traceback.format_exception(caught.value)), password


@pytest.mark.parametrize(
    "place", ["postgresql://a%40:b%40%2F%3F@127.0.0.1:9/c%40d?options=@", "host=127.0.0.1 port=9 user=a@b/@c"]
)
async def test_what_is_percent_encoded_for_postgresql_is_asked_for(place):
    store = PgVectorStore(place)
    with pytest.raises(StoreError, match=r"127\.0\.0\.1"):
        await store.count()


def test_servers_are_not_imported_before_they_are_opened():
    assert isinstance(open_store("qdrant://localhost"), QdrantStore)


@pytest.mark.parametrize("url", ["my-index?namespace=handbook", "a/b?language=de", "x?namespace=a&language=none"])
def test_options_of_a_plain_folder_are_no_part_of_its_name(url):
    with pytest.raises(ConfigurationError, match="lance:"):
        open_store(url)
