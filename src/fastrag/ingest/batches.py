"""From what is prepared for sources to batches with their vectors."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import numpy as np

from fastrag.document import Document
from fastrag.embedding.base import Embedder, Matrix
from fastrag.embedding.checks import checked_vectors
from fastrag.errors import ServiceRejectedError
from fastrag.ingest.preparing import Prepared

# Refused by nobody but who refuses everything.
_HARMLESS_TEXT = "text"


@dataclass(slots=True)
class Piece:
    """Chunks of one source, from number ``start`` on, that are embedded together with those of others.

    ``vectors`` has a row for each chunk, and is None where there is no embedder, or ``prepared`` has failed.
    """

    prepared: Prepared
    start: int
    chunks: list[Document]
    is_last: bool
    vectors: Matrix | None = None


async def batches(sources: AsyncGenerator[Prepared, None], *, size: int) -> AsyncGenerator[list[Piece], None]:
    """Cut the chunks of ``sources`` into batches of ``size``, whatever source they are of."""
    batch: list[Piece] = []
    room = size
    async with aclosing(sources):
        async for prepared in sources:
            todo = prepared.chunks
            start, is_last = 0, False
            while not is_last:
                # It may have failed meanwhile, by an earlier piece.
                chunks = [] if prepared.outcome == "failed" else todo[start : start + room]
                is_last = not chunks or start + len(chunks) == len(todo)
                batch.append(Piece(prepared, start, chunks, is_last))
                start += len(chunks)
                room -= len(chunks)
                # A source may have nothing but old chunks that are to be removed.
                if room == 0 or len(batch) > size:
                    yield batch
                    batch, room = [], size
    if batch:
        yield batch


_Embedded = list[tuple[int, object]]
"""For so many texts each: what the embedder gave for them, or why it refuses the one."""


class Embedding:
    """Embeds batches. A text that the embedder refuses fails its source, not the run."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._dimension: int | None = None  # of the vectors so far

    async def ask(self, batch: list[Piece]) -> tuple[list[Piece], _Embedded]:
        """Have a batch embedded; calls may overlap.

        Raises:
            ServiceRejectedError: The embedder refuses everything.
            ServiceError, ModelError: It failed.
        """
        texts = [chunk.text for piece in batch for chunk in piece.chunks]
        if not texts:
            return batch, []
        try:
            return batch, [(len(texts), await self._embedder.embed_documents(texts))]
        except ServiceRejectedError as error:
            try:
                await self._embedder.embed_documents([_HARMLESS_TEXT])
            except ServiceRejectedError:
                raise error from error.__cause__
            return batch, await self._halves(texts, error)

    async def _halves(self, texts: Sequence[str], error: ServiceRejectedError) -> _Embedded:
        """Find the texts that are refused by halving; ``error`` is why ``texts`` together are."""
        if len(texts) == 1:
            return [(1, error)]
        found: _Embedded = []
        for half in (texts[: len(texts) // 2], texts[len(texts) // 2 :]):
            try:
                found.append((len(half), await self._embedder.embed_documents(half)))
            except ServiceRejectedError as refusal:
                found += await self._halves(half, refusal)
        return found

    def take(self, batch: list[Piece], embedded: _Embedded) -> None:
        """Give a batch its vectors, and fail the sources of which a text was refused; batch by batch, in order.

        Raises:
            ModelError: The embedder did not give one finite vector a text, or not of one dimension.
        """
        refused: dict[int, ServiceRejectedError] = {}
        accepted: list[Matrix] = []
        position = 0
        for count, given in embedded:
            if isinstance(given, ServiceRejectedError):
                refused[position] = given
            else:
                accepted.append(checked_vectors(given, count, self._dimension, self._embedder))
                self._dimension = accepted[-1].shape[1]
            position += count
        vectors = np.concatenate(accepted) if accepted else None
        position = row = 0
        for piece in batch:
            count = len(piece.chunks)
            bad = [number for number in range(count) if position + number in refused]
            if bad:
                number = bad[0]
                piece.prepared.fail(
                    f"the embedder refuses its chunk {piece.start + number}: {refused[position + number]}"
                )
            elif vectors is not None:
                piece.vectors = vectors[row : row + count]
            position += count
            row += count - len(bad)
