"""Filters mean the same in every store."""

# ruff: noqa: D102 - the name of a test says what it checks

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fastrag.document import Document
from fastrag.store.base import VectorStore
from fastrag.store.filters import And, Contains, Eq, Exists, Filter, In, Not, Or, Range, matches
from fastrag.testing.store_conformance.case import StoreCase, stored_ids, unit

_FIELDS = ("a", "b", "a.b", "a.b.c", "it's", "ü")
_NUMBERS = (0, 1, -1, 1.0, -0.0, 0.5, -0.5, 2**53, 2**53 + 1, float(2**53), 2**64, -(2**70), 1e300, 5e-324, 10)
_TEXTS = ("", "1", "true", "a", "b", "aa", "Z", "é", "it's", "😀", "\uffff", "a" * 300, "a" * 299 + "b")
_VALUES_OF_EACH_KIND = (*_NUMBERS, *_TEXTS, True, False)
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


class FilterTests(StoreCase):
    """Filters against `matches`, and where they are applied."""

    def test_values_of_each_kind_are_equal_and_ordered_as_matches_says(self, tmp_path: Path) -> None:
        values: list[object] = [None, *_VALUES_OF_EACH_KIND, []]
        documents = [Document(str(n), "", metadata={"v": v, "list": [v]}) for n, v in enumerate(values)]

        async def scenario(store: VectorStore) -> None:
            await store.upsert(documents)
            for value in _VALUES_OF_EACH_KIND:
                filters: list[Filter] = [Eq("v", value), In("v", [value, "no"]), Contains("list", value)]
                if not isinstance(value, bool):
                    filters += [Range("v", gte=value), Range("v", lt=value)]
                for filter in filters:
                    expected = {document.id for document in documents if matches(filter, document.metadata)}
                    assert await stored_ids(store, filter) == expected, filter

        self.run(tmp_path, scenario)

    def test_filters_mean_what_matches_says(self, tmp_path: Path) -> None:
        @settings(max_examples=20, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
        @given(st.lists(_METADATA, min_size=1, max_size=12), st.lists(_FILTERS, min_size=12, max_size=12))
        def check(metadata: list[dict[str, Any]], filters: list[Filter]) -> None:
            documents = [Document(str(n), "cat", metadata=each) for n, each in enumerate(metadata)]

            async def scenario(store: VectorStore) -> None:
                # One place for all examples: a server takes long to make one.
                await store.delete(filter=And([]))
                await store.upsert(documents, unit(*[0] * len(documents)))
                for filter in filters:
                    expected = {document.id for document in documents if matches(filter, document.metadata)}
                    assert await stored_ids(store, filter) == expected, filter
                    assert await store.count(filter) == len(expected), filter

            self.run(tmp_path, scenario)

        check()

    def test_filters_come_before_the_ranking(self, tmp_path: Path) -> None:
        near, far = np.array([1, 0.01, 0, 0], dtype=np.float32), np.array([0, 1, 0, 0], dtype=np.float32)
        documents = [Document(str(n), "cat " * 5, metadata={"n": n}) for n in range(300)]
        documents += [Document(f"far{n}", "one cat among many other words", metadata={"n": -1}) for n in range(5)]

        async def scenario(store: VectorStore) -> None:
            await store.upsert(documents, np.array([near] * 300 + [far] * 5))
            await store.optimize()
            expected = {f"far{n}" for n in range(5)}
            for query in self.queries("cat", near):
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
            assert await stored_ids(store, In("n", range(7, 5000))) == {str(n) for n in range(7, 20)}
            assert await store.count(Or([Eq("n", n) for n in range(0, 400, 2)])) == 10
            assert await store.count(Or([Range("n", gte=n, lt=n + 1) for n in range(0, 400, 2)])) == 10
            deep: Filter = Eq("n", 1)
            for _ in range(7):
                deep = Or([And([deep, Exists("n")]), Eq("n", 2)])
            assert await stored_ids(store, deep) == {"1", "2"}
            assert await stored_ids(store, Not(deep)) == {str(n) for n in range(20)} - {"1", "2"}

        self.run(tmp_path, scenario)
