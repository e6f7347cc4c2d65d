"""The gate from end to end: real runs, real files, a real process, and each exit code once."""

import asyncio
import json
import os
import subprocess
import sys

import pytest

from fastrag import Document, QueryResult
from fastrag.benchmark import Benchmark, EvalSample
from fastrag.benchmark.metrics import NDCG, HitRateAtK

QUESTIONS = 40


class Pipeline:
    """Puts the right document at the rank that ``rank_of`` says; a rank of 0 is a crash."""

    def __init__(self, rank_of):
        self.rank_of = rank_of

    async def query(self, question):
        number = int(question.split()[-1])
        rank = self.rank_of(number)
        if not rank:
            raise ConnectionError("the index is gone")
        sources = [Document(f"other-{place}", "other") for place in range(rank - 1)] + [Document(f"d{number}", "right")]
        return QueryResult(answer="", sources=sources)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The saved results of a good, a bad and a failing pipeline, and of the good one with a metric more."""
    folder = tmp_path_factory.mktemp("results")
    samples = [EvalSample(f"question {number}", relevant_ids=[f"d{number}"]) for number in range(QUESTIONS)]
    pipelines = {
        "good": Pipeline(lambda number: 1 + number % 2),
        "bad": Pipeline(lambda number: 3 + number % 5),
        "failing": Pipeline(lambda number: number % 5 and 1 + number % 2),
    }
    for name, pipeline in pipelines.items():
        result = asyncio.run(Benchmark(pipeline, samples, [NDCG(10)]).run(name))
        result.save(folder / f"{name}.json")
        assert result.status.errored == (QUESTIONS // 5 if name == "failing" else 0)
    more = asyncio.run(Benchmark(pipelines["good"], samples, [NDCG(10), HitRateAtK(5)]).run("more"))
    more.save(folder / "more.json")
    return folder


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["bad.json", "good.json"], 0, "good against bad: passed (1 check)"),
        (["good.json", "bad.json"], 3, "bad against good: failed: regression (1 of 1 check failed)"),
        (["good.json", "failing.json"], 4, "failing against good: failed: coverage too low (1 of 1 check failed)"),
        (["good.json", "more.json", "--strict"], 5, "more against good: failed: cannot say (1 of 2 checks failed)"),
        (["good.json", "bad.json", "--fail-on", "slower"], 2, "wrong usage"),
        (["good.json", "none.json"], 1, "none.json"),
    ],
)
def test_each_exit_code(results, arguments, code, said):
    environment = {name: value for name, value in os.environ.items() if name != "GITHUB_STEP_SUMMARY"}
    done = subprocess.run(
        [sys.executable, "-m", "fastrag", "compare", *arguments],
        cwd=results, env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert said in (done.stderr if code in (1, 2) else done.stdout)
    assert "Traceback" not in done.stderr


def test_what_cannot_be_said_passes_unless_strict(results):
    done = subprocess.run(
        [sys.executable, "-m", "fastrag", "compare", "good.json", "more.json", "--format", "json"],
        cwd=results, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0
    assert json.loads(done.stdout)["gate"]["checks"][1]["outcome"] == "cannot say"
