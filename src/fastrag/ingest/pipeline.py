"""The stages of an ingest, and what it does with each source."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from fastrag.document import Document
from fastrag.embedding.base import Embedder, Matrix
from fastrag.errors import ConfigurationError
from fastrag.ingest.batches import Embedding, Piece, batches
from fastrag.ingest.bookkeeping import refuse_other_origin, stored_chunks
from fastrag.ingest.dead_letters import DeadLetter, DeadLetterFile, FailedBefore
from fastrag.ingest.flow import Ahead, in_order
from fastrag.ingest.ledger import Ledger, StoredSource
from fastrag.ingest.preparing import Prepared, Preparer
from fastrag.ingest.progress import ProgressCallback
from fastrag.ingest.report import IngestFailure, IngestProgress, IngestReport, IngestSkip
from fastrag.ingest.sources import FileSource, Plan, Source
from fastrag.store.base import VectorStore
from fastrag.store.filters import In

_DOCUMENTS_AT_ONCE = 16
_DELETE_AT_ONCE = 1000
# Embedders ask for several texts at once; a second batch keeps them busy while the first one ends.
_EMBEDDED_AT_ONCE = 2
# What has been embedded while one write was under way goes into the next one together, up to so many chunks.
_WRITTEN_AT_ONCE = 1024
# A source of at most so many chunks is written as a whole or not at all.
_WRITTEN_WHOLE = 1024

_Work: TypeAlias = tuple[Source, StoredSource | None, DeadLetter | None]


@dataclass(slots=True)
class _Writing:
    """What is embedded and not yet written."""

    open: list[Piece] = field(default_factory=list)  # of the one source that is not complete yet
    pieces: list[Piece] = field(default_factory=list)
    finished: list[Prepared] = field(default_factory=list)

    def add(self, piece: Piece) -> None:
        """Take the next piece; of a source that failed, nothing is written any more."""
        if piece.prepared.outcome == "failed":
            self.open = []
        else:
            self.open.append(piece)
        if piece.is_last:
            self.finished.append(piece.prepared)
        if piece.is_last or sum(len(piece.chunks) for piece in self.open) >= _WRITTEN_WHOLE:
            self.pieces += self.open
            self.open = []


@dataclass(slots=True)
class Pipeline:
    """One ingest on its way: sources are prepared, cut into batches, embedded and written, all at the same time."""

    store: VectorStore
    embedder: Embedder | None
    preparer: Preparer
    todo: Plan
    ledger: Ledger
    letters: DeadLetterFile | None
    failed_before: FailedBefore
    workers: int
    batch_size: int
    on_progress: ProgressCallback | None
    report: IngestReport = field(default_factory=IngestReport)
    writing: _Writing = field(default_factory=_Writing)
    bound: bool = False
    changed: bool = False
    done: int = 0
    total: int | None = None
    reached: set[str] = field(default_factory=set)  # roots from which something could be read

    async def run(self) -> IngestReport:
        """Do it all; raises what `fastrag.ingest.ingest` says."""
        self.report.failures += self.todo.failures
        self.report.skipped += self.todo.skipped
        if self.letters is not None:
            self.letters.listed(self.todo.mirrored, self.todo.failures)
        if self.todo.total is not None:
            await asyncio.to_thread(self._look_over)
        embedded = self._embedded(batches(self._prepared(), size=self.batch_size))
        async with Ahead(embedded, most=max(1, _WRITTEN_AT_ONCE // self.batch_size)) as ahead:
            while several := await ahead.waiting():
                await self._write([piece for batch in several for piece in batch])
        if self.failed_before != "only":
            await self._remove_what_is_gone()
        if self.changed:
            await self.store.optimize()
        return self.report

    def _look_over(self) -> None:
        """Refuse what can be refused before anything is written, where all sources are known."""
        self.total = 0
        roots = set()
        for source in self.todo.sources:
            refuse_other_origin(source, self.ledger.stored(source.id))
            roots.add(source.root)
            self.total += self._is_wanted(source)
        # A folder that could be listed and holds no document any more has been read, too.
        self.reached |= self.todo.mirrored - roots

    async def _sources(self) -> AsyncGenerator[list[_Work], None]:
        group: list[_Work] = []
        for position, source in enumerate(self.todo.sources):
            if not self.ledger.meet(source.id):
                raise ConfigurationError(f"two Documents have the id {source.id!r}; the second is sources[{position}]")
            stored = self.ledger.stored(source.id)
            refuse_other_origin(source, stored)
            if not self._is_wanted(source):
                continue
            given_up = self.letters.of(source) if self.letters and self.failed_before == "skip" else None
            group.append((source, stored, given_up))
            # Going to a thread and back takes longer than chunking a small Document; a file may be large.
            if isinstance(source, FileSource) or len(group) == _DOCUMENTS_AT_ONCE:
                yield group
                group = []
        if group:
            yield group

    def _is_wanted(self, source: Source) -> bool:
        return self.failed_before != "only" or (self.letters is not None and self.letters.of(source) is not None)

    async def _prepared(self) -> AsyncGenerator[Prepared, None]:
        """What is to be written or removed; all else is finished here."""

        async def prepare(group: list[_Work]) -> list[Prepared]:
            return await asyncio.to_thread(lambda: [self.preparer.prepare(*work) for work in group])

        async with aclosing(in_order(prepare, self._sources(), at_once=self.workers)) as groups:
            async for group in groups:
                for prepared in group:
                    if prepared.chunks or prepared.stale_ids:
                        yield prepared
                    else:
                        self._finish(prepared)

    async def _embedded(self, pieces: AsyncGenerator[list[Piece], None]) -> AsyncGenerator[list[Piece], None]:
        if self.embedder is None:
            async with aclosing(pieces):
                async for batch in pieces:
                    yield batch
            return
        embedding = Embedding(self.embedder)
        async with aclosing(in_order(embedding.ask, pieces, at_once=_EMBEDDED_AT_ONCE)) as asked:
            async for batch, given in asked:
                embedding.take(batch, given)
                yield batch

    async def _write(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            self.writing.add(piece)
        writing, self.writing = self.writing, _Writing(self.writing.open)
        chunks = [chunk for piece in writing.pieces for chunk in piece.chunks]
        if chunks:
            await self._upsert(chunks, [piece.vectors for piece in writing.pieces if piece.vectors is not None])
        # Only now, so that at no moment a Document is out of the store.
        await self._delete([id for prepared in writing.finished for id in prepared.stale_ids])
        for prepared in writing.finished:
            self._finish(prepared)

    async def _upsert(self, chunks: list[Document], vectors: list[Matrix]) -> None:
        if self.embedder is None:
            await self.store.upsert(chunks)
        else:
            matrix = np.concatenate(vectors)
            if not self.bound:
                await self.store.bind(self.embedder.id, matrix.shape[1])
                self.bound = True
            await self.store.upsert(chunks, matrix)
        self.report.chunks_written += len(chunks)
        self.changed = True

    def _finish(self, prepared: Prepared) -> None:
        report, source, reason = self.report, str(prepared.source), prepared.reason
        failed = prepared.outcome == "failed"
        match prepared.outcome:
            case "added":
                report.added += 1
            case "updated":
                report.updated += 1
            case "unchanged":
                report.unchanged += 1
            case "skipped":
                report.skipped.append(IngestSkip(source, reason))
                report.removed += bool(prepared.stale_ids)
            case "given up":
                report.skipped.append(IngestSkip(source, f"failed before and is unchanged: {reason}"))
            case "failed":
                report.failures.append(IngestFailure(source, reason))
        if prepared.outcome not in ("failed", "given up"):
            self._reach(prepared.source)
        if self.letters is not None and prepared.outcome != "given up":
            self.letters.tried(prepared.source, reason if failed else None, prepared.digest)
        self.done += 1
        if self.on_progress is not None:
            self.on_progress(IngestProgress(self.done, self.total, report.chunks_written, source))

    def _reach(self, source: Source) -> None:
        self.reached.add(source.root)
        before = self.ledger.stored(source.id)
        if before is None or before.root == source.root or before.root in self.reached:
            return
        # The folder has been moved here. What was deleted from it on the way would otherwise stay for ever,
        # because nobody can ingest the old folder any more.
        if not Path(before.root).exists():
            self.reached.add(before.root)
            self.todo.take_over(source.root, before.root)

    async def _remove_what_is_gone(self) -> None:
        # A root from which nothing could be read says nothing about what is gone.
        roots = self.reached & self.todo.mirrored
        if self.letters is not None:
            self.letters.drop(
                lambda letter: letter.id is not None and letter.root in roots and self._is_gone(letter.root, letter.id)
            )
        if not self.ledger.has_unmet(roots):
            return
        ids: list[str] = []
        async with aclosing(stored_chunks(self.store, In("source_root", sorted(roots)))) as chunks:
            async for chunk, notes in chunks:
                if self._is_gone(notes.source_root, notes.parent_id):
                    self.report.removed += self.ledger.give_up(notes.parent_id)
                    ids.append(chunk.id)
                if len(ids) == _DELETE_AT_ONCE:
                    await self._delete(ids)
                    ids = []
        await self._delete(ids)

    def _is_gone(self, root: str, id: str) -> bool:
        return not self.ledger.is_met(id) and not self.todo.keeps(root, id)

    async def _delete(self, ids: list[str]) -> None:
        for start in range(0, len(ids), _DELETE_AT_ONCE):
            await self.store.delete(ids=ids[start : start + _DELETE_AT_ONCE])
            self.changed = True
