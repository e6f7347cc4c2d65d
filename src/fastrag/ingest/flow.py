"""Stages of work that overlap, in order and within bounds."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Generic, Self, TypeVar

S = TypeVar("S")
T = TypeVar("T")


async def in_order(
    function: Callable[[S], Awaitable[T]], items: AsyncGenerator[S, None], *, at_once: int
) -> AsyncGenerator[T, None]:
    """What ``function`` gives for each of ``items``, in their order, with at most ``at_once`` calls under way.

    Where ``items`` or a call fails, all that came before is given first. ``items`` is closed at the end.
    """
    running: deque[asyncio.Future[T]] = deque()
    try:
        async with aclosing(items):
            more = True
            while more or running:
                if more and len(running) < at_once:
                    try:
                        running.append(asyncio.ensure_future(function(await anext(items))))
                    except StopAsyncIteration:
                        more = False
                    except Exception as error:  # noqa: BLE001 - raised when it is its turn
                        more = False
                        running.append(failed := asyncio.get_running_loop().create_future())
                        failed.set_exception(error)
                    continue
                yield await running[0]
                running.popleft()
    finally:
        for call in running:
            call.cancel()
        await asyncio.gather(*running, return_exceptions=True)


class Ahead(Generic[T]):
    """Takes items in a task of its own, ahead of who asks for them; used with ``async with``.

    Args:
        items: Closed at the end.
        most: How many items may wait to be asked for.
    """

    def __init__(self, items: AsyncGenerator[T, None], *, most: int) -> None:
        self._items = items
        self._queue: asyncio.Queue[tuple[T] | None] = asyncio.Queue(most)
        self._ended = False

    async def waiting(self) -> list[T]:
        """The items that have come since the last call; waits for one. Empty at the end.

        Raises what the items ended with, once all that came before it has been given.
        """
        found: list[T] = []
        while not self._ended and (not found or not self._queue.empty()):
            if (come := await self._queue.get()) is None:
                self._ended = True
            else:
                found.append(*come)
        if not found:
            await self._task
        return found

    async def _take(self) -> None:
        try:
            async with aclosing(self._items):
                async for item in self._items:
                    await self._queue.put((item,))
        except Exception:
            await self._queue.put(None)
            raise
        await self._queue.put(None)

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._take())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
