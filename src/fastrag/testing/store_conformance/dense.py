"""Search by vectors."""

# ruff: noqa: D102 - the name of a test says what it checks

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from fastrag.document import Document
from fastrag.store.base import VectorStore
from fastrag.testing.store_conformance.case import StoreCase, assert_ranked, unit


class DenseTests(StoreCase):
    """Order, scores, ties, and Documents that have no direction."""

    def test_dense_search_is_exact_cosine(self, tmp_path: Path) -> None:
        random = np.random.default_rng(7)
        vectors = (random.standard_normal((300, 24)) * random.uniform(0.1, 50, (300, 1))).astype(np.float32)
        documents = [Document(str(n), "") for n in range(300)]

        async def scenario(store: VectorStore) -> None:
            await store.upsert(documents, vectors)
            for query in (vectors[5], -vectors[6] * 3, random.standard_normal(24).astype(np.float32)):
                exact = vectors.astype(np.float64) @ query
                exact /= np.linalg.norm(vectors.astype(np.float64), axis=1) * np.linalg.norm(query)
                best = np.argsort(-exact)[:10]
                found = await store.search(embedding=query, k=10)
                assert [document.id for document in found] == [str(row) for row in best]
                assert [document.metadata["score"] for document in found] == pytest.approx(exact[best], abs=1e-5)
                assert all(-1 <= document.metadata["score"] <= 1 for document in found)
            everything = await store.search(embedding=vectors[0], k=2**63)
            assert len(everything) == 300
            assert_ranked(everything)

        self.run(tmp_path, scenario)

    def test_equal_vectors_are_in_the_order_written(self, tmp_path: Path) -> None:
        random = np.random.default_rng(8)
        one, other = random.standard_normal((2, 19)).astype(np.float32)

        async def scenario(store: VectorStore) -> None:
            written = [*range(600), *range(50, 150)]
            for start in range(0, 700, 100):
                rows = written[start : start + 100]
                await store.upsert([Document(f"d{n}", "") for n in rows], np.array([[other, one][n % 2] for n in rows]))
            order = [*range(50), *range(150, 600), *range(50, 150)]
            expected = [f"d{n}" for parity in (1, 0) for n in order if n % 2 == parity]
            for _ in range(2):
                for k in (1, 7, 150, 299, 300, 450, 600):
                    found = await store.search(embedding=one, k=k)
                    assert [document.id for document in found] == expected[:k]
                await store.optimize()

        self.run(tmp_path, scenario)

    def test_a_vector_of_zeros_points_nowhere(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document("zero", "cat"), Document("a", "dog")], unit(None, 0))
            assert [document.id for document in await store.search(embedding=-unit(0)[0])] == ["a"]
            nowhere = np.zeros(4, dtype=np.float32)
            assert await store.search(embedding=nowhere) == []
            for query in self.queries("cat", nowhere)[1:]:
                assert [document.id for document in await store.search(**query)] == ["zero"]

        self.run(tmp_path, scenario)

    def test_documents_without_vectors(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document("words", "cat")])
            assert await store.search(embedding=unit(0)[0]) == []
            await store.bind("embedder", 4)
            assert await store.search(embedding=unit(0)[0]) == []
            await store.upsert([Document("both", "cat")], unit(0))
            await store.upsert([Document("more words", "cat")])
            assert [document.id for document in await store.search(embedding=unit(0)[0])] == ["both"]
            await self.check_found_by_words(store, "cat", {"words", "both", "more words"})

        self.run(tmp_path, scenario)

    def test_extreme_vectors(self, tmp_path: Path) -> None:
        largest, smallest = np.finfo(np.float32).max, np.finfo(np.float32).smallest_subnormal
        vectors = np.array([[largest, largest], [smallest, 0], [-largest, smallest]], dtype=np.float32)

        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document(name, "") for name in ("huge", "tiny", "minus")], vectors)
            found = await store.search(embedding=np.array([largest, 0], dtype=np.float32))
            scores = {document.id: document.metadata["score"] for document in found}
            assert scores == pytest.approx({"tiny": 1, "huge": math.sqrt(0.5), "minus": -1}, abs=1e-6)

        self.run(tmp_path, scenario)
