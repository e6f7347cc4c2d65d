"""``fastrag copy``: all that one store holds into another."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fastrag.cli.arguments import WrongUsage, count
from fastrag.cli.running import run_async
from fastrag.cli.stores import store_url
from fastrag.cli.terminal import print_line
from fastrag.errors import ConfigurationError, FastRAGError

if TYPE_CHECKING:
    from fastrag.store.base import VectorStore
    from fastrag.store.copy_report import CopyReport

ABOUT = "copy documents, vectors and metadata from one store to another, and verify the copy"

EXAMPLES = """\
fastrag copy my-index qdrant://localhost:6333
fastrag copy my-index 'postgresql://user@db.example/docs?namespace=handbook'
fastrag copy milvus:///data/docs.db lance:///data/my-index --prune"""

EXIT_CODES = """\
  0  copied and verified
  3  copied, but what was verified is not as it should be: see what is said
  2  wrong usage
  1  the job failed; run the same command again to go on
130  interrupted; likewise

A store is written as one of
  my-index, lance:relative/folder, lance:///folder          LanceDB
  postgresql://user:password@host/database                  PostgreSQL with pgvector
  milvus://host:19530, milvus+https://host                  a Milvus server; milvus:///folder/file.db for a file
  qdrant://host:6333, qdrant+https://host                   a Qdrant server
with ?namespace=NAME and ?language=CODE (or none) where they are not the default. Percent-encode what is special in
passwords, or leave them to the environment: PGPASSWORD, QDRANT_API_KEY, MILVUS_TOKEN.

What the target has already, with equal content and vector, is not written again: a copy that was broken off goes on
where it stopped."""

NOT_VERIFIED = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("source", type=store_url, metavar="SOURCE_URL", help="the store to read")
    parser.add_argument("target", type=store_url, metavar="TARGET_URL", help="the store to write; made where absent")
    parser.add_argument(
        "--namespace",
        type=_namespace,
        default="default",
        metavar="NAME",
        help="the corpus in both stores, where a URL does not say (default: %(default)s)",
    )
    parser.add_argument(
        "--language",
        type=_language,
        default="en",
        metavar="CODE",
        help="whose word endings are taken off in both, where a URL does not say; none for none (default: %(default)s)",
    )
    parser.add_argument(
        "--batch-size", type=count, default=500, metavar="N", help="documents to write at once (default: %(default)s)"
    )
    parser.add_argument(
        "--sample",
        type=count,
        default=1000,
        metavar="N",
        help="how many documents to read again from both at the end, and compare (default: %(default)s)",
    )
    parser.add_argument("--prune", action="store_true", help="remove from the target what the source does not have")


def run(options: argparse.Namespace) -> int:
    """Copy, report, and give the exit code."""
    reports: list[CopyReport] = []
    run_async(_copy(options, reports))
    return 0 if reports[0].verified else NOT_VERIFIED


async def _copy(options: argparse.Namespace, reports: list[CopyReport]) -> None:
    from fastrag._support.progress import shown
    from fastrag.store.copying import copy_store
    from fastrag.store.urls import without_secrets

    source = _open(options.source, options)
    try:
        target = _open(options.target, options)
        try:
            await _check(source, target, options)
            with shown("copy", await source.count(), "documents") as show:
                report = await copy_store(
                    source,
                    target,
                    batch_size=options.batch_size,
                    sample=options.sample,
                    prune=options.prune,
                    progress=lambda state: show(state.read, f"{state.written} written"),
                )
        finally:
            await target.close()
    finally:
        await source.close()
    reports.append(report)
    _print(report, without_secrets(options.source), without_secrets(options.target))


def _namespace(text: str) -> str:
    from fastrag.store.checks import checked_namespace

    try:
        return checked_namespace(text)
    except ConfigurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _language(text: str) -> str | None:
    from fastrag.store.languages import language_name

    try:
        return language_name(None if text == "none" else text)
    except ConfigurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _open(url: str, options: argparse.Namespace) -> VectorStore:
    from fastrag.store.opening import open_store

    return open_store(url, namespace=options.namespace, language=options.language)


async def _check(source: VectorStore, target: VectorStore, options: argparse.Namespace) -> None:
    from fastrag.store.urls import without_options, without_secrets

    if (
        source.namespace == target.namespace
        and len({without_options(url, ["namespace"]) for url in (options.source, options.target)}) == 1
    ):
        raise WrongUsage("source and target are the same store")
    if not await source.count() and await source.binding() is None:
        there = ", ".join(await source.namespaces()) or "none"
        raise FastRAGError(
            f"{without_secrets(options.source)}: nothing is there to copy from the namespace {source.namespace!r}; "
            f"namespaces with something in them: {there}"
        )


def _print(report: CopyReport, source: str, target: str) -> None:
    for name, value in (
        ("source", source),
        ("target", target),
        ("documents read", report.read),
        ("written", report.written),
        ("there already", report.unchanged),
        ("in the target only", report.extra),
        ("pruned from it", report.pruned),
        ("held by source / target now", f"{report.source_count} / {report.target_count}"),
        ("compared again", report.compared),
        ("seconds", f"{report.duration_s:.1f}"),
    ):
        print_line(f"{name:<28}  {value}")
    if report.extra:
        more = ", ..." if report.extra > len(report.extra_ids) else ""
        print_line(f"in the target only: {', '.join(report.extra_ids)}{more} (--prune removes them)")
    for problem in report.problems:
        print_line(f"not verified: {problem}")
    if report.verified:
        print_line(f"verified by counts and by {report.compared} documents that are equal in both")
