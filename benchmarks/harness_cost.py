"""What the harness costs: CPU time a sample of a run, against a bare asyncio loop that does the same work.

The target answers at once and two metrics score it, so that everything measured is the harness itself. The baseline is
a semaphore and a TaskGroup that call the same target and the same two metrics and keep their scores in a list.

With --journal every sample is also written to a journal on disk, and the result is saved. With --progress the run is
also shown, as in a log and as on a terminal (one that takes everything at once).

    python benchmarks/harness_cost.py [--samples 10000] [--rounds 5] [--journal] [--progress]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import io
import json
import os
import tempfile
import time
from pathlib import Path

from fastrag import Document
from fastrag.benchmark import Benchmark, EvalSample, QueryOutcome
from fastrag.benchmark.metrics import ExactMatch, RecallAtK
from fastrag.query import QueryResult

CONCURRENCY = 64
SOURCES = [Document(f"d{i}", "") for i in range(10)]
METRICS = [ExactMatch(), RecallAtK(10)]


class Instant:
    async def query(self, question: str) -> QueryResult:
        return QueryResult("Paris", SOURCES)


async def bare_loop(samples: list[EvalSample]) -> list[list[float | None]]:
    target = Instant()
    slots = asyncio.Semaphore(CONCURRENCY)
    scores: list[list[float | None]] = [[] for _ in samples]

    async def one(index: int, sample: EvalSample) -> None:
        async with slots:
            started = time.perf_counter()
            result = await target.query(sample.question)
            latency_ms = (time.perf_counter() - started) * 1000
            outcome = QueryOutcome(result.answer, result.sources, latency_ms)
            scores[index] = [await metric.score(sample, outcome) for metric in METRICS]

    async with asyncio.TaskGroup() as group:
        for index, sample in enumerate(samples):
            group.create_task(one(index, sample))
    return scores


async def harness(
    samples: list[EvalSample], path: Path | None = None, *, progress: bool = False
) -> list[list[float | None]]:
    benchmark = Benchmark(Instant(), samples, METRICS, concurrency=CONCURRENCY)
    result = await benchmark.run("instant", path=path, progress=progress)
    return [list(sample.scores.values()) for sample in result.samples]


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


async def shown(samples: list[EvalSample], *, on_terminal: bool) -> list[list[float | None]]:
    kept = os.environ.copy()
    os.environ |= {"TERM": "xterm", "CI": "" if on_terminal else "true"}
    try:
        with contextlib.redirect_stderr(Tty()):
            return await harness(samples, progress=True)
    finally:
        os.environ.clear()
        os.environ |= kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--journal", action="store_true", help="measure with the journal on, too")
    parser.add_argument("--progress", action="store_true", help="measure with the run being shown, too")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    options = parser.parse_args()
    samples = [
        EvalSample(f"question {i}", [f"d{i % 12}", "d11"], reference_answer="paris") for i in range(options.samples)
    ]
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name, "result.json")
    works = {"bare loop": bare_loop, "fastrag": harness}
    if options.journal:
        works["with journal"] = lambda samples: harness(samples, path)
    if options.progress:
        works["with lines"] = lambda samples: shown(samples, on_terminal=False)
        works["on a terminal"] = lambda samples: shown(samples, on_terminal=True)
    microseconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(options.rounds):
        scores = []
        for name, work in works.items():
            gc.collect()
            started = time.process_time()
            scores.append(asyncio.run(work(samples)))
            microseconds[name].append((time.process_time() - started) / len(samples) * 1e6)
        if any(others != scores[0] for others in scores):
            raise SystemExit("they disagree on the scores")
    folder.cleanup()
    best = {name: min(times) for name, times in microseconds.items()}
    ratios = {name: time_us / best["bare loop"] for name, time_us in best.items()}
    if options.json:
        print(json.dumps({"samples": options.samples, "us_per_sample": best, "ratio": ratios}))
        return
    for name, time_us in best.items():
        print(
            f"{name:13} {time_us:7.1f} us CPU a sample, {ratios[name]:.2f} x the bare loop "
            f"(best of {options.rounds}, {options.samples:,} samples)"
        )
    if options.journal:
        print(f"the journal alone: {best['with journal'] - best['fastrag']:.1f} us CPU a sample")


if __name__ == "__main__":
    main()
