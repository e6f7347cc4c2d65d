"""Threads for pipelines that block: never too few, never waited for."""

import asyncio
import contextvars
import threading

import pytest

from fastrag import Document
from fastrag.benchmark import Benchmark, EvalSample, StatusCounts
from fastrag.benchmark.metrics import RecallAtK
from fastrag.benchmark.threads import DaemonThreads


def questions(count):
    return [EvalSample(f"q{i}", relevant_ids=["a"]) for i in range(count)]


def test_threads_are_used_again_when_idle():
    threads = DaemonThreads("t")
    names = set()
    for _ in range(50):
        names.add(threads.submit(lambda: threading.current_thread().name).result())
    assert len(names) < 10
    threads.shutdown()


def test_a_thread_is_daemonic():
    assert DaemonThreads("t").submit(lambda: threading.current_thread().daemon).result()


async def test_a_hung_call_takes_no_ones_place():
    """With as many threads as places, a call given up for lost would keep the next one waiting."""
    release = threading.Event()

    class HangsOnce:
        def retrieve(self, question):
            if question == "q0":
                release.wait(30)
            return [Document("a", "")]

    result = await Benchmark(HangsOnce(), questions(3), [RecallAtK(1)], concurrency=1, timeout_s=0.1).run("r")
    release.set()
    assert result.status == StatusCounts(2, 1, 0)


@pytest.mark.parametrize("error", [StopIteration("done"), SystemExit(1), GeneratorExit(), KeyError("k")])
async def test_whatever_a_blocking_target_raises(error):
    class Raising:
        def retrieve(self, question):
            if question == "q0":
                raise error
            return [Document("a", "")]

    result = await asyncio.wait_for(Benchmark(Raising(), questions(2), [RecallAtK(1)]).run("r"), 30)
    assert result.status == StatusCounts(1, 1, 0)
    assert type(error).__name__ in result.samples[0].error


async def test_a_blocking_target_sees_the_callers_context():
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("set")

    class Reading:
        def retrieve(self, question):
            return [Document(variable.get(), "")]

    result = await Benchmark(Reading(), [EvalSample("q", ["set"])], [RecallAtK(1)]).run("r")
    assert result.samples[0].retrieved_ids == ["set"]


async def test_two_hundred_hanging_calls_at_once():
    cancelled = []

    class Hanging:
        async def retrieve(self, question):
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.append(question)

    result = await Benchmark(
        Hanging(), questions(400), [RecallAtK(1)], concurrency=200, timeout_s=0.1, stop_after_alike=None
    ).run("r")
    assert result.status == StatusCounts(0, 400, 0)
    assert len(cancelled) == 400
