"""Every store against its engine called directly, in one run: searches, recall, loading, memory, many at once.

100,000 rows of 384 numbers in clusters of 100, tight ones and then loose ones, every second row with a text of 119
words, and fields that keep 10 % and 1 % of them. They are loaded into the engine as its documentation says, and through
`VectorStore.upsert`, block by block in turns; both have indexes of the same settings. Then every question is asked of
both, one right after the other, so that whatever else the machine does happens to both. What is exact is told by numpy.

    python benchmarks/stores.py [--store memory --store lance] [--n 100000] [--json]
    python benchmarks/stores.py --store postgres --url postgresql://user:password@host/database

PASS and FAIL are by these floors: a search takes at most 1.15 times as long as the engine's (p50); recall@10 is 0.95
or more, whatever is filtered by; loading takes at most 1.2 times as long; with 64 searches under way the engine is kept
as busy as it is by itself (throughput at least 1 / 1.15), and the event loop is never late by 10 ms (p99).

Linux only: it reads a process's memory from /proc.
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
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from store_engines import ENGINES
from store_engines.base import Engine
from store_engines.corpus import FILTERS, Corpus

from fastrag.store import Eq, VectorStore

SPREADS = {"tight": 0.3, "loose": 1.2}
K, AT_ONCE = 10, 64
MOST_SEARCH, MOST_LOAD, LEAST_RECALL, MOST_LAG_MS = 1.15, 1.2, 0.95, 10.0
LAG_EVERY_S = 0.005

Search = Callable[[int], Awaitable[list[Any]]]


class Clock:
    """Adds up the time spent inside ``with``."""

    def __init__(self) -> None:
        self.s = 0.0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.s += time.perf_counter() - started


def status_mib(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"/proc/self/status has no {field}")


async def load(corpus: Corpus, engine: Engine | None, store: VectorStore | None) -> dict[str, float]:
    """Seconds for rows and indexes, of both in turns."""
    seconds = {name: Clock() for name in ("direct_rows_s", "rows_s", "direct_index_s", "index_s")}
    for turn, block in enumerate(corpus.blocks()):
        documents = block.documents()
        for is_ours in (True, False) if turn % 2 else (False, True):
            if is_ours and store is not None:
                with seconds["rows_s"]():
                    await store.upsert(documents, block.vectors)
            elif not is_ours and engine is not None:
                with seconds["direct_rows_s"]():
                    await engine.add(block)
    if engine is not None:
        with seconds["direct_index_s"]():
            await engine.finish()
    if store is not None:
        with seconds["index_s"]():
            await store.optimize()
            # A store may leave an index for the first search to make.
            await store.search(text="first", k=1)
    return {name: clock.s for name, clock in seconds.items() if clock.s}


async def in_turns(direct: Search, ours: Search, count: int) -> tuple[list[float], list[float], list[Any], list[Any]]:
    """Milliseconds and results of both, question by question."""
    for question in range(min(10, count)):
        await direct(question)
        await ours(question)
    times: dict[Search, list[float]] = {direct: [], ours: []}
    results: dict[Search, list[Any]] = {direct: [], ours: []}
    for question in range(count):
        for search in (direct, ours) if question % 2 else (ours, direct):
            started = time.perf_counter()
            found = await search(question)
            times[search].append((time.perf_counter() - started) * 1000)
            results[search].append(found)
    return times[direct], times[ours], results[direct], results[ours]


async def throughput(search: Search, count: int, at_once: int) -> float:
    """Searches a second, with ``at_once`` under way."""
    todo = iter(range(count))

    async def work() -> None:
        for question in todo:
            await search(question)

    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(work())
    return count / (time.perf_counter() - started)


@contextmanager
def watched_loop(lags_ms: list[float]) -> Iterator[None]:
    async def watch() -> None:
        while True:
            due = time.perf_counter() + LAG_EVERY_S
            await asyncio.sleep(LAG_EVERY_S)
            lags_ms.append((time.perf_counter() - due) * 1000)

    task = asyncio.create_task(watch())
    try:
        yield
    finally:
        task.cancel()


def searches(engine: Engine, store: VectorStore, questions: list[Any]) -> dict[str, tuple[Search, Search]]:
    def dense(condition: Any) -> tuple[Search, Search]:
        filter = None if condition is None else Eq(*condition)
        return (
            lambda i: engine.dense(questions[i][0], K, condition),
            lambda i: store.search(embedding=questions[i][0], k=K, filter=filter),
        )

    kinds = {f"dense{name}": dense(condition) for name, condition in FILTERS.items()}
    kinds["lexical"] = (
        lambda i: engine.lexical(questions[i][1], K),
        lambda i: store.search(text=questions[i][1], k=K),
    )
    kinds["hybrid"] = (
        lambda i: engine.hybrid(*questions[i], K),
        lambda i: store.search(embedding=questions[i][0], text=questions[i][1], k=K),
    )
    return kinds


def overlap(found: list[set[str]], wanted: list[set[str]]) -> float:
    return float(np.mean([len(a & b) / len(b) if b else 1.0 for a, b in zip(found, wanted, strict=True)]))


async def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    corpus = Corpus(options.n, options.dimension, SPREADS[options.spread])
    setup = ENGINES[options.store[0]]
    engine = setup.engine(options.url or str(folder / "direct"))
    store = setup.store(options.url or str(folder / "ours"))
    if options.child == "memory":
        if options.side == "direct":
            store = None
        else:
            engine = None
        await load(corpus, engine, store)
        return {"mib": status_mib("VmHWM")}
    questions = corpus.questions(options.questions)
    truth = corpus.nearest(np.stack([vector for vector, _ in questions]), K)
    figures: dict[str, Any] = {"load": await load(corpus, engine, store), "search": {}}
    gc.collect()
    kinds = searches(engine, store, questions)
    for kind, (direct, ours) in kinds.items():
        direct_ms, ours_ms, direct_found, ours_found = await in_turns(direct, ours, len(questions))
        ids = [{document.id for document in found} for found in ours_found]
        direct_ids = [{engine.id(hit) for hit in found} for found in direct_found]
        figures["search"][kind] = {
            "p50_ms": float(np.percentile(ours_ms, 50)),
            "p99_ms": float(np.percentile(ours_ms, 99)),
            "direct_p50_ms": float(np.percentile(direct_ms, 50)),
            "direct_p99_ms": float(np.percentile(direct_ms, 99)),
            "same": overlap(ids, direct_ids),
        }
        if (wanted := truth.get(kind.removeprefix("dense"))) is not None:
            figures["search"][kind] |= {"recall": overlap(ids, wanted), "direct_recall": overlap(direct_ids, wanted)}
    figures["at_once"] = await many_at_once(*kinds["dense"], len(questions))
    await engine.close()
    await store.close()
    return figures


async def many_at_once(direct: Search, ours: Search, count: int) -> dict[str, float]:
    rates: dict[str, list[float]] = {"direct": [], "ours": [], "one_by_one": []}
    lags_ms: list[float] = []
    direct_lags_ms: list[float] = []
    for _ in range(3):
        with watched_loop(direct_lags_ms):
            rates["direct"].append(await throughput(direct, count, AT_ONCE))
        with watched_loop(lags_ms):
            rates["ours"].append(await throughput(ours, count, AT_ONCE))
        rates["one_by_one"].append(await throughput(ours, count, 1))
    best = {f"{name}_per_s": max(rate) for name, rate in rates.items()}
    for name, lags in (("lag", lags_ms), ("direct_lag", direct_lags_ms)):
        best |= {f"{name}_p99_ms": float(np.percentile(lags, 99)), f"{name}_worst_ms": max(lags)}
    return best


def judged(figures: dict[str, Any]) -> dict[str, tuple[str, bool | None]]:
    """What to show of each figure, and whether it is within its floor."""
    load, at_once = figures["load"], figures["at_once"]
    shown: dict[str, tuple[str, bool | None]] = {}
    for kind, figure in figures["search"].items():
        ratio = figure["p50_ms"] / figure["direct_p50_ms"]
        shown[kind] = (
            f"p50 {figure['p50_ms']:7.2f} ms, engine {figure['direct_p50_ms']:7.2f}: {ratio:5.2f} x; "
            f"p99 {figure['p99_ms']:7.2f}, engine {figure['direct_p99_ms']:7.2f}; same results {figure['same']:.3f}",
            ratio <= MOST_SEARCH,
        )
        if "recall" in figure:
            shown[f"{kind} recall@10"] = (
                f"{figure['recall']:.3f}, engine {figure['direct_recall']:.3f}",
                figure["recall"] >= LEAST_RECALL,
            )
    total, direct = load["rows_s"] + load["index_s"], load["direct_rows_s"] + load["direct_index_s"]
    shown["loading"] = (
        f"{total:.1f} s (rows {load['rows_s']:.1f}), engine {direct:.1f} s (rows {load['direct_rows_s']:.1f}): "
        f"{total / direct:.2f} x",
        total <= MOST_LOAD * direct,
    )
    if "mib" in figures:
        shown["peak memory"] = (f"{figures['mib']:.0f} MiB, engine {figures['direct_mib']:.0f}", None)
    ratio = at_once["ours_per_s"] / at_once["direct_per_s"]
    shown[f"{AT_ONCE} searches at once"] = (
        f"{at_once['ours_per_s']:.0f} a second, engine {at_once['direct_per_s']:.0f}: {ratio:.2f} x; "
        f"one by one {at_once['one_by_one_per_s']:.0f}",
        ratio >= 1 / MOST_SEARCH,
    )
    shown["loop late by, p99"] = (
        f"{at_once['lag_p99_ms']:.1f} ms, worst {at_once['lag_worst_ms']:.1f}; "
        f"engine {at_once['direct_lag_p99_ms']:.1f}, worst {at_once['direct_lag_worst_ms']:.1f}",
        at_once["lag_p99_ms"] < MOST_LAG_MS,
    )
    return shown


def in_child(options: argparse.Namespace, name: str, n: int, spread: str, work: str, side: str = "") -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", work, "--store", name, "--n", str(n), "--spread", spread]
    command += ["--dimension", str(options.dimension), "--questions", str(options.questions), "--side", side]
    command += ["--url", options.url] if options.url else []
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    figures: dict[str, Any] = json.loads(output)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", action="append", choices=list(ENGINES), help="may be repeated (default: all)")
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--spread", choices=list(SPREADS), help="one kind of clusters only")
    parser.add_argument("--url", help="where the server is; without it one is started, if the tests know how to")
    parser.add_argument("--no-memory", action="store_true", help="do not load everything again for its memory alone")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--side", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(asyncio.run(measure(options, Path(folder)))))
        return
    results: dict[str, Any] = {}
    failed = 0
    for name in options.store or ENGINES:
        n = min(options.n, ENGINES[name].most)
        for spread in [options.spread] if options.spread else SPREADS:
            figures = in_child(options, name, n, spread, "measure")
            if not options.no_memory:
                figures["mib"] = in_child(options, name, n, spread, "memory", "ours")["mib"]
                figures["direct_mib"] = in_child(options, name, n, spread, "memory", "direct")["mib"]
            shown = judged(figures)
            failed += sum(within is False for _, within in shown.values())
            results[f"{name} {spread}"] = figures | {
                "n": n,
                "within": {what: is_ok for what, (_, is_ok) in shown.items()},
            }
            if not options.json:
                print(f"{name}, {n:,} rows in {spread} clusters")
                for what, (text, within) in shown.items():
                    print(f"  {'' if within is None else 'PASS' if within else 'FAIL':4}  {what:22} {text}", flush=True)
    if options.json:
        print(json.dumps(results))
    if failed:
        raise SystemExit(f"{failed} figures are not within their floors")


if __name__ == "__main__":
    main()
