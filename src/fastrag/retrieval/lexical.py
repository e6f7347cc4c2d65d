"""Retrieval by words."""

from __future__ import annotations

from fastrag._support.checks import require_positive_int
from fastrag.document import Document
from fastrag.retrieval.base import Retriever, checked_request
from fastrag.store.base import VectorStore
from fastrag.store.filters import Filter, check_filter, join


class LexicalRetriever(Retriever):
    """Returns the Documents that share words with the question, by BM25; its scores have no upper bound.

    The question is taken as plain words, never as query syntax. Documents that share no word with it are not
    returned, so there may be fewer than ``k``, or none.

    Args:
        store: Where the Documents are; they need no vectors.
        k: How many Documents a call returns unless it says otherwise.
        filter: Only Documents whose metadata satisfies it, in every call.

    Raises:
        ConfigurationError: ``k`` is below 1, or ``filter`` is malformed.

    >>> import asyncio
    >>> from fastrag.store import InMemoryStore
    >>> async def example():
    ...     store = InMemoryStore()
    ...     await store.upsert([Document("a", "The cat sat."), Document("b", "The dogs ran.")])
    ...     return [document.id for document in await LexicalRetriever(store).retrieve("Which dog?")]
    >>> asyncio.run(example())
    ['b']
    """

    def __init__(self, store: VectorStore, *, k: int = 10, filter: Filter | None = None) -> None:
        check_filter(filter)
        self._store = store
        self._k = require_positive_int("k", k)
        self._filter = filter

    async def retrieve(self, question: str, *, k: int | None = None, filter: Filter | None = None) -> list[Document]:
        """See `Retriever.retrieve`."""
        k = checked_request(question, k, self._k, filter)
        return await self._store.search(text=question, k=k, filter=join(self._filter, filter))
