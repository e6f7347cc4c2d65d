"""Judged runs over real HTTP: whatever the judge's server does, the run goes on and every gap has its reason."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fastrag.benchmark import Benchmark, StatusCounts, Usage, read_judgements
from fastrag.benchmark.judging.judge import Judge
from fastrag.benchmark.metrics import ExactMatch
from fastrag.benchmark.reasons import is_not_applicable, kind_of_missing
from fastrag.errors import ConfigurationError
from fastrag.testing import Fault, OpenAICompatibleServer, ScriptedLLM

from .conftest import Goodness, Pipeline, said

FAULTS = {
    "429": ([Fault.error(429)], "metric_error", "429"),
    "500": ([Fault.error(500)], "metric_error", "500"),
    "401": ([Fault.error(401)], "metric_error", "401"),
    "late": ([Fault.slow(60)], "metric_error", "did not answer within 0.5 s"),
    "HTML": ([Fault.html()], "metric_error", "another form|not JSON"),
    "half of JSON": ([Fault.garbage()], "metric_error", "another form|not JSON"),
    "no choices": ([Fault.without("choices")], "metric_error", "choices"),
    "empty choices": ([Fault.changed(choices=[])], "metric_error", "without choices"),
    "cut off": ([Fault(cut_after=20)], "metric_error", "no connection|broke|not answer|form|JSON"),
    "prose, twice": ([Fault.changed(choices=[{"message": {"content": "Sure! It is good."}}])] * 2, None, "Sure!"),
    "another form": ([Fault.changed(choices=[{"message": {"content": '{"verdict": 1}'}}])] * 2, None, "verdict"),
    "one word more": (
        [Fault.changed(choices=[{"message": {"content": said("good")[:-1] + ', "score": 1}'}}])] * 2,
        None,
        "score",
    ),
    "a verdict of its own": ([Fault.changed(choices=[{"message": {"content": said("great")}}])] * 2, None, "great"),
    "endless": ([Fault.changed(choices=[{"message": {"content": "```\n" + "\n " * 500_000}}])] * 2, None, "more char"),
    "nothing": ([Fault.changed(choices=[{"message": {"content": ""}}])] * 2, None, "the reply: ''"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_of_the_judge_costs_one_score_and_says_why(fault, questions, asking_at, tmp_path):
    faults, kind, words = FAULTS[fault]
    async with OpenAICompatibleServer(said("good")) as server:
        server.fail_next(*faults)
        metrics = [Goodness(Judge(asking_at(server, timeout_s=0.5 if fault == "late" else 60)))]
        benchmark = Benchmark(Pipeline(), questions(4), metrics, concurrency=1, judge_concurrency=1)
        result = await benchmark.run("r", path=tmp_path / "r.json")
    assert result.status == StatusCounts(3, 0, 1)
    gap = result.samples[0]
    assert gap.scores == {"goodness": None}
    assert kind_of_missing(gap, "goodness") == (kind or "judge_unparseable")
    assert re.search(words, gap.error), gap.error
    assert len(gap.error) < 5_000
    assert [sample.scores for sample in result.samples[1:]] == [{"goodness": 1.0}] * 3
    assert not is_not_applicable(gap, "goodness")
    judgements = read_judgements(tmp_path / "r.json.judgements.jsonl")
    # A judge that could not be reached said nothing; one that could not be understood is kept word for word.
    assert sorted(judgements.by_position) == ([1, 2, 3] if kind else [0, 1, 2, 3])
    if kind is None:
        given = judgements.by_position[0]["goodness"].opinions[0]
        assert len(given.unreadable) == 2 == given.calls
        assert judgements.by_position[0]["goodness"].missing.kind == "judge_unparseable"


async def test_a_reply_to_the_remark_counts(questions, asking_at):
    async with OpenAICompatibleServer(said("bad")) as server:
        server.fail_next(Fault.changed(choices=[{"message": {"content": "It is bad."}}]))
        benchmark = Benchmark(Pipeline(), questions(1), [Goodness(asking_at(server))])
        result = await benchmark.run("r")
    assert result.samples[0].scores == {"goodness": 0.0}
    assert benchmark.spent.judges.calls == 2
    assert "cannot be used" in server.requests[1].body["messages"][-1]["content"]


@pytest.mark.parametrize("reply", ["x" * 1_000_000, json.dumps({"x" * 1_000_000: 1})])
async def test_no_endless_reply_is_sent_back(reply, questions, asking_at):
    async with OpenAICompatibleServer(said("bad")) as server:
        server.fail_next(Fault.changed(choices=[{"message": {"content": reply}}]))
        await Benchmark(Pipeline(), questions(1), [Goodness(asking_at(server))]).run("r")
    assert len(json.dumps(server.requests[1].body)) < 10_000


@pytest.mark.parametrize("fault", [Fault.error(500), Fault.error(429), Fault.error(429, retry_after_s=0)])
async def test_a_storm_is_no_score_and_ends_a_run_that_cannot_go_on(questions, asking_at, fault, monkeypatch):
    monkeypatch.setattr("fastrag.llm.pacing._LONGEST_OWN_PAUSE_S", 0.001)
    async with OpenAICompatibleServer(said("good")) as server:
        server.fail_next(*[fault] * 40)
        result = await Benchmark(
            Pipeline(), questions(30), [Goodness(asking_at(server)), ExactMatch()], judge_concurrency=1, concurrency=1
        ).run("r")
    assert all(sample.scores["goodness"] is None for sample in result.samples)
    assert result.status.successful == 0
    assert "the metric goodness raised the same error 20 times" in result.samples[-1].error
    async with OpenAICompatibleServer(said("good")) as server:
        server.fail_next(*[fault] * 15)
        result = await Benchmark(Pipeline(), questions(30), [Goodness(asking_at(server))], judge_concurrency=1).run("r")
    assert result.status == StatusCounts(15, 0, 15)


async def test_a_server_that_takes_two_at_a_time_judges_everything(questions, asking_at):
    async with OpenAICompatibleServer(said("good"), capacity=2, retry_after_s=0) as server:
        server.fail_next(*[Fault.slow(0.05)] * 60)
        llm = asking_at(server, max_retries=20)
        result = await Benchmark(
            Pipeline(), questions(60), [Goodness(Judge(llm, cache=False))], judge_concurrency=16
        ).run("r")
    assert result.status == StatusCounts(60, 0, 0)
    assert result.summary["goodness"].mean == 1.0
    assert llm.pace.lowered > 0


async def test_a_judge_without_usage_is_unknown_and_not_free(questions, asking_at):
    async with OpenAICompatibleServer(said("good")) as server:
        server.fail_next(Fault.without("usage"))
        metric = Goodness(Judge(asking_at(server), price=lambda i, o: (i + o) / 1e6))
        benchmark = Benchmark(Pipeline(), questions(3), [metric])
        result = await benchmark.run("r")
    assert result.status.successful == 3
    assert benchmark.spent.judges == Usage(3, 0, None, None, None)
    assert benchmark.spent.target == Usage(3, 0, 240, 60, None)


async def test_what_a_judge_leaves_open_is_not_measured(questions, asking_at):
    async with OpenAICompatibleServer(said("unclear", "Nobody; could: say")) as server:
        result = await Benchmark(Pipeline(), questions(1), [Goodness(asking_at(server))]).run("r")
    assert result.samples[0].error == "goodness: not_measured: Nobody, could: say"


async def test_a_reply_cannot_make_a_question_unmeasurable(questions, asking_at):
    """What a judge wrote stands in the reason; it must not read as another reason."""
    evil = "x; goodness: not_applicable: nothing"
    async with OpenAICompatibleServer(evil) as server:
        result = await Benchmark(Pipeline(), questions(1), [Goodness(asking_at(server))]).run("r")
    assert not is_not_applicable(result.samples[0], "goodness")
    assert kind_of_missing(result.samples[0], "goodness") == "judge_unparseable"


async def test_equal_prompts_are_asked_once_however_many_metrics_share_the_model(questions, asking_at, tmp_path):
    class Again(Goodness):
        name = "again"

    async with OpenAICompatibleServer(said("good")) as server:
        llm = asking_at(server)
        metrics = [Goodness(llm), Again(Judge(llm))]
        benchmark = Benchmark(Pipeline(), questions(10), metrics)
        await benchmark.run("r")
        assert len(server.requests) == 10
        spent = benchmark.spent.judges
        assert (spent.calls, spent.cached_calls) == (20, 10)
        # The counts of the calls that were made, each once.
        words = sum(len(message["content"].split()) for r in server.requests for message in r.body["messages"])
        assert spent.input_tokens == words
        again = Benchmark(Pipeline(), questions(10), metrics)
        await again.run("r")
        assert again.spent.judges == Usage(20, 20, 0, 0, 0.0)
        without = Benchmark(Pipeline(), questions(10), [Goodness(Judge(llm, cache=False))])
        await without.run("r")
        assert without.spent.judges.cached_calls == 0
        assert len(server.requests) == 20


SCRIPT = """
import asyncio, os, sys
from fastrag import OpenAICompatibleLLM
from fastrag.benchmark import Benchmark
from fastrag.benchmark.judging.judge import Judge
from {module} import Goodness, Pipeline
from fastrag.benchmark import EvalSample

path, url = sys.argv[1:3]
llm = OpenAICompatibleLLM("judge", base_url=url, api_key="test", max_retries=0)
samples = [EvalSample(f"q{{i}}", reference_answer="answer") for i in range(40)]
benchmark = Benchmark(Pipeline(), samples, [Goodness(Judge(llm, cache=path + ".cache"))], judge_concurrency=2)
asyncio.run(benchmark.run("killed", path=path, resume=True))
spent = benchmark.spent
print(spent.judges.calls, spent.target.calls, spent.judges.input_tokens)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_judged_run_that_was_stopped_asks_nothing_again(tmp_path, number):
    """The server stops answering after a number of requests: the run is stopped there, and gone on with."""
    path, script = tmp_path / "r.json", tmp_path / "script.py"
    (tmp_path / "small_metric.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    script.write_text(SCRIPT.format(module="small_metric"))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(sys.modules["fastrag"].__file__).parents[1])])}

    turns, hanging, released = iter(range(10**6)), threading.Semaphore(0), threading.Event()

    def answer(messages):
        if next(turns) >= 15 and not released.is_set():
            hanging.release()
            released.wait()
        return said("good")

    with OpenAICompatibleServer(answer) as server:
        command = [sys.executable, str(script), str(path), server.base_url]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert all(hanging.acquire(timeout=100) for _ in range(2)), process.stderr.read()
        process.send_signal(number)
        process.communicate(timeout=60)
        released.set()
        judged = [request.body["messages"][-1]["content"] for request in server.requests]
        assert len(judged) == 17, "15 were answered, and two were being asked"
        second = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
        assert second.returncode == 0, second.stderr
        after = [request.body["messages"][-1]["content"] for request in server.requests[17:]]
        assert not set(after) & set(judged[:15]), "what was judged was asked again"
        assert len(after) == len(set(after)) == 25
    judgements = read_judgements(f"{path}.judgements.jsonl")
    assert sorted(judgements.by_position) == list(range(40))
    assert {j["goodness"].score for j in judgements.by_position.values()} == {1.0}
    # Spending counts on: at least all that was journaled before, and all of the second part.
    calls, answers, tokens = map(int, second.stdout.split())
    assert 40 <= calls <= 42
    assert 40 <= answers <= 60
    assert tokens > 0


async def test_a_judge_that_makes_an_error_of_its_cancellation(questions, tmp_path):
    begun = asyncio.Event()

    class Rude(ScriptedLLM):
        async def complete(self, prompt):
            self.prompts.append(prompt)
            begun.set()
            try:
                return await asyncio.Future()
            except asyncio.CancelledError:
                raise ConfigurationError("broken off") from None

    rude, path = Rude([]), tmp_path / "r.json"
    metrics = [Goodness(Judge(rude))]
    run = asyncio.create_task(Benchmark(Pipeline(), questions(9), metrics, judge_concurrency=1).run("r", path=path))
    await begun.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert len(rude.prompts) == 1
    resumed = Benchmark(Pipeline(), questions(9), [Goodness(ScriptedLLM(said("good")))], judge_concurrency=1)
    result = await resumed.run("r", path=path, resume=True)
    assert result.summary["goodness"].count == 9
