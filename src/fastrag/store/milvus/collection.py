"""Finding, making and replacing the Milvus collection that a namespace is kept in."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Sequence
from typing import Any

from fastrag.document import Document
from fastrag.embedding.base import Matrix
from fastrag.errors import StoreError
from fastrag.store.base import Binding
from fastrag.store.bm25 import word_analyzer
from fastrag.store.milvus.engine import imported
from fastrag.store.milvus.loading import Loading
from fastrag.store.milvus.queries import Queries
from fastrag.store.milvus.rows import (
    Collection,
    Layout,
    binding_of,
    check_marks,
    document_of,
    embedder_mark,
    is_ours,
    layout_of,
    new_marks,
    new_schema,
    rows_of,
)
from fastrag.store.milvus.server import CollectionGoneError, MilvusServer

_PREFIX = "fastrag_"
# In capitals, which no namespace has.
_UNBOUND = "_UNBOUND"
_NEXT = "_NEXT"
_COPIED_ROWS = 500


class Collections:
    """The collection of one namespace, by whatever name it has at the moment.

    Its name is ``fastrag_`` and the namespace. While no vector was given, the dimension is not known, and Milvus has no
    collection without one: then there is one with ``_UNBOUND`` after its name, which is copied when the dimension is
    known. The copy gets its name when it is complete, and from then on the other does not count.

    Args:
        server: Where it is.
        namespace: Whose it is.
        language: Of its words, as `language_name` gives it.
        columns: Names of the keys that get a column of their own in a new one.
        options: For a new one, as ``create_collection`` takes them.
        queries: Reads it.
        loading: Makes it ready.
    """

    def __init__(
        self,
        server: MilvusServer,
        namespace: str,
        *,
        language: str | None,
        columns: Sequence[str],
        options: dict[str, Any],
        queries: Queries,
        loading: Loading,
    ) -> None:
        self._server = server
        self._language = language
        self._columns = tuple(columns)
        self._options = options
        self._queries = queries
        self._loading = loading
        self._bound = f"{_PREFIX}{namespace}"
        self._unbound = f"{self._bound}{_UNBOUND}"
        self._next = f"{self._bound}{_NEXT}"
        self._known: Collection | None = None
        self._loaded: Collection | None = None
        self._locks: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = weakref.WeakKeyDictionary()

    async def namespaces(self) -> list[str]:
        """Those of this server or file that fastrag made."""
        names = [name for name in await self._names() if name.startswith(_PREFIX) and not name.endswith(_NEXT)]
        ours = [name for name in names if is_ours(await self._described(name))]
        return sorted({name.removeprefix(_PREFIX).removesuffix(_UNBOUND) for name in ours})

    async def get(self) -> Collection | None:
        """The collection as it was last seen; None where there is none."""
        return self._known or await self.find()

    async def get_loaded(self) -> Collection | None:
        """The collection, ready to be read; None where there is none."""
        collection = await self.get()
        if collection is not None and collection != self._loaded:
            await self._loading.load(collection)
            self._loaded = collection
        return collection

    def forget(self) -> None:
        """Look again at the next call: the collection is not as it was last seen."""
        self._known = self._loaded = None

    async def find(self) -> Collection | None:
        """The collection as it is now; None where there is none.

        Raises:
            ConfigurationError: It is of somebody else, of a newer fastrag, or of another language.
        """
        known, self._known = self._known, None
        name, info = None, {}
        if known is not None:
            name, info = known.name, await self._described(known.name)
        if not info:
            names = await self._names()
            name = next((each for each in (self._bound, self._unbound) if each in names), None)
            info = {} if name is None else await self._described(name)
        if name is None or not info:
            return None
        check_marks(info, language=self._language, where=f"the collection {name} of {self._server.place}")
        found = Collection(name, binding_of(info), layout_of(info), info["collection_id"])
        # One without vectors may be replaced by another process at any time.
        self._known = found if found.binding is not None else None
        return found

    async def make(self, binding: Binding | None) -> Collection:
        """The collection, which is made where it is not there, and given a dimension where it has none.

        Args:
            binding: What a new one is bound to; None leaves that open.
        """
        async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            found = await self.get()
            if found is None:
                return await self._create(self._bound if binding is not None else self._unbound, binding)
            if found.binding is None and binding is not None:
                return await self._copy(found, binding)
            return found

    async def rebind(self, collection: Collection, binding: Binding) -> None:
        """Record that the vectors are of ``binding``'s embedder."""
        self.forget()
        await self._server.ask(
            f"mark the collection {collection.name}",
            "alter_collection_properties",
            collection.name,
            properties=embedder_mark(binding),
        )

    async def drop(self) -> None:
        """Remove all that belongs to the namespace."""
        self.forget()
        names = await self._names()
        for name in (self._bound, self._unbound, self._next):
            if name in names and is_ours(await self._described(name)):
                await self._drop(name)

    async def write(self, collection: Collection, documents: Sequence[Document], embeddings: Matrix | None) -> None:
        """Add the Documents, replacing those of the same id, in one request.

        Raises:
            ConfigurationError: Metadata has more in it to filter by than Milvus holds.
            MissingDependencyError: tantivy is not installed.
        """
        await self._write(collection, await self._rows(collection, documents, embeddings))

    def words(self, text: str) -> list[str]:
        """The words of ``text``, as they are in the word index."""
        words: list[str] = self._analyzer().analyze(text)
        return words

    async def _create(self, name: str, binding: Binding | None) -> Collection:
        layout = Layout(not self._server.is_local, await self._server.has_bm25(), self._columns)
        dimension = None if binding is None else binding.dimension
        try:
            await self._server.ask(
                f"make the collection {name}",
                "create_collection",
                name,
                schema=new_schema(await self._server.module(), dimension, layout),
                properties=new_marks(self._language, binding),
                **self._options,
            )
        except StoreError:
            # Another process may have made it in between.
            found = None if name == self._next else await self.find()
            if found is None:
                raise
            return found
        created = Collection(name, binding, layout, None)
        await self._loading.index(created)
        return created

    async def _copy(self, found: Collection, binding: Binding) -> Collection:
        await self._loading.load(found)
        await self._drop(self._next)
        copy = await self._create(self._next, binding)
        batch: list[dict[str, Any]] = []
        async for row in self._queries.pages(found, "", ["document", "written"]):
            batch.append(row)
            if len(batch) == _COPIED_ROWS:
                await self._copy_rows(copy, batch)
                batch = []
        if batch:
            await self._copy_rows(copy, batch)
        await self._server.ask(f"rename the collection {copy.name}", "rename_collection", copy.name, self._bound)
        await self._drop(found.name)
        self.forget()
        return Collection(self._bound, binding, copy.layout, None)

    async def _copy_rows(self, copy: Collection, old: list[dict[str, Any]]) -> None:
        rows = await self._rows(copy, [document_of(row) for row in old], None)
        for row, before in zip(rows, old, strict=True):
            row["written"] = before["written"]
        await self._write(copy, rows)

    async def _rows(
        self, collection: Collection, documents: Sequence[Document], embeddings: Matrix | None
    ) -> list[dict[str, Any]]:
        dimension = None if collection.binding is None else collection.binding.dimension
        analyzer = self._analyzer() if collection.layout.words else None
        rows = rows_of(documents, embeddings, dimension, collection.layout, analyzer)
        return await asyncio.to_thread(list, rows)

    async def _write(self, collection: Collection, rows: list[dict[str, Any]]) -> None:
        # The local engine's upsert keeps what a row had and its successor has not; its insert replaces.
        method = "insert" if self._server.is_local else "upsert"
        await self._server.ask_in_thread(f"write the collection {collection.name}", method, collection.name, rows)

    def _analyzer(self) -> Any:
        # Not for two threads at once, and quickly made.
        return word_analyzer(imported("tantivy"), self._language)

    async def _names(self) -> set[str]:
        """Of all collections; a file that is not there yet has none."""
        if not await self._server.is_there():
            return set()
        return set(await self._server.ask("list its collections", "list_collections"))

    async def _described(self, name: str) -> dict[str, Any]:
        """What there is to say of a collection; nothing where it was dropped in between."""
        try:
            info: dict[str, Any] = await self._server.ask(
                f"describe the collection {name}", "describe_collection", name
            )
        except CollectionGoneError:
            return {}
        return info

    async def _drop(self, name: str) -> None:
        await self._server.ask(f"drop the collection {name}", "drop_collection", name)
