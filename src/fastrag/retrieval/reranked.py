"""Retrieval in two stages: many candidates cheaply, then the best of them carefully."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, Protocol

from fastrag._support.checks import require_positive_int
from fastrag.document import Document
from fastrag.errors import ConfigurationError, ModelError
from fastrag.retrieval.base import Retriever, checked_request
from fastrag.store.base import ranked
from fastrag.store.filters import Filter

FIRST_STAGE = "first_stage"
"""The name in ``metadata["scores"]`` and ``metadata["ranks"]`` of what the first stage gave."""


class Reranker(Protocol):
    """Scores Documents against a question: a cross-encoder, an LLM, a rule. Any object with this method is
    one."""

    async def rerank(self, question: str, documents: Sequence[Document]) -> Sequence[float]:
        """One finite score a Document, in their order; higher is better. ``documents`` is never empty."""


class RerankedRetriever(Retriever):
    """Takes candidates from a retriever and puts them in the order of a reranker's scores.

    The score becomes ``metadata["score"]``; what the first stage gave is kept in ``metadata["scores"]`` and
    ``metadata["ranks"]`` under ``first_stage``, beside what was in them. Equal scores keep the first stage's
    order.

    Args:
        retriever: The first stage.
        reranker: Gives the scores.
        candidates: How many Documents the first stage is asked for; at least as many as are to be returned
            are.
        k: How many Documents a call returns unless it says otherwise.

    Raises:
        ConfigurationError: ``candidates`` or ``k`` is below 1.

    >>> import asyncio
    >>> from fastrag.retrieval import LexicalRetriever
    >>> from fastrag.store import InMemoryStore
    >>> class ShortestFirst:
    ...     async def rerank(self, question, documents):
    ...         return [-len(document.text) for document in documents]
    >>> async def example():
    ...     store = InMemoryStore()
    ...     await store.upsert([Document("a", "A cat, a cat and a cat."), Document("b", "A cat.")])
    ...     found = await RerankedRetriever(LexicalRetriever(store), ShortestFirst()).retrieve("cat")
    ...     return [(document.id, document.metadata["score"]) for document in found]
    >>> asyncio.run(example())
    [('b', -6.0), ('a', -23.0)]
    """

    def __init__(self, retriever: Retriever, reranker: Reranker, *, candidates: int = 50, k: int = 10) -> None:
        self._retriever = retriever
        self._reranker = reranker
        self._candidates = require_positive_int("candidates", candidates)
        self._k = require_positive_int("k", k)

    async def retrieve(self, question: str, *, k: int | None = None, filter: Filter | None = None) -> list[Document]:
        """See `Retriever.retrieve`.

        Raises:
            ConfigurationError: The reranker is not async.
            ModelError: The reranker gave something else than one finite number a Document.
        """
        k = checked_request(question, k, self._k, filter)
        found = await self._retriever.retrieve(question, k=max(k, self._candidates), filter=filter)
        if not found:
            return []
        # A list of its own: whatever the reranker does to it, scores and Documents stay in step.
        reply = self._reranker.rerank(question, list(found))
        if not inspect.isawaitable(reply):
            raise ConfigurationError(
                f"a reranker's method must be `async def rerank`, and {type(self._reranker).__name__}'s is not"
            )
        scores = _checked_scores(await reply, len(found))
        # sorted() is stable, which keeps the first stage's order among equal scores.
        best = sorted(zip(found, scores, strict=True), key=lambda pair: pair[1], reverse=True)[:k]
        reranked = ranked(best)
        for document, (candidate, _) in zip(reranked, best, strict=True):
            for kind in ("score", "rank"):
                before = candidate.metadata.get(f"{kind}s")
                earlier = before if isinstance(before, dict) else {}
                document.metadata[f"{kind}s"] = {**earlier, FIRST_STAGE: candidate.metadata.get(kind)}
        return reranked


def _checked_scores(scores: Sequence[float], expected: int) -> list[float]:
    try:
        values: list[Any] = list(scores)
    except TypeError as error:
        raise ModelError(f"a reranker must give a list of scores, not {scores!r}") from error
    if len(values) != expected:
        raise ModelError(f"a reranker must give one score a Document: {expected}, not {len(values)}")
    return [_checked_score(value, position) for position, value in enumerate(values)]


def _checked_score(value: Any, position: int) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ModelError(f"a reranker's scores must be numbers, and number {position} is {value!r}")
    try:
        score = float(value)
    except OverflowError as error:
        raise ModelError(f"a reranker's scores must be finite, and number {position} is too large: {error}") from error
    if not math.isfinite(score):
        raise ModelError(f"a reranker's scores must be finite, and number {position} is {score!r}")
    return score
