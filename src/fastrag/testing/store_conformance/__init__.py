"""The tests that every vector store has to pass; needs pytest and hypothesis (``pip install
'fastrag[test]'``)."""

# ruff: noqa: D102 - the name of a test says what it checks

from __future__ import annotations

from pathlib import Path

import pytest

from fastrag.document import Document
from fastrag.errors import EmbedderMismatchError
from fastrag.store.base import VectorStore
from fastrag.store.filters import Range
from fastrag.testing.store_conformance.case import stored_ids, unit
from fastrag.testing.store_conformance.contents import ContentTests
from fastrag.testing.store_conformance.dense import DenseTests
from fastrag.testing.store_conformance.filtering import FilterTests
from fastrag.testing.store_conformance.interruptions import InterruptionTests
from fastrag.testing.store_conformance.lexical import LexicalTests
from fastrag.testing.store_conformance.mistakes import MistakeTests
from fastrag.testing.store_conformance.places import NamespaceTests, PlaceTests

__all__ = ["DurableStoreConformance", "StoreConformance"]


class StoreConformance(
    ContentTests, FilterTests, DenseTests, LexicalTests, MistakeTests, InterruptionTests, PlaceTests
):
    """Inherit it in a test class, give `make_store`, and pytest runs every test on that store.

    Each test runs one scenario in one event loop, in a new folder; no pytest plugin is needed::

        class TestMyStore(StoreConformance):
            def make_store(self, folder, namespace="default"):
                return MyStore(folder, namespace=namespace)
    """


class DurableStoreConformance(StoreConformance, NamespaceTests):
    """The same, and more, for a store that keeps what it has in a place: made again there, it has it."""

    def test_a_store_made_again_has_everything(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            documents = [Document("a", "the cat", "u", {"n": 1}), Document("b", "dog", metadata={"n": 2})]
            await store.bind("embedder", 4)
            await store.upsert(documents, unit(0, 1))
            await store.close()
            again = self.make_store(tmp_path)
            assert await again.get(["a", "b"]) == documents
            await self.check_found_by_words(again, "cats", {"a"})
            assert [document.id for document in await again.search(embedding=unit(1)[0], k=1)] == ["b"]
            assert await stored_ids(again, Range("n", gt=1)) == {"b"}
            with pytest.raises(EmbedderMismatchError):
                await again.bind("another", 4)
            await again.bind("embedder", 4)
            await again.close()

        self.run(tmp_path, scenario)
