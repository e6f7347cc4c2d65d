"""Mistakes are refused before anything is changed."""

# ruff: noqa: D102 - the name of a test says what it checks

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastrag.document import Document
from fastrag.errors import ConfigurationError, EmbedderMismatchError
from fastrag.store.base import VectorStore
from fastrag.store.filters import And, Eq, Not, Or, Range
from fastrag.testing.store_conformance.case import StoreCase, unit


class MistakeTests(StoreCase):
    """Arguments that make no sense, and vectors of another embedder."""

    def test_a_refused_upsert_changes_nothing(self, tmp_path: Path) -> None:
        kept = Document("kept", "cat", metadata={"n": 1})
        new, changed = Document("new", "cat"), Document("kept", "dog")
        bad_documents: list[Any] = [
            Document("", "x"),
            Document(3, "x"),  # type: ignore[arg-type]
            Document("x", None),  # type: ignore[arg-type]
            Document("x", "lone \ud800"),
            Document("x", "", 3),  # type: ignore[arg-type]
            Document("x", "", None, {"a": float("nan")}),
            Document("x", "", None, {"a": [1, {"b": object()}]}),
            Document("x", "", None, {1: "a"}),  # type: ignore[dict-item]
            Document("x", "", None, {"a": "\udfff"}),
            Document("x", "", None, {"a": 10**5000}),
            "a text",
            Document("kept", "twice"),
        ]
        bad_vectors: list[Any] = [
            unit(0, 1, 2),
            np.full((2, 4), np.nan, dtype=np.float32),
            np.array([[1, 0, 0, 0], [0, np.inf, 0, 0]]),
            np.ones(4, dtype=np.float32),
            np.ones((2, 0), dtype=np.float32),
            [["a", "b", "c", "d"]] * 2,
            [[1, 2], [3]],
            [[1e300, 0, 0, 0], [1, 0, 0, 0]],
        ]

        async def scenario(store: VectorStore) -> None:
            await store.bind("embedder", 4)
            await store.upsert([kept], unit(0))
            for bad in bad_documents:
                with pytest.raises(ConfigurationError):
                    await store.upsert([new, changed, bad])
            for not_a_list in (new, None, 5, "ab"):
                with pytest.raises(ConfigurationError):
                    await store.upsert(not_a_list)  # type: ignore[arg-type]
            for rows in bad_vectors:
                with pytest.raises(ConfigurationError):
                    await store.upsert([new, changed], rows)
            with pytest.raises(EmbedderMismatchError, match=r"dimension 4.*dimension 3"):
                await store.upsert([new, changed], np.eye(3, dtype=np.float32)[:2])
            assert [document async for document in store.scan()] == [kept]

        self.run(tmp_path, scenario)

    def test_a_refused_first_upsert_decides_nothing(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            with pytest.raises(ConfigurationError):
                await store.upsert([Document("a", "")], np.array([[np.nan, 1, 2]]))
            await store.upsert([Document("a", "")], unit(0))
            assert len(await store.search(embedding=unit(0)[0])) == 1

        self.run(tmp_path, scenario)

    def test_searches_that_make_no_sense(self, tmp_path: Path) -> None:
        vector = unit(0)[0]
        bad: list[dict[str, Any]] = [
            {},
            {"k": 3},
            {"text": ""},
            {"text": " \n"},
            {"text": 3},
            {"text": "lone \ud800"},
            {"text": "cat", "k": 0},
            {"text": "cat", "k": -1},
            {"text": "cat", "k": True},
            {"text": "cat", "k": 1.5},
            {"embedding": np.array([np.nan, 0, 0, 0])},
            {"embedding": np.array([np.inf, 0, 0, 0])},
            {"embedding": np.ones((1, 4))},
            {"embedding": []},
            {"embedding": ["a"]},
            {"text": "cat", "min_score": float("nan")},
            {"text": "cat", "min_score": "high"},
            {"text": "cat", "min_score": 10**400},
            {"text": "cat", "filter": "a = 1"},
            {"text": "cat", "filter": Eq("", 1)},
            {"embedding": vector, "filter": Eq("a", None)},  # type: ignore[arg-type]
            {"embedding": vector, "filter": And([Eq("a", n) for n in range(2000)])},
            {"embedding": vector, "filter": Or([Eq("a", 1), Not(Range("a", lt=float("inf")))])},
        ]
        if not self.has_lexical_search:
            bad += [{"text": "cat"}, {"text": "cat", "embedding": vector}]

        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document("a", "cat")], unit(0))
            for query in bad:
                with pytest.raises(ConfigurationError):
                    await store.search(**query)
            with pytest.raises(EmbedderMismatchError, match=r"dimension 4.*dimension 3"):
                await store.search(embedding=np.ones(3, dtype=np.float32))
            with pytest.raises(EmbedderMismatchError):
                await store.search(**self.queries("cat", np.ones(3, dtype=np.float32))[-1])
            for filter in (Eq("", 1), "a = 1"):
                with pytest.raises(ConfigurationError):
                    await store.count(filter)  # type: ignore[arg-type]
                with pytest.raises(ConfigurationError):
                    await store.delete(filter=filter)  # type: ignore[arg-type]
                with pytest.raises(ConfigurationError):
                    await anext(store.scan(filter))  # type: ignore[arg-type]
            for arguments in (
                {},
                {"ids": ["a"], "filter": Eq("a", 1)},
                {"ids": "a"},
                {"ids": [""]},
                {"ids": [1]},
                {"ids": 5},
            ):
                with pytest.raises(ConfigurationError):
                    await store.delete(**arguments)
            for ids in ("a", None, 5):
                with pytest.raises(ConfigurationError):
                    await store.get(ids)  # type: ignore[arg-type]
            assert await store.count() == 1

        self.run(tmp_path, scenario)

    def test_bind(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            for embedder_id, dimension in (("", 4), ("a", 0), ("a", True), (None, 4)):
                with pytest.raises(ConfigurationError):
                    await store.bind(embedder_id, dimension)  # type: ignore[arg-type]
            await store.bind("it's one", 4)
            await store.bind("it's one", 4)
            with pytest.raises(EmbedderMismatchError, match=r"it's one.*another"):
                await store.bind("another", 4)
            with pytest.raises(EmbedderMismatchError, match=r"dimension 4.*dimension 5"):
                await store.bind("it's one", 5)

        self.run(tmp_path, scenario)

    def test_checking_the_binding_binds_nothing(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            for embedder_id, dimension in (("", 4), ("a", 0)):
                with pytest.raises(ConfigurationError):
                    await store.check_binding(embedder_id, dimension)
            await store.check_binding("a", 3)
            await store.upsert([Document("words", "cat")])
            await store.check_binding("a", 3)
            await store.upsert([Document("vectors", "cat")], unit(0))
            with pytest.raises(EmbedderMismatchError, match=r"dimension 4.*dimension 3"):
                await store.check_binding("a", 3)
            await store.check_binding("another", 4)
            await store.bind("it's one", 4)
            await store.check_binding("it's one", 4)
            with pytest.raises(EmbedderMismatchError, match=r"it's one.*another"):
                await store.check_binding("another", 4)

        self.run(tmp_path, scenario)

    def test_vectors_before_bind_decide_the_dimension(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document("a", "")], unit(0))
            with pytest.raises(EmbedderMismatchError):
                await store.upsert([Document("b", "")], np.ones((1, 3), dtype=np.float32))
            with pytest.raises(EmbedderMismatchError):
                await store.bind("embedder", 3)
            await store.bind("embedder", 4)
            with pytest.raises(EmbedderMismatchError):
                await store.bind("another", 4)
            assert len(await store.search(embedding=unit(0)[0])) == 1

        self.run(tmp_path, scenario)
