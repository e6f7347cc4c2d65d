"""What is stored comes back."""

# ruff: noqa: D102 - the name of a test says what it checks

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from fastrag.document import Document
from fastrag.store.base import VectorStore
from fastrag.store.filters import And, Contains, Eq, Exists, In, Range
from fastrag.testing.store_conformance.case import StoreCase, stored_ids, unit

NASTY_TEXTS = (
    "it's",
    "' OR '1'='1",
    "'; DROP TABLE documents; --",
    'double "quotes"',
    "`ticks`",
    "back\\slash\\",
    "\\'",
    "per%cent_",
    "new\nline",
    "nul\x00byte",
    "$.a[0]",
    "{0} %s {x}",
    "a|b=c?d[e",
    "ünï日本語😀",
    "\ud7ff\ue000\uffff",
    " leading and trailing ",
    "NULL",
    "true",
)
"""Texts that break stores which paste them into a query."""


class ContentTests(StoreCase):
    """Reading, replacing, removing, counting, scanning."""

    def test_documents_come_back_as_they_were(self, tmp_path: Path) -> None:
        metadata: dict[str, Any] = {
            "none": None,
            "true": True,
            "int": 3,
            "float": 3.0,
            "tenth": 0.1,
            "tiny": 5e-324,
            "big": 2**80,
            "exact": 2**53 + 1,
            "text": "ünï日本語😀\x00",
            "list": [1, 1.0, "1", None, [], {"x": []}],
            "nested": {"b": {"a": 1, "c.d": "e"}, "": 0},
            "order": {"z": 1, "a": 2},
        }
        documents = [
            Document("plain", "A text."),
            Document("empty", ""),
            Document("ünï日本語😀", "ünï\u0301日本語😀\x00\r\n", "file:///a b/ü", metadata),
            Document("large", "word " * 210_000),
        ]

        async def scenario(store: VectorStore) -> None:
            await store.upsert(documents)
            found = await store.get([document.id for document in documents])
            assert found == documents
            assert repr(found[2].metadata) == repr(metadata), "types and order of keys too"

        self.run(tmp_path, scenario)

    def test_nasty_ids_fields_and_values_are_only_data(self, tmp_path: Path) -> None:
        documents = [Document(text, text, text, {text: text, "list": [text]}) for text in NASTY_TEXTS]

        async def scenario(store: VectorStore) -> None:
            await store.upsert(documents)
            for document in documents:
                text = document.id
                assert await store.get([text]) == [document]
                for filter in (Eq(text, text), In(text, [text, "x"]), Range(text, gte=text, lte=text), Exists(text)):
                    assert await stored_ids(store, filter) == {text}
                assert await stored_ids(store, Contains("list", text)) == {text}
            for left, document in reversed(list(enumerate(documents))):
                assert await store.delete(ids=[document.id]) == 1
                assert await store.count() == left

        self.run(tmp_path, scenario)

    def test_get_keeps_the_order_asked_and_leaves_out_what_is_not_there(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document(name, name) for name in "abc"])
            assert [document.id for document in await store.get(["c", "no", "a", "c"])] == ["c", "a", "c"]
            assert await store.get([]) == []

        self.run(tmp_path, scenario)

    def test_writing_again_replaces(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document("a", "walrus", "u", {"n": 1}), Document("b", "b")], unit(0, 1))
            await store.upsert([Document("a", "penguin", None, {"m": 2})], unit(2))
            assert await store.count() == 2
            assert await store.get(["a"]) == [Document("a", "penguin", None, {"m": 2})]
            await self.check_found_by_words(store, "walrus", {})
            await self.check_found_by_words(store, "penguin", {"a"})
            assert await stored_ids(store, Exists("n")) == set()
            found = await store.search(embedding=unit(2)[0], k=1)
            assert (found[0].id, found[0].metadata["score"]) == ("a", pytest.approx(1))
            # Without a vector it is there for its words only.
            await store.upsert([Document("a", "seal")])
            assert [document.id for document in await store.search(embedding=unit(2)[0])] == ["b"]

        self.run(tmp_path, scenario)

    def test_the_store_and_its_callers_share_nothing(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            document = Document("a", "cat", metadata={"deep": {"list": [1]}})
            vectors = unit(0)
            await store.upsert([document], vectors)
            document.metadata["deep"]["list"].append(2)
            vectors[:] = unit(1)
            searches = [await store.search(**query) for query in self.queries("cat", unit(0)[0])]
            for found in (*await store.get(["a"]), *itertools.chain(*searches), *[each async for each in store.scan()]):
                assert found.metadata["deep"] == {"list": [1]}
                found.metadata["deep"]["list"].append(3)
                found.text = "dog"
            assert await store.get(["a"]) == [Document("a", "cat", metadata={"deep": {"list": [1]}})]
            assert (await store.search(embedding=unit(0)[0]))[0].metadata["score"] == pytest.approx(1)

        self.run(tmp_path, scenario)

    def test_delete_by_ids_and_by_filter(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document(str(n), "x", metadata={"n": n}) for n in range(10)], unit(*[0] * 10))
            assert await store.delete(ids=["0", "1", "1", "no"]) == 2
            assert await store.delete(ids=[]) == 0
            assert await store.delete(filter=Range("n", lt=5)) == 3
            assert await store.delete(filter=Eq("n", 2)) == 0
            left = {"5", "6", "7", "8", "9"}
            assert await store.count() == 5
            assert {document.id async for document in store.scan()} == left
            await self.check_found_by_words(store, "x", left)
            assert {document.id for document in await store.search(embedding=unit(0)[0])} == left
            assert await store.delete(filter=And([])) == 5
            assert await store.count() == 0
            await self.check_found_by_words(store, "x", {})

        self.run(tmp_path, scenario)

    def test_count_and_scan(self, tmp_path: Path) -> None:
        documents = [Document(str(n), f"text {n}", metadata={"even": n % 2 == 0}) for n in range(2500)]

        async def scenario(store: VectorStore) -> None:
            await store.upsert(documents)
            assert await store.count() == 2500
            assert await store.count(Eq("even", True)) == 1250
            by_id = {document.id: document async for document in store.scan()}
            assert [by_id[document.id] for document in documents] == documents
            assert await stored_ids(store, Eq("even", False)) == {str(n) for n in range(1, 2500, 2)}

        self.run(tmp_path, scenario)

    def test_a_scan_shows_once_what_is_left_alone_meanwhile(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document(str(n), "old") for n in range(2500)])
            seen: list[Document] = []
            async for document in store.scan():
                if not seen:
                    await store.upsert([Document(str(n), "new") for n in range(1000, 3000)])
                    await store.delete(ids=[str(n) for n in range(500)])
                seen.append(document)
            if self.scans_a_snapshot:
                assert len(seen) == 2500
                assert {document.text for document in seen} == {"old"}
            ids = [document.id for document in seen]
            assert len(set(ids)) == len(ids)
            assert {document.id for document in seen if 500 <= int(document.id) < 1000} == set(
                map(str, range(500, 1000))
            )

        self.run(tmp_path, scenario)

    def test_an_empty_store(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.optimize()
            assert await store.count() == 0
            assert await store.count(Eq("a", 1)) == 0
            assert await store.get(["a"]) == []
            assert [document async for document in store.scan()] == []
            assert await store.delete(ids=["a"]) == 0
            assert await store.delete(filter=Eq("a", 1)) == 0
            for query in self.queries("cat", unit(0)[0]):
                assert await store.search(**query) == []
            await store.upsert([])
            await store.bind("embedder", 4)
            for query in self.queries("cat", unit(0)[0]):
                assert await store.search(**query) == []
            await store.close()
            await store.close()

        self.run(tmp_path, scenario)
