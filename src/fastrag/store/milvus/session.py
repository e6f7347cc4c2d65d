"""What is open between a store's first call and its close: connections, and a file's engine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any

from fastrag._support.per_loop import PerLoop


class _Link:
    """A client of one event loop."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._connecting = asyncio.Lock()
        self._connected = False

    async def connected(self) -> Any:
        # One at a time: of two connections the client would keep the second and never close the first.
        if not self._connected:
            async with self._connecting:
                await self.client.__aenter__()
                self._connected = True
        return self.client


class Session:
    """Connections to one address, of each event loop that asks and one for threads.

    Attributes:
        address: What they connect to.
        is_closing: Whether nothing new is to be asked.

    Args:
        address: As pymilvus takes it.
        new_client: Makes a client, given the name of its class.
        end: Called when the connections are closed.
    """

    def __init__(self, address: str, new_client: Callable[[str, str], Any], end: Callable[[], object]) -> None:
        self.address = address
        self.is_closing = False
        self._new_client = new_client
        self._end = end
        self._links: PerLoop[_Link] = PerLoop(
            lambda: _Link(new_client("AsyncMilvusClient", address)), lambda link: link.client.close()
        )
        self._writer: Any = None
        self._guard = threading.Lock()
        self._users = 0
        self._idle: Future[None] = Future()

    @contextmanager
    def used(self) -> Iterator[None]:
        """While this lasts, `close` waits."""
        with self._guard:
            self._users += 1
        try:
            yield
        finally:
            with self._guard:
                self._users -= 1
                self._tell_if_idle()

    async def client(self) -> Any:
        """The running event loop's, connected."""
        return await (await self._links.get()).connected()

    def writer(self) -> Any:
        """That for threads, connected."""
        with self._guard:
            if self._writer is None:
                self._writer = self._new_client("MilvusClient", self.address)
            return self._writer

    async def close(self, *, patience_s: float) -> None:
        """Close all when the calls under way have ended; after ``patience_s`` they fail."""
        with self._guard:
            self.is_closing = True
            self._tell_if_idle()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(self._idle), patience_s)
        await self._links.close()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        with self._guard:
            if self._writer is not None:
                self._writer.close()
        self._end()

    def _tell_if_idle(self) -> None:
        if self.is_closing and not self._users and not self._idle.done():
            self._idle.set_result(None)
