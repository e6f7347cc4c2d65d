"""Every store against its engine called directly, in one run: searches, recall, loading, memory, many at once.

100,000 rows of 384 numbers in clusters of 100, tight ones and then loose ones, every second row with a text (5 to 600
words, half of them 100 or more), and fields that keep 10 % and 1 % of them. They are loaded into the engine as its
documentation says, and through `VectorStore.upsert`; both have indexes of the same settings. Then every question is
asked of both, one right after the other, so that whatever else the machine does happens to both. What is exact is told
by numpy. How long loading takes, and the peak of memory, are those of processes that only load one of the two, and of
the server beside them: engines go on with their work in the background, also while it is another's turn.

    python benchmarks/stores.py [--store memory --store lance] [--n 100000] [--json]
    FASTRAG_BENCHMARK_URL=postgresql://user:password@host/database python benchmarks/stores.py --store postgres

At a million rows, --alone leaves the engine out: how long the store takes, what it finds, and the memory it needs.

    python benchmarks/stores.py --n 1000000 --alone --spread tight --store lance --store postgres

PASS and FAIL are by these floors: a search takes at most 1.15 times as long as the engine's (p50); recall@10 is 0.95
or more, whatever is filtered by; loading takes at most 1.2 times as long; with 64 searches under way the engine is kept
as busy as it is by itself (throughput at least 1 / 1.15), and the event loop is not late by 10 ms (p99).

Linux only: it reads the memory of processes from /proc.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from store_engines import ENGINES
from store_engines.corpus import Corpus
from store_engines.measuring import load, measure
from store_engines.servers import Server

SPREADS = {"tight": 0.3, "loose": 1.2}
MOST_SEARCH, MOST_LOAD, LEAST_RECALL, MOST_LAG_MS = 1.15, 1.2, 0.95, 10.0
URL = "FASTRAG_BENCHMARK_URL"
WATCHED_EVERY_S = 0.5


async def child(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    corpus = Corpus(options.n, options.dimension, SPREADS[options.spread])
    setup = ENGINES[options.store[0]]
    url = os.environ.get(URL, "")
    engine = setup.engine(url or str(folder / "engine"))
    store = setup.store(url or str(folder / "store"))
    await store.drop()
    sides = {name: side for name, side in (("engine", engine), ("store", store)) if name in options.sides}
    if options.child == "load":
        figures: dict[str, Any] = {"load": await load(corpus, sides, has_words=engine.has_words)}
    else:
        figures = await measure(
            corpus, sides, questions=options.questions, has_words=engine.has_words, at_once=setup.at_once
        )
    figures["client_mib"] = peak_mib()
    if "engine" in sides:
        await engine.close()
    await store.drop()
    await store.close()
    return figures


def peak_mib() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("/proc/self/status has no VmHWM")


def in_child(options: argparse.Namespace, name: str, spread: str, work: str, sides: list[str], server: Server) -> Any:
    """What the child measured, and the server's peak of memory meanwhile."""
    command = [sys.executable, __file__, "--child", work, "--store", name, "--spread", spread, "--sides", *sides]
    command += ["--n", str(min(options.n, ENGINES[name].most)), "--dimension", str(options.dimension)]
    command += ["--questions", str(options.questions)]
    # Not among the arguments, which everybody can see: there may be a password in it.
    environment = {**os.environ, URL: server.url}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        server_mib = 0.0
        while server.pid is not None and process.poll() is None:
            server_mib = max(server_mib, server.mib())
            time.sleep(WATCHED_EVERY_S)
        output = process.stdout.read()
    if process.returncode:
        raise SystemExit(f"measuring {name} failed")
    return json.loads(output) | {"server_mib": server_mib}


def of_one(options: argparse.Namespace, name: str, spread: str, server: Server) -> dict[str, Any]:
    sides = ["store"] if options.alone else ["engine", "store"]
    figures: dict[str, Any] = in_child(options, name, spread, "measure", sides, server)
    figures["n"] = min(options.n, ENGINES[name].most)
    loads = {side: in_child(options, name, spread, "load", [side], server) for side in sides}
    figures["load"] = {side: load["load"][side] for side, load in loads.items()}
    figures["memory"] = {
        side: {where: load[where] for where in ("client_mib", "server_mib")} for side, load in loads.items()
    }
    shown = judged(figures)
    if not options.json:
        print(f"{name}, {figures['n']:,} rows in {spread} clusters")
        for what, (text, within) in shown.items():
            print(f"  {'' if within is None else 'PASS' if within else 'FAIL':4}  {what:22} {text}", flush=True)
        peaks = "; ".join(f"{side} {shown_mib(found)}" for side, found in figures["memory"].items())
        print(f"        peak memory            {peaks}", flush=True)
    return figures | {"within": {what: within for what, (_, within) in shown.items()}}


def shown_mib(memory: dict[str, float]) -> str:
    server = f" + server {memory['server_mib']:.0f}" if memory["server_mib"] else ""
    return f"{memory['client_mib']:.0f} MiB{server}"


def judged(figures: dict[str, Any]) -> dict[str, tuple[str, bool | None]]:
    """What to show of each figure, and whether it is within its floor; None where there is none."""
    shown: dict[str, tuple[str, bool | None]] = {}
    for kind, figure in figures["search"].items():
        store, engine = figure["store"], figure.get("engine")
        text, within = f"p50 {store['p50_ms']:7.2f} ms, p99 {store['p99_ms']:7.2f}", None
        if engine:
            ratio = store["p50_ms"] / engine["p50_ms"]
            text += f"; engine {engine['p50_ms']:7.2f}, {engine['p99_ms']:7.2f}: {ratio:5.2f} x"
            text += f"; {figure['same']:.3f} of the results are the same"
            within = ratio <= MOST_SEARCH
        shown[kind] = text, within
        if "recall" in store:
            text = f"{store['recall']:.3f}" + (f", engine {engine['recall']:.3f}" if engine else "")
            shown[f"{kind} recall@10"] = text, store["recall"] >= LEAST_RECALL
    seconds = {side: load["rows_s"] + load["index_s"] for side, load in figures["load"].items()}
    text, within = f"{seconds['store']:.1f} s, {figures['load']['store']['rows_s']:.1f} of them for rows", None
    if "engine" in seconds:
        ratio = seconds["store"] / seconds["engine"]
        text += f"; engine {seconds['engine']:.1f}, {figures['load']['engine']['rows_s']:.1f}: {ratio:.2f} x"
        within = ratio <= MOST_LOAD
    shown["loading"] = text, within
    store, engine = figures["many"]["store"], figures["many"].get("engine")
    text, within = f"{store['per_s']:.0f} a second, one by one {store['one_by_one_per_s']:.0f}", None
    if engine:
        ratio = store["per_s"] / engine["per_s"]
        text += f"; engine {engine['per_s']:.0f}, {engine['one_by_one_per_s']:.0f}: {ratio:.2f} x"
        within = ratio >= 1 / MOST_SEARCH
    shown[f"{figures['at_once']} searches at once"] = text, within
    text = f"p99 {store['lag_p99_ms']:.1f} ms, worst {store['lag_worst_ms']:.1f}"
    text += f"; engine {engine['lag_p99_ms']:.1f}, {engine['lag_worst_ms']:.1f}" if engine else ""
    shown["loop late meanwhile"] = text, store["lag_p99_ms"] < MOST_LAG_MS
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", action="append", choices=list(ENGINES), help="may be repeated (default: all)")
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--spread", choices=list(SPREADS), help="one kind of clusters only")
    parser.add_argument("--alone", action="store_true", help="the store without its engine beside it")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--sides", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(asyncio.run(child(options, Path(folder)))))
        return
    results: dict[str, Any] = {}
    for name in options.store or ENGINES:
        with nullcontext(Server(os.environ[URL])) if URL in os.environ else ENGINES[name].server() as server:
            for spread in [options.spread] if options.spread else SPREADS:
                results[f"{name} {spread}"] = of_one(options, name, spread, server)
    if options.json:
        print(json.dumps(results))
    if failed := sum(within is False for figures in results.values() for within in figures["within"].values()):
        raise SystemExit(f"{failed} figures are not within their floors")


if __name__ == "__main__":
    main()
