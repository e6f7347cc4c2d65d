"""What a place holds: bindings, vectors as they are stored, several corpora apart."""

# ruff: noqa: D102 - the name of a test says what it checks

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fastrag.document import Document
from fastrag.errors import ConfigurationError
from fastrag.store.base import Binding, VectorStore
from fastrag.store.filters import Exists
from fastrag.testing.store_conformance.case import StoreCase, stored_ids, unit


class PlaceTests(StoreCase):
    """Of every store."""

    def test_vectors_come_back_as_they_are_stored(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            assert await store.get_embeddings(["a"]) == {}
            rows = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32) * 7
            await store.upsert([Document(str(n), "cat") for n in range(3)], rows)
            await store.upsert([Document("zeros", "cat")], unit(None))
            await store.upsert([Document("none", "cat")])
            found = await store.get_embeddings(["2", "none", "0", "zeros", "missing", "2"])
            assert set(found) == {"0", "2"}
            assert await store.get_embeddings(["none", "zeros", "missing"]) == {}
            for id, vector in found.items():
                assert vector.dtype == np.float32
                assert vector.shape == (4,)
                row = rows[int(id)]
                np.testing.assert_allclose(vector, row / np.linalg.norm(row), atol=1e-6)
            await store.upsert([Document("2", "now without a vector")])
            assert set(await store.get_embeddings(["2", "0"])) == {"0"}
            with pytest.raises(ConfigurationError):
                await store.get_embeddings([""])

        self.run(tmp_path, scenario)

    def test_the_binding_is_told(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            assert await store.binding() is None
            await store.upsert([Document("a", "cat")], unit(0))
            assert await store.binding() == Binding(None, 4)
            await store.bind("it's one", 4)
            assert await store.binding() == Binding("it's one", 4)

        self.run(tmp_path, scenario)

    def test_a_dropped_store_begins_anew(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.drop()
            await store.bind("one", 4)
            await store.upsert([Document("a", "cat", metadata={"n": 1})], unit(0))
            await store.drop()
            assert await store.binding() is None
            assert await store.count() == 0
            assert await stored_ids(store, Exists("n")) == set()
            for query in self.queries("cat", unit(0)[0]):
                assert await store.search(**query) == []
            await store.drop()
            await store.bind("another", 3)
            await store.upsert([Document("a", "dog")], np.eye(3, dtype=np.float32)[:1])
            await self.check_found_by_words(store, "dog", {"a"})
            assert set(await store.get_embeddings(["a"])) == {"a"}

        self.run(tmp_path, scenario)

    def test_names_of_namespaces(self, tmp_path: Path) -> None:
        assert self.make_store(tmp_path).namespace == "default"
        assert self.make_store(tmp_path, "a" * 48).namespace == "a" * 48
        for wrong in ("", "a" * 49, "A", "1a", "_a", "a-b", "a.b", "a/b", "ä", "a;drop table", "a\n", None, 1):
            with pytest.raises(ConfigurationError, match="namespace"):
                self.make_store(tmp_path, wrong)  # type: ignore[arg-type]


class NamespaceTests(StoreCase):
    """Of stores that keep what they have somewhere that other stores reach, too."""

    def test_namespaces_see_nothing_of_each_other(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            other = self.make_store(tmp_path, "other")
            try:
                assert await store.namespaces() == []
                await store.bind("one", 4)
                await other.bind("two", 3)
                await store.upsert([Document("a", "cat", metadata={"n": 1})], unit(0))
                await other.upsert([Document("a", "dog"), Document("b", "cat")], np.eye(3, dtype=np.float32)[:2])
                assert await store.namespaces() == await other.namespaces() == ["default", "other"]
                assert await store.get(["a", "b"]) == [Document("a", "cat", metadata={"n": 1})]
                assert (await store.count(), await other.count()) == (1, 2)
                await self.check_found_by_words(other, "cat", {"b"})
                assert await other.delete(ids=["b"]) == 1
                assert await other.delete(filter=Exists("n")) == 0
                await other.drop()
                assert await store.namespaces() == ["default"]
                assert await store.count() == 1
                assert await store.binding() == Binding("one", 4)
            finally:
                await other.close()

        self.run(tmp_path, scenario)
