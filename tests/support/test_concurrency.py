import asyncio
import gc

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


async def test_no_more_run_at_once_than_allowed():
    running, most = 0, 0

    async def counts(number):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return number

    assert await run_together(*(counts(number) for number in range(10)), at_once=3) == list(range(10))
    assert most == 3


async def test_calls_whose_turn_never_came_are_closed():
    async def fails():
        raise ValueError("boom")

    async def never():
        raise AssertionError("its turn never comes")

    # A coroutine that is dropped without having been closed is a RuntimeWarning, which fails this test.
    with pytest.raises(ValueError, match="boom"):
        await run_together(fails(), never(), never(), at_once=1)
    gc.collect()
