"""The limit adapts, nobody is passed by, nobody waits for ever, and no place is lost."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrag.errors import ConfigurationError, ServiceUnavailableError
from fastrag.llm import Pace
from fastrag.llm.pacing import Turn

PLACE = "http://localhost:1/v1"


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


async def a_turn(stack: AsyncExitStack, pace: Pace, patience_s: float = 60) -> Turn:
    turn = await stack.enter_async_context(pace.turn(patience_s))
    await turn.begin()
    return turn


async def test_a_burst_of_refusals_halves_the_limit_once(stack: AsyncExitStack) -> None:
    pace = Pace(PLACE, 8)
    turns = [await a_turn(stack, pace) for _ in range(8)]
    for turn in turns:
        turn.refused(0)
    assert (pace.limit, pace.lowered) == (4, 1)
    for turn in turns[:4]:
        await turn.begin()
    for turn in turns[:4]:
        turn.refused(0)
    assert (pace.limit, pace.lowered) == (2, 2)


async def test_the_limit_never_falls_below_one_nor_rises_above_the_most(stack: AsyncExitStack) -> None:
    pace = Pace(PLACE, 3)
    turn = await a_turn(stack, pace)
    for _ in range(5):
        turn.refused(0)
        await turn.begin()
    assert (pace.limit, pace.lowered) == (1, 1)
    for _ in range(20):
        turn.passed()
    assert pace.limit == 3


async def test_as_many_replies_as_the_limit_raise_it_by_about_one(stack: AsyncExitStack) -> None:
    pace = Pace(PLACE, 64)
    turn = await a_turn(stack, pace)
    turn.refused(0)
    await turn.begin()
    for _ in range(33):
        turn.passed()
    assert pace.limit == 33


async def test_a_reply_to_what_was_sent_before_the_refusal_raises_nothing(stack: AsyncExitStack) -> None:
    pace = Pace(PLACE, 2)
    early, late = await a_turn(stack, pace), await a_turn(stack, pace)
    late.refused(0)
    early.passed()
    assert pace.limit == 1


async def test_those_who_wait_are_served_in_their_order_and_never_too_many(stack: AsyncExitStack) -> None:
    pace = Pace(PLACE, 2)
    order: list[int] = []
    active = peak = 0

    async def call(number: int) -> None:
        nonlocal active, peak
        async with pace.turn(60):
            order.append(number)
            active += 1
            peak = max(peak, active)
            await asyncio.sleep(0)
            active -= 1

    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(call(number))
    assert order == list(range(20))
    assert peak == 2


async def test_one_that_was_refused_stands_at_the_end_of_the_line(stack: AsyncExitStack) -> None:
    pace = Pace(PLACE, 1)
    first = await a_turn(stack, pace)
    order: list[str] = []

    async def other() -> None:
        async with pace.turn(60):
            order.append("other")

    async with asyncio.TaskGroup() as group:
        group.create_task(other())
        await asyncio.sleep(0)
        first.refused(0)
        await first.begin()
        order.append("first")
    assert order == ["other", "first"]


async def test_after_a_refusal_nothing_is_sent_for_as_long_as_the_server_said(stack: AsyncExitStack) -> None:
    pace = Pace(PLACE, 4)
    turn = await a_turn(stack, pace)
    turn.refused(0.05)
    assert 0 < pace.paused_s <= 0.05
    await a_turn(stack, pace)
    assert pace.paused_s == 0


async def test_a_pause_longer_than_ones_patience_is_an_error_at_once(stack: AsyncExitStack) -> None:
    pace = Pace(PLACE, 1)
    turn = await a_turn(stack, pace)
    waiting = [asyncio.create_task(a_turn(stack, pace, patience_s=5)) for _ in range(3)]
    await asyncio.sleep(0)
    turn.refused(30)
    for error in await asyncio.gather(*waiting, a_turn(stack, pace, patience_s=5), return_exceptions=True):
        assert isinstance(error, ServiceUnavailableError)
        assert error.retry_after_s is not None
        assert 5 < error.retry_after_s <= 30


async def test_no_pause_is_longer_than_ten_minutes(stack: AsyncExitStack) -> None:
    pace = Pace(PLACE, 1)
    (await a_turn(stack, pace)).refused(1e9)
    assert 590 < pace.paused_s <= 600


async def test_where_the_server_does_not_say_how_long_the_pause_doubles_up_to_a_bound(stack: AsyncExitStack) -> None:
    pace = Pace(PLACE, 1)
    turn = await a_turn(stack, pace)
    pauses = []
    for round_ in range(6):
        turn._round = round_  # as if each had been sent after the pause before it
        turn.refused(None)
        pauses.append(pace.paused_s)
    assert pauses == pytest.approx([0.5, 1, 2, 4, 8, 8], rel=0.1)


async def test_a_place_is_not_lost_to_a_cancelled_call(stack: AsyncExitStack) -> None:
    pace = Pace(PLACE, 1)
    held = await a_turn(stack, pace)
    tasks = [asyncio.create_task(a_turn(stack, pace)) for _ in range(3)]
    await asyncio.sleep(0)
    tasks[0].cancel()  # while it waits
    held.give_up()
    tasks[1].cancel()  # in the moment in which it was given the place
    await asyncio.wait(tasks[:2])
    assert all(task.cancelled() for task in tasks[:2])
    await tasks[2]


@pytest.mark.filterwarnings("error")
def test_each_loop_has_a_line_of_its_own_and_they_share_the_limit() -> None:
    pace = Pace(PLACE, 4)

    async def refused_once() -> None:
        async with pace.turn(60) as turn:
            await turn.begin()
            turn.refused(0)
            await turn.begin()

    async def left_waiting() -> None:
        async with pace.turn(60), pace.turn(60):
            pass

    asyncio.run(refused_once())
    assert pace.limit == 2
    asyncio.run(refused_once())
    assert pace.limit == 1
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(left_waiting(), 0.01))
    asyncio.run(refused_once())
    gc.collect()
    assert len(pace._lines) == 1


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.lists(st.sampled_from(["pass", "refuse", "fail", "cancel"]), max_size=30))
async def test_whatever_becomes_of_the_calls_all_places_are_free_afterwards(most: int, fates: list[str]) -> None:
    pace = Pace(PLACE, most)
    active = peak = 0

    async def call(fate: str) -> None:
        nonlocal active, peak
        async with pace.turn(60) as turn:
            await turn.begin()
            active += 1
            peak = max(peak, active)
            try:
                await asyncio.sleep(0)
                if fate == "fail":
                    raise ValueError
            finally:
                active -= 1
            if fate == "pass":
                turn.passed()
            if fate == "refuse":
                turn.refused(0)
                await turn.begin()

    tasks = [asyncio.create_task(call(fate)) for fate in fates]
    await asyncio.sleep(0)
    for task, fate in zip(tasks, fates, strict=True):
        if fate == "cancel":
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert peak <= most
    assert 1 <= pace.limit <= most
    line = pace._line()
    assert (line.active, len(line.waiting)) == (0, 0)


@pytest.mark.parametrize("most", [0, -1, 1.5, True, None])
def test_a_limit_that_is_none_is_refused(most: object) -> None:
    with pytest.raises(ConfigurationError, match="max_concurrency"):
        Pace(PLACE, most)  # type: ignore[arg-type]
