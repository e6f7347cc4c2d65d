"""What the data of a report costs: the time of making every part of it, and the memory above the runs themselves.

Six runs of 10,000 samples with 5 metrics and 10 sources each, the texts of the sources kept; and one run of 100,000.
Each of the two reports is made in a process of its own. The time is compared with what msgspec takes to write the same
runs as JSON, just as they are.

    python benchmarks/report.py [--small]

Linux only: it reads the peak of a process's memory from /proc.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

SOURCES = 10
METRICS = ("ndcg@10", "recall@10", "faithfulness", "latency_ms", "cost_usd")
WORDS = ["every", "answer", "names", "the", "page", "it", "was", "found", "on", "and", "says", "what", "is", "unknown"]


def status_mib(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"/proc/self/status has no {field}")


def measured(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What ``work`` gives, the CPU seconds it took, and the MiB that its peak was above what was there before."""
    gc.collect()
    before = status_mib("VmRSS")
    # Forgets the peak so far.
    Path("/proc/self/clear_refs").write_text("5")
    started = time.process_time()
    result = work()
    return result, time.process_time() - started, status_mib("VmHWM") - before


def make_run(number: int, count: int) -> Any:
    """A run of which one sample in fifty errored and one in fifty has no judged score."""
    from fastrag import Document
    from fastrag.benchmark import BenchmarkResult, DistributionSummary, Outcome, Outcomes, SampleResult, StatusCounts
    from fastrag.benchmark.report.html.runs import ReportedRun

    rng = random.Random(number)
    texts = [" ".join(rng.choices(WORDS, k=120)) for _ in range(2_000)]
    created_at = datetime(2026, 1, 1, number, tzinfo=UTC)
    samples, outcomes = [], {}
    for position in range(count):
        question = f"What is said about subject number {position}?"
        sample = SampleResult(question, "successful", {}, latency_ms=rng.lognormvariate(5, 1))
        if rng.random() < 0.02:
            sample.status, sample.error = "errored", f"TimeoutError: no answer within {rng.random():.3f} s"
            sample.scores = dict.fromkeys(METRICS)
        else:
            sample.answer = " ".join(rng.choices(WORDS, k=60))
            chosen = [rng.randrange(2_000) for _ in range(SOURCES)]
            sample.retrieved_ids = [f"doc-{i:06}" for i in chosen]
            sample.retrieved_uris = [f"https://example.org/corpus/{i:06}.html" for i in chosen]
            scores = [rng.random() ** 0.5, rng.randint(0, 4) / 4, rng.random(), sample.latency_ms, rng.random() / 100]
            sample.scores = dict(zip(METRICS, scores, strict=True))
            if rng.random() < 0.02:
                sample.status, sample.scores["faithfulness"] = "incomplete", None
                sample.error = "faithfulness: judge_unparseable: the reply was no JSON"
            sources = [
                Document(id, texts[i], uri, {"score": rng.random(), "rank": place})
                for place, (i, id, uri) in enumerate(
                    zip(chosen, sample.retrieved_ids, sample.retrieved_uris, strict=True), start=1
                )
            ]
            outcomes[position] = Outcome(
                str(position), question, sample.answer, sources, 900, 60, sample.latency_ms, 1, None
            )
        samples.append(sample)
    statuses = [sample.status for sample in samples]
    result = BenchmarkResult(
        name=f"run-{number}",
        created_at=created_at,
        status=StatusCounts(*(statuses.count(status) for status in ("successful", "errored", "incomplete"))),
        summary={name: DistributionSummary.of([sample.scores[name] for sample in samples]) for name in METRICS},
        samples=samples,
        duration_s=100.0,
        higher_is_better={name: name not in ("latency_ms", "cost_usd") for name in METRICS},
    )
    kept = Outcomes(result.name, created_at, count, 1, outcomes)
    return ReportedRun(result, outcomes=kept)


def all_parts(runs: list[Any]) -> dict[str, Any]:
    from fastrag.benchmark.report.html.data import ReportData

    data = ReportData(runs)
    seconds: dict[str, float] = {}
    size = largest = 0
    for name in data.part_names():
        kind = name.partition("-")[0]
        started = time.process_time()
        part = len(data.part(name))
        seconds[kind] = seconds.get(kind, 0.0) + time.process_time() - started
        size, largest = size + part, max(largest, part)
    return {"seconds": seconds, "mib": size / 2**20, "largest_mib": largest / 2**20}


def plain_json(runs: list[Any]) -> None:
    import msgspec

    for run in runs:
        msgspec.json.encode(run)


def child(number: int, count: int) -> None:
    runs = [make_run(run, count) for run in range(number)]
    found, taken_s, above_mib = measured(lambda: all_parts(runs))
    held_mib = status_mib("VmRSS")
    _, plain_s, _ = measured(lambda: plain_json(runs))
    print(json.dumps(found | {"s": taken_s, "above_mib": above_mib, "held_mib": held_mib, "plain_s": plain_s}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a tenth of the samples")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    parser.add_argument("--child", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return
    by = 10 if options.small else 1
    figures = {}
    for number, count in ((6, 10_000 // by), (1, 100_000 // by)):
        command = [sys.executable, __file__, "--child", str(number), str(count)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        figures[f"{number} x {count}"] = json.loads(output)
    if options.json:
        print(json.dumps(figures))
        return
    for name, found in figures.items():
        print(
            f"{name:12} {found['s']:6.1f} s CPU, {found['s'] / found['plain_s']:5.1f} x plain JSON; peak "
            f"{found['above_mib']:6.1f} MiB above the runs; parts {found['mib']:6.1f} MiB, the largest "
            f"{found['largest_mib']:5.1f} MiB"
        )
        print(" " * 13 + ", ".join(f"{kind} {seconds:.1f} s" for kind, seconds in found["seconds"].items()))


if __name__ == "__main__":
    main()
