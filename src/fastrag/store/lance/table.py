"""A LanceDB table in a folder: made, opened at first use, shared by the calls of a process, closed, dropped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import shutil
import threading
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypeVar, overload

from fastrag._support.files import fsync_folder
from fastrag.errors import ConfigurationError, FastRAGError, StoreError
from fastrag.store.checks import checked_folder
from fastrag.store.durability import FileSyncer, make_durable_folder
from fastrag.store.lance.engine import lancedb, refuse_after_fork
from fastrag.store.lance.indexes import index_words
from fastrag.store.lance.rows import check_schema, is_ours, new_schema

T = TypeVar("T")

_TABLE_FOLDER = ".lance"
_DROPPED = ".dropped-"
_ATTEMPTS = 10
_NEW_TABLE_FILE = re.compile(r"0-.*\.txn|\.tmp.*|.*\.manifest#\d+")


@dataclass(slots=True)
class _Opened:
    """LanceDB's handles, which work only in the process that opened them.

    Closing them under a call crashes it in the engine, so `users` counts the calls under way.
    """

    pid: int
    connection: Any
    table: Any
    syncer: FileSyncer
    has_words: bool = False
    users: int = 0


class LanceTable:
    """The table of one namespace.

    Args:
        path: The folder that the tables of all namespaces are in.
        namespace: The table's name.
        language: Of the word index, as `language_name` gives it.

    Raises:
        ConfigurationError: ``path`` is a URL or no path at all.
    """

    def __init__(self, path: str | os.PathLike[str], namespace: str, language: str | None) -> None:
        self._path = checked_folder(path)
        self._namespace = namespace
        self._language = language
        self._files = self._path / f"{namespace}{_TABLE_FOLDER}"
        self._opened: _Opened | None = None
        self._handles = threading.Lock()
        self._locks: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = weakref.WeakKeyDictionary()

    async def read(self, action: str, use: Callable[[Any], Awaitable[T]], *, absent: T) -> T:
        """What ``use`` makes of the table, which is not closed meanwhile; ``absent`` where there is none."""
        opened = await self._taken(create=False)
        if opened is None:
            return absent
        try:
            with self.translated(action):
                return await use(opened.table)
        except StoreError:
            if not await self._was_dropped():
                raise
            await self.close()
        finally:
            self._leave(opened)
        return await self.read(action, use, absent=absent)

    @contextlib.asynccontextmanager
    async def writing(self) -> AsyncIterator[Any]:
        """The table, made if need be; what is written is on disk when this ends.

        One write of an event loop at a time; other loops and processes are the engine's to reconcile.
        """
        async with self._lock():
            await self.exists()  # so that no handle of a dropped table is written to
            opened = await self._taken(create=True)
            try:
                with self.translated("write"):
                    if not opened.has_words:
                        await retried(lambda: index_words(opened.table, self._language))
                        opened.has_words = True
                    yield opened.table
                    await asyncio.to_thread(opened.syncer.sync)
            finally:
                self._leave(opened)

    async def exists(self) -> bool:
        """Whether the table was made, and was not dropped."""
        return await self.read("open", _version, absent=0) > 0

    async def namespaces(self) -> list[str]:
        """The names of the tables in the folder that fastrag made."""
        names = sorted(await asyncio.to_thread(self._table_names))
        if not names:
            return []
        refuse_after_fork()
        found = []
        with self.translated("open"):
            connection = await lancedb().connect_async(self._path)
            try:
                for name in names:
                    # What cannot be opened is being made or dropped at this moment, or no table.
                    with contextlib.suppress(RuntimeError, ValueError):
                        table = await connection.open_table(name)
                        if is_ours(await table.schema()):
                            found.append(name)
                        table.close()
            finally:
                connection.close()
        return found

    async def drop(self) -> None:
        """Remove the table, at once for everybody."""
        async with self._lock():
            if await self.exists():
                await self.close()
                with self.translated("drop"):
                    await asyncio.to_thread(self._remove)

    async def close(self) -> None:
        """Release the files once the calls under way have ended; a later call opens them again."""
        with self._handles:
            opened, self._opened = self._opened, None
        if opened is not None:
            self._close_unused(opened)

    @contextlib.contextmanager
    def translated(self, action: str) -> Iterator[None]:
        """Raise the engine's errors as StoreError that says what could not be done, and where."""
        try:
            yield
        except FastRAGError:
            raise
        except (RuntimeError, ValueError, OSError) as error:
            # The first line, without the place in the engine's source.
            reason = str(error).partition("\n")[0].partition(", /")[0]
            raise StoreError(f"LanceDB could not {action} the store in {self._path}: {reason}") from error

    def _lock(self) -> asyncio.Lock:
        return self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    @overload
    async def _taken(self, *, create: Literal[True]) -> _Opened: ...
    @overload
    async def _taken(self, *, create: Literal[False]) -> _Opened | None: ...
    async def _taken(self, *, create: bool) -> _Opened | None:
        """The handles of this process, for a call that `_leave`s them; None where there is no table."""
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
                # Where two calls opened the table at once, the first one's handles go when it has ended.
                self._opened, opened.users = opened, 1
        return opened

    async def _was_dropped(self) -> bool:
        # Another process may drop a table. That the whole folder went away is no answer to a question.
        return await asyncio.to_thread(lambda: self._path.exists() and not self._is_there())

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
        with self.translated("open"):
            if create:
                await asyncio.to_thread(make_durable_folder, self._path)
            # Without this interval a handle would not see what other processes write.
            connection = await engine.connect_async(self._path, read_consistency_interval=timedelta(0))
            table = await self._open_table(connection, create=create)
            if table is None:
                return None
            check_schema(await table.schema(), language=self._language, where=str(self._path))
            if create:
                await asyncio.to_thread(fsync_folder, self._path)
        return _Opened(os.getpid(), connection, table, FileSyncer(self._files))

    async def _open_table(self, connection: Any, *, create: bool) -> Any:
        try:
            return await connection.open_table(self._namespace)
        except ValueError:
            if await asyncio.to_thread(self._has_files):
                return await self._open_again(connection)
            if not create:
                return None
            with contextlib.suppress(ValueError):
                return await connection.create_table(self._namespace, schema=new_schema(self._language))
            return await connection.open_table(self._namespace)

    async def _open_again(self, connection: Any) -> Any:
        try:
            return await connection.open_table(self._namespace)  # another process made it in between
        except ValueError as error:
            raise StoreError(
                f"the store in {self._path} is damaged or was copied in part: LanceDB finds no table among the files "
                f"of {self._files.name}. Copy the whole folder again, or build the store anew in another"
            ) from error

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

    def _has_files(self) -> bool:
        """Whether the table's folder has more in it than LanceDB puts there before it commits a new table.

        Where that is all, whoever made the table was killed or is about to commit, and nothing can be lost.
        """
        files = (path for path in self._files.rglob("*") if path.is_file())
        return any(not _NEW_TABLE_FILE.match(path.name) for path in files)

    def _remove(self) -> None:
        # By one step, so that no half of a table is ever seen; then its files, and what killed processes left of
        # theirs.
        with contextlib.suppress(FileNotFoundError):
            self._files.rename(self._path / f"{_DROPPED}{secrets.token_hex(8)}")
        fsync_folder(self._path)
        for dropped in self._path.glob(f"{_DROPPED}*"):
            shutil.rmtree(dropped, ignore_errors=True)


async def _version(table: Any) -> int:
    return int(await table.version())


async def retried(step: Callable[[], Awaitable[None]]) -> None:
    """Take ``step``, and take it again where it gave way to what another process wrote in between."""
    for _ in range(_ATTEMPTS - 1):
        with contextlib.suppress(RuntimeError, ValueError):
            return await step()
    return await step()
