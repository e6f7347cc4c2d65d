"""``fastrag ask``: one question to an index."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fastrag.cli.arguments import WrongUsage, add_embedding, add_index, check_embedding, count, embedder
from fastrag.cli.running import run_async
from fastrag.cli.terminal import print_line, print_lines
from fastrag.errors import FastRAGError

if TYPE_CHECKING:
    from fastrag.embedding import Embedder
    from fastrag.llm import LLM
    from fastrag.retrieval import Retriever
    from fastrag.store import VectorStore

ABOUT = "answer a question from an index, with its sources (* marks those cited)"

EXAMPLES = """\
fastrag ask "How do I undo a commit?" --index my-index
fastrag ask "undo commit" --index my-index --retriever lexical -k 3
fastrag ask "undo commit?" --index my-index --llm llama3.2 \\
      --llm-url http://localhost:11434/v1"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("question", metavar="QUESTION")
    add_index(parser)
    parser.add_argument("-k", type=count, default=5, metavar="N", help="how many sources (default: %(default)s)")
    parser.add_argument(
        "--retriever",
        choices=["lexical", "dense", "hybrid"],
        default="hybrid",
        help="how sources are found (default: %(default)s)",
    )
    parser.add_argument("--llm", metavar="NAME", help="model that writes the answer; without it sentences are quoted")
    parser.add_argument("--llm-url", metavar="URL", help="its OpenAI-compatible endpoint; the key is in OPENAI_API_KEY")
    add_embedding(parser)


def run(options: argparse.Namespace) -> None:
    """Ask, and print the answer and its sources."""
    check_embedding(options)
    if options.llm_url and not options.llm:
        raise WrongUsage("--llm-url needs --llm: which of its models to use")
    run_async(_ask(options))


async def _ask(options: argparse.Namespace) -> None:
    from fastrag.query import QueryEngine
    from fastrag.store.opening import open_store

    store = open_store(options.index)
    await _check_index(store, options)
    embedding = None if options.retriever == "lexical" else embedder(options)
    llm = _llm(options)
    try:
        retriever = _retriever(options.retriever, store, embedding)
        result = await QueryEngine(retriever, llm, k=options.k).query(options.question)
    finally:
        await llm.close()
        await store.close()
        if embedding is not None:
            await embedding.close()
    print_lines(result.answer or "(no answer: the sources do not say)")
    for number, source in enumerate(result.sources, start=1):
        mark = "*" if number in result.citations else " "
        score = source.metadata["score"]
        print_line(f"{mark}[{number}] {source.id}  score {score:.4f}")


async def _check_index(store: VectorStore, options: argparse.Namespace) -> None:
    from fastrag.store.urls import without_secrets

    index = without_secrets(options.index)
    async for document in store.scan():
        if options.retriever == "dense" and document.metadata.get("embedder_id") is None:
            raise FastRAGError(
                f"{index} has no vectors, for it was made with --lexical-only: ask with --retriever lexical, "
                "or ingest again without --lexical-only"
            )
        return
    raise FastRAGError(
        f"the index in {index} is not there or is empty; fill it with: fastrag ingest FOLDER --index {index}"
    )


def _retriever(kind: str, store: VectorStore, embedding: Embedder | None) -> Retriever:
    from fastrag.retrieval import DenseRetriever, HybridRetriever, LexicalRetriever

    if embedding is None:
        return LexicalRetriever(store)
    return DenseRetriever(store, embedding) if kind == "dense" else HybridRetriever.of(store, embedding)


def _llm(options: argparse.Namespace) -> LLM:
    from fastrag.llm import ExtractiveLLM, OpenAICompatibleLLM

    if options.llm is None:
        return ExtractiveLLM()
    return OpenAICompatibleLLM(options.llm, base_url=options.llm_url)
