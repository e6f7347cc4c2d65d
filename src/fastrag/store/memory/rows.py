"""What a store in memory holds at one moment, and what it holds after a change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fastrag.document import Document
from fastrag.embedding.base import Matrix, Vector
from fastrag.store.base import Binding
from fastrag.store.checks import check_dimension
from fastrag.store.filters import Filter
from fastrag.store.memory.columns import Columns, Mask

_RESCORE_ROWS = 4096
# Copying rows out of the matrix takes about as long as multiplying three times as many in place.
_WORTH_COPYING = 4


@dataclass(frozen=True, slots=True)
class Rows:
    """The store at one moment. Rows are only ever added, so lists and arrays are shared with later moments.

    A Document that is written again gets a new row; `live` says which rows still count.
    """

    documents: list[Document]  # may have grown beyond `live`: later rows belong to later moments
    columns: Columns  # of the documents
    vectors: Matrix  # at least as many rows as `live`
    live: Mask
    pointed: Mask  # live, and with a vector that is not all zeros
    row_of: dict[str, int]
    binding: Binding | None
    generation: int  # counts the times rows were renumbered
    begun: bool = True  # something was written or bound since the store was made or dropped

    def bound(self, binding: Binding) -> Rows:
        """With ``binding``; before there are vectors, that makes room for them."""
        vectors = self.vectors
        if vectors.shape[1] != binding.dimension:
            vectors = np.zeros((len(self.live), binding.dimension), dtype=np.float32)
        return replace(self, vectors=vectors, binding=binding, begun=True)

    def with_documents(self, documents: Sequence[Document], embeddings: Matrix | None) -> Rows:
        """With these added, and those of their ids that were there gone."""
        start = len(self.live)
        end = start + len(documents)
        vectors = self.vectors
        if len(vectors) < end:
            vectors = np.zeros((max(end, 2 * start), vectors.shape[1]), dtype=np.float32)
            vectors[:start] = self.vectors[:start]
        pointed: Mask = np.zeros(len(documents), dtype=np.bool_)
        if embeddings is not None:
            vectors[start:end] = embeddings
            pointed = np.asarray(embeddings.any(axis=1))
        replaced = [self.row_of[document.id] for document in documents if document.id in self.row_of]
        self.documents.extend(documents)
        return replace(
            self,
            vectors=vectors,
            live=np.concatenate([_without(self.live, replaced), np.ones(len(documents), dtype=np.bool_)]),
            pointed=np.concatenate([_without(self.pointed, replaced), pointed]),
            row_of={**self.row_of, **{document.id: start + offset for offset, document in enumerate(documents)}},
            begun=True,
        ).less_sparse()

    def without_rows(self, rows: Sequence[int]) -> Rows:
        """With these gone."""
        gone = {self.documents[row].id for row in rows}
        return replace(
            self,
            live=_without(self.live, rows),
            pointed=_without(self.pointed, rows),
            row_of={key: row for key, row in self.row_of.items() if key not in gone},
        ).less_sparse()

    def less_sparse(self) -> Rows:
        """The same, compacted where most rows do not count any more."""
        return self.compacted() if 2 * len(self.row_of) < len(self.live) else self

    def compacted(self) -> Rows:
        """The same without the rows that do not count any more; the others are numbered anew."""
        rows = np.flatnonzero(self.live)
        if len(rows) == len(self.live):
            return self
        return rows_of(
            [self.documents[row] for row in rows.tolist()],
            self.vectors[rows],
            self.pointed[rows],
            self.binding,
            self.generation + 1,
        )

    def matching(self, among: Mask, filter: Filter | None) -> Mask:
        """Those ``among`` the rows that satisfy ``filter``."""
        return among if filter is None else among & self.columns.matching(filter, len(self.live))

    def nearest(self, embedding: Vector, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        """The ``k`` Documents closest by cosine similarity, best first; equal ones in the order of rows.

        Raises:
            EmbedderMismatchError: ``embedding`` has another dimension.
        """
        if self.binding is None:
            return []
        check_dimension(embedding.size, self.binding.dimension)
        if not embedding.any():
            return []
        rows = np.flatnonzero(self.matching(self.pointed, filter))
        if not len(rows):
            return []
        vectors = self.vectors[: len(self.live)]
        if _WORTH_COPYING * len(rows) < len(vectors):
            rough = vectors[rows] @ embedding
        else:
            rough = vectors @ embedding
            if len(rows) < len(vectors):
                rough = rough[rows]
        if k < len(rows):
            # A dot product of unit vectors in float32 is off by at most this much, whatever the order of
            # summation, and that order depends on the row. What could be among the best k is ranked again,
            # exactly.
            error = 2 * embedding.size * np.finfo(np.float32).eps
            kth = np.partition(rough, len(rows) - k)[len(rows) - k]
            rows = rows[rough >= kth - error]
        exact = np.concatenate(
            [
                (vectors[rows[start : start + _RESCORE_ROWS]] * embedding.astype(np.float64)).sum(axis=1)
                for start in range(0, len(rows), _RESCORE_ROWS)
            ]
        )
        best = np.lexsort((rows, -exact))[:k]
        scores = np.clip(exact[best], -1.0, 1.0).tolist()
        return [(self.documents[row], float(score)) for row, score in zip(rows[best].tolist(), scores, strict=True)]


def rows_of(
    documents: list[Document], vectors: Matrix, pointed: Mask, binding: Binding | None, generation: int
) -> Rows:
    """Rows that all count.

    Args:
        documents: Of distinct ids; the list is kept.
        vectors: One a Document.
        pointed: Which of them are not all zeros.
        binding: What they come from.
        generation: Another than that of any rows that were numbered otherwise.
    """
    return Rows(
        documents=documents,
        columns=Columns(documents),
        vectors=vectors,
        live=np.ones(len(documents), dtype=np.bool_),
        pointed=pointed,
        row_of={document.id: row for row, document in enumerate(documents)},
        binding=binding,
        generation=generation,
    )


def no_rows(generation: int) -> Rows:
    """Those of a store that was not begun."""
    none = rows_of([], np.zeros((0, 0), dtype=np.float32), np.zeros(0, dtype=np.bool_), None, generation)
    return replace(none, begun=False)


def _without(mask: Mask, rows: Iterable[int]) -> NDArray[np.bool_]:
    left = mask.copy()
    left[list(rows)] = False
    return left
