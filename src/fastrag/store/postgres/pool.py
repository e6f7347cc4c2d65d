"""The connections of a store: a bounded number for each event loop, opened when they are needed."""

from __future__ import annotations

import asyncio
import contextlib
import select
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from fastrag._support.per_loop import PerLoop


class ConnectionPool:
    """Lends connections, each to one call at a time.

    psycopg's own pool connects in the background, again and again: a call on a server that is down learns after its
    time-out that there was no connection, and not why; and its tasks belong to one event loop, which waits for them
    when it ends. This one connects within the call that needs a connection, and has no tasks.

    Args:
        connect: Opens one.
        size: How many are lent at once in an event loop; further calls wait.
    """

    def __init__(self, connect: Callable[[], Awaitable[Any]], size: int) -> None:
        self._connect = connect
        self._loops = PerLoop(lambda: _Connections(size), _Connections.close)

    @contextlib.asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        """A connection that is in no transaction; it must be in none again at the end, or it is closed."""
        mine = await self._loops.get()
        async with mine.places:
            connection = mine.idle() or await self._connect()
            try:
                yield connection
            finally:
                await mine.give_back(connection)

    @contextlib.asynccontextmanager
    async def extra_connection(self) -> AsyncIterator[Any]:
        """A connection beyond the bound, for what goes on while its caller calls again."""
        mine = await self._loops.get()
        connection = mine.idle() or await self._connect()
        try:
            yield connection
        finally:
            await mine.give_back(connection)

    async def close(self) -> None:
        """Close those of this event loop: idle ones now, lent ones when they come back."""
        await self._loops.close()


class _Connections:
    """Those of one event loop."""

    def __init__(self, size: int) -> None:
        self.places = asyncio.Semaphore(size)
        self._size = size
        self._idle: list[Any] = []
        self._closed = False

    def idle(self) -> Any:
        """One that was given back and is still good; None where there is none."""
        while self._idle:
            connection = self._idle.pop()
            # The server has nothing to say to an idle connection but that it ends it.
            if not connection.closed and not _is_readable(connection.fileno()):
                return connection
            connection.pgconn.finish()
        return None

    async def give_back(self, connection: Any) -> None:
        if self._closed or len(self._idle) >= self._size or not _is_at_rest(connection):
            await connection.close()
        else:
            self._idle.append(connection)

    async def close(self) -> None:
        self._closed = True
        while self._idle:
            await self._idle.pop().close()


def _is_at_rest(connection: Any) -> bool:
    return not connection.closed and connection.info.transaction_status.name == "IDLE"


def _is_readable(handle: int) -> bool:
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([handle], [], [], 0)[0])
