"""The tests that every vector store has to pass; needs pytest and hypothesis (``pip install
'fastrag[test]'``)."""

# ruff: noqa: D102 - the name of a test says what it checks

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fastrag.document import Document
from fastrag.embedding.base import Matrix
from fastrag.errors import ConfigurationError, EmbedderMismatchError
from fastrag.store.base import VectorStore
from fastrag.store.filters import And, Contains, Eq, Exists, Filter, In, Not, Or, Range, matches

Scenario = Callable[[VectorStore], Awaitable[None]]

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

_FIELDS = ("a", "b", "a.b", "a.b.c", "it's", "ü")
_NUMBERS = (0, 1, -1, 1.0, -0.0, 0.5, -0.5, 2**53, 2**53 + 1, float(2**53), 2**64, -(2**70), 1e300, 5e-324, 10)
_TEXTS = ("", "1", "true", "a", "b", "aa", "Z", "é", "it's", "😀", "\uffff", "a" * 300, "a" * 299 + "b")
_SCALARS = st.one_of(st.sampled_from(_NUMBERS), st.sampled_from(_TEXTS), st.booleans())
_LEAVES = st.one_of(st.none(), _SCALARS, st.lists(st.one_of(st.none(), _SCALARS), max_size=3))
_VALUES = st.recursive(
    _LEAVES, lambda inner: st.dictionaries(st.sampled_from(("a", "b", "c", "b.c")), inner, max_size=2), max_leaves=4
)
_METADATA = st.dictionaries(st.sampled_from(_FIELDS), _VALUES, max_size=4)
_BOUNDS = st.one_of(st.none(), st.sampled_from(_NUMBERS), st.sampled_from(_TEXTS))
_NAMES = st.sampled_from((*_FIELDS, "c", "a.a", "b.b.c", "."))
_CONDITIONS: st.SearchStrategy[Filter] = st.one_of(
    st.builds(Eq, _NAMES, _SCALARS),
    st.builds(In, _NAMES, st.lists(_SCALARS, max_size=4)),
    st.builds(Range, _NAMES, gte=_BOUNDS, gt=_BOUNDS, lte=_BOUNDS, lt=_BOUNDS),
    st.builds(Range, _NAMES, gte=st.sampled_from(_NUMBERS), lt=st.one_of(st.none(), st.sampled_from(_NUMBERS))),
    st.builds(Range, _NAMES, gt=st.one_of(st.none(), st.sampled_from(_TEXTS)), lte=st.sampled_from(_TEXTS)),
    st.builds(Exists, _NAMES),
    st.builds(Contains, _NAMES, _SCALARS),
)
_FILTERS: st.SearchStrategy[Filter] = st.recursive(
    _CONDITIONS,
    lambda inner: st.one_of(
        st.builds(And, st.lists(inner, max_size=3)),
        st.builds(Or, st.lists(inner, max_size=3)),
        st.builds(Not, inner),
    ),
    max_leaves=6,
)


class StoreConformance:
    """Inherit it in a test class, give `make_store`, and pytest runs every test on that store.

    Each test runs one scenario in one event loop, in a new folder; no pytest plugin is needed::

        class TestMyStore(StoreConformance):
            def make_store(self, folder):
                return MyStore(folder)
    """

    def make_store(self, folder: Path) -> VectorStore:
        """A store that keeps what it keeps in ``folder``; not asked anything yet."""
        raise NotImplementedError

    def run(self, folder: Path, scenario: Scenario) -> None:
        """Run ``scenario`` on a new store and close it."""

        async def main() -> None:
            store = self.make_store(folder)
            try:
                await scenario(store)
            finally:
                await store.close()

        asyncio.run(main())

    # ── what is stored comes back ──

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
                    assert await _ids(store, filter) == {text}
                assert await _ids(store, Contains("list", text)) == {text}
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
            await store.upsert([Document("a", "walrus", "u", {"n": 1}), Document("b", "b")], _unit(0, 1))
            await store.upsert([Document("a", "penguin", None, {"m": 2})], _unit(2))
            assert await store.count() == 2
            assert await store.get(["a"]) == [Document("a", "penguin", None, {"m": 2})]
            assert await store.search(text="walrus") == []
            assert [document.id for document in await store.search(text="penguin")] == ["a"]
            assert await _ids(store, Exists("n")) == set()
            found = await store.search(embedding=_unit(2)[0], k=1)
            assert (found[0].id, found[0].metadata["score"]) == ("a", pytest.approx(1))
            # Without a vector it is there for its words only.
            await store.upsert([Document("a", "seal")])
            assert [document.id for document in await store.search(embedding=_unit(2)[0])] == ["b"]

        self.run(tmp_path, scenario)

    def test_the_store_and_its_callers_share_nothing(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            document = Document("a", "cat", metadata={"deep": {"list": [1]}})
            vectors = _unit(0)
            await store.upsert([document], vectors)
            document.metadata["deep"]["list"].append(2)
            vectors[:] = _unit(1)
            for found in (
                *await store.get(["a"]),
                *await store.search(embedding=_unit(0)[0]),
                *await store.search(text="cat"),
                *await store.search(text="cat", embedding=_unit(0)[0]),
                *[each async for each in store.scan()],
            ):
                assert found.metadata["deep"] == {"list": [1]}
                found.metadata["deep"]["list"].append(3)
                found.text = "dog"
            assert await store.get(["a"]) == [Document("a", "cat", metadata={"deep": {"list": [1]}})]
            assert (await store.search(embedding=_unit(0)[0]))[0].metadata["score"] == pytest.approx(1)

        self.run(tmp_path, scenario)

    def test_delete_by_ids_and_by_filter(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document(str(n), "x", metadata={"n": n}) for n in range(10)], _unit(*[0] * 10))
            assert await store.delete(ids=["0", "1", "1", "no"]) == 2
            assert await store.delete(ids=[]) == 0
            assert await store.delete(filter=Range("n", lt=5)) == 3
            assert await store.delete(filter=Eq("n", 2)) == 0
            left = {"5", "6", "7", "8", "9"}
            assert await store.count() == 5
            assert {document.id async for document in store.scan()} == left
            assert {document.id for document in await store.search(text="x")} == left
            assert {document.id for document in await store.search(embedding=_unit(0)[0])} == left
            assert await store.delete(filter=And([])) == 5
            assert await store.count() == 0
            assert await store.search(text="x") == []

        self.run(tmp_path, scenario)

    def test_count_and_scan(self, tmp_path: Path) -> None:
        documents = [Document(str(n), f"text {n}", metadata={"even": n % 2 == 0}) for n in range(2500)]

        async def scenario(store: VectorStore) -> None:
            await store.upsert(documents)
            assert await store.count() == 2500
            assert await store.count(Eq("even", True)) == 1250
            by_id = {document.id: document async for document in store.scan()}
            assert [by_id[document.id] for document in documents] == documents
            assert await _ids(store, Eq("even", False)) == {str(n) for n in range(1, 2500, 2)}

        self.run(tmp_path, scenario)

    def test_a_scan_shows_the_store_as_it_was(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document(str(n), "old") for n in range(2500)])
            seen: list[Document] = []
            async for document in store.scan():
                if not seen:
                    await store.upsert([Document(str(n), "new") for n in range(1000, 3000)])
                    await store.delete(ids=[str(n) for n in range(500)])
                seen.append(document)
            assert len(seen) == 2500
            assert {document.text for document in seen} == {"old"}

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
            assert await store.search(text="cat") == []
            assert await store.search(embedding=_unit(0)[0]) == []
            assert await store.search(text="cat", embedding=_unit(0)[0]) == []
            await store.upsert([])
            await store.bind("embedder", 4)
            assert await store.search(text="cat", embedding=_unit(0)[0]) == []
            await store.close()
            await store.close()

        self.run(tmp_path, scenario)

    # ── filters ──

    def test_filters_mean_what_matches_says(self, tmp_path: Path) -> None:
        folders = (tmp_path / str(number) for number in itertools.count())

        @settings(max_examples=20, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
        @given(st.lists(_METADATA, min_size=1, max_size=12), st.lists(_FILTERS, min_size=12, max_size=12))
        def check(metadata: list[dict[str, Any]], filters: list[Filter]) -> None:
            documents = [Document(str(n), "cat", metadata=each) for n, each in enumerate(metadata)]

            async def scenario(store: VectorStore) -> None:
                await store.upsert(documents, _unit(*[0] * len(documents)))
                for filter in filters:
                    expected = {document.id for document in documents if matches(filter, document.metadata)}
                    assert await _ids(store, filter) == expected, filter
                    assert await store.count(filter) == len(expected), filter

            self.run(next(folders), scenario)

        check()

    def test_filters_come_before_the_ranking(self, tmp_path: Path) -> None:
        near, far = np.array([1, 0.01, 0, 0], dtype=np.float32), np.array([0, 1, 0, 0], dtype=np.float32)
        documents = [Document(str(n), "cat " * 5, metadata={"n": n}) for n in range(300)]
        documents += [Document(f"far{n}", "one cat among many other words", metadata={"n": -1}) for n in range(5)]

        async def scenario(store: VectorStore) -> None:
            await store.upsert(documents, np.array([near] * 300 + [far] * 5))
            await store.optimize()
            expected = {f"far{n}" for n in range(5)}
            for query in ({"embedding": near}, {"text": "cat"}, {"embedding": near, "text": "cat"}):
                found = await store.search(**query, k=5, filter=Eq("n", -1))
                assert {document.id for document in found} == expected
                assert [document.metadata["rank"] for document in found] == [1, 2, 3, 4, 5]
                found = await store.search(**query, k=500, filter=Not(Eq("n", -1)))
                assert len(found) == 300
                assert await store.search(**query, filter=Eq("n", -2)) == []

        self.run(tmp_path, scenario)

    def test_large_filters(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document(str(n), "x", metadata={"n": n}) for n in range(20)])
            assert await _ids(store, In("n", range(7, 5000))) == {str(n) for n in range(7, 20)}
            assert await store.count(Or([Eq("n", n) for n in range(0, 400, 2)])) == 10
            assert await store.count(Or([Range("n", gte=n, lt=n + 1) for n in range(0, 400, 2)])) == 10
            deep: Filter = Eq("n", 1)
            for _ in range(7):
                deep = Or([And([deep, Exists("n")]), Eq("n", 2)])
            assert await _ids(store, deep) == {"1", "2"}
            assert await _ids(store, Not(deep)) == {str(n) for n in range(20)} - {"1", "2"}

        self.run(tmp_path, scenario)

    # ── dense search ──

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
            everything = await store.search(embedding=vectors[0], k=10**12)
            assert len(everything) == 300
            _assert_ranked(everything)

        self.run(tmp_path, scenario)

    def test_equal_vectors_are_in_the_order_written(self, tmp_path: Path) -> None:
        random = np.random.default_rng(8)
        one, other = random.standard_normal((2, 19)).astype(np.float32)

        async def scenario(store: VectorStore) -> None:
            for start in range(0, 60, 20):
                rows = range(start, start + 20)
                await store.upsert([Document(f"d{n}", "") for n in rows], np.array([[other, one][n % 2] for n in rows]))
            expected = [f"d{n}" for n in range(1, 60, 2)]
            for k in (1, 7, 29, 30):
                found = await store.search(embedding=one, k=k)
                assert [document.id for document in found] == expected[:k]
            await store.optimize()
            assert [document.id for document in await store.search(embedding=one, k=13)] == expected[:13]

        self.run(tmp_path, scenario)

    def test_a_vector_of_zeros_points_nowhere(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document("zero", "cat"), Document("a", "dog")], _unit(None, 0))
            assert [document.id for document in await store.search(embedding=-_unit(0)[0])] == ["a"]
            assert [document.id for document in await store.search(text="cat")] == ["zero"]
            assert await store.search(embedding=np.zeros(4, dtype=np.float32)) == []
            found = await store.search(embedding=np.zeros(4, dtype=np.float32), text="cat")
            assert [document.id for document in found] == ["zero"]

        self.run(tmp_path, scenario)

    def test_documents_without_vectors(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document("words", "cat")])
            assert await store.search(embedding=_unit(0)[0]) == []
            await store.bind("embedder", 4)
            assert await store.search(embedding=_unit(0)[0]) == []
            await store.upsert([Document("both", "cat")], _unit(0))
            await store.upsert([Document("more words", "cat")])
            assert [document.id for document in await store.search(embedding=_unit(0)[0])] == ["both"]
            assert len(await store.search(text="cat")) == 3

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

    # ── lexical search ──

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
                _assert_ranked(found)
                assert len(await store.search(text="sings", k=4)) == 4
                await store.optimize()

        self.run(tmp_path, scenario)

    def test_words_are_found_whatever_their_form(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document("a", "The Café's WITH_statement runs (quickly)."), Document("b", "dogs")])
            for text in ("cafe", "CAFÉ", "running", "with", "statements", "quickly?"):
                assert [document.id for document in await store.search(text=text)] == ["a"], text
            for text in ("caf", "???", "\x00", "unheard"):
                assert await store.search(text=text) == [], text

        self.run(tmp_path, scenario)

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

        self.run(tmp_path, scenario)

    def test_equal_texts_are_in_the_order_written(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            for start in range(0, 60, 20):
                await store.upsert([Document(f"d{n}", ["cat and dog", "cat"][n % 2]) for n in range(start, start + 20)])
            expected = [f"d{n}" for n in range(1, 60, 2)]
            for k in (1, 7, 29, 30):
                assert [document.id for document in await store.search(text="cat", k=k)] == expected[:k]
            await store.optimize()
            assert [document.id for document in await store.search(text="cat", k=13)] == expected[:13]

        self.run(tmp_path, scenario)

    # ── hybrid search, scores ──

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
            _assert_ranked(found)
            assert len(await store.search(embedding=np.array([1, 0], dtype=np.float32), text="cat", k=1)) == 1

        self.run(tmp_path, scenario)

    def test_min_score(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document("a", "cat"), Document("b", "dog")], _unit(0, 1))
            query = _unit(0)[0]
            assert [each.id for each in await store.search(embedding=query, min_score=0.5)] == ["a"]
            assert len(await store.search(embedding=query, min_score=-1)) == 2
            assert await store.search(text="cat", min_score=1e9) == []
            assert await store.search(text="cat", embedding=query, min_score=1) == []

        self.run(tmp_path, scenario)

    # ── mistakes ──

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
            _unit(0, 1, 2),
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
            await store.upsert([kept], _unit(0))
            for bad in bad_documents:
                with pytest.raises(ConfigurationError):
                    await store.upsert([new, changed, bad])
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
            await store.upsert([Document("a", "")], _unit(0))
            assert len(await store.search(embedding=_unit(0)[0])) == 1

        self.run(tmp_path, scenario)

    def test_searches_that_make_no_sense(self, tmp_path: Path) -> None:
        vector = _unit(0)[0]
        bad: list[dict[str, Any]] = [
            {},
            {"k": 3},
            {"text": ""},
            {"text": " \n"},
            {"text": 3},
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
            {"text": "cat", "filter": "a = 1"},
            {"text": "cat", "filter": Eq("", 1)},
            {"embedding": vector, "filter": Eq("a", None)},  # type: ignore[arg-type]
            {"embedding": vector, "filter": And([Eq("a", n) for n in range(2000)])},
            {"embedding": vector, "filter": Or([Eq("a", 1), Not(Range("a", lt=float("inf")))])},
        ]

        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document("a", "cat")], _unit(0))
            for query in bad:
                with pytest.raises(ConfigurationError):
                    await store.search(**query)
            with pytest.raises(EmbedderMismatchError, match=r"dimension 4.*dimension 3"):
                await store.search(embedding=np.ones(3, dtype=np.float32))
            with pytest.raises(EmbedderMismatchError):
                await store.search(embedding=np.ones(3, dtype=np.float32), text="cat")
            for filter in (Eq("", 1), "a = 1"):
                with pytest.raises(ConfigurationError):
                    await store.count(filter)  # type: ignore[arg-type]
                with pytest.raises(ConfigurationError):
                    await store.delete(filter=filter)  # type: ignore[arg-type]
                with pytest.raises(ConfigurationError):
                    await anext(store.scan(filter))  # type: ignore[arg-type]
            for arguments in ({}, {"ids": ["a"], "filter": Eq("a", 1)}, {"ids": "a"}, {"ids": [""]}, {"ids": [1]}):
                with pytest.raises(ConfigurationError):
                    await store.delete(**arguments)
            with pytest.raises(ConfigurationError):
                await store.get("a")
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

    def test_vectors_before_bind_decide_the_dimension(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.upsert([Document("a", "")], _unit(0))
            with pytest.raises(EmbedderMismatchError):
                await store.upsert([Document("b", "")], np.ones((1, 3), dtype=np.float32))
            with pytest.raises(EmbedderMismatchError):
                await store.bind("embedder", 3)
            await store.bind("embedder", 4)
            with pytest.raises(EmbedderMismatchError):
                await store.bind("another", 4)
            assert len(await store.search(embedding=_unit(0)[0])) == 1

        self.run(tmp_path, scenario)

    # ── many at once, interruptions, another time ──

    def test_readers_and_writers_at_once(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.bind("embedder", 4)

            async def write(writer: int) -> None:
                for version in range(5):
                    batch = [
                        Document(f"{writer}-{n}", "cat", metadata={"writer": writer, "version": version})
                        for n in range(5)
                    ]
                    await store.upsert(batch, _unit(*[writer] * 5))

            async def read() -> None:
                for _ in range(5):
                    versions: dict[int, list[int]] = {}
                    async for document in store.scan():
                        versions.setdefault(document.metadata["writer"], []).append(document.metadata["version"])
                    for seen in versions.values():
                        assert len(seen) == 5, "a batch is there as a whole"
                        assert len(set(seen)) == 1, "and of one upsert"
                    _assert_ranked(await store.search(text="cat", embedding=_unit(0)[0], k=50))

            async with asyncio.TaskGroup() as group:
                for writer in range(3):
                    group.create_task(write(writer))
                for _ in range(3):
                    group.create_task(read())
            assert await store.count() == 15
            assert await store.count(Eq("version", 4)) == 15

        self.run(tmp_path, scenario)

    def test_cancelled_calls_leave_a_working_store(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            documents = [Document(str(n), "cat " * 50) for n in range(500)]
            await store.upsert(documents, _unit(*[0] * 500))
            for steps in range(8):
                calls = [
                    asyncio.create_task(call)
                    for call in (
                        store.search(text="cat", embedding=_unit(0)[0]),
                        store.search(text="cat"),
                        store.upsert([Document(f"new{steps}-{n}", "dog") for n in range(10)], _unit(*[1] * 10)),
                    )
                ]
                for _ in range(steps):
                    await asyncio.sleep(0)
                for task in calls:
                    task.cancel()
                outcomes = await asyncio.gather(*calls, return_exceptions=True)
                for outcome in outcomes:
                    assert not isinstance(outcome, BaseException) or isinstance(outcome, asyncio.CancelledError)
            await store.upsert([Document("last", "walrus")], _unit(2))
            assert [document.id for document in await store.search(text="walrus")] == ["last"]
            assert [document.id for document in await store.search(embedding=_unit(2)[0], k=1)] == ["last"]
            new = await store.count() - 501
            assert new % 10 == 0, "no part of a batch"

        self.run(tmp_path, scenario)

    def test_one_store_in_two_event_loops(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)

        async def write(start: int) -> None:
            async with asyncio.TaskGroup() as group:
                for n in range(start, start + 3):
                    group.create_task(store.upsert([Document(str(n), "cat")], _unit(0)))

        async def read() -> None:
            assert await store.count() == 6
            assert len(await store.search(text="cat", embedding=_unit(0)[0])) == 6
            await store.close()

        asyncio.run(write(0))
        asyncio.run(write(3))
        asyncio.run(read())


class DurableStoreConformance(StoreConformance):
    """The same, and more, for a store that keeps what it has in a folder: made again there, it has it."""

    def test_a_store_made_again_has_everything(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            documents = [Document("a", "the cat", "u", {"n": 1}), Document("b", "dog", metadata={"n": 2})]
            await store.bind("embedder", 4)
            await store.upsert(documents, _unit(0, 1))
            await store.close()
            again = self.make_store(tmp_path)
            assert await again.get(["a", "b"]) == documents
            assert [document.id for document in await again.search(text="cats")] == ["a"]
            assert [document.id for document in await again.search(embedding=_unit(1)[0], k=1)] == ["b"]
            assert await _ids(again, Range("n", gt=1)) == {"b"}
            with pytest.raises(EmbedderMismatchError):
                await again.bind("another", 4)
            await again.bind("embedder", 4)
            await again.close()

        self.run(tmp_path, scenario)


async def _ids(store: VectorStore, filter: Filter) -> set[str]:
    return {document.id async for document in store.scan(filter)}


def _unit(*axes: int | None) -> Matrix:
    """A row for each axis of four: 1 on it, else 0; all 0 for None."""
    return np.array([[float(column == axis) for column in range(4)] for axis in axes], dtype=np.float32)


def _assert_ranked(documents: Sequence[Document]) -> None:
    scores = [document.metadata["score"] for document in documents]
    assert all(isinstance(score, float) for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert [document.metadata["rank"] for document in documents] == list(range(1, len(documents) + 1))
