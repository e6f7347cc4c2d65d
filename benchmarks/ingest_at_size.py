"""What an ingest of a million chunks needs: its memory as it goes, and its time a chunk, first and again.

Twice over: 10,000 Documents of 100 chunks, and as many Documents as chunks. They come from an iterator, and go into a
store that keeps nothing, so that all memory measured is the ingest's own; with --store into a real one. Then the same
again, where nothing has changed: the store is read, and nothing is chunked or written. Vectors of --dimension numbers
are made up, without a model (0: none). Each work is done in a process of its own.

    python benchmarks/ingest_at_size.py [--chunks 1000000] [--dimension 384] [--store lance:///tmp/index]

Linux only: it reads a process's memory from /proc.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fastrag import Document
from fastrag.embedding.base import Embedder
from fastrag.ingest import CharacterChunker, IngestProgress, ingest
from fastrag.ingest.bookkeeping import Notes, digest, stamp
from fastrag.store import InMemoryStore

CHUNK = "Chunk {} of document {} says something of its own, in one line of about a hundred characters of text. . . ."
CHUNK_CHARACTERS = 130
LARGE = 100
# What may stay in memory for each source; what the allocator may keep beside that; what may be under way at once.
MOST_BYTES_PER_SOURCE, SLACK_MIB, MOST_MIB = 100, 4, 64


def document(number: int, chunks: int) -> Document:
    lines = (CHUNK.format(i, number).ljust(CHUNK_CHARACTERS - 1, ".") for i in range(chunks))
    return Document(f"corpus/part-{number % 97}/document-{number}.md", "\n\n".join(lines))


class MadeUp(Embedder):
    """Random vectors, made at once: an embedder that is never what is waited for."""

    id = "made-up"

    def __init__(self, dimension: int) -> None:
        self.random = np.random.default_rng(7)
        self.dimension = dimension

    async def embed_documents(self, texts: Sequence[str]) -> Any:
        return self.random.standard_normal((len(texts), self.dimension), dtype=np.float32)

    async def embed_query(self, text: str) -> Any:
        return (await self.embed_documents([text]))[0]


class Sink(InMemoryStore):
    """Keeps nothing, and says of itself that it holds what an earlier run wrote."""

    def __init__(self, held: Iterator[Document]) -> None:
        super().__init__()
        self.held = held
        self.written = 0

    async def upsert(self, documents: Sequence[Document], embeddings: Any = None) -> None:
        self.written += len(documents)

    async def scan(self, filter: Any = None) -> AsyncIterator[Document]:
        for chunk in self.held:
            yield chunk


def stored(sources: int, chunks: int, chunker: CharacterChunker, embedder_id: str | None) -> Iterator[Document]:
    """The chunks as a store would give them back."""
    for number in range(sources):
        whole = document(number, chunks)
        parts = chunker.chunk(whole)
        content = digest(whole.text.encode(), [whole.uri, whole.metadata, chunker.id, embedder_id])
        stamp(parts, Notes(content, len(parts), "", embedder_id))
        yield from parts


def resident_mib(field: str = "VmRSS") -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"/proc/self/status has no {field}")


async def run(options: argparse.Namespace) -> dict[str, float]:
    chunker = CharacterChunker(size=CHUNK_CHARACTERS)
    embedder = MadeUp(options.dimension) if options.dimension else None
    sources = options.chunks // options.each
    if options.store:
        from fastrag.store import open_store

        store = open_store(options.store)
    else:
        held = stored(sources, options.each, chunker, embedder and embedder.id)
        store = Sink(held if options.child == "again" else iter(()))
    memory: list[float] = []

    def watch(progress: IngestProgress) -> None:
        if progress.done * 10 // sources > len(memory) - 1:
            gc.collect()
            memory.append(resident_mib())

    started = time.perf_counter()
    report = await ingest(
        (document(number, options.each) for number in range(sources)),
        store=store,
        embedder=embedder,
        chunker=chunker,
        workers=options.workers,
        progress=watch,
    )
    taken_s = time.perf_counter() - started
    await store.close()
    done = report.unchanged if options.child == "again" else report.added
    if done != sources or report.chunks_written != (0 if options.child == "again" else options.chunks):
        raise SystemExit(f"not what was to be done: {report}")
    # The first tenth warms up: the allocator's arenas, the engine's caches.
    return {
        "s": taken_s,
        "start_mib": memory[0],
        "tenth_mib": memory[1],
        "end_mib": memory[-1],
        "peak_mib": resident_mib("VmHWM"),
    }


def in_child(options: argparse.Namespace, work: str, each: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", work, "--each", str(each), "--chunks", str(options.chunks)]
    command += ["--dimension", str(options.dimension), "--workers", str(options.workers)]
    command += ["--store", f"{options.store}-{each}"] if options.store else []
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    figures: dict[str, float] = json.loads(output)
    return figures


def show(name: str, figures: dict[str, float]) -> None:
    print(
        f"{name:19} {figures['s']:7.1f} s, {figures['us_per_chunk']:6.1f} us a chunk; "
        f"MiB at the start {figures['start_mib']:.0f}, after a tenth {figures['tenth_mib']:.0f}, "
        f"at the end {figures['end_mib']:.0f}, peak {figures['peak_mib']:.0f}: "
        f"{'PASS' if figures['within'] else 'FAIL'}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--dimension", type=int, default=384, help="of the vectors; 0 for none")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--store", metavar="URL", help="a real store; its name gets -100 and -1 put behind it")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--each", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(asyncio.run(run(options))))
        return
    results: dict[str, dict[str, float]] = {}
    for each in (LARGE, 1):
        sources = options.chunks // each
        for work in ("first", "again"):
            figures = in_child(options, work, each)
            grown_mib = figures["end_mib"] - figures["tenth_mib"]
            allowed_mib = sources * MOST_BYTES_PER_SOURCE / 2**20
            figures["us_per_chunk"] = figures["s"] / options.chunks * 1e6
            figures["grown_bytes_per_source"] = grown_mib * 2**20 / (0.9 * sources)
            figures["within"] = (
                grown_mib <= SLACK_MIB + allowed_mib
                and figures["peak_mib"] <= figures["tenth_mib"] + MOST_MIB + allowed_mib
            )
            results[f"{sources} sources of {each}, {work}"] = figures
            if not options.json:
                show(f"{sources:,} x {each} {work}", figures)
    if options.json:
        print(json.dumps({"chunks": options.chunks, "dimension": options.dimension, "figures": results}))
    if not all(figures["within"] for figures in results.values()):
        raise SystemExit("memory grows more than it may")


if __name__ == "__main__":
    main()
