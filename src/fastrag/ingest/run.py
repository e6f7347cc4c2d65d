"""`ingest`: making a store hold what files or Documents say now."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from fastrag._support.checks import require_positive_int
from fastrag.document import Document
from fastrag.embedding.base import Embedder, Matrix
from fastrag.embedding.checks import checked_vectors
from fastrag.errors import ConfigurationError
from fastrag.ingest.base import Chunker
from fastrag.ingest.bookkeeping import StoredSource, read_stored, refuse_other_origin
from fastrag.ingest.chunking import CharacterChunker
from fastrag.ingest.loaders import DEFAULT_MAX_BYTES
from fastrag.ingest.preparing import Prepared, Preparer
from fastrag.ingest.progress import ProgressCallback, shown_progress
from fastrag.ingest.report import IngestFailure, IngestProgress, IngestReport, IngestSkip
from fastrag.ingest.sources import Plan, Source, Sources, plan
from fastrag.store.base import VectorStore

_DELETE_AT_ONCE = 1000


async def ingest(
    sources: Sources,
    *,
    store: VectorStore,
    embedder: Embedder | None = None,
    chunker: Chunker | None = None,
    prune: bool = False,
    batch_size: int = 128,
    max_bytes: int = DEFAULT_MAX_BYTES,
    progress: bool | ProgressCallback | None = None,
) -> IngestReport:
    """Chunk, embed and store files or Documents; the second time only what has changed.

    A Document that is stored already with the same content, metadata, chunker and embedder is left alone (for a
    file that means the same bytes, URI, and release of the library that reads its format). One that has changed
    is replaced: its new chunks are written before the old ones are removed. What was ingested from a folder and is
    not in it any more is removed, also where the folder is empty now. A folder that has the files of one that does
    not exist any more has been moved: what else was ingested from there is removed with it. A file that cannot be
    loaded, or a Document that cannot be stored, is reported, and what the store has of it stays.

    A run that fails, is cancelled or killed leaves whole Documents and at most a few unfinished ones; the next
    run goes on from there. All it needs to know is in the chunks' metadata: ``source_digest``, ``chunk_count``,
    ``source_root``, ``embedder_id``. Do not let two runs write to one store at the same time.

    Args:
        sources: A file or folder, several of them, or Documents (a list, or anything that yields them, which
            is then read as it goes). A file's Document has as id its path below the folder given, with slashes
            (its name, if the file itself was given), and its URI as ``uri``. Files and folders whose names
            begin with a dot are passed over, and so are links to folders and files of unknown formats.
        store: Where to.
        embedder: Who makes the vectors; None stores for lexical search only.
        chunker: How to cut; None takes ``CharacterChunker(size=1000)``.
        prune: With Documents, also remove those that an earlier ingest of Documents stored and that are not
            among ``sources``. Folders are always treated so.
        batch_size: Most chunks that are embedded and written at once, at least 1. One batch is embedded while
            the one before it is written.
        max_bytes: Larger files fail.
        progress: True shows a bar on stderr (lines, where that is no terminal); a callable is called with an
            `IngestProgress` after each Document.

    Returns:
        What was done, what failed and why.

    Raises:
        ConfigurationError: There is nothing to ingest and nothing to remove, a path does not exist, two sources have
            one id, or an argument is wrong.
        MissingDependencyError: The extra ``chunking`` is not installed.
        EmbedderMismatchError: The store holds vectors of another embedder; nothing was written or removed.
        ServiceError, ModelError: The embedder failed; what was written until then stays.
        StoreError: The store failed; the same.

    >>> from fastrag.store.memory import InMemoryStore
    >>> async def example():
    ...     store = InMemoryStore()
    ...     documents = [Document("a", "Apples are red."), Document("p", "Pears are green.")]
    ...     await ingest(documents, store=store)
    ...     documents[0].text = "Apples may be green, too."
    ...     report = await ingest(documents, store=store)
    ...     return report.updated, report.unchanged, await store.count()
    >>> asyncio.run(example())
    (1, 1, 2)
    """
    started = time.perf_counter()
    require_positive_int("batch_size", batch_size)
    require_positive_int("max_bytes", max_bytes)
    # A local model is loaded to know its id, which takes a moment.
    embedder_id = None if embedder is None else await asyncio.to_thread(lambda: embedder.id)
    preparer = Preparer(chunker or CharacterChunker(), embedder_id, max_bytes)
    todo = await plan(sources, prune=prune)
    stored = await read_stored(store, embedder_id=embedder_id)
    if todo.nothing_found and not any(source.root in todo.mirrored for source in stored.values()):
        raise ConfigurationError(todo.nothing_found)
    with _shown(progress, todo.total) as on_progress:
        report = await _Run(store, embedder, preparer, todo, stored, batch_size, on_progress).run()
    report.duration_s = time.perf_counter() - started
    return report


def _shown(
    progress: bool | ProgressCallback | None, total: int | None
) -> AbstractContextManager[ProgressCallback | None]:
    if isinstance(progress, bool):
        return shown_progress(total) if progress else nullcontext()
    return nullcontext(progress)


@dataclass(slots=True)
class _Batch:
    """Chunks to embed and write at once, and the sources that are finished with them."""

    chunks: list[Document] = field(default_factory=list)
    finished: list[Prepared] = field(default_factory=list)


@dataclass(slots=True)
class _Run:
    """One ingest on its way."""

    store: VectorStore
    embedder: Embedder | None
    preparer: Preparer
    todo: Plan
    stored: dict[str, StoredSource]
    batch_size: int
    on_progress: ProgressCallback | None
    report: IngestReport = field(default_factory=IngestReport)
    batch: _Batch = field(default_factory=_Batch)
    writing: asyncio.Task[None] | None = None
    bound: bool = False
    dimension: int | None = None  # of the vectors so far
    changed: bool = False
    done: int = 0
    met: set[str] = field(default_factory=set)  # ids of the sources so far
    reached: set[str] = field(default_factory=set)  # roots from which something could be read

    async def run(self) -> IngestReport:
        self.report.failures += self.todo.failures
        self.report.skipped += self.todo.skipped
        if self.todo.total is not None:
            for source in self.todo.sources:
                refuse_other_origin(source, self.stored.get(source.id))
            # A folder that could be listed and holds no document any more has been read, too.
            self.reached |= self.todo.mirrored - {source.root for source in self.todo.sources}
        try:
            async with asyncio.TaskGroup() as group:
                try:
                    await self._go_through(group)
                except Exception:
                    # What is embedded already is not thrown away because something later failed.
                    if self.writing is not None:
                        await self.writing
                    raise
        except BaseExceptionGroup as errors:
            first = errors.exceptions[0]
            raise first from first.__cause__
        await self._remove_what_is_gone()
        if self.changed:
            await self.store.optimize()
        return self.report

    async def _go_through(self, group: asyncio.TaskGroup) -> None:
        for source in self.todo.sources:
            self.met.add(source.id)
            before = self.stored.get(source.id)
            refuse_other_origin(source, before)
            prepared = await asyncio.to_thread(self.preparer.prepare, source, before)
            for chunk in prepared.chunks:
                if len(self.batch.chunks) == self.batch_size:
                    await self._flush(group)
                self.batch.chunks.append(chunk)
            if prepared.chunks or prepared.stale_ids:
                self.batch.finished.append(prepared)
            else:
                self._finish(prepared)
        await self._flush(group)

    async def _flush(self, group: asyncio.TaskGroup) -> None:
        batch, self.batch = self.batch, _Batch()
        vectors = None
        if self.embedder is not None and batch.chunks:
            given = await self.embedder.embed_documents([chunk.text for chunk in batch.chunks])
            vectors = checked_vectors(given, len(batch.chunks), self.dimension, self.embedder)
            self.dimension = vectors.shape[1]
        if self.writing is not None:
            await self.writing
        self.writing = group.create_task(self._write(batch, vectors))

    async def _write(self, batch: _Batch, vectors: Matrix | None) -> None:
        if batch.chunks:
            if self.embedder is not None and vectors is not None and not self.bound:
                await self.store.bind(self.embedder.id, vectors.shape[1])
                self.bound = True
            await self.store.upsert(batch.chunks, vectors)
            self.report.chunks_written += len(batch.chunks)
            self.changed = True
        # Only now, so that at no moment a Document is out of the store.
        await self._delete([id for prepared in batch.finished for id in prepared.stale_ids])
        for prepared in batch.finished:
            self._finish(prepared)

    def _finish(self, prepared: Prepared) -> None:
        report, source = self.report, str(prepared.source)
        match prepared.outcome:
            case "added":
                report.added += 1
            case "updated":
                report.updated += 1
            case "unchanged":
                report.unchanged += 1
            case "skipped":
                report.skipped.append(IngestSkip(source, prepared.reason))
                report.removed += bool(prepared.stale_ids)
            case "failed":
                report.failures.append(IngestFailure(source, prepared.reason))
        if prepared.outcome != "failed":
            self._reach(prepared.source)
        self.done += 1
        if self.on_progress is not None:
            self.on_progress(IngestProgress(self.done, self.todo.total, report.chunks_written, source))

    def _reach(self, source: Source) -> None:
        self.reached.add(source.root)
        before = self.stored.get(source.id)
        if before is None or before.root == source.root or before.root in self.reached:
            return
        # The folder has been moved here. What was deleted from it on the way would otherwise stay for ever,
        # because nobody can ingest the old folder any more.
        if not Path(before.root).exists():
            self.reached.add(before.root)
            self.todo.take_over(source.root, before.root)

    async def _remove_what_is_gone(self) -> None:
        # A root from which nothing could be read says nothing about what is gone.
        gone = [
            stored
            for id, stored in self.stored.items()
            if stored.root in self.reached and id not in self.met and not self.todo.keeps(stored.root, id)
        ]
        await self._delete([id for stored in gone for id in stored.ids()])
        self.report.removed += len(gone)

    async def _delete(self, ids: list[str]) -> None:
        for start in range(0, len(ids), _DELETE_AT_ONCE):
            await self.store.delete(ids=ids[start : start + _DELETE_AT_ONCE])
            self.changed = True
