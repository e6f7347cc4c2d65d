"""Retrieval by the closeness of vectors."""

from __future__ import annotations

from fastrag._support.checks import require_positive_int
from fastrag.document import Document
from fastrag.embedding.base import Embedder
from fastrag.retrieval.base import Retriever, checked_request
from fastrag.store.base import VectorStore
from fastrag.store.filters import Filter, check_filter, join


class DenseRetriever(Retriever):
    """Embeds the question and returns the Documents whose vectors are closest; scores are cosine similarity.

    A store that is bound to another embedder is refused, so that questions are never compared with vectors of
    another model. A question writes nothing: it leaves a store that is not bound as it is.

    Args:
        store: Where the Documents are.
        embedder: The one whose vectors the store holds.
        k: How many Documents a call returns unless it says otherwise.
        filter: Only Documents whose metadata satisfies it, in every call.

    Raises:
        ConfigurationError: ``k`` is below 1, or ``filter`` is malformed.

    >>> import asyncio
    >>> from fastrag.store import InMemoryStore
    >>> from fastrag.testing import HashEmbedder
    >>> async def example():
    ...     store, embedder = InMemoryStore(), HashEmbedder()
    ...     texts = ["The cat sat.", "The dog ran."]
    ...     await store.upsert([Document(t, t) for t in texts], await embedder.embed_documents(texts))
    ...     found = await DenseRetriever(store, embedder, k=1).retrieve("Which dog ran?")
    ...     return [document.id for document in found]
    >>> asyncio.run(example())
    ['The dog ran.']
    """

    def __init__(self, store: VectorStore, embedder: Embedder, *, k: int = 10, filter: Filter | None = None) -> None:
        check_filter(filter)
        self._store = store
        self._embedder = embedder
        self._k = require_positive_int("k", k)
        self._filter = filter

    async def retrieve(self, question: str, *, k: int | None = None, filter: Filter | None = None) -> list[Document]:
        """See `Retriever.retrieve`.

        Raises:
            EmbedderMismatchError: The store holds another embedder's vectors.
        """
        k = checked_request(question, k, self._k, filter)
        embedding = await self._embedder.embed_query(question)
        await self._store.check_binding(self._embedder.id, len(embedding))
        return await self._store.search(embedding=embedding, k=k, filter=join(self._filter, filter))
