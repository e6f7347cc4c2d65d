"""Copying all that one store holds into another, whatever their engines."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import numpy as np

from fastrag._support.checks import require_int, require_positive_int
from fastrag._support.concurrency import run_together
from fastrag.document import Document
from fastrag.embedding.base import Matrix, Vector
from fastrag.errors import ConfigurationError, EmbedderMismatchError
from fastrag.store.base import VectorStore
from fastrag.store.copy_report import CopyProgress, CopyReport

_BATCH_CHARACTERS = 8_000_000
_WAITING_BATCHES = 2
_COMPARED_AT_ONCE = 100
_SHOWN_IDS = 10
_SEED = 0
# What rounding to float32 and normalising again may change in a coordinate of a vector of norm 1.
_TOLERANCE = 1e-6


async def copy_store(
    source: VectorStore,
    target: VectorStore,
    *,
    batch_size: int = 500,
    sample: int = 1000,
    prune: bool = False,
    progress: Callable[[CopyProgress], object] | None = None,
) -> CopyReport:
    """Write every Document of ``source`` to ``target``, with its vector, and record the same embedder there.

    A Document that the target has already, with equal content and vector, is not written again. So a copy that was
    broken off goes on where it stopped when it is called again, and one that is repeated brings over what has
    changed. Nothing is embedded. A few batches are in memory at a time; the next ones are read while one is written.

    At the end `VectorStore.optimize` of the target is called, and the copy is verified: the counts of both stores are
    compared, and a random sample of the Documents is read again from both and compared. A source that is written to
    meanwhile is noticed by its counts, or by the sample where that meets a change, and makes the copy one that is not
    verified: copy again.

    Documents come to the target in the order in which the source gives them, which decides there between equal scores.

    Args:
        source: It is only read.
        target: What it has besides is kept, unless ``prune`` says otherwise.
        batch_size: How many Documents are written at once; fewer where their texts are very long.
        sample: How many Documents to compare at the end; all of them where there are no more than that.
        prune: Whether to take out of the target what the source does not have.
        progress: Called after every batch.

    Raises:
        ConfigurationError: Source and target are the same store, a number is out of range, or an empty source is
            to prune the target.
        EmbedderMismatchError: The target is bound to another embedder or dimension; nothing was written.
        StoreError: One of the engines failed; what was written until then is kept.

    >>> from fastrag.store import InMemoryStore
    >>> async def example():
    ...     source, target = InMemoryStore(), InMemoryStore()
    ...     await source.bind("some-model", 2)
    ...     await source.upsert([Document("a", "apples"), Document("b", "pears")], np.eye(2, dtype=np.float32))
    ...     report = await copy_store(source, target)
    ...     return report.written, report.verified, await target.binding()
    >>> asyncio.run(example())
    (2, True, Binding(embedder_id='some-model', dimension=2))
    """
    require_positive_int("batch_size", batch_size)
    require_int("sample", sample, at_least=0)
    if source is target:
        raise ConfigurationError("source and target are the same store: there is nothing to copy")
    started = time.perf_counter()
    total = await source.count()
    if prune and not total:
        raise ConfigurationError("the source is empty: pruning would remove all that the target holds (see drop())")
    await _bind_alike(source, target)
    copy = _Copy(target, total, is_empty=not await target.count(), sample=sample, progress=progress)
    queue: asyncio.Queue[_Batch | None] = asyncio.Queue(_WAITING_BATCHES)
    await run_together(_read(source, queue, batch_size), copy.write(queue))
    extra = _Extra(0, (), 0)
    if await target.count() != copy.read:
        extra = await _find_extra(source, target, batch_size, prune=prune)
    await target.optimize()
    problems = await _differences(source, target, copy.sampled)
    source_count, target_count = await source.count(), await target.count()
    if not total == copy.read == source_count:
        problems.append(
            f"the source was written to meanwhile (it held {total} Documents at the start, gave {copy.read}, and holds "
            f"{source_count} now): copy again"
        )
    elif target_count != source_count + extra.left:
        problems.append(f"the target holds {target_count} Documents in place of {source_count + extra.left}")
    return CopyReport(
        read=copy.read,
        written=copy.written,
        unchanged=copy.read - copy.written,
        extra=extra.left,
        extra_ids=extra.ids,
        pruned=extra.pruned,
        source_count=source_count,
        target_count=target_count,
        compared=len(copy.sampled),
        problems=tuple(problems),
        duration_s=time.perf_counter() - started,
    )


@dataclass(frozen=True, slots=True)
class _Batch:
    documents: list[Document]
    vectors: dict[str, Vector]  # by id; Documents without one are not in it

    def rows(self) -> Matrix | None:
        """A row for each Document, of zeros for those without a vector; None where none has one."""
        width = next((vector.size for vector in self.vectors.values()), None)
        if width is None:
            return None
        rows = np.zeros((len(self.documents), width), dtype=np.float32)
        for row, document in zip(rows, self.documents, strict=True):
            row[:] = self.vectors.get(document.id, 0)
        return rows


class _Copy:
    """The writing half, with what it has counted so far and the ids it has drawn for the comparison."""

    def __init__(
        self,
        target: VectorStore,
        total: int,
        *,
        is_empty: bool,
        sample: int,
        progress: Callable[[CopyProgress], object] | None,
    ) -> None:
        self._target = target
        self._total = total
        self._is_empty = is_empty
        self._sample = sample
        self._progress = progress
        self._random = random.Random(_SEED)  # noqa: S311 - no secret is made of it
        self.sampled: list[str] = []
        self.read = 0
        self.written = 0

    async def write(self, queue: asyncio.Queue[_Batch | None]) -> None:
        """Write the batches that come until None does."""
        while (batch := await queue.get()) is not None:
            for document in batch.documents:
                self._draw(document.id)
            if not self._is_empty:
                differing = set(await _differing(batch, self._target))
                batch = _Batch([each for each in batch.documents if each.id in differing], batch.vectors)
            if batch.documents:
                await self._target.upsert(batch.documents, batch.rows())
                self.written += len(batch.documents)
            if self._progress is not None:
                self._progress(CopyProgress(self.read, self._total, self.written))

    def _draw(self, id: str) -> None:
        """Take ``id`` into the sample by chance, so that at the end each has had the same (Vitter's algorithm R)."""
        self.read += 1
        if len(self.sampled) < self._sample:
            self.sampled.append(id)
        elif (place := self._random.randrange(self.read)) < self._sample:
            self.sampled[place] = id


async def _bind_alike(source: VectorStore, target: VectorStore) -> None:
    binding = await source.binding()
    if binding is None:
        return
    if binding.embedder_id is not None:
        await target.bind(binding.embedder_id, binding.dimension)
        return
    bound = await target.binding()
    if bound not in (None, binding):
        raise EmbedderMismatchError(
            f"the target holds vectors of dimension {bound.dimension} of the embedder {bound.embedder_id!r}, and the "
            f"source holds some of dimension {binding.dimension} of an embedder that was not named: bind the source "
            "to its embedder, or copy to a new store"
        )


async def _read(source: VectorStore, queue: asyncio.Queue[_Batch | None], batch_size: int) -> None:
    async with aclosing(_batches(source, batch_size)) as batches:
        async for documents in batches:
            await queue.put(await _with_vectors(source, documents))
    await queue.put(None)


async def _batches(store: VectorStore, size: int) -> AsyncGenerator[list[Document], None]:
    """All Documents of ``store``, in lists of ``size``, or less where they are long."""
    documents: list[Document] = []
    characters = 0
    scanned = store.scan()
    try:
        async for document in scanned:
            documents.append(document)
            characters += len(document.text) + len(_canonical(document))
            if len(documents) == size or characters >= _BATCH_CHARACTERS:
                yield documents
                documents, characters = [], 0
        if documents:
            yield documents
    finally:
        # Engines keep a cursor or a snapshot for a scan until its generator is closed.
        if isinstance(scanned, AsyncGenerator):
            await scanned.aclose()


async def _with_vectors(store: VectorStore, documents: list[Document]) -> _Batch:
    return _Batch(documents, await store.get_embeddings([document.id for document in documents]))


async def _differing(batch: _Batch, store: VectorStore) -> list[str]:
    """Ids of what ``store`` does not have as it is in ``batch``."""
    ids = [document.id for document in batch.documents]
    found = {document.id: document for document in await store.get(ids)}
    vectors = await store.get_embeddings(ids)
    return [
        document.id
        for document in batch.documents
        if not _is_same(document, found.get(document.id))
        or not _is_close(batch.vectors.get(document.id), vectors.get(document.id))
    ]


def _is_same(document: Document, other: Document | None) -> bool:
    return (
        other is not None
        and document.text == other.text
        and document.uri == other.uri
        and _canonical(document) == _canonical(other)
    )


def _canonical(document: Document) -> str:
    # Unlike Python's ==, JSON tells 1, 1.0 and True apart.
    return json.dumps(document.metadata, sort_keys=True)


def _is_close(vector: Vector | None, other: Vector | None) -> bool:
    if vector is None or other is None:
        return vector is other
    return vector.shape == other.shape and bool(np.abs(vector - other).max() <= _TOLERANCE)


async def _differences(source: VectorStore, target: VectorStore, ids: Sequence[str]) -> list[str]:
    """What is wrong with the Documents of these ``ids`` in ``target``, as sentences."""
    missing = 0
    differing: list[str] = []
    for start in range(0, len(ids), _COMPARED_AT_ONCE):
        some = ids[start : start + _COMPARED_AT_ONCE]
        batch = await _with_vectors(source, await source.get(some))
        missing += len(some) - len(batch.documents)
        differing += await _differing(batch, target)
    problems = []
    if missing:
        problems.append(f"{missing} of the {len(ids)} Documents that were compared have left the source: copy again")
    if differing:
        problems.append(
            f"{len(differing)} of the {len(ids)} Documents that were compared are not in the target as they are in the "
            f"source: {_named(differing)}"
        )
    return problems


@dataclass(frozen=True, slots=True)
class _Extra:
    left: int
    ids: tuple[str, ...]
    pruned: int


async def _find_extra(source: VectorStore, target: VectorStore, batch_size: int, *, prune: bool) -> _Extra:
    """Count, and if asked remove, what the target has and the source has not."""
    left, pruned = 0, 0
    named: list[str] = []
    async with aclosing(_batches(target, batch_size)) as batches:
        async for documents in batches:
            ids = [document.id for document in documents]
            known = {document.id for document in await source.get(ids)}
            unknown = [id for id in ids if id not in known]
            if prune and unknown:
                pruned += await target.delete(ids=unknown)
            else:
                left += len(unknown)
                named += unknown[: _SHOWN_IDS - len(named)]
    return _Extra(left, tuple(named), pruned)


def _named(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _SHOWN_IDS} more" if len(ids) > _SHOWN_IDS else ""
    return ", ".join(repr(id) for id in ids[:_SHOWN_IDS]) + more
