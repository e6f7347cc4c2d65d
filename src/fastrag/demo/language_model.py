"""The part of the demonstration that asks a language model on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fastrag.benchmark import Benchmark, BenchmarkResult
from fastrag.benchmark.journal import journal_path
from fastrag.benchmark.metrics import LatencyMs, TokenF1
from fastrag.benchmark.report.terminal import print_results
from fastrag.benchmark.samples import EvalSample
from fastrag.demo.corpus import samples
from fastrag.llm import LLM, ExtractiveLLM, OpenAICompatibleLLM
from fastrag.llm.llama_cpp import LlamaCppServer
from fastrag.query import QueryEngine

if TYPE_CHECKING:
    from rich.console import Console

    from fastrag.retrieval import Retriever

_EVERY = 16  # of the questions: all of them would take such a model half an hour
_SOURCE_CHARACTERS = 1600
_TIMEOUT_S = 300.0


async def ask_language_model(retriever: Retriever, folder: Path, console: Console) -> list[BenchmarkResult]:
    """Benchmark the model's answers beside quoted ones over a few of the questions, and save both in ``folder``.

    Raises:
        FastRAGError: The model is missing, or the folder cannot be used.
    """
    # Half of the cores: on a busy machine llama.cpp is many times slower with as many threads as there are cores.
    threads = max(1, (os.cpu_count() or 1) // 2)
    async with LlamaCppServer(context_tokens=2048, threads=threads) as server:
        model = OpenAICompatibleLLM(server.model, base_url=server.base_url, max_tokens=80, timeout_s=_TIMEOUT_S)
        console.print(
            f"\nLanguage model: {server.model} on {threads} of this machine's cores, {len(_questions())} questions; "
            "some seconds each, longer where the machine is busy.",
            markup=False,
        )
        answerers: dict[str, LLM] = {"hybrid-rrf-extractive": ExtractiveLLM(), f"hybrid-rrf-{server.model}": model}
        try:
            results = [await _benchmark(retriever, name, llm, folder) for name, llm in answerers.items()]
        finally:
            await model.close()
    print_results(results, console)
    console.print(
        "A model of this size writes sentences and little sense: it proves that the plumbing holds, not what language "
        f"models can do. Its answers are not among the results above; they are in {folder}.",
        markup=False,
    )
    return results


def _questions() -> list[EvalSample]:
    return [sample for sample in samples() if sample.reference_answer is not None][::_EVERY]


async def _benchmark(retriever: Retriever, name: str, llm: LLM, folder: Path) -> BenchmarkResult:
    engine = QueryEngine(retriever, llm, max_source_characters=_SOURCE_CHARACTERS)
    benchmark = Benchmark(engine, _questions(), [TokenF1(), LatencyMs()], concurrency=1, timeout_s=_TIMEOUT_S)
    path = folder / f"{name}.json"
    return await benchmark.run(name, path=path, resume=journal_path(path).exists(), progress=True)
