"""Logs get a line every 30 seconds and one at the end, each with all there is to say."""

import asyncio
import io

import pytest
from rich.console import Console

from fastrag.benchmark.report.progress.display import RunDisplay
from fastrag.benchmark.report.progress.lines import Lines


@pytest.fixture
def log():
    return io.StringIO()


@pytest.fixture
def display(log, clock):
    return RunDisplay(lambda: Lines(Console(file=log, width=80, soft_wrap=True)), "my [b]run[/b]", 100, clock=clock)


def test_every_line_has_everything(display, log, clock, state_at):
    display.open()
    assert log.getvalue() == ""
    display.update(state_at(1))
    display.update(state_at(60, errored=3, incomplete=2))
    assert log.getvalue() == ""
    clock.now_s += 30
    display.tick()
    assert log.getvalue() == (
        "my [b]run[/b]: 60/100 questions, 2.0/s, ETA 0:20, 3 errored, 2 incomplete; "
        "pipeline: 60 calls, 60,000 tokens, $1.20; judges: 120 calls (60 cached), 0 tokens, cost not known; "
        "recall@5 0.250 (n=57), latency_ms 100.2 (n=57)\n"
    )
    log.truncate(0)
    log.seek(0)
    display.update(state_at(100, spent=False, metrics=(), elapsed_s=50.0))
    clock.now_s += 20
    display.close()
    assert log.getvalue() == "my [b]run[/b]: 100/100 questions in 0:50, 2.0/s\n"


def test_where_nothing_ends_the_line_says_so(display, log, clock, state_at):
    display.open()
    clock.now_s += 30
    display.tick()
    display.update(state_at(10, spent=False, metrics=()))
    for _ in range(2):
        clock.now_s += 30
        display.tick()
    assert log.getvalue().splitlines() == [
        "my [b]run[/b]: 0/100 questions",
        "my [b]run[/b]: 10/100 questions, 0.3/s, ETA 4:30",
        "my [b]run[/b]: 10/100 questions, ETA -",
    ]


def test_what_an_earlier_part_did_is_no_part_of_the_pace(log, clock, state_at):
    display = RunDisplay(lambda: Lines(Console(file=log, soft_wrap=True)), "r", 100, earlier=50, clock=clock)
    display.open()
    clock.now_s += 30
    display.tick()
    display.update(state_at(80, spent=False, metrics=()))
    clock.now_s += 30
    display.tick()
    display.close()
    assert log.getvalue().splitlines() == [
        "r: 50/100 questions", "r: 80/100 questions, 1.0/s, ETA 0:20", "r: 80/100 questions in 0:07, 0.5/s",
    ]  # fmt: skip


def test_a_run_that_stopped_says_why_and_claims_no_pace(display, log, clock, state_at):
    display.open()
    clock.now_s += 1
    display.update(state_at(100, errored=90, spent=False, metrics=(), stopped="budget of $1.00 reached\x1b[31m"))
    display.close()
    assert log.getvalue() == (
        "my [b]run[/b]: 100/100 questions in 0:07, 90 errored, stopped: budget of $1.00 reached\\x1b[31m\n"
    )


def test_of_many_metrics_the_first_are_named(display, log, state_at):
    display.open()
    display.update(state_at(1, spent=False, metrics=[f"metric {i}\n" for i in range(13)]))
    display.close()
    assert log.getvalue().endswith("; " + ", ".join([
        "metric 0\\n 0.250 (n=1)", *(f"metric {i}\\n {i * 100 + 0.25:.1f} (n=1)" for i in range(1, 6)),
        "and 7 more metrics\n",
    ]))  # fmt: skip


async def test_lines_come_by_themselves(clock):
    written = asyncio.Event()

    class Log(io.StringIO):
        def write(self, text):
            if self.getvalue().count("\n") >= 3:
                written.set()
            return super().write(text)

    class Often(Lines):
        every_s = 0.001

    log = Log()
    display = RunDisplay(lambda: Often(Console(file=log)), "r", 9, clock=clock)
    display.open()
    await asyncio.wait_for(written.wait(), 60)
    display.close()
    assert set(log.getvalue().splitlines()) == {"r: 0/9 questions"}
    assert Lines.every_s == 30


async def test_once_it_is_closed_nothing_more_comes(clock, state_at):
    log = io.StringIO()

    class Often(Lines):
        every_s = 0.0

    display = RunDisplay(lambda: Often(Console(file=log)), "r", 9, clock=clock)
    display.open()
    display.close()
    for _ in range(20):
        await asyncio.sleep(0)
    assert log.getvalue() == "r: 0/9 questions\n"
