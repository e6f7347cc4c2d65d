"""The ``fastrag`` command: one thin subcommand per capability.

Exit codes: 0 done, 1 the job failed, 2 wrong usage, 130 interrupted; ``compare`` has more (`fastrag.cli.compare`).
"""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from fastrag.cli import compare, copy
from fastrag.cli.arguments import WrongUsage
from fastrag.cli.stores import store_url
from fastrag.errors import FastRAGError

if TYPE_CHECKING:
    from rich.console import Console

    from fastrag.benchmark import BenchmarkResult
    from fastrag.embedding import Embedder
    from fastrag.llm import LLM
    from fastrag.retrieval import Retriever
    from fastrag.store import VectorStore

_INTERRUPTED = 130
_LONGEST_LINE = 4_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    >>> main(["best", "no-such-folder", "--metric", "ndcg@10"])
    1
    """
    if sys.stdout is None:  # closed by the caller
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - as long as the process
    elif isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal without the character shows a question mark in its place.
        sys.stdout.reconfigure(errors="replace")
    parser = _parser()
    options = parser.parse_args(arguments)
    if problem := _usage_problem(options):
        parser.error(problem)
    command: Callable[[argparse.Namespace], int | None] = options.command
    try:
        exit_code = command(options)
        sys.stdout.flush()
    except WrongUsage as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        _say("interrupted; run the same command again to go on")
        if any(not thread.daemon and thread is not threading.main_thread() for thread in threading.enumerate()):
            # An engine's thread cannot be cancelled, and the interpreter would wait for it; what ended is on disk.
            sys.stderr.flush()
            os._exit(_INTERRUPTED)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe (head, less) has seen enough; the interpreter must not complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if options.debug:
            raise
        if isinstance(error, FastRAGError | OSError):
            _say(f"error: {error}")
        else:
            _say(f"unexpected error: {type(error).__name__}: {error} (see the traceback with --debug)")
        return 1
    return exit_code or 0


def _demo(options: argparse.Namespace) -> None:
    from fastrag.demo.run import run_demo

    _run(run_demo(options.folder, model_dir=options.model_dir, console=_console()))


def _ingest(options: argparse.Namespace) -> None:
    _run(_ingest_async(options))


async def _ingest_async(options: argparse.Namespace) -> None:
    from fastrag.ingest import ingest

    embedder = None if options.lexical_only else _embedder(options)
    store = _store(options.index)
    try:
        report = await ingest(
            options.paths,
            store=store,
            embedder=embedder,
            workers=options.workers,
            dead_letters=options.dead_letters,
            failed_before=options.failed_before,
            progress=True,
        )
    finally:
        await store.close()
        if embedder is not None:
            await embedder.close()
    _print(str(report))
    for skip in report.skipped:
        _print(f"  skipped: {skip.source}: {skip.reason}")
    for failure in report.failures:
        _print(f"  failed: {failure.source}: {failure.reason}")
    if report.failures:
        listed = f"; what failed is listed in {options.dead_letters}" if options.dead_letters else ""
        raise FastRAGError(f"{len(report.failures)} documents could not be ingested; everything else is stored{listed}")


def _ask(options: argparse.Namespace) -> None:
    _run(_ask_async(options))


async def _ask_async(options: argparse.Namespace) -> None:
    from fastrag.query import QueryEngine

    store = _store(options.index)
    await _check_index(store, options)
    embedder = None if options.retriever == "lexical" else _embedder(options)
    llm = _llm(options)
    try:
        retriever = _retriever(options.retriever, store, embedder)
        result = await QueryEngine(retriever, llm, k=options.k).query(options.question)
    finally:
        await llm.close()
        await store.close()
        if embedder is not None:
            await embedder.close()
    _print(result.answer or "(no answer: the sources do not say)")
    for number, source in enumerate(result.sources, start=1):
        mark = "*" if number in result.citations else " "
        score = source.metadata["score"]
        _print(f"{mark}[{number}] {source.id}  score {score:.4f}")


async def _check_index(store: VectorStore, options: argparse.Namespace) -> None:
    from fastrag.store.urls import without_secrets

    shown = without_secrets(options.index)
    async for document in store.scan():
        if options.retriever == "dense" and document.metadata.get("embedder_id") is None:
            raise FastRAGError(
                f"{shown} has no vectors, for it was made with --lexical-only: ask with --retriever lexical, "
                "or ingest again without --lexical-only"
            )
        return
    raise FastRAGError(
        f"the index in {shown} is not there or is empty; fill it with: fastrag ingest FOLDER --index {shown}"
    )


def _show(options: argparse.Namespace) -> None:
    from fastrag.benchmark.report.terminal import print_results
    from fastrag.benchmark.result_file import load_all

    console = _console()
    results, notes = [], []
    for path in options.paths:
        if path.suffix == ".journal":
            partial, note = _partial(path)
            results.append(partial)
            notes.append(note)
        else:
            results += load_all([path])
    print_results(results, console)
    for note in notes:
        _print(note)


def _partial(path: Path) -> tuple[BenchmarkResult, str]:
    from fastrag.benchmark.journal import partial_result, read_journal

    journal = read_journal(path)
    result = partial_result(journal)
    result.name += " (partial)"
    return result, f"{result.name}: {len(journal.ended)} of {journal.total} questions have ended, as {path} says"


def _best(options: argparse.Namespace) -> None:
    from fastrag.benchmark import rank
    from fastrag.benchmark.report.terminal import print_results
    from fastrag.benchmark.result_file import load_all

    results = load_all(options.paths)
    ranking = rank(results, options.metric, min_coverage=options.min_coverage)
    winner = ranking.winner
    _print(f"best by {options.metric}: {winner.name}")
    if ties := [entry.result.name for entry in ranking.groups[0] if entry.result is not winner]:
        _print(f"  not told apart from it: {', '.join(ties)}")
    print_results(results, _console(), metrics=[options.metric])


def _store(index: str) -> VectorStore:
    from fastrag.store.opening import open_store

    return open_store(index)


def _embedder(options: argparse.Namespace) -> Embedder:
    from fastrag.embedding import LocalEmbedder, OpenAICompatibleEmbedder

    if options.embedding_url:
        return OpenAICompatibleEmbedder(options.embedding_model, base_url=options.embedding_url)
    return LocalEmbedder(options.embedding_model, model_dir=options.model_dir)


def _retriever(kind: str, store: VectorStore, embedder: Embedder | None) -> Retriever:
    from fastrag.retrieval import DenseRetriever, HybridRetriever, LexicalRetriever

    if embedder is None:
        return LexicalRetriever(store)
    return DenseRetriever(store, embedder) if kind == "dense" else HybridRetriever.of(store, embedder)


def _llm(options: argparse.Namespace) -> LLM:
    from fastrag.llm import ExtractiveLLM, OpenAICompatibleLLM

    if options.llm is None:
        return ExtractiveLLM()
    return OpenAICompatibleLLM(options.llm, base_url=options.llm_url)


def _console() -> Console:
    from rich.console import Console

    # Wrapped for a terminal only: a line that is piped is a line to search in.
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def _run(work: Coroutine[object, object, object]) -> None:
    runner = asyncio.Runner()
    try:
        runner.run(work)
    except KeyboardInterrupt:
        # Not closed: that would wait for the threads that the engines still run in.
        raise
    except BaseException:
        runner.close()
        raise
    runner.close()


def _print(text: str) -> None:
    _console().print(_harmless(text), markup=False)


def _say(text: str) -> None:
    sys.stderr.write(f"fastrag: {_harmless(text)}\n")


def _harmless(text: str) -> str:
    from fastrag.benchmark.report.texts import one_line

    # Names in answers, files and errors are others' words: they must not steer the terminal.
    return "\n".join(one_line(line, most=_LONGEST_LINE) for line in text.split("\n"))


def _usage_problem(options: argparse.Namespace) -> str | None:
    """What is wrong with options that argparse finds right one by one."""
    if getattr(options, "embedding_url", None) and not options.embedding_model:
        return "--embedding-url needs --embedding-model: which of its models to use"
    if getattr(options, "llm_url", None) and not options.llm:
        return "--llm-url needs --llm: which of its models to use"
    if getattr(options, "failed_before", "retry") != "retry" and not options.dead_letters:
        return f"--failed-before {options.failed_before} needs --dead-letters: the list of what failed"
    return None


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 1, not {text!r}")
    return value


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"fastrag: wrong usage: {message}\nTry: {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="fastrag",
        description="Index documents, ask them questions, and benchmark retrieval-augmented\npipelines honestly.",
        epilog="Start with: fastrag demo\nExit codes: 0 done, 1 the job failed, 2 wrong usage, 130 interrupted;\n"
        "compare has more, see: fastrag compare --help",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=_version())
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(
        name: str, run: Callable[[argparse.Namespace], int | None], about: str, examples: str, notes: str = ""
    ) -> _Parser:
        made: _Parser = commands.add_parser(
            name,
            help=about,
            description=about[0].upper() + about[1:] + ".",
            epilog="examples:\n" + "\n".join(f"  {line}" for line in examples.splitlines()) + notes,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        made.set_defaults(command=run)
        return made

    demo = command(
        "demo",
        _demo,
        "benchmark four pipelines over Python's own language reference",
        "fastrag demo\nfastrag demo --folder /tmp/demo --model-dir ./all-MiniLM-L6-v2",
    )
    demo.add_argument(
        "--folder",
        type=Path,
        default=Path("fastrag-demo"),
        metavar="DIR",
        help="where the index and the results go; an index found there is reused (default: %(default)s)",
    )
    _add_model_dir(demo)

    ingest = command(
        "ingest",
        _ingest,
        "index files and folders; again later, only what changed is embedded again",
        "fastrag ingest docs --index my-index\nfastrag ingest notes.md a.pdf --index my-index --lexical-only\n"
        "fastrag ingest docs --index my-index --dead-letters failed.jsonl --failed-before only",
    )
    ingest.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="text, Markdown, HTML, PDF, DOCX, or folders"
    )
    _add_index(ingest)
    ingest.add_argument("--lexical-only", action="store_true", help="no vectors: BM25 search only, no model needed")
    ingest.add_argument(
        "--workers", type=_count, default=1, metavar="N", help="how many files are read at once (default: %(default)s)"
    )
    ingest.add_argument(
        "--dead-letters", type=Path, metavar="FILE", help="keep a list of what failed in FILE, a JSON object a line"
    )
    ingest.add_argument(
        "--failed-before",
        choices=["retry", "skip", "only"],
        default="retry",
        help="what is on that list: try again, skip while unchanged, or try nothing else (default: %(default)s)",
    )
    _add_embedding(ingest)

    ask = command(
        "ask",
        _ask,
        "answer a question from an index, with its sources (* marks those cited)",
        'fastrag ask "How do I undo a commit?" --index my-index\n'
        'fastrag ask "undo commit" --index my-index --retriever lexical -k 3\n'
        'fastrag ask "undo commit?" --index my-index --llm llama3.2 \\\n'
        "      --llm-url http://localhost:11434/v1",
    )
    ask.add_argument("question", metavar="QUESTION")
    _add_index(ask)
    ask.add_argument("-k", type=_count, default=5, metavar="N", help="how many sources (default: %(default)s)")
    ask.add_argument(
        "--retriever",
        choices=["lexical", "dense", "hybrid"],
        default="hybrid",
        help="how sources are found (default: %(default)s)",
    )
    ask.add_argument("--llm", metavar="NAME", help="model that writes the answer; without it sentences are quoted")
    ask.add_argument("--llm-url", metavar="URL", help="its OpenAI-compatible endpoint; the key is in OPENAI_API_KEY")
    _add_embedding(ask)

    copying = command("copy", copy.run, copy.ABOUT, copy.EXAMPLES, f"\n\nexit codes:\n{copy.EXIT_CODES}")
    copy.add_arguments(copying)

    show = command(
        "show",
        _show,
        "show saved results as a table, with what failed and why",
        "fastrag show results/hybrid.json\nfastrag show results/\n"
        "fastrag show results/hybrid.json.journal   (a run under way, or broken off)",
    )
    show.add_argument(
        "paths", nargs="+", type=Path, metavar="RESULT", help="result files, folders of them, or journals"
    )

    best = command(
        "best",
        _best,
        "name the best of several results, by the questions that all measured",
        "fastrag best results --metric ndcg@10\nfastrag best a.json b.json --metric latency_ms --min-coverage 0.95",
    )
    best.add_argument("paths", nargs="+", type=Path, metavar="DIR", help="folders of result files, or files")
    best.add_argument("--metric", required=True, metavar="NAME", help="for example ndcg@10")
    best.add_argument(
        "--min-coverage",
        type=_share,
        default=0.9,
        metavar="SHARE",
        help="share of the measurable questions that a result must have measured (default: %(default)s)",
    )

    comparing = command(
        "compare",
        lambda options: compare.run(options, comparing, _console()),
        "compare results with a baseline, metric by metric, and fail where a change made one worse",
        compare.EXAMPLES,
        compare.NOTES,
    )
    compare.add_arguments(comparing)
    return parser


def _add_index(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--index",
        type=store_url,
        required=True,
        metavar="DIR",
        help="the folder of the index, or the URL of a store (see: fastrag copy --help)",
    )


def _add_model_dir(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model-dir",
        type=Path,
        metavar="DIR",
        help="folder of a local embedding model (default: FASTRAG_MODEL_DIR, else the cache that "
        "scripts/fetch_model.py fills)",
    )


def _add_embedding(parser: argparse.ArgumentParser) -> None:
    _add_model_dir(parser)
    parser.add_argument(
        "--embedding-model", metavar="NAME", help="a fastembed model to download, or the endpoint's model"
    )
    parser.add_argument("--embedding-url", metavar="URL", help="an OpenAI-compatible /v1 endpoint for embeddings")


def _version() -> str:
    from importlib.metadata import version

    return f"fastrag {version('fastrag')}"
