"""What every embedder is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
"""Shape (texts, dimension), float32, finite."""

Vector = NDArray[np.float32]
"""Shape (dimension,), float32, finite."""


class Embedder(ABC):
    """Turns texts into vectors whose dot products say how close the texts are.

    An implementation gives unit vectors (L2 norm 1) where its model is made for cosine similarity. Calls may
    overlap: an embedder is safe to use from many tasks of one event loop. Blocking work happens in a thread.
    """

    @property
    @abstractmethod
    def id(self) -> str:
        """Names everything that changes the vectors: model, revision, pooling, length limit, prefixes.

        Two embedders with one id give interchangeable vectors; an index remembers the id and refuses another.
        """

    @abstractmethod
    async def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embed texts that will be searched. Shape (len(texts), dimension); (0, dimension or 0) for no texts.

        Raises:
            ModelError: The local model is missing or broken.
            ServiceError: The endpoint failed (see `fastrag.errors`).
        """

    @abstractmethod
    async def embed_query(self, text: str) -> Vector:
        """Embed a question. Shape (dimension,).

        Raises:
            ConfigurationError: ``text`` is empty.
            ModelError: The local model is missing or broken.
            ServiceError: The endpoint failed.
        """

    async def close(self) -> None:
        """Release what the embedder holds (connections, threads). Harmless when called twice."""
