"""The measurements: both sides do the same work in turns, so that whatever else the machine does happens to both."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from fastrag.store import Eq, VectorStore
from store_engines.base import Engine
from store_engines.corpus import BLOCK, FILTERS, Block, Corpus

K = 10
LAG_EVERY_S = 0.005
ROUNDS = 3
_BLOCKS_AT_ONCE = 100_000 // BLOCK

Search: TypeAlias = Callable[[int], Awaitable[list[Any]]]
Sides: TypeAlias = Mapping[str, Any]
"""What is measured: the ``engine`` called directly, the ``store`` in front of it, or one of them alone."""


async def load(corpus: Corpus, sides: Sides, *, has_words: bool) -> dict[str, dict[str, float]]:
    """Seconds that each side takes for the rows, and then for its indexes."""
    seconds = {side: {"rows_s": 0.0, "index_s": 0.0} for side in sides}
    # Made a hundred thousand at a time: what goes on in the background while the next are made is not timed.
    for blocks in batched(corpus.blocks(), _BLOCKS_AT_ONCE):
        ready = [(block, block.documents()) for block in blocks]
        for side, each in sides.items():
            started = time.perf_counter()
            for block, documents in ready:
                await _write(each, block, documents)
            seconds[side]["rows_s"] += time.perf_counter() - started
    question = corpus.questions(1)
    for side, each in sides.items():
        started = time.perf_counter()
        await _finish(each)
        if has_words:
            # A store may leave the index of words for the first search to make; that is a part of loading, too.
            await _search(each, "lexical", question, 0)
        seconds[side]["index_s"] += time.perf_counter() - started
    return seconds


def batched(blocks: Iterable[Block], size: int) -> Iterator[list[Block]]:
    left = iter(blocks)
    while some := list(islice(left, size)):
        yield some


async def _write(side: Engine | VectorStore, block: Block, documents: list[Any]) -> None:
    if isinstance(side, Engine):
        await side.add(block)
    else:
        await side.upsert(documents, block.vectors)


async def _finish(side: Engine | VectorStore) -> None:
    if isinstance(side, Engine):
        await side.finish()
    else:
        await side.optimize()


def searches(sides: Sides, questions: list[Any], *, has_words: bool) -> dict[str, dict[str, Search]]:
    """By kind and side: asks the question of a number."""
    kinds = [f"dense{name}" for name in FILTERS] + (["lexical", "hybrid"] if has_words else [])
    return {kind: {name: partial(_search, side, kind, questions) for name, side in sides.items()} for kind in kinds}


def _search(side: Engine | VectorStore, kind: str, questions: list[Any], number: int) -> Awaitable[list[Any]]:
    vector, text = questions[number]
    condition = FILTERS.get(kind.removeprefix("dense"))
    if isinstance(side, Engine):
        match kind:
            case "lexical":
                return side.lexical(text, K)
            case "hybrid":
                return side.hybrid(vector, text, K)
            case _:
                return side.dense(vector, K, condition)
    match kind:
        case "lexical":
            return side.search(text=text, k=K)
        case "hybrid":
            return side.search(embedding=vector, text=text, k=K)
        case _:
            return side.search(embedding=vector, k=K, filter=None if condition is None else Eq(*condition))


async def in_turns(asked: Mapping[str, Search], count: int) -> tuple[dict[str, list[float]], dict[str, list[Any]]]:
    """By side: milliseconds and what was found, question by question."""
    for number in range(min(10, count)):
        for search in asked.values():
            await search(number)
    gc.collect()
    times_ms: dict[str, list[float]] = {side: [] for side in asked}
    found: dict[str, list[Any]] = {side: [] for side in asked}
    for number in range(count):
        for side in list(asked)[:: -1 if number % 2 else 1]:
            started = time.perf_counter()
            hits = await asked[side](number)
            times_ms[side].append((time.perf_counter() - started) * 1000)
            found[side].append(hits)
    return times_ms, found


async def many_at_once(asked: Mapping[str, Search], count: int, at_once: int) -> dict[str, dict[str, float]]:
    """By side: searches a second with ``at_once`` under way and one by one, and how late the loop was meanwhile."""
    rates: dict[str, list[float]] = {side: [] for side in asked}
    alone: dict[str, list[float]] = {side: [] for side in asked}
    lags_ms: dict[str, list[float]] = {side: [] for side in asked}
    for _ in range(ROUNDS):
        for side, search in asked.items():
            with _watched_loop(lags_ms[side]):
                rates[side].append(await _rate(search, count, at_once))
            alone[side].append(await _rate(search, count, 1))
    return {
        side: {
            "per_s": max(rates[side]),
            "one_by_one_per_s": max(alone[side]),
            "lag_p99_ms": float(np.percentile(lags_ms[side], 99)),
            "lag_worst_ms": max(lags_ms[side]),
        }
        for side in asked
    }


async def _rate(search: Search, count: int, at_once: int) -> float:
    todo = iter(range(count))

    async def work() -> None:
        for number in todo:
            await search(number)

    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(work())
    return count / (time.perf_counter() - started)


@contextmanager
def _watched_loop(lags_ms: list[float]) -> Iterator[None]:
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


async def measure(corpus: Corpus, sides: Sides, *, questions: int, has_words: bool, at_once: int) -> dict[str, Any]:
    """Everything that is measured of ``sides``."""
    asked = corpus.questions(questions)
    truth = corpus.nearest(np.stack([vector for vector, _ in asked]), K)
    figures: dict[str, Any] = {"load": await load(corpus, sides, has_words=has_words), "search": {}, "at_once": at_once}
    kinds = searches(sides, asked, has_words=has_words)
    for kind, both in kinds.items():
        times_ms, found = await in_turns(both, questions)
        ids = {side: [_ids(sides[side], hits) for hits in found[side]] for side in both}
        figures["search"][kind] = {
            side: {"p50_ms": float(np.percentile(times, 50)), "p99_ms": float(np.percentile(times, 99))}
            for side, times in times_ms.items()
        }
        if (wanted := truth.get(kind.removeprefix("dense"))) is not None:
            for side in both:
                figures["search"][kind][side]["recall"] = _overlap(ids[side], wanted)
        if len(both) == 2:
            figures["search"][kind]["same"] = _overlap(*ids.values())
    figures["many"] = await many_at_once(kinds["dense"], questions, at_once)
    return figures


def _ids(side: Engine | VectorStore, hits: list[Any]) -> set[str]:
    return {side.id(hit) if isinstance(side, Engine) else hit.id for hit in hits}


def _overlap(found: list[set[str]], wanted: list[set[str]]) -> float:
    return float(np.mean([len(a & b) / len(b) if b else 1.0 for a, b in zip(found, wanted, strict=True)]))
