import asyncio

import pytest

from fastrag._support.concurrency import run_together
from fastrag.errors import StoreError


async def test_results_come_in_the_order_given_whatever_finishes_first():
    first_may_end = asyncio.Event()

    async def first():
        await first_may_end.wait()
        return 1

    async def second():
        first_may_end.set()
        return 2

    assert await run_together(first(), second()) == [1, 2]
    assert await run_together() == []


async def test_a_failure_cancels_the_others_and_is_raised_as_itself():
    cancelled = asyncio.Event()
    cause = ValueError("cause")

    async def waits():
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def fails():
        raise StoreError("broken") from cause

    with pytest.raises(StoreError, match="broken") as caught:
        await run_together(waits(), fails())
    assert cancelled.is_set()
    assert caught.value.__cause__ is cause


async def test_cancelling_cancels_all():
    started, ended = [], []

    async def waits(name):
        started.append(name)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    task = asyncio.create_task(run_together(waits("a"), waits("b")))
    while len(started) < 2:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(ended) == ["a", "b"]
