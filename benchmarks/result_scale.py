"""What a large run costs beside its pipeline: memory above the result itself, and the time of saving and loading.

A run of 100,000 samples with 10 sources each, its journal on; the same run resumed with one sample missing; then saving
and loading its result: each in a process of its own, with the peak of its memory. Saving and loading are compared with
what msgspec takes to write and read the same bytes without any types, through the same kind of file.

    python benchmarks/result_scale.py [--samples 100000] [--rounds 3]

Linux only: it reads the peak of a process's memory from /proc.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SOURCES = 10


def status_mib(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"/proc/self/status has no {field}")


def measured(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What ``work`` gives, the CPU seconds it took, and the MiB it needed at its peak beyond what it left behind."""
    gc.collect()
    # Forgets the peak so far.
    Path("/proc/self/clear_refs").write_text("5")
    started = time.process_time()
    result = work()
    taken_s = time.process_time() - started
    peak = status_mib("VmHWM")
    gc.collect()
    return result, taken_s, peak - status_mib("VmRSS")


def samples_of(count: int) -> list[Any]:
    from fastrag.benchmark import EvalSample

    return [EvalSample(f"What is said about subject number {i}?", [f"doc-{i % 50_000:06}"]) for i in range(count)]


def run(count: int, path: Path, resume: bool) -> tuple[Any, float, float]:
    from fastrag import Document
    from fastrag.benchmark import Benchmark
    from fastrag.benchmark.metrics import NDCG, LatencyMs, RecallAtK
    from fastrag.query import QueryResult

    # Names that a store would hand out anew with every answer.
    class Pipeline:
        async def query(self, question: str) -> QueryResult:
            number = int(question.rpartition(" ")[2].rstrip("?"))
            ids = [(number * 7 + i * 13) % 50_000 for i in range(SOURCES)]
            sources = [Document(f"doc-{i:06}", "", f"https://example.org/corpus/{i:06}.html") for i in ids]
            return QueryResult(f"It is said that {number} is a number, and a good one at that.", sources, 900, 20)

    samples = samples_of(count)
    metrics = [RecallAtK(10), NDCG(10), LatencyMs()]
    benchmark = Benchmark(Pipeline(), samples, metrics, concurrency=64)
    if resume:
        # A budget that one question is too many for leaves the journal of all others.
        budget = {"max_tokens": (count - 1) * 920}
        broken_off = Benchmark(Pipeline(), samples, metrics, **budget)
        path = path.with_name("resumed.json")
        asyncio.run(broken_off.run("scale", path=path))
    return measured(lambda: asyncio.run(benchmark.run("scale", path=path, resume=resume)))


def untyped(path: Path, work: str) -> Callable[[], Any]:
    import msgspec

    from fastrag._support.files import write_atomically

    if work == "untyped read":
        return lambda: msgspec.json.decode(path.read_bytes())
    value = msgspec.json.decode(path.read_bytes())
    return lambda: write_atomically(path.with_name("untyped.json"), msgspec.json.encode(value))


def child(work: str, count: int, path: Path) -> None:
    from fastrag.benchmark import BenchmarkResult

    if work in ("run", "resume"):
        result, taken_s, above = run(count, path, work == "resume")
        if result.status.errored:
            raise SystemExit(f"questions failed: {result.samples[0].error}")
    elif work in ("untyped read", "untyped write"):
        _, taken_s, above = measured(untyped(path, work))
    elif work == "load":
        _, taken_s, above = measured(lambda: BenchmarkResult.load(path))
    elif work == "save":
        result = BenchmarkResult.load(path)
        _, taken_s, above = measured(lambda: result.save(path.with_name("again.json")))
        if path.with_name("again.json").read_bytes() != path.read_bytes():
            raise SystemExit("a result that was loaded is not saved as the same bytes")
    else:
        raise SystemExit(f"unknown work: {work}")
    print(json.dumps({"s": taken_s, "above_mib": above}))


def in_child(work: str, count: int, path: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", work, "--samples", str(count), "--path", str(path)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    measured: dict[str, float] = json.loads(output)
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.samples, options.path)
        return
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for count in (options.samples // 10, options.samples):
            path = Path(folder, f"{count}.json")
            for work in ("run", "resume", "save", "untyped write", "load", "untyped read"):
                rounds = [
                    in_child(work, count, path) for _ in range(1 if work in ("run", "resume") else options.rounds)
                ]
                best = min(rounds, key=lambda figure: figure["s"])
                figures[f"{work} {count}"] = {
                    "s": best["s"],
                    "us_per_sample": best["s"] / count * 1e6,
                    "above_mib": max(figure["above_mib"] for figure in rounds),
                }
            figures[f"file {count}"] = {"mib": path.stat().st_size / 2**20}
    n = options.samples
    ratios = {
        "save": figures[f"save {n}"]["s"] / figures[f"untyped write {n}"]["s"],
        "load": figures[f"load {n}"]["s"] / figures[f"untyped read {n}"]["s"],
    }
    if options.json:
        print(json.dumps({"samples": n, "figures": figures, "ratios": ratios}))
        return
    for name, figure in figures.items():
        if "s" in figure:
            print(
                f"{name:22} {figure['s']:7.2f} s CPU, {figure['us_per_sample']:5.1f} us a sample, "
                f"{figure['above_mib']:6.1f} MiB above what is left"
            )
        else:
            print(f"{name:22} {figure['mib']:7.1f} MiB")
    print(f"save / untyped write: {ratios['save']:.2f}; load / untyped read: {ratios['load']:.2f}")


if __name__ == "__main__":
    main()
