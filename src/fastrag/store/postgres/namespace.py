"""A namespace in PostgreSQL: its table as it is known here, read and written beside others who change it."""

from __future__ import annotations

import asyncio
import contextlib
import random
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from fastrag.errors import EmbedderMismatchError
from fastrag.store.base import Binding, agreed_binding
from fastrag.store.checks import check_dimension, check_language
from fastrag.store.postgres.engine import psycopg
from fastrag.store.postgres.server import PostgresServer
from fastrag.store.postgres.table import (
    Names,
    Table,
    TableChangedError,
    bind_table,
    drop_table,
    make_table,
    read_table,
)
from fastrag.store.postgres.textsearch import rebuild_after_restart

T = TypeVar("T")
Step = Callable[[Any, Table], Awaitable[T]]

_ATTEMPTS = 8
_ATTEMPTS_BESIDE_OTHERS = 4
_FIRST_WAIT_S = 0.005


class PostgresNamespace:
    """Makes the table at the first write, and keeps in mind what it says of itself.

    What is kept in mind may be out of date, as other processes drop tables and make them anew: where a step fails in a
    way that this explains, the table is asked again, and the step taken once more.

    Args:
        server: Where it is.
        namespace: Its name.
        language: Its stemmer's language, as `language_name` gives it.
    """

    def __init__(self, server: PostgresServer, namespace: str, language: str | None) -> None:
        self.names = Names(namespace)
        self._server = server
        self._language = language
        self._what = f"the namespace {namespace!r}"
        self._known: Table | None = None
        self._of_this_run: weakref.WeakSet[Any] = weakref.WeakSet()

    async def read(self, action: str, step: Step[T], absent: T) -> T:
        """What ``step`` returns, or ``absent`` where there is no table."""
        async with self._server.connection(action, self._what) as connection:
            return await self._read(connection, step, absent)

    async def write(self, step: Step[T], absent: T, *, make: bool = False, dimension: int | None = None) -> T:
        """The same in a transaction, taken again where it gave way to another's.

        Args:
            step: As in `read`.
            absent: As in `read`.
            make: Makes the table where there is none.
            dimension: Binds a table that is not bound to vectors of this dimension, and refuses others.
        """
        engine = psycopg("psycopg.errors")
        passing = (
            TableChangedError,
            engine.UniqueViolation,
            engine.DeadlockDetected,
            engine.SerializationFailure,
            engine.UndefinedTable,
        )
        async with self._server.connection("write", self._what) as connection:
            attempt = 1
            while True:
                try:
                    return await self._write(connection, step, absent, attempt, make=make, dimension=dimension)
                except passing:
                    self._known = None
                    if attempt == _ATTEMPTS:
                        raise
                await asyncio.sleep(_FIRST_WAIT_S * 2**attempt * random.random())  # noqa: S311 - not for secrets
                attempt += 1

    async def bind(self, embedder_id: str, dimension: int) -> None:
        """See `VectorStore.bind`."""
        async with self._server.connection("bind", self._what) as connection:
            await make_table(connection, self.names, self._language)
            self._known = await bind_table(connection, self.names, Binding(embedder_id, dimension))
            agreed_binding(self._known.binding, embedder_id, dimension)

    async def binding(self) -> Binding | None:
        """See `VectorStore.binding`."""
        async with self._server.connection("open", self._what) as connection:
            table = await self._table(connection, again=True)
            return None if table is None else table.binding

    async def drop(self, timeout_s: float) -> None:
        """See `VectorStore.drop`; those who read it are waited for ``timeout_s`` long."""
        async with self._server.connection("drop", self._what) as connection:
            await drop_table(connection, self.names, timeout_s)
            self._known = None

    @contextlib.asynccontextmanager
    async def scanned(self) -> AsyncIterator[Any]:
        """A connection that the pool does not miss, in a transaction; None where there is no table."""
        async with self._server.extra_connection("read", self._what) as connection:
            # Asked before the transaction, which is to keep nobody waiting.
            table = await self._table(connection, again=True)
            async with connection.transaction():
                yield None if table is None else connection

    async def _read(self, connection: Any, step: Step[T], absent: T) -> T:
        engine = psycopg()
        again = False
        while True:
            table = await self._table(connection, again=again)
            if table is None:
                return absent
            try:
                return await step(connection, table)
            except (engine.ProgrammingError, engine.DataError, EmbedderMismatchError):
                if again:
                    raise
                again = True

    async def _write(
        self, connection: Any, step: Step[T], absent: T, attempt: int, *, make: bool, dimension: int | None
    ) -> T:
        table = await self._table(connection)
        if table is None:
            if not make:
                return absent
            table = self._known = await make_table(connection, self.names, self._language)
            check_language(self._what, table.language, self._language)
        if dimension is not None:
            if table.dimension != dimension:
                table = self._known = await bind_table(connection, self.names, Binding(None, dimension))
            check_dimension(dimension, table.dimension or dimension)
        async with connection.transaction():
            if attempt > _ATTEMPTS_BESIDE_OTHERS:
                # Others won every time; now they wait.
                await connection.execute(f"LOCK TABLE {self.names.table} IN SHARE ROW EXCLUSIVE MODE")
            return await step(connection, table)

    async def _table(self, connection: Any, *, again: bool = False) -> Table | None:
        """What the table says of itself; asked again while it is not bound, as that is what changes."""
        if again or self._known is None or self._known.dimension is None:
            self._known = await read_table(connection, self.names)
            if self._known is not None:
                check_language(self._what, self._known.language, self._language)
        if self._known is not None and self._known.ranking == "bm25" and connection not in self._of_this_run:
            # A connection does not outlive its server, so that this holds for as long as it is used.
            await rebuild_after_restart(connection, self.names)
            self._of_this_run.add(connection)
        return self._known
