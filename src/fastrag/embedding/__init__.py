"""Embedders: texts in, vectors out. One file per implementation; nothing heavy is loaded before first use."""

from __future__ import annotations

from fastrag.embedding.base import Embedder, Matrix, Vector
from fastrag.embedding.cache import CachedEmbedder
from fastrag.embedding.local import LocalEmbedder
from fastrag.embedding.model_dir import default_model_dir
from fastrag.embedding.openai_compatible import OpenAICompatibleEmbedder

__all__ = [
    "CachedEmbedder",
    "Embedder",
    "LocalEmbedder",
    "Matrix",
    "OpenAICompatibleEmbedder",
    "Vector",
    "default_model_dir",
]
