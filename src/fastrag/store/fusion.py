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
    return fused(
        {
            name: [(document, document.metadata.get("score")) for document in ranking]
            for name, ranking in rankings.items()
        },
        rrf_k=rrf_k,
        limit=limit,
    )


def fused(
    rankings: Mapping[str, Sequence[tuple[Document, float | None]]], *, rrf_k: int = RRF_K, limit: int | None = None
) -> list[Document]:
    """`reciprocal_rank_fusion` of Documents whose scores stand beside them, None for one without."""
    # A search fuses hundreds to return ten: nothing is copied before it is known which.
    sums: dict[str, float] = {}
    documents: dict[str, Document] = {}
    for ranking in rankings.values():
        met: set[str] = set()
        for rank, (document, _) in enumerate(ranking, start=1):
            key = document.id
            if key not in met:
                met.add(key)
                sums[key] = sums.get(key, 0.0) + 1 / (rrf_k + rank)
                documents.setdefault(key, document)
    # sorted() is stable and dicts keep first appearance, which is the order promised for equal scores.
    best = sorted(sums, key=sums.__getitem__, reverse=True)[:limit]
    ranks: dict[str, dict[str, int]] = {key: {} for key in best}
    scores: dict[str, dict[str, float]] = {key: {} for key in best}
    for name, ranking in rankings.items():
        for rank, (document, score) in enumerate(ranking, start=1):
            if document.id in ranks and name not in ranks[document.id]:
                ranks[document.id][name] = rank
                if score is not None:
                    scores[document.id][name] = score
    return [
        Document(
            key,
            documents[key].text,
            documents[key].uri,
            {
                **copied_metadata(documents[key].metadata),
                "score": sums[key],
                "rank": rank,
                "scores": scores[key],
                "ranks": ranks[key],
            },
        )
        for rank, key in enumerate(best, start=1)
    ]
