"""Telling a run that is being stopped from a pipeline or a metric that plays with cancellation."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Stopping:
    """Whether the run itself is being cancelled."""

    requested: bool = False


_current: ContextVar[Stopping | None] = ContextVar("fastrag_stopping", default=None)


def watch_stopping() -> Stopping:
    """A new `Stopping` for this context and the tasks started from it."""
    stopping = Stopping()
    _current.set(stopping)
    return stopping


def belongs_to_stranger(error: BaseException) -> bool:
    """Whether what a pipeline or a metric raised is its own failure, and not the run being stopped."""
    if isinstance(error, asyncio.CancelledError):
        stopping = _current.get()
        if stopping is not None:
            return not stopping.requested
        task = asyncio.current_task()
        return task is not None and task.cancelling() == 0
    return not isinstance(error, KeyboardInterrupt | GeneratorExit)


async def take_back_cancellation(stopping: Stopping) -> None:
    """Undo what a stranger did to the current task: a cancellation that it asked for and did not take back.

    Otherwise the next thing that this task awaits would be cancelled, and with it the worker that it is.
    """
    task = asyncio.current_task()
    if task is None or not task.cancelling() or stopping.requested:
        return
    while task.cancelling():
        task.uncancel()
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        if stopping.requested:
            raise
