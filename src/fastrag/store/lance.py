"""A store in a folder, by LanceDB: no server, several processes, nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import threading
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, overload

from fastrag.document import Document
from fastrag.embedding.base import Matrix, Vector
from fastrag.errors import ConfigurationError, FastRAGError, StoreError
from fastrag.store.base import Binding, VectorStore, agreed_binding
from fastrag.store.checks import (
    DEFAULT_NAMESPACE,
    check_dimension,
    checked_deletion,
    checked_documents,
    checked_ids,
    checked_namespace,
    unit_rows,
)
from fastrag.store.durability import FileSyncer
from fastrag.store.filters import Filter, check_filter
from fastrag.store.lance_engine import lancedb, refuse_after_fork
from fastrag.store.lance_filters import sql_of
from fastrag.store.lance_queries import best, filtered, has_id, portions
from fastrag.store.lance_rows import (
    DOCUMENT_COLUMNS,
    binding_of,
    check_schema,
    embedder_metadata,
    is_ours,
    new_schema,
    to_documents,
    to_embeddings,
    to_rows,
    vector_field,
)
from fastrag.store.languages import language_name

_TABLE_FOLDER = ".lance"
_TEXT_INDEX = "text_idx"
_SCAN_ROWS = 1000
_ATTEMPTS = 10
_MAX_FRAGMENTS = 100
_MAX_UNINDEXED = 5000
_NEW_TABLE_FILE = re.compile(r"0-.*\.txn|\.tmp.*|.*\.manifest#\d+")
_CONFLICT = re.compile("conflict|concurrent|contention", re.IGNORECASE)
_KEEP_OLD_VERSIONS = timedelta(hours=1)


@dataclass(slots=True)
class _Opened:
    """LanceDB's handles, which work only in the process that opened them.

    Closing them under a call crashes it in the engine, so `users` counts the calls under way.
    """

    pid: int
    connection: Any
    table: Any
    syncer: FileSyncer
    users: int = 0


class LanceStore(VectorStore):
    """Keeps everything in a folder and searches it there; several processes may read and write it at once.

    Dense search is exact: every vector is compared. Filters are applied by the engine before the ranking.
    What a write has returned from is on disk (fsync) and survives a killed process; a batch that was not
    acknowledged is there as a whole or not at all. Each batch costs some files and milliseconds, so write
    Documents by the hundred. Call `optimize` after bulk writes: texts that are not in the word index yet are
    found too, but slowly. Writing calls it by itself when very much has piled up.

    The folder is made at the first write or `bind`; reading a store that is not there yet finds nothing.
    Files are opened at first use. `close` leaves calls under way their files; a call after it opens them again.
    LanceDB does not survive a fork: in a child forked from a process that has used a LanceStore every call raises
    StoreError, so start processes with multiprocessing's ``spawn`` or ``forkserver``.

    Needs ``pip install 'fastrag[lance]'``.

    Args:
        path: The folder on this machine, which holds stores and nothing else. ``~`` is the home folder; a
            relative path is taken from the folder that is current now.
        language: Whose word endings to take off for lexical search: an ISO 639-1 code or English name; None
            for none. It is fixed by the first write.
        namespace: Which corpus of the folder this store is; each is a LanceDB table of its own.

    Raises:
        ConfigurationError: There is no stemmer for ``language``, ``namespace`` cannot be one, or ``path`` is a URL
            or no path at all. The first call raises it where ``path`` is a file, a folder of something else, or
            a store of another language or a newer format.

    >>> import tempfile
    >>> import numpy as np
    >>> async def example(folder):
    ...     store = LanceStore(folder)
    ...     await store.upsert([Document("a", "apples"), Document("b", "pears")], np.eye(2, dtype=np.float32))
    ...     found = await store.search(text="an apple", k=1)
    ...     await store.close()
    ...     return [document.id for document in found]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     asyncio.run(example(folder))
    ['a']
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        language: str | None = "en",
        namespace: str = DEFAULT_NAMESPACE,
    ) -> None:
        self._path = _folder(path)
        self._namespace = checked_namespace(namespace)
        self._language = language_name(language)
        self._opened: _Opened | None = None
        self._handles = threading.Lock()
        self._locks: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = weakref.WeakKeyDictionary()

    @property
    def namespace(self) -> str:
        """See `VectorStore.namespace`."""
        return self._namespace

    async def namespaces(self) -> list[str]:
        """See `VectorStore.namespaces`."""
        names = sorted(await asyncio.to_thread(self._table_names))
        if not names:
            return []
        refuse_after_fork()
        found = []
        with self._translated("open"):
            connection = await lancedb().connect_async(self._path)
            try:
                for name in names:
                    # What cannot be opened is being made or dropped at this moment, or no table.
                    with contextlib.suppress(ValueError):
                        table = await connection.open_table(name)
                        if is_ours(await table.schema()):
                            found.append(name)
                        table.close()
            finally:
                connection.close()
        return found

    async def drop(self) -> None:
        """See `VectorStore.drop`."""
        if not await self._exists():
            return
        async with self._writing() as opened:
            await opened.connection.drop_table(self._namespace, ignore_missing=True)
            await self.close()

    async def bind(self, embedder_id: str, dimension: int) -> None:
        """See `VectorStore.bind`."""
        agreed_binding(None, embedder_id, dimension)
        async with self._writing() as opened:
            await _retried(lambda: self._bind(opened, embedder_id, dimension))

    async def binding(self) -> Binding | None:
        """See `VectorStore.binding`."""
        async with self._reading("read") as opened:
            return None if opened is None else binding_of(await opened.table.schema())

    async def upsert(self, documents: Sequence[Document], embeddings: Matrix | None = None) -> None:
        """See `VectorStore.upsert`."""
        # Copied before the first await: the caller may change its Documents while others run.
        copies = checked_documents(documents)
        rows = None if embeddings is None else unit_rows(embeddings, rows=len(copies))
        if not copies:
            return
        async with self._writing() as opened:
            if rows is not None:
                width = rows.shape[1]
                await _retried(lambda: self._bind(opened, None, width))
            schema = await opened.table.schema()
            table = await asyncio.to_thread(to_rows, schema, copies, rows)
            merge = opened.table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
            # "null" leaves as they are the vectors that are missing on purpose; there are no bad ones.
            await merge.execute(table, on_bad_vectors="null")
            if await _is_untidy(opened.table):
                # The batch is in, whatever becomes of this; the next write tries again.
                with contextlib.suppress(RuntimeError):
                    await _tidy(opened.table)

    async def delete(self, *, ids: Sequence[str] | None = None, filter: Filter | None = None) -> int:
        """See `VectorStore.delete`."""
        ids, filter = checked_deletion(ids, filter)
        if filter is None and not ids:
            return 0
        if not await self._exists():
            return 0
        async with self._writing() as opened:
            # Counted by the engine: rows counted before and after would tell what other processes write too.
            result = await opened.table.delete(has_id(ids or []) if filter is None else sql_of(filter))
            return int(result.num_deleted_rows)

    async def get(self, ids: Sequence[str]) -> list[Document]:
        """See `VectorStore.get`."""
        ids = checked_ids(ids)
        found: dict[str, Document] = {}
        async with self._reading("read") as opened:
            if opened is not None:
                for some in portions(ids):
                    query = opened.table.query().where(has_id(some)).select(DOCUMENT_COLUMNS)
                    rows = await query.to_arrow()
                    found.update({document.id: document for document in to_documents(rows)})
        return [found[key] for key in ids if key in found]

    async def get_embeddings(self, ids: Sequence[str]) -> dict[str, Vector]:
        """See `VectorStore.get_embeddings`."""
        ids = checked_ids(ids)
        found: dict[str, Vector] = {}
        async with self._reading("read") as opened:
            if opened is not None and binding_of(await opened.table.schema()) is not None:
                for some in portions(ids):
                    query = opened.table.query().where(has_id(some)).select(["id", "vector"])
                    found.update(to_embeddings(await query.to_arrow()))
        return found

    async def count(self, filter: Filter | None = None) -> int:
        """See `VectorStore.count`."""
        check_filter(filter)
        async with self._reading("read") as opened:
            if opened is None:
                return 0
            return int(await opened.table.count_rows(None if filter is None else sql_of(filter)))

    async def scan(self, filter: Filter | None = None) -> AsyncIterator[Document]:
        """See `VectorStore.scan`."""
        check_filter(filter)
        async with self._reading("read") as opened:
            if opened is None:
                return
            query = filtered(opened.table.query().select(DOCUMENT_COLUMNS), filter)
            batches = await query.to_batches(max_batch_length=_SCAN_ROWS)
        while True:
            with self._translated("read"):
                batch = await anext(batches, None)
            if batch is None:
                return
            for document in to_documents(batch):
                yield document

    async def search_dense(self, embedding: Vector, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        """See `VectorStore.search_dense`."""
        async with self._reading("search") as opened:
            binding = None if opened is None else binding_of(await opened.table.schema())
            if opened is None or binding is None:
                return []
            check_dimension(embedding.size, binding.dimension)
            if not embedding.any():
                return []
            # The vectors are of norm 1, so that LanceDB's dot distance is 1 - cosine.
            query = opened.table.query().nearest_to(embedding).column("vector").distance_type("dot")
            query = filtered(query.bypass_vector_index(), filter)
            found = await best(opened.table, query, k, "_distance", descending=False)
        return [(document, min(1.0, max(-1.0, 1.0 - distance))) for document, distance in found]

    async def search_lexical(self, text: str, k: int, filter: Filter | None) -> list[tuple[Document, float]]:
        """See `VectorStore.search_lexical`."""
        async with self._reading("search") as opened:
            if opened is None:
                return []
            # A match of words, which takes the text as data; LanceDB's query syntax is never parsed.
            match = lancedb("lancedb.query").MatchQuery(text, "text")
            query = filtered(opened.table.query().nearest_to_text(match), filter)
            return await best(opened.table, query, k, "_score", descending=True)

    async def optimize(self) -> None:
        """Merge the files of many writes into few and take new texts into the word index.

        Where other processes write all the while, this may be left for a later call. Files of versions older than
        an hour are removed; a scan that has run for longer may then fail.
        """
        if not await self._exists():
            return
        async with self._writing() as opened:
            try:
                await _retried(lambda: _tidy(opened.table))
            except (RuntimeError, ValueError) as error:
                # What others write at the same time may win every time; their writes or a later call tidy up.
                if not _CONFLICT.search(str(error)):
                    raise

    async def close(self) -> None:
        """Release the files once the calls under way have ended; a later call opens them again."""
        with self._handles:
            opened, self._opened = self._opened, None
        if opened is not None:
            self._close_unused(opened)

    async def _bind(self, opened: _Opened, embedder_id: str | None, dimension: int) -> None:
        """Make the binding agree with what is asked; without an ``embedder_id``, the dimension only."""
        bound = binding_of(await opened.table.schema())
        if embedder_id is not None:
            agreed = agreed_binding(bound, embedder_id, dimension)
        else:
            agreed = bound or Binding(None, dimension)
            check_dimension(dimension, agreed.dimension)
        if bound is None:
            await opened.table.add_columns([vector_field(agreed)])
        elif agreed != bound:
            await opened.table.update_field_metadata({"path": "vector", "metadata": embedder_metadata(agreed)})

    @contextlib.asynccontextmanager
    async def _reading(self, action: str) -> AsyncIterator[_Opened | None]:
        """The handles, not closed meanwhile; None where there is no store yet."""
        opened = await self._taken(create=False)
        try:
            with self._translated(action):
                yield opened
        finally:
            if opened is not None:
                self._leave(opened)

    async def _exists(self) -> bool:
        async with self._reading("open") as opened:
            return opened is not None

    @contextlib.asynccontextmanager
    async def _writing(self) -> AsyncIterator[_Opened]:
        """One write of this process at a time; other processes are the engine's to reconcile."""
        lock = self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        async with lock:
            opened = await self._taken(create=True)
            try:
                with self._translated("write"):
                    await _retried(lambda: self._index_texts(opened.table))
                    yield opened
                    await asyncio.to_thread(opened.syncer.sync)
            finally:
                self._leave(opened)

    @overload
    async def _taken(self, *, create: Literal[True]) -> _Opened: ...
    @overload
    async def _taken(self, *, create: Literal[False]) -> _Opened | None: ...
    async def _taken(self, *, create: bool) -> _Opened | None:
        """The handles of this process, for a call that `_leave`s them; None where there is no store."""
        with self._handles:
            opened = self._opened
            if opened is not None and opened.pid == os.getpid():
                opened.users += 1
                return opened
        if not (await asyncio.to_thread(self._is_there) or create):
            return None
        opened = await self._connect(create=create)
        if opened is not None:
            with self._handles:
                # Where two calls opened the store at once, the first one's handles go when it has ended.
                self._opened, opened.users = opened, 1
        return opened

    def _leave(self, opened: _Opened) -> None:
        with self._handles:
            opened.users -= 1
        self._close_unused(opened)

    def _close_unused(self, opened: _Opened) -> None:
        with self._handles:
            if opened.users or opened is self._opened or opened.pid != os.getpid():
                return
        opened.table.close()
        opened.connection.close()

    async def _connect(self, *, create: bool) -> _Opened | None:
        refuse_after_fork()
        engine = lancedb()
        with self._translated("open"):
            # Without this interval a handle would not see what other processes write.
            connection = await engine.connect_async(self._path, read_consistency_interval=timedelta(0))
            table = await self._open_table(connection, create=create)
            if table is None:
                return None
            check_schema(await table.schema(), language=self._language, where=str(self._path))
        return _Opened(os.getpid(), connection, table, FileSyncer(self._path))

    def _is_there(self) -> bool:
        return self._namespace in self._table_names()

    def _table_names(self) -> list[str]:
        try:
            names = [entry.name for entry in self._path.iterdir() if not entry.name.startswith(".")]
        except FileNotFoundError:
            return []
        except NotADirectoryError as error:
            raise ConfigurationError(f"{self._path} is not a folder: give the path of a folder") from error
        except OSError as error:
            raise StoreError(f"{self._path} cannot be read: {error}") from error
        if names and not any(name.endswith(_TABLE_FOLDER) for name in names):
            raise ConfigurationError(
                f"{self._path} is a folder of something else (it has {min(names)!r} in it): give a new or an empty one"
            )
        return [name.removesuffix(_TABLE_FOLDER) for name in names if name.endswith(_TABLE_FOLDER)]

    async def _open_table(self, connection: Any, *, create: bool) -> Any:
        try:
            return await connection.open_table(self._namespace)
        except ValueError:
            if await asyncio.to_thread(self._has_files):
                return await self._open_anyway(connection)
            if not create:
                return None
            with contextlib.suppress(ValueError):
                return await connection.create_table(self._namespace, schema=new_schema(self._language))
            return await connection.open_table(self._namespace)

    async def _open_anyway(self, connection: Any) -> Any:
        try:
            return await connection.open_table(self._namespace)  # another process made it in between
        except ValueError as error:
            raise StoreError(
                f"the store in {self._path} is damaged or was copied in part: LanceDB finds no table among its files. "
                "Copy the whole folder again, or build the store anew in another"
            ) from error

    def _has_files(self) -> bool:
        """Whether the table's folder has more in it than LanceDB puts there before it commits a new table.

        Where that is all, whoever made the table was killed or is about to commit, and nothing can be lost.
        """
        files = (path for path in (self._path / (self._namespace + _TABLE_FOLDER)).rglob("*") if path.is_file())
        return any(not _NEW_TABLE_FILE.match(path.name) for path in files)

    async def _index_texts(self, table: Any) -> None:
        if await table.list_indices():
            return
        # No word is left out for being common: in "what does with do?" the word that matters is "with".
        words = lancedb("lancedb.index").FTS(
            language=(self._language or "english").capitalize(),
            stem=self._language is not None,
            remove_stop_words=False,
            max_token_length=255,
        )
        await table.create_index("text", config=words, name=_TEXT_INDEX)

    @contextlib.contextmanager
    def _translated(self, action: str) -> Iterator[None]:
        try:
            yield
        except FastRAGError:
            raise
        except (RuntimeError, ValueError, OSError) as error:
            # The first line, without the place in the engine's source.
            reason = str(error).partition("\n")[0].partition(", /")[0]
            raise StoreError(f"LanceDB could not {action} the store in {self._path}: {reason}") from error


def _folder(path: object) -> Path:
    """``path`` as LanceDB and this module will both understand it, whatever folder is current later."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or "\0" in text:
        raise ConfigurationError(f"path must be the path of a folder, not {path!r}")
    if "://" in text:
        raise ConfigurationError(f"path must be a folder on this machine, not a URL: {text!r}")
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError as error:
        raise ConfigurationError(f"path {text!r} cannot be told: {error}") from error


async def _retried(step: Callable[[], Awaitable[None]]) -> None:
    """Take ``step``, and take it again where it gave way to what another process wrote in between."""
    for _ in range(_ATTEMPTS - 1):
        with contextlib.suppress(RuntimeError, ValueError):
            return await step()
    return await step()


async def _is_untidy(table: Any) -> bool:
    """Whether so much was written since the last tidying that it slows searches down.

    The bounds make the work of tidying grow with what is written, and not with its square.
    """
    fragments = (await table.stats())["fragment_stats"]["num_fragments"]
    texts = await table.index_stats(_TEXT_INDEX)
    return bool(
        fragments > _MAX_FRAGMENTS or texts.num_unindexed_rows > max(_MAX_UNINDEXED, texts.num_indexed_rows // 4)
    )


async def _tidy(table: Any) -> None:
    await table.optimize(cleanup_older_than=_KEEP_OLD_VERSIONS)
