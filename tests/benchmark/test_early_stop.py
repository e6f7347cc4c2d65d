"""A broken run is noticed at its start, and never a run that merely has failures."""

import asyncio

import pytest

from fastrag import Document
from fastrag.benchmark import Benchmark, EvalSample, Metric, StatusCounts
from fastrag.benchmark.early_stop import alike
from fastrag.benchmark.metrics import RecallAtK
from fastrag.benchmark.metrics.computed import ComputedMetric
from fastrag.errors import ServiceUnavailableError
from fastrag.query import QueryResult


class Target:
    """Answers, or raises what the function gives for the number of the question."""

    def __init__(self, error=lambda number: None):
        self.error = error
        self.calls = 0

    async def query(self, question):
        self.calls += 1
        if error := self.error(int(question[1:])):
            raise error
        return QueryResult("answer", [Document("a", "")])


def questions(count):
    return [EvalSample(f"q{i}", relevant_ids=["a"]) for i in range(count)]


async def run(target, metrics=None, count=100, **options):
    options = {"concurrency": 1, "judge_concurrency": 1} | options
    return await Benchmark(target, questions(count), metrics or [RecallAtK(1)], **options).run("r")


async def test_a_pipeline_that_always_fails_alike_is_stopped(caplog):
    target = Target(lambda number: ConnectionError(f"cannot reach host 10.0.0.{number}"))
    result = await run(target)
    assert target.calls == 20
    assert result.status == StatusCounts(0, 100, 0)
    assert result.samples[19].error == "ConnectionError: cannot reach host 10.0.0.19"
    assert result.samples[20].error == (
        "not attempted: the first 20 questions all failed with ConnectionError: cannot reach host 10.0.0.19"
    )
    assert len([record for record in caplog.records if record.levelname == "ERROR"]) == 1


async def test_a_run_that_stopped_early_goes_on_later(tmp_path):
    path = tmp_path / "r.json"
    options = {"concurrency": 1}
    down = Target(lambda number: ConnectionError("down"))
    await Benchmark(down, questions(30), [RecallAtK(1)], **options).run("r", path=path)
    up = Target()
    result = await Benchmark(up, questions(30), [RecallAtK(1)], **options).run(
        "r", path=path, resume=True, retry_errored=True
    )
    assert (up.calls, result.status) == (30, StatusCounts(30, 0, 0))


@pytest.mark.parametrize(
    "error",
    [
        lambda number: ValueError("x") if number != 19 else None,
        lambda number: ValueError("x") if number % 2 else KeyError("x"),
        lambda number: ValueError("x") if number != 0 else None,
    ],
)
async def test_failures_that_are_not_all_alike_do_not_stop_a_run(error):
    target = Target(error)
    await run(target)
    assert target.calls == 100


@pytest.mark.parametrize(("after", "calls"), [(1, 1), (5, 5), (None, 100)])
async def test_how_many_is_a_choice(after, calls):
    target = Target(lambda number: ValueError("x"))
    await run(target, stop_after_alike=after)
    assert target.calls == calls


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ValueError: chunk 17 of 30", "ValueError: chunk 4 of 8"),
        ("E: request 7f3a9c1e-22aa failed", "E: request 00bb12cd-91ff failed"),
        ("KeyError: 'alpha'", "KeyError: 'beta'"),
    ],
)
def test_what_is_alike(one, other):
    assert alike(one) == alike(other)


def test_what_is_not_alike():
    assert alike("ValueError: no model") != alike("ValueError: no index")
    assert alike("KeyError: 'a'") != alike("IndexError: 'a'")


class Waiting(Metric):
    """An awaited metric that raises what the function gives."""

    name = "broken"

    def __init__(self, error):
        self.error = error
        self.calls = 0

    async def score(self, sample, outcome):
        await asyncio.sleep(0)
        self.calls += 1
        if error := self.error(self.calls):
            raise error
        return 1.0


class Computing(ComputedMetric):
    name = "broken"

    def __init__(self, error):
        self.error = error
        self.calls = 0

    def compute(self, sample, outcome):
        self.calls += 1
        if error := self.error(self.calls):
            raise error
        return 1.0


@pytest.mark.parametrize("kind", [Waiting, Computing])
async def test_a_broken_metric_is_noticed_and_shown_once(kind, caplog):
    target, metric = Target(), kind(lambda call: AttributeError(f"no field {call}"))
    result = await run(target, [metric, RecallAtK(1)])
    assert target.calls < 10
    scored = [sample for sample in result.samples if sample.status == "incomplete"]
    # What was answered keeps the scores of the metrics that work.
    assert scored
    assert all(sample.scores == {"broken": None, "recall@1": 1.0} for sample in scored)
    assert result.samples[-1].error == (
        "not attempted: the metric broken raised the same error 3 times in a row: AttributeError: no field 3"
    )
    [shown] = [record for record in caplog.records if record.exc_info]
    assert "raise error" in caplog.text
    assert "AttributeError: no field 3" in shown.message


@pytest.mark.parametrize("kind", [Waiting, Computing])
async def test_a_metric_that_breaks_later_is_noticed_too(kind):
    target, metric = Target(), kind(lambda call: KeyError("odd") if call > 10 else None)
    result = await run(target, [metric])
    assert target.calls < 20
    assert sum(sample.status == "successful" for sample in result.samples) == 10


@pytest.mark.parametrize("kind", [Waiting, Computing])
async def test_an_error_now_and_then_does_not_stop_a_run(kind):
    target, metric = Target(), kind(lambda call: KeyError("odd") if call % 3 else None)
    result = await run(target, [metric])
    assert target.calls == 100
    assert result.status == StatusCounts(33, 0, 67)


async def test_an_endpoint_that_has_worked_may_come_back():
    target, metric = Target(), Waiting(lambda call: ServiceUnavailableError("503") if call > 1 else None)
    await run(target, [metric])
    assert target.calls == 100


async def test_different_errors_are_not_one_error():
    errors = [KeyError("a"), ValueError("b")]
    target, metric = Target(), Waiting(lambda call: errors[call % 2])
    await run(target, [metric])
    assert target.calls == 100


async def test_an_endpoint_that_is_down_gets_as_many_chances_as_a_pipeline():
    target, metric = Target(), Waiting(lambda call: ServiceUnavailableError("503"))
    await run(target, [metric])
    assert 20 <= metric.calls <= target.calls <= 26


async def test_a_metric_that_cannot_be_measured_is_not_broken():
    class Absent(Metric):
        name = "absent"

        async def score(self, sample, outcome):
            return None

    target = Target()
    result = await run(target, [Absent()])
    assert (target.calls, result.status) == (100, StatusCounts(0, 0, 100))
