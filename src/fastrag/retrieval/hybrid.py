"""Retrieval by several retrievers at once."""

from __future__ import annotations

from collections.abc import Mapping

from fastrag._support.checks import require_positive_int
from fastrag._support.concurrency import run_together
from fastrag.document import Document
from fastrag.embedding.base import Embedder
from fastrag.errors import ConfigurationError
from fastrag.retrieval.base import Retriever, checked_request
from fastrag.retrieval.dense import DenseRetriever
from fastrag.retrieval.lexical import LexicalRetriever
from fastrag.store.base import HYBRID_CANDIDATES, VectorStore
from fastrag.store.filters import Filter, check_filter, join
from fastrag.store.fusion import RRF_K, reciprocal_rank_fusion


class HybridRetriever(Retriever):
    """Asks several retrievers at once and fuses their rankings by reciprocal rank (RRF).

    A Document's score is the sum of ``1 / (rrf_k + rank)`` over the retrievers that found it, so retrievers
    whose scores are on unlike scales can be joined. Its metadata keeps what each retriever gave it, by the
    retriever's name: ``metadata["scores"]`` and ``metadata["ranks"]``. Equal scores are in order of first
    appearance.

    Args:
        retrievers: By name, at least two.
        k: How many Documents a call returns unless it says otherwise.
        candidates: How many Documents each retriever is asked for; at least as many as are to be returned
            are.
        rrf_k: The larger, the less a first place is worth over a tenth.
        filter: Only Documents whose metadata satisfies it, in every call.

    Raises:
        ConfigurationError: There are fewer than two retrievers, a number is below 1, or ``filter`` is
            malformed.

    >>> import asyncio
    >>> from fastrag.store import InMemoryStore
    >>> from fastrag.testing import HashEmbedder
    >>> async def example():
    ...     store, embedder = InMemoryStore(), HashEmbedder()
    ...     texts = ["The cat sat.", "The dogs ran."]
    ...     await store.upsert([Document(t, t) for t in texts], await embedder.embed_documents(texts))
    ...     return (await HybridRetriever.of(store, embedder).retrieve("Which dog ran?"))[0]
    >>> best = asyncio.run(example())
    >>> best.id, best.metadata["ranks"]
    ('The dogs ran.', {'dense': 1, 'lexical': 1})
    """

    def __init__(
        self,
        retrievers: Mapping[str, Retriever],
        *,
        k: int = 10,
        candidates: int = HYBRID_CANDIDATES,
        rrf_k: int = RRF_K,
        filter: Filter | None = None,
    ) -> None:
        if not isinstance(retrievers, Mapping) or len(retrievers) < 2:
            raise ConfigurationError(
                f"a HybridRetriever needs a mapping of at least two retrievers by name, and was given {retrievers!r}"
            )
        check_filter(filter)
        self._retrievers = dict(retrievers)
        self._k = require_positive_int("k", k)
        self._candidates = require_positive_int("candidates", candidates)
        self._rrf_k = require_positive_int("rrf_k", rrf_k)
        self._filter = filter

    @classmethod
    def of(
        cls,
        store: VectorStore,
        embedder: Embedder,
        *,
        k: int = 10,
        candidates: int = HYBRID_CANDIDATES,
        rrf_k: int = RRF_K,
        filter: Filter | None = None,
    ) -> HybridRetriever:
        """The usual two, named ``dense`` and ``lexical``, over one store."""
        retrievers = {"dense": DenseRetriever(store, embedder), "lexical": LexicalRetriever(store)}
        return cls(retrievers, k=k, candidates=candidates, rrf_k=rrf_k, filter=filter)

    async def retrieve(self, question: str, *, k: int | None = None, filter: Filter | None = None) -> list[Document]:
        """See `Retriever.retrieve`. If one of the retrievers fails, so does this."""
        k = checked_request(question, k, self._k, filter)
        candidates = max(k, self._candidates)
        joined = join(self._filter, filter)
        rankings = await run_together(
            *(retriever.retrieve(question, k=candidates, filter=joined) for retriever in self._retrievers.values())
        )
        named = dict(zip(self._retrievers, rankings, strict=True))
        return reciprocal_rank_fusion(named, rrf_k=self._rrf_k, limit=k)
