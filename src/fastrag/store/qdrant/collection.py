"""The collection that a store is in: whether it is there, what it says of itself, how it is made."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fastrag.errors import StoreError
from fastrag.store.base import Binding, agreed_binding
from fastrag.store.qdrant.filters import FACTS, range_paths
from fastrag.store.qdrant.points import DENSE, WORDS, binding_of, check_marks, embedder_mark, is_ours, new_marks
from fastrag.store.qdrant.server import NoCollectionError, QdrantServer


@dataclass(frozen=True, slots=True)
class _Known:
    """What was last read of the collection."""

    binding: Binding | None
    is_indexed: bool


class QdrantCollection:
    """One collection of ``server``; nothing is asked before it is needed.

    What the collection says of itself is kept until a request fails, so that a search is one request.

    Attributes:
        where: Its name and the server's URL, for messages.

    Args:
        server: Where it is.
        name: What it is called there.
        language: Of its words, as `language_name` gives it.
        range_fields: Fields whose numbers and texts are to be indexed.
    """

    def __init__(self, server: QdrantServer, name: str, *, language: str | None, range_fields: Sequence[str]) -> None:
        self._server = server
        self._name = name
        self._language = language
        self._indexes = [FACTS, *(path for field in range_fields for path in range_paths(field))]
        self.where = f"the collection {name!r} of Qdrant at {server.place}"
        self._known: _Known | None = None

    async def ask(self, action: str, method: str, **arguments: Any) -> Any:
        """Call ``method`` of the client on the collection; see `QdrantServer.ask`."""
        try:
            return await self._server.ask(action, method, collection_name=self._name, **arguments)
        except StoreError:
            self._known = None
            raise

    async def is_there(self) -> bool:
        """Whether there is such a collection.

        Raises:
            ConfigurationError: There is one that is not a store of this language and format.
            StoreError: The server failed.
        """
        return self._known is not None or await self._read() is not None

    async def binding(self, *, fresh: bool = False) -> Binding | None:
        """Which embedder the vectors come from; a ``fresh`` answer is the server's, not the last known.

        Raises:
            ConfigurationError: There is a collection that is not a store of this language and format.
            StoreError: The server failed.
        """
        known = self._known
        # Vectors may have come since it was read that there are none.
        if fresh or known is None or known.binding is None:
            info = await self._read()
            return None if info is None else binding_of(info)
        return known.binding

    async def make(self, wanted: Binding | None) -> Binding | None:
        """Have the collection there, with vectors if ``wanted``, and say how it is bound then.

        Raises:
            ConfigurationError: There is a collection that is not a store of this language and format.
            StoreError: The server failed, or is too old.
        """
        known = self._known
        if known is not None and known.is_indexed and (wanted is None or known.binding is not None):
            return known.binding
        info = await self._read()
        if info is None:
            info = await self._create(wanted)
        if wanted is not None and binding_of(info) is None:
            info = await self._add_vectors(wanted)
        models = await self._server.models()
        for path in self._indexes:
            if path not in info.payload_schema:
                params = (
                    models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, on_disk=True)
                    if path == FACTS
                    else models.IntegerIndexParams(
                        type=models.IntegerIndexType.INTEGER, lookup=False, range=True, on_disk=True
                    )
                )
                await self.ask("write", "create_payload_index", field_name=path, field_schema=params, wait=True)
        self._known = _Known(binding_of(info), is_indexed=True)
        return self._known.binding

    async def bind(self, embedder_id: str, dimension: int) -> None:
        """See `VectorStore.bind`."""
        agreed = agreed_binding(await self.binding(fresh=True), embedder_id, dimension)
        if await self.make(agreed) == Binding(None, dimension):
            await self.ask("write", "update_collection", metadata=embedder_mark(embedder_id))
        # Another process may have been first.
        agreed_binding(await self.binding(fresh=True), embedder_id, dimension)

    async def drop(self) -> None:
        """Remove the collection, if fastrag made it."""
        with suppress(NoCollectionError):
            info = await self.ask("read", "get_collection")
            if is_ours(info):
                await self.ask("remove", "delete_collection")
        self._known = None

    async def _read(self) -> Any:
        try:
            info = await self.ask("read", "get_collection")
        except NoCollectionError:
            return None
        check_marks(info, language=self._language, where=self.where)
        known = self._known
        self._known = _Known(binding_of(info), is_indexed=known is not None and known.is_indexed)
        return info

    async def _create(self, wanted: Binding | None) -> Any:
        models = await self._server.models()
        try:
            await self.ask(
                "make a collection",
                "create_collection",
                vectors_config={DENSE: _vectors(models.VectorParams, models, wanted)} if wanted is not None else {},
                sparse_vectors_config={WORDS: models.SparseVectorParams(modifier=models.Modifier.IDF)},
                metadata=new_marks(self._language, None if wanted is None else wanted.embedder_id),
            )
        except StoreError:
            # Perhaps because another process was first.
            info = await self._read()
            if info is None:
                raise
            return info
        info = await self.ask("read", "get_collection")
        if not is_ours(info):
            await self.ask("remove", "delete_collection")
            raise StoreError(f"Qdrant at {self._server.place} keeps no metadata of collections: update it to 1.16")
        return info

    async def _add_vectors(self, wanted: Binding) -> Any:
        models = await self._server.models()
        config = models.DenseVectorNameConfig(dense=_vectors(models.DenseVectorConfig, models, wanted))
        try:
            await self.ask("add vectors", "create_vector_name", vector_name=DENSE, vector_name_config=config)
        except StoreError as error:
            info = await self._read()
            if info is None or binding_of(info) is None:
                raise StoreError(
                    f"{self.where} was made without vectors, and none could be added: Qdrant can from 1.18 on. Call "
                    "bind() before the first upsert, or update Qdrant"
                ) from error
            return info
        return await self._read()


def _vectors(kind: Any, models: Any, wanted: Binding) -> Any:
    # The vectors are of norm 1, so their dot product is the cosine; Qdrant's own cosine would normalise them again.
    return kind(size=wanted.dimension, distance=models.Distance.DOT)
