"""Reciprocal rank fusion: one ranking out of several, by ranks alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fastrag._support.checks import require_positive_int
from fastrag.document import Document
from fastrag.store.checks import copied_metadata

RRF_K = 60
"""The constant of Cormack, Clarke and Buettcher (SIGIR 2009): no first place outweighs all the others."""


def reciprocal_rank_fusion(
    rankings: Mapping[str, Sequence[Document]], *, rrf_k: int = RRF_K, limit: int | None = None
) -> list[Document]:
    """Fuse named rankings: a Document's score is the sum of ``1 / (rrf_k + rank)`` over those that have it.

    Only positions count, so rankings with scores on unlike scales (cosine, BM25) can be fused. A Document
    that a ranking names twice counts there once, at its better place.

    Args:
        rankings: Each best first, by name. The Documents are matched by ``id``.
        rrf_k: The larger, the less a first place is worth over a tenth.
        limit: How many to return at the most; None returns all.

    Returns:
        New Documents, best first, whose metadata has the fused ``score`` and ``rank`` (from 1), and by
        ranking name, for the rankings that had the Document, ``ranks`` (from 1) and ``scores`` (where the
        Document came with one). Of the rest of the metadata, that of the first ranking is kept. Equal scores
        are in order of first appearance: the first ranking's from top to bottom, then the second's, and so
        on.

    Raises:
        ConfigurationError: ``rrf_k`` or ``limit`` is below 1.

    >>> dense = [Document("a", "", metadata={"score": 0.9}), Document("b", "", metadata={"score": 0.8})]
    >>> lexical = [Document("b", "", metadata={"score": 7.5})]
    >>> best, second = reciprocal_rank_fusion({"dense": dense, "lexical": lexical})
    >>> best.id, best.metadata["scores"], best.metadata["ranks"]
    ('b', {'dense': 0.8, 'lexical': 7.5}, {'dense': 2, 'lexical': 1})
    >>> best.metadata["score"] == 1 / 62 + 1 / 61
    True
    """
    require_positive_int("rrf_k", rrf_k)
    if limit is not None:
        require_positive_int("limit", limit)
    documents: dict[str, Document] = {}
    ranks: dict[str, dict[str, int]] = {}
    scores: dict[str, dict[str, float]] = {}
    for name, ranking in rankings.items():
        for rank, document in enumerate(ranking, start=1):
            places = ranks.setdefault(document.id, {})
            if name in places:
                continue
            places[name] = rank
            documents.setdefault(document.id, document)
            if "score" in document.metadata:
                scores.setdefault(document.id, {})[name] = document.metadata["score"]
    fused = {key: sum(1 / (rrf_k + rank) for rank in places.values()) for key, places in ranks.items()}
    # sorted() is stable and dicts keep first appearance, which is the order promised for equal scores.
    best = sorted(fused, key=fused.__getitem__, reverse=True)[:limit]
    return [
        Document(
            key,
            documents[key].text,
            documents[key].uri,
            {
                **copied_metadata(documents[key].metadata),
                "score": fused[key],
                "rank": rank,
                "scores": scores.get(key, {}),
                "ranks": ranks[key],
            },
        )
        for rank, key in enumerate(best, start=1)
    ]
