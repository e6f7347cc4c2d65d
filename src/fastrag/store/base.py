"""What every vector store is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence

from fastrag.document import Document
from fastrag.embedding.base import Matrix, Vector
from fastrag.store.filters import Filter


class VectorStore(ABC):
    """Keeps Documents with their vectors and finds them by vector, by words (BM25), or by both.

    Everything is async; an engine that blocks is called in a thread. Calls may overlap. A Document is identified
    by its ``id``: writing it again replaces it. What a search returns are new Documents.
    """

    @abstractmethod
    async def bind(self, embedder_id: str, dimension: int) -> None:
        """Record which embedder the vectors come from; the first call decides, later ones must agree.

        Raises:
            EmbedderMismatchError: The store is bound to another embedder or dimension; says which.
        """

    @abstractmethod
    async def upsert(self, documents: Sequence[Document], embeddings: Matrix | None = None) -> None:
        """Add the Documents, replacing those whose id is already there; all of them or none.

        Args:
            documents: Ids must be distinct and not empty.
            embeddings: One finite row a Document; None stores them for lexical search only.

        Raises:
            ConfigurationError: Duplicate or empty ids, or a row count that is not ``len(documents)``.
            EmbedderMismatchError: Rows of another dimension than the store's.
            StoreError: The engine failed.
        """

    @abstractmethod
    async def delete(self, *, ids: Sequence[str] | None = None, filter: Filter | None = None) -> int:
        """Remove by ids or by filter (exactly one of the two) and say how many were removed."""

    @abstractmethod
    async def get(self, ids: Sequence[str]) -> list[Document]:
        """The Documents with these ids, in the order asked; ids that are not there are left out."""

    @abstractmethod
    async def count(self, filter: Filter | None = None) -> int:
        """How many Documents there are (that satisfy ``filter``)."""

    @abstractmethod
    def scan(self, filter: Filter | None = None) -> AsyncIterator[Document]:
        """Every Document (that satisfies ``filter``), in no particular order, in bounded memory."""

    @abstractmethod
    async def search(
        self,
        *,
        embedding: Vector | None = None,
        text: str | None = None,
        k: int = 10,
        filter: Filter | None = None,
        min_score: float | None = None,
    ) -> list[Document]:
        """Dense search with ``embedding``, lexical (BM25) with ``text``, hybrid (RRF, k=60) with both.

        Returns:
            At most ``k`` new Documents, best first, ``metadata["score"]`` higher is closer and
            ``metadata["rank"]`` from 1. Equal scores keep a stable order. Dense scores are cosine similarity,
            -1 to 1; lexical ones are the engine's BM25, above 0; hybrid ones reciprocal rank sums.

        Raises:
            ConfigurationError: Neither is given, ``text`` is empty, or ``k`` is below 1.
            EmbedderMismatchError: ``embedding`` has another dimension than the store's.
            StoreError: The engine failed.
        """

    async def optimize(self) -> None:
        """Tidy up after bulk writes (compaction, index refresh). Harmless at any time; nothing to do by default."""

    async def close(self) -> None:
        """Release files and connections. Harmless when called twice."""
