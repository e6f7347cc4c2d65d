"""Latencies that something else's blocking has made longer are pointed out, and only those."""

import asyncio
import time
import warnings

import pytest

from fastrag import Document
from fastrag.benchmark import Benchmark, EvalSample, Metric
from fastrag.benchmark.loop_lag import LoopLag, measured_lag
from fastrag.benchmark.metrics import RecallAtK


def questions(count):
    return [EvalSample(f"q{i}", relevant_ids=["a"]) for i in range(count)]


class Blocking:
    async def retrieve(self, question):
        await asyncio.sleep(0)
        time.sleep(0.06)
        return [Document("a", "")]


class Threaded:
    def retrieve(self, question):
        time.sleep(0.06)
        return [Document("a", "")]


class Waiting:
    async def retrieve(self, question):
        await asyncio.sleep(0.03)
        return [Document("a", "")]


class BlockingJudge(Metric):
    name = "judge"

    async def score(self, sample, outcome):
        time.sleep(0.06)
        return 1.0


async def test_a_target_that_blocks_the_loop_is_pointed_out():
    with pytest.warns(UserWarning, match=r"latencies are not to be trusted.*Make the method that blocks a plain def"):
        await Benchmark(Blocking(), questions(20), [RecallAtK(1)]).run("r")


async def test_a_metric_that_blocks_the_loop_is_pointed_out():
    with pytest.warns(UserWarning, match="latencies are not to be trusted"):
        await Benchmark(Waiting(), questions(20), [BlockingJudge()]).run("r")


@pytest.mark.parametrize("target", [Threaded(), Waiting()])
async def test_what_does_not_block_is_not(target):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        await Benchmark(target, questions(20), [RecallAtK(1)]).run("r")


async def test_a_loop_that_was_blocked_to_the_end_is_noticed():
    async with measured_lag() as lag:
        time.sleep(0.15)
    assert lag.count == 1
    assert lag.worst_ms >= 95


@pytest.mark.parametrize(
    ("lags", "latency_ms", "trusted"),
    [
        ([300] * 5, 400, False),
        ([300] * 5, 4_000, True),  # less than a tenth of what is measured
        ([20] * 50, 50, True),
        ([300], 400, True),  # one delay may be the machine's
        ([600], 400, False),
        ([300] * 5, 0.01, True),  # calls that never waited
        ([], 400, True),
    ],
)
def test_when_latencies_are_trusted(lags, latency_ms, trusted):
    lag = LoopLag()
    for lag_ms in lags:
        lag.add(lag_ms)
    assert (lag.problem(latency_ms) is None) == trusted
