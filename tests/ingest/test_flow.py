"""Stages that overlap: order, bounds, errors, and an end without anything left running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from fastrag.ingest.flow import Ahead, in_order


async def numbers(count: int, taken: list[int] | None = None, fail_at: int | None = None) -> AsyncGenerator[int, None]:
    for number in range(count):
        if number == fail_at:
            raise ValueError(f"no {number}")
        if taken is not None:
            taken.append(number)
        yield number


async def collect(results: AsyncGenerator[int, None], found: list[int]) -> None:
    async for result in results:
        found.append(result)


def others() -> list[asyncio.Task[object]]:
    return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


async def test_results_are_in_order_whatever_ends_first() -> None:
    ends = [asyncio.Event() for _ in range(6)]
    started: list[int] = []

    async def call(number: int) -> int:
        started.append(number)
        if number == 2:
            # All that may run beside the first has started; now it ends last.
            ends[0].set()
        if number == 0:
            await ends[0].wait()
        return number * 10

    assert [result async for result in in_order(call, numbers(6), at_once=3)] == [0, 10, 20, 30, 40, 50]
    assert started == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("at_once", [1, 2, 5])
async def test_no_more_calls_are_under_way_than_asked_for(at_once: int) -> None:
    running = peak = 0

    async def call(number: int) -> None:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        for _ in range(20):
            await asyncio.sleep(0)
        running -= 1

    taken: list[int] = []
    given = 0
    async for _ in in_order(call, numbers(20, taken), at_once=at_once):
        given += 1
        assert len(taken) <= given - 1 + at_once
    assert (given, peak) == (20, at_once)


async def test_what_came_before_a_failing_call_is_given_and_what_runs_beside_it_is_cancelled() -> None:
    async def call(number: int) -> int:
        if number == 3:
            await asyncio.Event().wait()
        if number == 2:
            raise KeyError(number)
        return number

    found: list[int] = []
    with pytest.raises(KeyError):
        await collect(in_order(call, numbers(9), at_once=4), found)
    assert found == [0, 1]
    assert others() == []


async def test_what_came_before_failing_items_is_given() -> None:
    async def call(number: int) -> int:
        await asyncio.sleep(0)
        return number

    found: list[int] = []
    with pytest.raises(ValueError, match="no 3"):
        await collect(in_order(call, numbers(9, fail_at=3), at_once=4), found)
    assert found == [0, 1, 2]


async def test_items_are_taken_ahead_as_far_as_allowed_and_given_together() -> None:
    taken: list[int] = []
    async with Ahead(numbers(10, taken), most=3) as ahead:
        assert await ahead.waiting() == [0, 1, 2]
        for _ in range(20):
            await asyncio.sleep(0)
        # Three wait in the queue, and one for a place in it.
        assert taken == [0, 1, 2, 3, 4, 5, 6]
        found = []
        while several := await ahead.waiting():
            found += several
    assert found == [3, 4, 5, 6, 7, 8, 9]
    assert others() == []


async def test_what_came_before_an_error_is_given_before_it_is_raised() -> None:
    async with Ahead(numbers(10, fail_at=5), most=2) as ahead:
        found = [*await ahead.waiting(), *await ahead.waiting()]
        if len(found) < 5:
            found += await ahead.waiting()
        assert found == [0, 1, 2, 3, 4]
        with pytest.raises(ValueError, match="no 5"):
            await ahead.waiting()


@pytest.mark.parametrize("taken", [0, 1])
async def test_leaving_early_leaves_nothing_running_and_closes_the_items(taken: int) -> None:
    closed = False

    async def endless() -> AsyncGenerator[int, None]:
        nonlocal closed
        try:
            while True:
                yield 1
        finally:
            closed = True

    async with Ahead(endless(), most=2) as ahead:
        for _ in range(taken):
            await ahead.waiting()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert closed
    assert others() == []
