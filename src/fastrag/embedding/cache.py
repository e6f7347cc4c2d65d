"""A cache on disk around any embedder, so that no text is embedded twice."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Sequence

import numpy as np

from fastrag._support.kept_rows import KeptRows
from fastrag.embedding._texts import require_question, require_texts
from fastrag.embedding.base import Embedder, Matrix, Vector
from fastrag.embedding.checks import checked_vectors

_TEXTS_AT_ONCE = 256  # what a killed run loses at most; also well below SQLite's limit of parameters


class CachedEmbedder(Embedder):
    """Asks ``embedder`` only for texts whose vectors are not in the file ``path`` yet.

    Vectors are kept under the embedder's `id` and a digest of the text, so one file serves any number of embedders,
    and a changed model or prefix never gets the old one's vectors. The texts themselves are not in the file. Several
    processes may use one file at once. It only grows; delete it to start anew.

    Questions are passed on without the cache unless ``cache_queries`` is set: a benchmark that finds its questions in
    a cache measures latencies that nobody will ever see.

    Args:
        embedder: Computes what is missing; closed together with this one.
        path: An SQLite file, made if absent, with its folder.
        cache_queries: Keep the vectors of questions, too.

    Raises:
        ConfigurationError: The file cannot be made, read or written, or is not a cache (also from every call).

    >>> import asyncio, tempfile
    >>> from fastrag.testing import HashEmbedder
    >>> inner = HashEmbedder()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     embedder = CachedEmbedder(inner, f"{folder}/vectors.sqlite")
    ...     first = asyncio.run(embedder.embed_documents(["a", "b", "a"]))
    ...     again = asyncio.run(embedder.embed_documents(["b", "c"]))
    >>> inner.embedded
    ['a', 'b', 'c']
    """

    def __init__(self, embedder: Embedder, path: str | os.PathLike[str], *, cache_queries: bool = False) -> None:
        self._embedder = embedder
        self._cache_queries = cache_queries
        self._dimension: int | None = None  # of all vectors, once one has been seen
        self._rows = KeptRows(path, what="the embedding cache", table="vectors", column="vector")

    @property
    def id(self) -> str:
        """The id of the embedder within: the vectors are the same."""
        return self._embedder.id

    async def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embed texts, those that are new in groups of 256, each kept as soon as it is there.

        Raises:
            ConfigurationError: ``texts`` is not a sequence of str, or the cache cannot be used.
            ModelError: From the embedder within, or it gives what is no matrix of finite vectors as long as those
                before; nothing of that is kept.
            ServiceError: From the embedder within.
        """
        checked = require_texts(texts)
        if not checked:
            return await self._embedder.embed_documents(checked)
        keys = await self._keys("document", checked)
        groups = range(0, len(checked), _TEXTS_AT_ONCE)
        rows: dict[bytes, Vector] = {}
        for start in groups:
            wanted = dict(
                zip(keys[start : start + _TEXTS_AT_ONCE], checked[start : start + _TEXTS_AT_ONCE], strict=True)
            )
            rows |= await self._known([key for key in wanted if key not in rows])
            missing = {key: text for key, text in wanted.items() if key not in rows}
            if missing:
                rows |= await self._keep(list(missing), await self._embedder.embed_documents(list(missing.values())))
        return np.stack([rows[key] for key in keys])

    async def embed_query(self, text: str) -> Vector:
        """Embed a question, from the cache only if ``cache_queries`` is set.

        Raises:
            ConfigurationError: ``text`` is empty, or the cache cannot be used.
            ModelError: From the embedder within.
            ServiceError: From the embedder within.
        """
        checked = require_question(text)
        if not self._cache_queries:
            return await self._embedder.embed_query(checked)
        [key] = await self._keys("query", [checked])
        found = await self._known([key])
        if key not in found:
            found = await self._keep([key], [await self._embedder.embed_query(checked)])
        return found[key]

    async def close(self) -> None:
        """Close the embedder within."""
        await self._embedder.close()

    async def _keys(self, kind: str, texts: list[str]) -> list[bytes]:
        def compute() -> list[bytes]:
            start = hashlib.blake2b(f"{self._embedder.id}\0{kind}\0".encode(), digest_size=32)
            keys = []
            for text in texts:
                digest = start.copy()
                digest.update(text.encode())
                keys.append(digest.digest())
            return keys

        # In a thread also because the first look at an embedder's id may load its model.
        return await asyncio.to_thread(compute)

    async def _known(self, keys: list[bytes]) -> dict[bytes, Vector]:
        rows = await asyncio.to_thread(self._read, keys)
        if rows and self._dimension is None:
            self._dimension = len(next(iter(rows.values())))
        return {key: row for key, row in rows.items() if len(row) == self._dimension}

    async def _keep(self, keys: list[bytes], given: object) -> dict[bytes, Vector]:
        vectors = checked_vectors(given, len(keys), self._dimension, self._embedder)
        self._dimension = vectors.shape[1]
        rows = dict(zip(keys, vectors, strict=True))
        await asyncio.to_thread(self._write, rows)
        return rows

    def _read(self, keys: list[bytes]) -> dict[bytes, Vector]:
        return {key: _vector(kept) for key, kept in self._rows.read(keys).items() if len(kept) % 4 == 0}

    def _write(self, rows: dict[bytes, Vector]) -> None:
        self._rows.write({key: row.astype("<f4").tobytes() for key, row in rows.items()})


def _vector(kept: bytes) -> Vector:
    return np.frombuffer(kept, dtype="<f4").astype(np.float32)
