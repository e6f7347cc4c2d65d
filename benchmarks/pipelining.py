"""How close a run comes to the best possible schedule when the pipeline and an LLM judge both take their time.

1,000 questions, a pipeline that takes 50 ms and a judge that takes 100 ms, 64 of each at once. The judge is the
bottleneck: the best schedule keeps all its places busy from the first answer on, which takes
50 ms + ceil(1,000 / 64) x 100 ms. With the journal on, as a real run would be.

    python benchmarks/pipelining.py [--samples 1000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import tempfile
import time
from pathlib import Path

from fastrag import Document
from fastrag.benchmark import Benchmark, EvalSample, Metric, QueryOutcome
from fastrag.query import QueryResult

ASKING_S, JUDGING_S = 0.05, 0.1
AT_ONCE = 64
SOURCES = [Document(f"d{i}", "") for i in range(10)]


class Pipeline:
    async def query(self, question: str) -> QueryResult:
        await asyncio.sleep(ASKING_S)
        return QueryResult("Paris", SOURCES)


class Judge(Metric):
    name = "judged"

    async def score(self, sample: EvalSample, outcome: QueryOutcome) -> float:
        await asyncio.sleep(JUDGING_S)
        return 1.0


def best_possible_s(samples: int) -> float:
    asked_s = math.ceil(samples / AT_ONCE) * ASKING_S
    return max(ASKING_S + math.ceil(samples / AT_ONCE) * JUDGING_S, asked_s + JUDGING_S)


async def run(samples: list[EvalSample], path: Path) -> float:
    benchmark = Benchmark(Pipeline(), samples, [Judge()], concurrency=AT_ONCE, judge_concurrency=AT_ONCE)
    started = time.perf_counter()
    result = await benchmark.run("pipelining", path=path)
    taken_s = time.perf_counter() - started
    if result.status.successful != len(samples):
        raise SystemExit(f"not every question was answered: {result.status}")
    return taken_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    options = parser.parse_args()
    samples = [EvalSample(f"question {i}") for i in range(options.samples)]
    with tempfile.TemporaryDirectory() as folder:
        times = [asyncio.run(run(samples, Path(folder, "result.json"))) for _ in range(options.rounds)]
    best, possible = min(times), best_possible_s(options.samples)
    if options.json:
        print(json.dumps({"samples": options.samples, "s": times, "possible_s": possible, "ratio": best / possible}))
        return
    print(f"fastrag            {best:.2f} s (best of {options.rounds}; worst {max(times):.2f} s)")
    print(f"best possible      {possible:.2f} s")
    print(f"fastrag / possible {best / possible:.2f}")


if __name__ == "__main__":
    main()
