"""What ``fastrag demo`` does: index the language reference, benchmark four pipelines on it, name the best."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fastrag.benchmark import Benchmark, BenchmarkResult, Metric, rank, write_report, write_samples
from fastrag.benchmark.journal import journal_path
from fastrag.benchmark.metrics import MRR, NDCG, HitRateAtK, LatencyMs, RecallAtK, TokenF1
from fastrag.benchmark.outcome_file import outcomes_path
from fastrag.benchmark.report.ranking_text import verdict_lines
from fastrag.benchmark.report.tables import print_line
from fastrag.benchmark.report.terminal import print_results
from fastrag.demo.corpus import documents, samples
from fastrag.embedding import LocalEmbedder
from fastrag.errors import ConfigurationError
from fastrag.ingest import CharacterChunker, ingest
from fastrag.llm import ExtractiveLLM
from fastrag.query import QueryEngine
from fastrag.retrieval import DenseRetriever, HybridRetriever, LexicalRetriever
from fastrag.store import LanceStore

if TYPE_CHECKING:
    from rich.console import Console

HEADLINE = "ndcg@10"


async def run_demo(
    folder: Path, *, model_dir: Path | None, console: Console, language_model: bool = False
) -> list[BenchmarkResult]:
    """Run the demonstration, save its results in ``folder/results``, and show them in ``folder/report.html``.

    The index in ``folder/index`` is reused: a second run embeds nothing again unless the corpus has changed.

    Args:
        folder: Made if absent.
        model_dir: Folder of the embedding model; None as `fastrag.embedding.LocalEmbedder` says.
        console: Where the tables go.
        language_model: At the end, ask a few of the questions of the language model on this machine, too.

    Raises:
        FastRAGError: The model is missing, or the folder cannot be used.
    """
    corpus, questions = documents(), samples()
    characters = sum(len(document.text) for document in corpus)
    console.print(f"Corpus: Python's language reference, {len(corpus)} topics, {characters:,} characters")
    console.print(f"Questions: {len(questions)}, {sum(not q.relevant_ids for q in questions)} of them unanswerable")
    embedder = LocalEmbedder(model_dir=model_dir)
    store = LanceStore(folder / "index")
    try:
        report = await ingest(
            corpus,
            store=store,
            embedder=embedder,
            chunker=CharacterChunker(size=800, overlap=100),
            prune=True,
            progress=True,
        )
        console.print(f"Index: {report}", markup=False, highlight=False)
        hybrid = HybridRetriever.of(store, embedder, k=10)
        results = await _benchmark(store, embedder, hybrid, folder / "results")
        _print(results, folder / "results", console)
        _write_report(results, folder, console)
        if language_model:
            from fastrag.demo.language_model import ask_language_model

            await ask_language_model(hybrid, folder / "results-llm", console)
    finally:
        await store.close()
        await embedder.close()
    return results


def _print(results: list[BenchmarkResult], folder: Path, console: Console) -> None:
    console.print()
    print_results(results, console)
    console.print()
    for line in verdict_lines(rank(results, HEADLINE)):
        print_line(console, line)
    console.print(f"Results are saved in {folder}; see them again with:", markup=False)
    console.print(f"  fastrag show {folder}", markup=False, soft_wrap=True)


def _write_report(results: list[BenchmarkResult], folder: Path, console: Console) -> None:
    # For `fastrag report --samples`, too.
    write_samples(folder / "questions.jsonl", samples())
    files = [folder / "results" / f"{result.name}.json" for result in results]
    title = "Four pipelines over Python's language reference"
    try:
        write_report(files, folder / "report.html", samples=samples(), title=title)
    except ConfigurationError as error:
        # Most likely a clone on a machine without Node.js, where nothing else is missing.
        console.print(f"There is no report to open in a browser: {error}", markup=False)
    else:
        console.print("The distributions behind these numbers, and every question, are in a page for your browser:")
        console.print(f"  {folder / 'report.html'}", markup=False, soft_wrap=True)


async def _benchmark(
    store: LanceStore, embedder: LocalEmbedder, hybrid: HybridRetriever, results_folder: Path
) -> list[BenchmarkResult]:
    pipelines = {
        "lexical-bm25": LexicalRetriever(store, k=10),
        "dense-minilm": DenseRetriever(store, embedder, k=10),
        "hybrid-rrf": hybrid,
        "hybrid-rrf-extractive": QueryEngine(hybrid, ExtractiveLLM()),
    }
    results = []
    for name, pipeline in pipelines.items():
        # One question at a time: latencies are then of the pipeline, not of questions waiting for each other.
        benchmark = Benchmark(pipeline, samples(), _metrics(pipeline), concurrency=1, timeout_s=30)
        path = results_folder / f"{name}.json"
        # A demonstration that was broken off left a journal: it goes on from there.
        resume = journal_path(path).exists()
        if not resume:
            outcomes_path(path).unlink(missing_ok=True)  # of the last time, which are no loss
        results.append(await benchmark.run(name, path=path, resume=resume, keep_outcomes=True, progress=True))
    return results


def _metrics(pipeline: object) -> list[Metric]:
    # Chunks are retrieved, topics are judged: a chunk counts as the topic it was cut from.
    retrieval: list[Metric] = [
        NDCG(10, match="parent_id"),
        RecallAtK(10, match="parent_id"),
        MRR(10, match="parent_id"),
        HitRateAtK(5, match="parent_id"),
    ]
    answering: list[Metric] = [TokenF1()] if isinstance(pipeline, QueryEngine) else []
    return [*retrieval, *answering, LatencyMs()]
