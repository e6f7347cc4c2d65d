"""What the conformance tests of stores have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fastrag.document import Document
from fastrag.embedding.base import Matrix, Vector
from fastrag.store.base import VectorStore
from fastrag.store.filters import Filter

Scenario = Callable[[VectorStore], Awaitable[None]]


class StoreCase:
    """Makes a store and runs a scenario on it.

    Attributes:
        scans_a_snapshot: True for a store whose scans show nothing of what is changed while they run.
        has_lexical_search: False for a store whose engine has none; a search by words is refused there.
    """

    scans_a_snapshot = False
    has_lexical_search = True

    def make_store(self, folder: Path, namespace: str = "default") -> VectorStore:
        """A store of ``namespace`` that keeps what it keeps in ``folder``; not asked anything yet.

        A store of a server takes another database, or prefix, for each folder.
        """
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

    async def check_found_by_words(self, store: VectorStore, text: str, expected: Collection[str]) -> None:
        """Check that a search for ``text`` finds the Documents of these ids, where the store has such a search."""
        if self.has_lexical_search:
            assert {document.id for document in await store.search(text=text)} == set(expected)

    def queries(self, text: str, embedding: Vector) -> list[dict[str, Any]]:
        """A search of each kind that the store has, as arguments."""
        dense: dict[str, Any] = {"embedding": embedding}
        return [dense, {"text": text}, {"text": text, **dense}] if self.has_lexical_search else [dense]


async def stored_ids(store: VectorStore, filter: Filter) -> set[str]:
    """The ids of the Documents that satisfy ``filter``."""
    return {document.id async for document in store.scan(filter)}


def unit(*axes: int | None) -> Matrix:
    """A row for each axis of four: 1 on it, else 0; all 0 for None."""
    return np.array([[float(column == axis) for column in range(4)] for axis in axes], dtype=np.float32)


def assert_ranked(documents: Sequence[Document]) -> None:
    """Check scores and ranks of a search's result, whatever its kind."""
    scores = [document.metadata["score"] for document in documents]
    assert all(isinstance(score, float) for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert [document.metadata["rank"] for document in documents] == list(range(1, len(documents) + 1))
