"""Things that belong to one event loop, as connections do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """One of something for each event loop, closed by `close` or else when its loop ends.

    Args:
        make: Makes one, in the loop that it is for.
        end: Closes one, in the same loop.
    """

    def __init__(self, make: Callable[[], T], end: Callable[[T], Awaitable[object]]) -> None:
        self._make = make
        self._end = end
        self._held: dict[asyncio.AbstractEventLoop, tuple[T, AsyncGenerator[None, None]]] = {}

    async def get(self) -> T:
        """That of the running event loop."""
        loop = asyncio.get_running_loop()
        for other in list(self._held):
            if other.is_closed():
                self._held.pop(other, None)
        if loop not in self._held:
            thing = self._make()
            closer = self._closer(thing)
            await anext(closer)
            self._held[loop] = thing, closer
        return self._held[loop][0]

    async def close(self) -> None:
        """Close that of the running loop; harmless when there is none. `get` makes another."""
        _, closer = self._held.pop(asyncio.get_running_loop(), (None, None))
        if closer is not None:
            await closer.aclose()

    async def _closer(self, thing: T) -> AsyncGenerator[None, None]:
        # Held at its yield: a loop closes every asynchronous generator when it ends.
        try:
            yield
        finally:
            await self._end(thing)
