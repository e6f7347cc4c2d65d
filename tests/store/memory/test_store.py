import sys

import numpy as np
import pytest

from fastrag.document import Document
from fastrag.errors import ConfigurationError, MissingDependencyError
from fastrag.store import Eq, Exists, InMemoryStore, Not, Range
from fastrag.testing.store_conformance import StoreConformance


class TestInMemoryStore(StoreConformance):
    scans_a_snapshot = True

    def make_store(self, folder, namespace="default"):
        return InMemoryStore(namespace=namespace)


def documents(numbers):
    return [Document(str(n), f"cat {'dog ' * (n % 5)}{'walrus' * (n % 7 == 0)}", metadata={"n": n}) for n in numbers]


def found(results):
    return [(document.id, document.metadata["score"]) for document in results]


async def test_only_lexical_search_needs_tantivy(monkeypatch):
    monkeypatch.setitem(sys.modules, "tantivy", None)
    store = InMemoryStore()
    await store.upsert([Document("a", "cat")], np.ones((1, 2)))
    assert len(await store.search(embedding=np.ones(2))) == 1
    with pytest.raises(MissingDependencyError, match=r"pip install 'fastrag\[memory\]'"):
        await store.search(text="cat")
    monkeypatch.undo()
    assert len(await store.search(text="cat")) == 1, "a failure is not remembered"


async def test_optimize_forgets_what_was_removed():
    random = np.random.default_rng(1)
    vectors = random.standard_normal((100, 8)).astype(np.float32)
    changed, fresh = InMemoryStore(), InMemoryStore()
    await changed.upsert(documents(range(100)), vectors)
    await changed.search(text="walrus")
    await changed.delete(ids=[str(n) for n in range(0, 100, 3)])
    await changed.upsert([Document("1", "dog dog")], vectors[:1])
    await changed.optimize()
    left = [n for n in range(100) if n % 3 and n != 1]
    await fresh.upsert(documents(left), vectors[left])
    await fresh.upsert([Document("1", "dog dog")], vectors[:1])
    for query in ({"text": "walrus cat"}, {"text": "dog"}, {"embedding": vectors[7]}):
        assert found(await changed.search(**query, k=200)) == found(await fresh.search(**query, k=200))


async def test_removing_most_documents_renumbers_the_rest():
    store = InMemoryStore()
    vectors = np.eye(50, dtype=np.float32)
    await store.upsert(documents(range(50)), vectors)
    assert len(await store.search(text="cat", k=100)) == 50
    assert await store.delete(ids=[str(n) for n in range(40)]) == 40
    await store.upsert(documents([3, 45]), vectors[[3, 45]])
    assert await store.get(["3", "45", "7", "49"]) == documents([3, 45, 49])
    assert {document.id for document in await store.search(text="cat", k=100)} == {"3", *map(str, range(40, 50))}
    assert found(await store.search(embedding=vectors[45], k=1)) == [("45", 1.0)]
    assert found(await store.search(embedding=vectors[7], filter=Eq("n", 49))) == [("49", 0.0)]


async def test_many_small_writes_keep_every_vector():
    store = InMemoryStore()
    random = np.random.default_rng(2)
    vectors = random.standard_normal((70, 5)).astype(np.float32)
    for n in range(70):
        await store.upsert([Document(str(n), "")], vectors[n : n + 1])
    for n in range(70):
        assert (await store.search(embedding=vectors[n], k=1))[0].id == str(n)


async def test_the_language_decides_which_words_are_one():
    assert {"language": "de"} | {"language": "german"} == {"language": "german"}
    texts = [Document("a", "Die Häuser"), Document("b", "houses")]
    expected = {"en": {"house": ["b"], "haus": []}, "German": {"haus": ["a"], "hausern": ["a"]}, None: {"house": []}}
    for language, queries in expected.items():
        store = InMemoryStore(language=language)
        await store.upsert(texts)
        for text, ids in queries.items():
            assert [document.id for document in await store.search(text=text)] == ids, (language, text)


@pytest.mark.parametrize("language", ["xx", "", 3, "english "])
def test_a_language_without_stemmer_is_refused(language):
    with pytest.raises(ConfigurationError, match="language"):
        InMemoryStore(language=language)


async def test_filtered_lexical_search_finds_the_best_wherever_they_are():
    random = np.random.default_rng(4)
    store = InMemoryStore()
    texts = ["cat " * random.integers(0, 4) + "dog " * random.integers(0, 30) for _ in range(3000)]
    await store.upsert([Document(str(n), text, metadata={"n": n, "tenth": n % 10}) for n, text in enumerate(texts)])
    every = await store.search(text="cat dog", k=3000)
    for filter, keeps in (
        (Eq("tenth", 3), lambda n: n % 10 == 3),
        (Range("n", gte=2990), lambda n: n >= 2990),
        (Not(Exists("n")), lambda n: False),
        (Exists("n"), lambda n: True),
    ):
        best = [each for each in found(every) if keeps(int(each[0]))]
        for k in (1, 7, 3000):
            assert found(await store.search(text="cat dog", k=k, filter=filter)) == best[:k]
