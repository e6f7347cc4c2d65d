"""Search by words, and by both."""

# ruff: noqa: D102 - the name of a test says what it checks

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fastrag.document import Document
from fastrag.store.base import VectorStore
from fastrag.testing.store_conformance.case import Scenario, StoreCase, assert_ranked, unit


class LexicalTests(StoreCase):
    """Order, forms of words, ties, texts that look like query syntax, fusion."""

    def run_with_words(self, folder: Path, scenario: Scenario) -> None:
        """`run`, for a store that has a search by words."""
        if not self.has_lexical_search:
            pytest.skip("the store has no lexical search")
        self.run(folder, scenario)

    def test_lexical_search_ranks_by_words(self, tmp_path: Path) -> None:
        documents = [
            Document("both", "The walrus sings in the choir."),
            Document("rare", "A walrus, far from all the other animals, sleeps alone on a stone."),
            Document("common", "She sings and sings while he sings songs in the long evening."),
            *[Document(f"other{n}", "He sings and they sing; nothing else happens here.") for n in range(20)],
            Document("none", "Nothing to see."),
        ]

        async def scenario(store: VectorStore) -> None:
            await store.upsert(documents[:10])
            await store.upsert(documents[10:])
            for _ in range(2):
                found = await store.search(text="singing walrus", k=10**12)
                assert [document.id for document in found[:2]] == ["both", "rare"]
                assert len(found) == 23
                assert all(document.metadata["score"] > 0 for document in found)
                assert_ranked(found)
                assert len(await store.search(text="sings", k=4)) == 4
                await store.optimize()

        self.run_with_words(tmp_path, scenario)

    def test_words_are_found_whatever_their_form(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document("a", "The Café's WITH_statement runs (quickly)."), Document("b", "dogs")])
            for text in ("cafe", "CAFÉ", "running", "with", "statements", "quickly?"):
                assert [document.id for document in await store.search(text=text)] == ["a"], text
            for text in ("caf", "???", "\x00", "unheard"):
                assert await store.search(text=text) == [], text

        self.run_with_words(tmp_path, scenario)

    def test_query_syntax_is_only_text(self, tmp_path: Path) -> None:
        queries = [
            *("cat AND", "OR cat", "NOT cat", "-cat", "+cat", "cat*", "cat~2", "cat^9", '"cat', "(cat", "cat)", "[cat"),
            *("{cat}", "text:cat", "id:cat", "cat\\", "/cat/", "cat TO", "cat && dog", "!cat", ":cat", "cat' OR ''='"),
            *('"cat dog"~1', "<cat", "^cat", "cat;", "cat\ncat", "cat\x00", "💥cat".replace("cat", " cat")),
            "cat " * 2000,
        ]

        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document("a", "a cat sat"), Document("b", "a fish swam")])
            for query in queries:
                assert [document.id for document in await store.search(text=query)] == ["a"], query

        self.run_with_words(tmp_path, scenario)

    def test_equal_texts_are_in_the_order_written(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            written = [*range(600), *range(50, 150)]
            for start in range(0, 700, 100):
                rows = written[start : start + 100]
                await store.upsert([Document(f"d{n}", ["cat and dog", "cat"][n % 2]) for n in rows])
                assert len(await store.search(text="cat", k=1)) == 1, "so that an index grows piece by piece"
            order = [*range(50), *range(150, 600), *range(50, 150)]
            expected = [f"d{n}" for parity in (1, 0) for n in order if n % 2 == parity]
            for _ in range(2):
                for k in (1, 7, 150, 299, 300, 450, 600):
                    found = await store.search(text="cat", k=k)
                    assert [document.id for document in found] == expected[:k]
                await store.optimize()

        self.run_with_words(tmp_path, scenario)

    def test_hybrid_search_fuses_both(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            documents = [Document("dense", "dog"), Document("both", "cat"), Document("lexical", "cat cat")]
            await store.upsert(documents[:2], np.array([[1, 0], [0.8, 0.6]], dtype=np.float32))
            await store.upsert(documents[2:])
            found = await store.search(embedding=np.array([1, 0], dtype=np.float32), text="cat", k=3)
            assert found[0].id == "both"
            scores, ranks = found[0].metadata["scores"], found[0].metadata["ranks"]
            assert ranks["dense"] == 2
            assert scores["dense"] == pytest.approx(0.8)
            assert scores["lexical"] > 0
            assert found[0].metadata["score"] == pytest.approx(sum(1 / (60 + rank) for rank in ranks.values()))
            assert {document.id for document in found} == {"dense", "both", "lexical"}
            assert "lexical" not in next(each for each in found if each.id == "dense").metadata["ranks"]
            assert_ranked(found)
            assert len(await store.search(embedding=np.array([1, 0], dtype=np.float32), text="cat", k=1)) == 1

        self.run_with_words(tmp_path, scenario)

    def test_min_score(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document("a", "cat"), Document("b", "dog")], unit(0, 1))
            query = unit(0)[0]
            assert [each.id for each in await store.search(embedding=query, min_score=0.5)] == ["a"]
            assert len(await store.search(embedding=query, min_score=-1)) == 2
            assert await store.search(text="cat", min_score=1e9) == []
            assert await store.search(text="cat", embedding=query, min_score=1) == []

        self.run_with_words(tmp_path, scenario)
