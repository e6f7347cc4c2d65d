"""Embedding by any server that speaks OpenAI's ``/v1/embeddings``."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Sequence

import msgspec
import numpy as np

from fastrag._support.api_key import KeySource
from fastrag._support.checks import require_positive_int, require_text
from fastrag._support.concurrency import run_together
from fastrag._support.sdk_connection import OPENAI, SDKConnection
from fastrag.embedding._texts import require_prefix, require_question, require_texts
from fastrag.embedding.base import Embedder, Matrix, Vector
from fastrag.errors import MalformedReplyError


class _Item(msgspec.Struct):
    embedding: str | list[float]
    index: int


class _Reply(msgspec.Struct):
    data: list[_Item]


class OpenAICompatibleEmbedder(Embedder):
    """Asks an OpenAI-compatible server for vectors; needs the extra ``openai``.

    The vectors are returned as the server gives them. Their dimension is fixed by the first reply: a later one of
    another dimension is an error. Most servers refuse a text that is empty.

    Args:
        model: The model's name, as the server knows it.
        base_url: Such as ``http://localhost:8000/v1``; None: ``OPENAI_BASE_URL``, or OpenAI itself.
        api_key: The key, or a function that returns it, asked (in a thread) before each request; None:
            ``OPENAI_API_KEY``. May be missing where ``base_url`` is given.
        dimensions: Ask the server to shorten the vectors to this length, where the model can; None: full length.
        query_prefix: Put before every question.
        document_prefix: Put before every document.
        batch_size: Texts a request, at most.
        concurrency: Requests under way at one time, at most, over all calls.
        timeout_s: Seconds for one batch, the retries and the waits between them included.
        max_retries: How often the SDK tries again after 429, 5xx or a broken connection; it honours ``Retry-After``.

    Raises:
        ConfigurationError: An argument is wrong, or a key is needed and there is none.
        MissingDependencyError: The extra ``openai`` is not installed.

    Example::

        embedder = OpenAICompatibleEmbedder("nomic-embed-text", base_url="http://localhost:11434/v1")
        vectors = await embedder.embed_documents(["A tuple is an immutable sequence."])
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: KeySource | None = None,
        dimensions: int | None = None,
        query_prefix: str = "",
        document_prefix: str = "",
        batch_size: int = 64,
        concurrency: int = 4,
        timeout_s: float = 60.0,
        max_retries: int = 2,
    ) -> None:
        self._model = require_text("model", model)
        self._dimensions = None if dimensions is None else require_positive_int("dimensions", dimensions)
        self._query_prefix = require_prefix("query_prefix", query_prefix)
        self._document_prefix = require_prefix("document_prefix", document_prefix)
        self._batch_size = require_positive_int("batch_size", batch_size)
        self._connection = SDKConnection(
            OPENAI,
            "OpenAICompatibleEmbedder",
            base_url=base_url,
            api_key=api_key,
            timeout_s=timeout_s,
            max_retries=max_retries,
        )
        self._concurrency = require_positive_int("concurrency", concurrency)
        self._slots: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None
        self._dimension = self._dimensions

    @property
    def id(self) -> str:
        """Model, server, shortened length, prefixes. The server does not tell a revision, so there is none in it."""
        return (
            f"openai:{self._model}:{self._connection.place}:dimensions={self._dimensions}:"
            f"query_prefix={self._query_prefix!r}:document_prefix={self._document_prefix!r}"
        )

    async def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embed texts in batches, several at a time; rows in the order of ``texts``.

        Raises:
            ConfigurationError: ``texts`` is not a sequence of str.
            ServiceError: The endpoint failed (see `fastrag.errors`); nothing of the other batches is kept.
        """
        prepared = require_texts(texts, self._document_prefix)
        if not prepared:
            return np.zeros((0, self._dimension or 0), dtype=np.float32)
        size = self._batch_size
        batches = [prepared[start : start + size] for start in range(0, len(prepared), size)]
        return np.concatenate(await run_together(*(self._embed(batch) for batch in batches)))

    async def embed_query(self, text: str) -> Vector:
        """Embed a question.

        Raises:
            ConfigurationError: ``text`` is empty.
            ServiceError: The endpoint failed (see `fastrag.errors`).
        """
        matrix = await self._embed([require_question(text, self._query_prefix)])
        vector: Vector = matrix[0]
        return vector

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()

    async def _embed(self, texts: list[str]) -> Matrix:
        options = {} if self._dimensions is None else {"dimensions": self._dimensions}
        async with self._slot(), self._connection.errors():
            # base64 is a third of the size, and what the SDK asks for by default; servers that do not know it
            # answer with plain numbers.
            client = await self._connection.client()
            reply = await client.embeddings.with_raw_response.create(
                model=self._model, input=texts, encoding_format="base64", **options
            )
            content = reply.content
        return self._matrix(self._connection.decode(content, _Reply), len(texts))

    def _slot(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if self._slots is None or self._slots[0] is not loop:
            self._slots = loop, asyncio.Semaphore(self._concurrency)
        return self._slots[1]

    def _matrix(self, reply: _Reply, count: int) -> Matrix:
        place = self._connection.place
        # The protocol lets the vectors come in any order; their index says where each belongs.
        items = sorted(reply.data, key=lambda item: item.index)
        if [item.index for item in items] != list(range(count)):
            raise MalformedReplyError(
                f"{place} was asked for {count} vectors and gave {len(items)}, with the indices "
                f"{[item.index for item in items][:10]}"
            )
        rows = [self._row(item.embedding) for item in items]
        lengths = {len(row) for row in rows}
        expected = self._dimension or len(rows[0])
        if lengths != {expected} or expected == 0:
            raise MalformedReplyError(
                f"{place} gave vectors of length {sorted(lengths)}, expected {expected or 'some'}"
            )
        matrix = np.stack(rows)
        if not np.isfinite(matrix).all():
            raise MalformedReplyError(f"{place} gave vectors with numbers that are not finite")
        self._dimension = expected
        return matrix

    def _row(self, embedding: str | list[float]) -> Vector:
        if not isinstance(embedding, str):
            with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite, and is refused later
                return np.array(embedding, dtype=np.float32)
        try:
            return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float32)
        except (binascii.Error, ValueError) as error:
            raise MalformedReplyError(f"{self._connection.place} gave a vector that is not base64: {error}") from error
