"""`ingest`: making a store hold what files or Documents say now."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractContextManager, nullcontext
from os import PathLike

from fastrag._support.checks import require_positive_int
from fastrag.embedding.base import Embedder
from fastrag.errors import ConfigurationError
from fastrag.ingest.base import Chunker
from fastrag.ingest.bookkeeping import read_stored
from fastrag.ingest.chunking import CharacterChunker
from fastrag.ingest.dead_letters import DeadLetterFile, FailedBefore
from fastrag.ingest.loaders import DEFAULT_MAX_BYTES
from fastrag.ingest.parsing import parsing
from fastrag.ingest.pipeline import Pipeline
from fastrag.ingest.preparing import Preparer
from fastrag.ingest.progress import ProgressCallback, shown_progress
from fastrag.ingest.report import IngestReport
from fastrag.ingest.sources import Sources, plan
from fastrag.store.base import VectorStore


async def ingest(
    sources: Sources,
    *,
    store: VectorStore,
    embedder: Embedder | None = None,
    chunker: Chunker | None = None,
    prune: bool = False,
    workers: int = 1,
    batch_size: int = 128,
    max_bytes: int = DEFAULT_MAX_BYTES,
    dead_letters: str | PathLike[str] | None = None,
    failed_before: FailedBefore = "retry",
    progress: bool | ProgressCallback | None = None,
) -> IngestReport:
    """Chunk, embed and store files or Documents; the second time only what has changed.

    A Document that is stored already with the same content, metadata, chunker and embedder is left alone (for a
    file that means the same bytes, URI, and release of the library that reads its format). One that has changed
    is replaced: its new chunks are written before the old ones are removed. What was ingested from a folder and is
    not in it any more is removed, also where the folder is empty now. A folder that has the files of one that does
    not exist any more has been moved: what else was ingested from there is removed with it. A file that cannot be
    loaded, or a Document that cannot be stored, is reported, and what the store has of it stays.

    Sources are loaded and chunked while others are embedded and others written, each in the order given. Of all this
    only so much is under way that memory does not depend on how many sources there are, but for some 60 bytes for each
    one that is given or stored (and some 250 for a file, whose name is kept).

    A run that fails, is cancelled or killed leaves whole Documents and at most a few unfinished ones; the next run
    goes on from there. All it needs to know is in the chunks' metadata: ``source_digest``, ``chunk_count``,
    ``source_root``, ``embedder_id``. Do not let two runs write to one store at the same time.

    A Document of up to 1,024 chunks is written by one call of the store. Where that writes all or nothing, readers
    see the old chunks or the new ones, and for a moment, where the old ones were more, the rest of them. A larger one
    comes in parts. Of a Document that is whole, all chunks have one ``source_digest``, and are as many as their
    ``chunk_count`` says.

    A text that the embedder refuses (`ServiceRejectedError`) while it takes others fails its Document alone. It is
    found by embedding the halves of its batch, their halves, and so on.

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
        workers: How many sources are loaded and chunked at once, at least 1. Each is a thread; with more than one,
            PDF and DOCX, which take long, are parsed in processes, so that several cores do it.
        batch_size: How many chunks are given to the embedder at once, at least 1; two such calls overlap.
        max_bytes: Larger files fail.
        dead_letters: A file that keeps what failed from one run to the next, a JSON object a line (see `DeadLetter`,
            `read_dead_letters`). A source leaves it when it does not fail any more or is gone from its folder. It is
            written when the run ends, also by an error, as a whole or not at all.
        failed_before: What becomes of a source that is in ``dead_letters``. "retry": it is tried again like any
            other. "skip": not while it and all that made it fail (chunker, embedder, library) are unchanged; the report
            has it among those skipped. "only": nothing else is tried, and nothing is removed.
        progress: True shows a bar on stderr (lines, where that is no terminal); a callable is called with an
            `IngestProgress` after each Document.

    Returns:
        What was done, what failed and why.

    Raises:
        ConfigurationError: There is nothing to ingest and nothing to remove, a path does not exist, two sources have
            one id, an argument is wrong, or ``dead_letters`` cannot be read or written.
        MissingDependencyError: The extra ``chunking`` is not installed.
        EmbedderMismatchError: The store holds vectors of another embedder; nothing was written or removed.
        ServiceError, ModelError: The embedder failed; what was written until then stays.
        StoreError: The store failed; the same.

    >>> from fastrag.document import Document
    >>> from fastrag.store.memory.store import InMemoryStore
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
    require_positive_int("workers", workers)
    require_positive_int("batch_size", batch_size)
    require_positive_int("max_bytes", max_bytes)
    letters = _dead_letters(dead_letters, failed_before)
    # A local model is loaded to know its id, which takes a moment.
    embedder_id = None if embedder is None else await asyncio.to_thread(lambda: embedder.id)
    chunker = chunker or CharacterChunker()
    todo = await plan(sources, prune=prune)
    ledger = await read_stored(store, embedder_id=embedder_id)
    if todo.nothing_found and ledger.roots.isdisjoint(todo.mirrored):
        raise ConfigurationError(todo.nothing_found)
    with parsing(workers) as parse, _shown(progress, todo.total) as on_progress:
        pipeline = Pipeline(
            store=store,
            embedder=embedder,
            preparer=Preparer(chunker, embedder_id, max_bytes, parse),
            todo=todo,
            ledger=ledger,
            letters=letters,
            failed_before=failed_before,
            workers=workers,
            batch_size=batch_size,
            on_progress=on_progress,
        )
        try:
            report = await pipeline.run()
        finally:
            if letters is not None:
                letters.save()
    report.duration_s = time.perf_counter() - started
    return report


def _dead_letters(path: str | PathLike[str] | None, failed_before: FailedBefore) -> DeadLetterFile | None:
    if failed_before not in ("retry", "skip", "only"):
        raise ConfigurationError(f'failed_before must be "retry", "skip" or "only", not {failed_before!r}')
    if path is not None:
        return DeadLetterFile(path, must_exist=failed_before == "only")
    if failed_before != "retry":
        raise ConfigurationError(f"failed_before={failed_before!r} needs dead_letters: the file that says what failed")
    return None


def _shown(
    progress: bool | ProgressCallback | None, total: int | None
) -> AbstractContextManager[ProgressCallback | None]:
    if isinstance(progress, bool):
        return shown_progress(total) if progress else nullcontext()
    return nullcontext(progress)
