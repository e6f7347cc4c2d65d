"""Runs in processes of their own, which are killed, interrupted and hung."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest

from fastrag import Document
from fastrag.benchmark import Benchmark, BenchmarkResult, EvalSample, read_outcomes, rescore
from fastrag.benchmark.journal import read_partial
from fastrag.benchmark.metrics import RecallAtK
from fastrag.query import QueryResult

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends signals")

COUNT = 500
SCRIPT = """
import asyncio, os, sys
from fastrag import Document
from fastrag.benchmark import Benchmark, EvalSample
from fastrag.benchmark.metrics import RecallAtK
from fastrag.query import QueryResult

path, log = sys.argv[1:3]
asked = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


class Pipeline:
    async def query(self, question):
        number = int(question[1:])
        # Not in the order of the questions, and some of them fail.
        await asyncio.sleep(0.004 * (number % 7))
        os.write(asked, f"{question}\\n".encode())
        if number % 50 == 7:
            raise ValueError(f"no answer to {question}")
        return QueryResult(f"answer {number}", [Document(f"d{number % 3}", "text " * (number % 40))], number, 1)


samples = [EvalSample(f"q{i}", relevant_ids=["d1"]) for i in range(500)]
benchmark = Benchmark(Pipeline(), samples, [RecallAtK(1)], concurrency=16)
print("ready", flush=True)
asyncio.run(benchmark.run("killed", path=path, resume=True, keep_outcomes=True))
"""


class Pipeline:
    async def query(self, question):
        number = int(question[1:])
        if number % 50 == 7:
            raise ValueError(f"no answer to {question}")
        return QueryResult(f"answer {number}", [Document(f"d{number % 3}", "text " * (number % 40))], number, 1)


def samples():
    return [EvalSample(f"q{i}", relevant_ids=["d1"]) for i in range(COUNT)]


def timeless(result):
    return replace(
        result, created_at=None, duration_s=0, samples=[replace(sample, latency_ms=0) for sample in result.samples]
    )


def start(tmp_path, script, *arguments):
    file = tmp_path / "script.py"
    file.write_text(textwrap.dedent(script))
    return subprocess.Popen(
        [sys.executable, str(file), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__import__("fastrag").__file__).parents[1])},
    )


def test_thirty_kills_lose_nothing(tmp_path):
    chance = random.Random(20261130)
    path, log = tmp_path / "r.json", tmp_path / "asked"
    journal = tmp_path / "r.json.journal"
    kills, finished = 0, []
    in_journal: set[str] = set()
    while kills < 30:
        log.write_text("")
        process = start(tmp_path, SCRIPT, path, log)
        assert process.stdout.readline() == "ready\n"
        try:
            process.wait(chance.uniform(0, 0.35))
        except subprocess.TimeoutExpired:
            process.kill()
            kills += 1
        process.communicate()
        asked = log.read_text().split()
        assert not in_journal & set(asked), "a question that was in the journal was asked again"
        if path.exists():
            finished.append(BenchmarkResult.load(path))
            assert not journal.exists() or len(read_partial(journal).samples) == COUNT
            outcomes = read_outcomes(tmp_path / "r.json.outcomes.jsonl")
            scored = asyncio.run(rescore(outcomes, samples(), [RecallAtK(1)]))
            assert scored.samples == finished[-1].samples
            for file in (path, journal, tmp_path / "r.json.outcomes.jsonl"):
                file.unlink(missing_ok=True)
            in_journal = set()
        elif journal.exists() and b"\n" in journal.read_bytes():
            partial = [sample.question for sample in read_partial(journal).samples]
            assert len(partial) == len(set(partial)) >= len(in_journal)
            # At most the questions that were being asked, or just answered, are not in the journal.
            assert len(in_journal | set(asked)) - len(partial) <= 16
            in_journal = set(partial)
    while not path.exists():
        process = start(tmp_path, SCRIPT, path, log)
        process.communicate()
        assert process.returncode == 0
    finished.append(BenchmarkResult.load(path))
    unbroken = asyncio.run(Benchmark(Pipeline(), samples(), [RecallAtK(1)]).run("killed"))
    for result in finished:
        assert timeless(result) == timeless(unbroken)


HANGING = """
import asyncio, sys, time
from fastrag import Document
from fastrag.benchmark import Benchmark, EvalSample
from fastrag.benchmark.metrics import RecallAtK


class Async:
    async def retrieve(self, question):
        number = int(question[1:])
        if number == 20:
            print("hanging", flush=True)
        if number >= 20:
            await asyncio.Event().wait()
        return [Document("a", "")]


class Threads:
    def retrieve(self, question):
        number = int(question[1:])
        if number == 20:
            print("hanging", flush=True)
        if number >= 20:
            time.sleep(600)
        return [Document("a", "")]


class Stubborn(Async):
    async def retrieve(self, question):
        while True:
            try:
                return await super().retrieve(question)
            except asyncio.CancelledError:
                print("refused", flush=True)


samples = [EvalSample(f"q{i}", relevant_ids=["a"]) for i in range(100)]
# One thread: with more, the first hanging question could be asked before earlier ones have ended.
benchmark = Benchmark(
    globals()[sys.argv[2]](), samples, [RecallAtK(1)], concurrency=1 if sys.argv[2] == "Threads" else 4
)
asyncio.run(benchmark.run("hung", path=sys.argv[1]))
"""


@pytest.mark.parametrize("target", ["Async", "Threads"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_a_run_within_a_second(tmp_path, target, number):
    path = tmp_path / "r.json"
    process = start(tmp_path, HANGING, path, target)
    assert process.stdout.readline() == "hanging\n"
    started = time.monotonic()
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - started < 1
    # Python ends itself with SIGINT on KeyboardInterrupt: a shell shows 130.
    assert process.returncode == -signal.SIGINT
    lines = [line for line in errors.splitlines() if line.startswith("stopped:")]
    assert lines == [f"stopped: 20 of 100 questions are in {path}.journal; run again with resume=True to go on"]
    assert len(read_partial(f"{path}.journal").samples) == 20


def test_a_shell_shows_130(tmp_path):
    """A shell runs the script, and is told its exit code."""
    file = tmp_path / "script.py"
    file.write_text(HANGING)
    run = f"{sys.executable} {file} {tmp_path / 'r.json'} Async"
    out = tmp_path / "out"
    # The first line of output comes when the run hangs; then the script gets its Ctrl-C.
    waiting = f"until [ -s {out} ]; do sleep 0.05; done"
    shell = f"set -m; {run} > {out} 2>&1 & {waiting}; kill -INT $!; wait $!"
    environment = os.environ | {"PYTHONPATH": str(Path(__import__("fastrag").__file__).parents[1])}
    assert subprocess.run(["bash", "-c", shell], env=environment, timeout=60, check=False).returncode == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_at_once_what_refuses_to_end(tmp_path, number):
    path = tmp_path / "r.json"
    process = start(tmp_path, HANGING, path, "Stubborn")
    assert process.stdout.readline() == "hanging\n"
    process.send_signal(number)
    assert process.stdout.readline() == "refused\n"
    process.send_signal(number)
    started = time.monotonic()
    process.communicate(timeout=30)
    assert time.monotonic() - started < 1
    assert process.returncode != 0
    assert len(read_partial(f"{path}.journal").samples) == 20


BLOCKED_EXIT = """
import asyncio, sys, time
from fastrag import Document
from fastrag.benchmark import Benchmark, EvalSample
from fastrag.benchmark.metrics import RecallAtK


class Hanging:
    def retrieve(self, question):
        time.sleep(600)


samples = [EvalSample(f"q{i}", relevant_ids=["a"]) for i in range(200)]
benchmark = Benchmark(Hanging(), samples, [RecallAtK(1)], concurrency=200, timeout_s=0.2, stop_after_alike=None)
print(asyncio.run(benchmark.run("hung")).status, flush=True)
"""


def test_two_hundred_hung_threads_do_not_keep_the_process(tmp_path):
    process = start(tmp_path, BLOCKED_EXIT)
    output, errors = process.communicate(timeout=60)
    assert output == "StatusCounts(successful=0, errored=200, incomplete=0)\n", errors
    assert process.returncode == 0


def test_a_handler_of_the_users_is_left_alone(tmp_path):
    script = """
    import asyncio, os, signal
    from fastrag import Document
    from fastrag.benchmark import Benchmark, EvalSample
    from fastrag.benchmark.metrics import RecallAtK

    seen = []
    signal.signal(signal.SIGTERM, lambda *_: seen.append("mine"))


    class Target:
        async def retrieve(self, question):
            os.kill(os.getpid(), signal.SIGTERM)
            return [Document("a", "")]


    result = asyncio.run(Benchmark(Target(), [EvalSample("q", ["a"])], [RecallAtK(1)]).run("r"))
    print(seen, result.status.successful)
    """
    output, errors = start(tmp_path, script).communicate(timeout=60)
    assert output == "['mine'] 1\n", errors


async def test_handlers_are_put_back(tmp_path):
    class Target:
        async def retrieve(self, question):
            seen.append(signal.getsignal(signal.SIGTERM))
            return [Document("a", "")]

    seen = []
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    await Benchmark(Target(), [EvalSample("q", ["a"])], [RecallAtK(1)]).run("r")
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert seen[0] != before[1]
