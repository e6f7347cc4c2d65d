"""``fastrag ingest``: files and folders into an index."""

from __future__ import annotations

import argparse
from pathlib import Path

from fastrag.cli.arguments import WrongUsage, add_embedding, add_index, check_embedding, count, embedder
from fastrag.cli.running import run_async
from fastrag.cli.terminal import print_line
from fastrag.errors import FastRAGError

ABOUT = "index files and folders; again later, only what changed is embedded again"

EXAMPLES = """\
fastrag ingest docs --index my-index
fastrag ingest notes.md a.pdf --index my-index --lexical-only
fastrag ingest docs --index my-index --dead-letters failed.jsonl --failed-before only"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="text, Markdown, HTML, PDF, DOCX, or folders"
    )
    add_index(parser)
    parser.add_argument("--lexical-only", action="store_true", help="no vectors: BM25 search only, no model needed")
    parser.add_argument(
        "--workers", type=count, default=1, metavar="N", help="how many files are read at once (default: %(default)s)"
    )
    parser.add_argument(
        "--dead-letters", type=Path, metavar="FILE", help="keep a list of what failed in FILE, a JSON object a line"
    )
    parser.add_argument(
        "--failed-before",
        choices=["retry", "skip", "only"],
        default="retry",
        help="what is on that list: try again, skip while unchanged, or try nothing else (default: %(default)s)",
    )
    add_embedding(parser)


def run(options: argparse.Namespace) -> None:
    """Index, and say what was done, skipped and failed."""
    check_embedding(options)
    if options.failed_before != "retry" and not options.dead_letters:
        raise WrongUsage(f"--failed-before {options.failed_before} needs --dead-letters: the list of what failed")
    run_async(_ingest(options))


async def _ingest(options: argparse.Namespace) -> None:
    from fastrag.ingest import ingest
    from fastrag.store.opening import open_store

    embedding = None if options.lexical_only else embedder(options)
    store = open_store(options.index)
    try:
        report = await ingest(
            options.paths,
            store=store,
            embedder=embedding,
            workers=options.workers,
            dead_letters=options.dead_letters,
            failed_before=options.failed_before,
            progress=True,
        )
    finally:
        await store.close()
        if embedding is not None:
            await embedding.close()
    print_line(str(report))
    for skip in report.skipped:
        print_line(f"  skipped: {skip.source}: {skip.reason}")
    for failure in report.failures:
        print_line(f"  failed: {failure.source}: {failure.reason}")
    if report.failures:
        listed = f"; what failed is listed in {options.dead_letters}" if options.dead_letters else ""
        raise FastRAGError(f"{len(report.failures)} documents could not be ingested; everything else is stored{listed}")
