"""The check of what an embedder gives, for those who keep it."""

from __future__ import annotations

import numpy as np

from fastrag.embedding.base import Embedder, Matrix
from fastrag.errors import ModelError


def checked_vectors(given: object, count: int, dimension: int | None, embedder: Embedder) -> Matrix:
    """What ``embedder`` gave for ``count`` texts as a matrix; ``dimension`` is that of the ones before, if any.

    Raises:
        ModelError: It is not one finite vector of that dimension for each text.
    """
    try:
        with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite, and is refused below
            vectors = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError) as error:
        came = f"{type(given).__name__}: {error}"
    else:
        came = f"{type(given).__name__} of shape {vectors.shape}"
        if vectors.ndim == 2 and len(vectors) == count and vectors.shape[1] == (dimension or vectors.shape[1]) > 0:
            if np.isfinite(vectors).all():
                return vectors
            came += " with numbers that are not finite"
    raise ModelError(
        f"the embedder {embedder.id!r} ({type(embedder).__name__}) must give a matrix of shape "
        f"({count}, {dimension or 'dimension'}) for {count} texts, and gave {came}"
    )
