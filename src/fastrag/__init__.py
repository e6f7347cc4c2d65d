"""Lean retrieval and query layers, and a benchmark that tells the truth about any RAG pipeline.

The layer names are here, each loaded when it is first used. `fastrag.benchmark` has the benchmark, `fastrag.ingest`
loaders, chunkers and ``ingest()``, `fastrag.store` the filters as well, `fastrag.testing` public fakes and conformance
suites.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from fastrag.document import Document
from fastrag.errors import ConfigurationError, FastRAGError

if TYPE_CHECKING:
    from fastrag.embedding import Embedder, LocalEmbedder, OpenAICompatibleEmbedder
    from fastrag.llm import LLM, AnthropicLLM, ExtractiveLLM, OpenAICompatibleLLM
    from fastrag.query import QueryEngine, QueryResult
    from fastrag.retrieval import DenseRetriever, HybridRetriever, LexicalRetriever, RerankedRetriever, Retriever
    from fastrag.store import InMemoryStore, LanceStore, VectorStore

# Name -> room: a room costs its import only when something of it is used.
_ROOMS = {
    "AnthropicLLM": "llm",
    "DenseRetriever": "retrieval",
    "Embedder": "embedding",
    "ExtractiveLLM": "llm",
    "HybridRetriever": "retrieval",
    "InMemoryStore": "store",
    "LLM": "llm",
    "LanceStore": "store",
    "LexicalRetriever": "retrieval",
    "LocalEmbedder": "embedding",
    "OpenAICompatibleEmbedder": "embedding",
    "OpenAICompatibleLLM": "llm",
    "QueryEngine": "query",
    "QueryResult": "query",
    "RerankedRetriever": "retrieval",
    "Retriever": "retrieval",
    "VectorStore": "store",
}

__all__ = [
    "LLM",
    "AnthropicLLM",
    "ConfigurationError",
    "DenseRetriever",
    "Document",
    "Embedder",
    "ExtractiveLLM",
    "FastRAGError",
    "HybridRetriever",
    "InMemoryStore",
    "LanceStore",
    "LexicalRetriever",
    "LocalEmbedder",
    "OpenAICompatibleEmbedder",
    "OpenAICompatibleLLM",
    "QueryEngine",
    "QueryResult",
    "RerankedRetriever",
    "Retriever",
    "VectorStore",
]


def __getattr__(name: str) -> object:
    room = _ROOMS.get(name)
    if room is None:
        raise AttributeError(f"module 'fastrag' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"fastrag.{room}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
