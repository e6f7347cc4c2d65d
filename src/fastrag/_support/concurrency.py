"""Running a few calls at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def run_together(*calls: Coroutine[Any, Any, T], at_once: int | None = None) -> list[T]:
    """Run ``calls`` concurrently and return their results in the order given.

    The first that fails cancels the others, and its exception is raised as it is, not in an exception group.

    Args:
        calls: What to run.
        at_once: How many run at one time; None for all.
    """
    slots = asyncio.Semaphore(len(calls) if at_once is None else at_once)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_in_turn(call, slots)) for call in calls]
    except BaseExceptionGroup as errors:
        first = errors.exceptions[0]
        raise first from first.__cause__
    finally:
        for call in calls:
            call.close()  # one whose turn never came would warn that it was never awaited
    return [task.result() for task in tasks]


async def _in_turn(call: Coroutine[Any, Any, T], slots: asyncio.Semaphore) -> T:
    async with slots:
        return await call
