"""A small deterministic embedder for tests: no model, no files, the same vectors on every machine."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from fastrag._support.checks import require_positive_int, require_text
from fastrag.embedding._texts import require_question, require_texts
from fastrag.embedding.base import Embedder, Matrix, Vector

_WORD = re.compile(r"\w+")


class HashEmbedder(Embedder):
    """Hashes a text's words into ``dimension`` counters and scales them to length 1.

    Texts that share words are close, texts that share none are (but for hash collisions) at right angles;
    word order, case and punctuation do not matter. The same text gives the same vector in every process and
    on every platform. A text without words has a vector too, the same one for all of them. It understands
    nothing: use it to test pipelines, not to measure them.

    Attributes:
        embedded: Every text that `embed_documents` was given so far, in order; what was *not* embedded again.

    Args:
        dimension: Length of the vectors, at least 1. Below about 64, words collide often.
        name: First part of `id`; give two embedders different names to make them incompatible.

    Raises:
        ConfigurationError: ``dimension`` is below 1 or ``name`` is empty.

    >>> import asyncio
    >>> embedder = HashEmbedder()
    >>> cat, dog, query = asyncio.run(embedder.embed_documents(["A cat sat.", "The dog ran.", "Which cat?"]))
    >>> bool(query @ cat > query @ dog)
    True
    """

    def __init__(self, dimension: int = 256, *, name: str = "hash") -> None:
        self.dimension = require_positive_int("dimension", dimension)
        self._name = require_text("name", name)
        self.embedded: list[str] = []

    @property
    def id(self) -> str:
        """``name`` and ``dimension``: all that changes the vectors."""
        return f"{self._name}:words:{self.dimension}"

    async def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embed texts; shape (len(texts), dimension).

        Raises:
            ConfigurationError: ``texts`` is not a sequence of str.
        """
        checked = require_texts(texts)
        self.embedded.extend(checked)
        matrix = np.zeros((len(checked), self.dimension), dtype=np.float32)
        for row, text in zip(matrix, checked, strict=True):
            row[:] = hash_vector(text, self.dimension)
        return matrix

    async def embed_query(self, text: str) -> Vector:
        """Embed a question exactly as a document would be.

        Raises:
            ConfigurationError: ``text`` is empty.
        """
        return hash_vector(require_question(text), self.dimension)


def hash_vector(text: str, dimension: int) -> Vector:
    """The vector that a `HashEmbedder` of this dimension gives ``text``."""
    # Counts are never negative (no sign hashing), so they cannot cancel out to a vector of length 0.
    counts = np.zeros(dimension, dtype=np.float64)
    for word in _WORD.findall(text.casefold()) or [""]:
        digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
        counts[int.from_bytes(digest, "big") % dimension] += 1.0
    return (counts / np.linalg.norm(counts)).astype(np.float32)
