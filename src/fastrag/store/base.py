"""What every vector store is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass

from fastrag._support.checks import require_positive_int, require_text
from fastrag._support.concurrency import run_together
from fastrag.document import Document
from fastrag.embedding.base import Matrix, Vector
from fastrag.errors import ConfigurationError, EmbedderMismatchError
from fastrag.store.checks import checked_min_score, copied_metadata, unit_vector
from fastrag.store.filters import Filter, check_filter
from fastrag.store.fusion import fused

HYBRID_CANDIDATES = 100
"""How many Documents each half of a hybrid search brings to the fusion, unless ``k`` asks for more."""


class VectorStore(ABC):
    """Keeps Documents with their vectors and finds them by vector, by words (BM25), or by both.

    Everything is async; an engine that blocks is called in a thread. Calls may overlap. A Document is
    identified by its ``id``: writing it again replaces it. What a search returns are new Documents. Metadata
    is JSON-like (texts as keys; texts, ints, finite floats, bools, None, lists and mappings as values) and
    comes back as it was.

    One place (a folder, a database, a server) holds several corpora apart as namespaces; a store is one of them
    and sees nothing of the others. Each has its own Documents, embedder and word statistics.

    A vector of zeros points nowhere: a Document stored with one is kept, and found by its words only; a
    search with one finds nothing.

    An implementation gives `search_dense` and `search_lexical`; `search` checks the arguments, fuses and
    ranks.
    """

    @property
    @abstractmethod
    def namespace(self) -> str:
        """Which corpus of its place this store is: ``"default"`` unless another was given."""

    @abstractmethod
    async def namespaces(self) -> list[str]:
        """The namespaces there are in this store's place, in order of their names; one that was never written
        to, or was dropped, is not among them.

        Raises:
            StoreError: The engine failed.
        """

    @abstractmethod
    async def drop(self) -> None:
        """Remove this namespace and everything in it, its binding too; harmless where it is not there.

        What is written afterwards begins a new one.

        Raises:
            StoreError: The engine failed.
        """

    @abstractmethod
    async def bind(self, embedder_id: str, dimension: int) -> None:
        """Record which embedder the vectors come from; the first call decides, later ones must agree.

        Raises:
            ConfigurationError: ``embedder_id`` is empty or ``dimension`` is below 1.
            EmbedderMismatchError: The store is bound to another embedder or dimension; says which.
        """

    @abstractmethod
    async def binding(self) -> Binding | None:
        """Which embedder the vectors come from; None for a store that is not bound, or not there yet.

        Raises:
            StoreError: The engine failed.
        """

    async def check_binding(self, embedder_id: str, dimension: int) -> None:
        """Refuse another embedder than the one that the vectors come from, and write nothing.

        A store that is not bound, or not there yet, refuses none, and is not bound by this.

        Raises:
            ConfigurationError: ``embedder_id`` is empty or ``dimension`` is below 1.
            EmbedderMismatchError: The store is bound to another embedder or dimension; says which.
            StoreError: The engine failed.
        """
        agreed_binding(await self.binding(), embedder_id, dimension)

    @abstractmethod
    async def upsert(self, documents: Sequence[Document], embeddings: Matrix | None = None) -> None:
        """Add the Documents, replacing those whose id is already there.

        All of them or none, where the engine can: a store whose engine cannot says so. What this has returned
        from is there for every later call of any process.

        Args:
            documents: Ids must be distinct and not empty. The store keeps copies.
            embeddings: One finite row a Document; None stores them for lexical search only. In a store that
                is not bound, the first rows decide the dimension.

        Raises:
            ConfigurationError: Duplicate or empty ids, metadata that is not JSON-like, rows that are not
                finite or not as many as the Documents.
            EmbedderMismatchError: Rows of another dimension than the store's.
            StoreError: The engine failed.
        """

    @abstractmethod
    async def delete(self, *, ids: Sequence[str] | None = None, filter: Filter | None = None) -> int:
        """Remove by ids or by filter (exactly one of the two) and say how many were removed.

        Raises:
            ConfigurationError: Neither or both are given, or one is malformed.
            StoreError: The engine failed.
        """

    @abstractmethod
    async def get(self, ids: Sequence[str]) -> list[Document]:
        """The Documents with these ids, in the order asked; ids that are not there are left out.

        Raises:
            ConfigurationError: An id cannot be one.
            StoreError: The engine failed.
        """

    @abstractmethod
    async def get_embeddings(self, ids: Sequence[str]) -> dict[str, Vector]:
        """Id -> vector as it is stored: float32 of L2 norm 1 up to rounding.

        Ids that are not there, and those stored without a vector or with one of zeros, are left out.

        Raises:
            ConfigurationError: An id cannot be one.
            StoreError: The engine failed.
        """

    @abstractmethod
    async def count(self, filter: Filter | None = None) -> int:
        """How many Documents there are (that satisfy ``filter``).

        Raises:
            ConfigurationError: ``filter`` is malformed.
            StoreError: The engine failed.
        """

    @abstractmethod
    def scan(self, filter: Filter | None = None) -> AsyncIterator[Document]:
        """Every Document (that satisfies ``filter``), in no particular order, in bounded memory.

        Documents that are neither written nor removed meanwhile are there exactly once. What is written while it
        runs may be shown as it was or as it is; a store that keeps a snapshot for its scans says so.

        Raises:
            ConfigurationError: ``filter`` is malformed.
            StoreError: The engine failed.
        """

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

        Args:
            embedding: A finite vector of the store's dimension. A store without vectors finds nothing.
            text: Plain words, no query language; a text without any word in it finds nothing.
            k: How many to return at the most.
            filter: Only Documents whose metadata satisfies it; it is applied before the ranking.
            min_score: Leaves out what scores below it, on the scale of the kind of search made.

        Returns:
            At most ``k`` new Documents, best first, ``metadata["score"]`` higher is closer and
            ``metadata["rank"]`` from 1. Equal scores keep a stable order. Dense scores are cosine similarity,
            -1 to 1; lexical ones are the engine's BM25, above 0; hybrid ones reciprocal rank sums, with those
            of the two halves in ``metadata["scores"]`` and ``metadata["ranks"]`` (keys ``dense`` and
            ``lexical``).

        Raises:
            ConfigurationError: Neither is given, ``text`` is empty, ``k`` is below 1, or an argument is
                malformed.
            EmbedderMismatchError: ``embedding`` has another dimension than the store's.
            StoreError: The engine failed.
        """
        require_positive_int("k", k)
        check_filter(filter)
        min_score = checked_min_score(min_score)
        vector = None if embedding is None else unit_vector(embedding)
        if text is not None:
            require_text("text", text)
        if vector is not None and text is not None:
            candidates = max(k, HYBRID_CANDIDATES)
            dense, lexical = await run_together(
                self.search_dense(vector, candidates, filter), self.search_lexical(text, candidates, filter)
            )
            found = fused({"dense": dense, "lexical": lexical}, limit=k)
        elif vector is not None:
            found = ranked(await self.search_dense(vector, k, filter))
        elif text is not None:
            found = ranked(await self.search_lexical(text, k, filter))
        else:
            raise ConfigurationError("a search needs an embedding, a text, or both")
        if min_score is None:
            return found
        return [document for document in found if document.metadata["score"] >= min_score]

    @abstractmethod
    async def search_dense(self, embedding: Vector, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        """The ``k`` Documents closest by cosine similarity, best first; called with checked arguments.

        Args:
            embedding: Float32 of L2 norm 1, or all zeros, for which there is nothing to find.
            k: At least 1.
            filter: Applied before the ranking.

        Raises:
            EmbedderMismatchError: ``embedding`` has another dimension than the store's.
            StoreError: The engine failed.
        """

    @abstractmethod
    async def search_lexical(self, text: str, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        """The ``k`` Documents of highest BM25, best first; called with checked arguments.

        Raises:
            StoreError: The engine failed.
        """

    async def optimize(self) -> None:
        """Tidy up after bulk writes (compaction, index refresh). Harmless at any time.

        Raises:
            StoreError: The engine failed.
        """

    async def close(self) -> None:
        """Release files and connections. Harmless when called twice."""


def ranked(scored: Iterable[tuple[Document, float]]) -> list[Document]:
    """New Documents with ``score`` and ``rank`` (from 1) in their metadata, out of Documents with scores.

    >>> [document.metadata for document in ranked([(Document("a", ""), 0.5)])]
    [{'score': 0.5, 'rank': 1}]
    """
    return [
        Document(
            document.id,
            document.text,
            document.uri,
            {**copied_metadata(document.metadata), "score": score, "rank": rank},
        )
        for rank, (document, score) in enumerate(scored, start=1)
    ]


@dataclass(frozen=True, slots=True)
class Binding:
    """Which embedder a store's vectors come from.

    Attributes:
        embedder_id: None while only the dimension is known: vectors came before `VectorStore.bind`.
        dimension: How long the vectors are.
    """

    embedder_id: str | None
    dimension: int


def agreed_binding(bound: Binding | None, embedder_id: str, dimension: int) -> Binding:
    """The binding after ``bind(embedder_id, dimension)`` on a store whose binding is ``bound``.

    Raises:
        ConfigurationError: ``embedder_id`` is empty or ``dimension`` is below 1.
        EmbedderMismatchError: The store is bound to another embedder or dimension.
    """
    require_text("embedder_id", embedder_id)
    require_positive_int("dimension", dimension)
    asked = Binding(embedder_id, dimension)
    if bound is None or bound == Binding(None, dimension):
        return asked
    if bound != asked:
        built = f"the embedder {bound.embedder_id!r}" if bound.embedder_id else "an embedder that was not named"
        raise EmbedderMismatchError(
            f"the store was built with {built} of dimension {bound.dimension}, and was given "
            f"{embedder_id!r} of dimension {dimension}: use that embedder, or build a new store"
        )
    return bound
