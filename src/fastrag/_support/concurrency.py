"""Running a few calls at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def run_together(*calls: Coroutine[Any, Any, T]) -> list[T]:
    """Run ``calls`` concurrently and return their results in the order given.

    The first that fails cancels the others, and its exception is raised as it is, not in an exception group.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except BaseExceptionGroup as errors:
        first = errors.exceptions[0]
        raise first from first.__cause__
    return [task.result() for task in tasks]
