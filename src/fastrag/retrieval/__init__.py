"""The retrieval room: finding the Documents that may answer a question."""

from fastrag.retrieval.base import Retriever
from fastrag.retrieval.dense import DenseRetriever
from fastrag.retrieval.hybrid import HybridRetriever
from fastrag.retrieval.lexical import LexicalRetriever
from fastrag.retrieval.reranked import RerankedRetriever, Reranker

__all__ = [
    "DenseRetriever",
    "HybridRetriever",
    "LexicalRetriever",
    "RerankedRetriever",
    "Reranker",
    "Retriever",
]
