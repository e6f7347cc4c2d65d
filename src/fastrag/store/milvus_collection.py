"""Finding, making and replacing the Milvus collection that a namespace is kept in."""

from __future__ import annotations

import asyncio
import re
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastrag.document import Document
from fastrag.embedding.base import Matrix
from fastrag.errors import StoreError
from fastrag.store.base import Binding
from fastrag.store.bm25 import word_analyzer
from fastrag.store.milvus_engine import imported
from fastrag.store.milvus_rows import (
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
from fastrag.store.milvus_server import SLOW_S, CollectionGoneError, MilvusServer

_PREFIX = "fastrag_"
# In capitals, which no namespace has.
_UNBOUND = "_UNBOUND"
_NEXT = "_NEXT"
_BM25_SINCE = (2, 5)
_COPIED_ROWS = 500
_POLLED_S = 0.2


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection that may be read and written.

    Attributes:
        name: Its name in Milvus.
        binding: None where it holds no vectors, since their dimension is not known.
        layout: What it has besides.
    """

    name: str
    binding: Binding | None
    layout: Layout


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """How a collection is made.

    Attributes:
        language: Of its words, as `language_name` gives it.
        consistency: The level of reads that ask for none.
        shards: How many parts writes are spread over.
        m: Links of a vector in the HNSW graph.
        ef_construction: Candidates looked at when a vector is linked.
    """

    language: str | None
    consistency: str
    shards: int
    m: int
    ef_construction: int


class Collections:
    """The collection of one namespace, by whatever name it has at the moment.

    Its name is ``fastrag_`` and the namespace. While no vector was given, the dimension is not known, and Milvus has no
    collection without one: then there is one with ``_UNBOUND`` after its name, which is copied when the dimension is
    known. The copy gets its name when it is complete, and from then on the other does not count.
    """

    def __init__(self, server: MilvusServer, namespace: str, settings: IndexSettings) -> None:
        self._server = server
        self._settings = settings
        self._bound = f"{_PREFIX}{namespace}"
        self._unbound = f"{self._bound}{_UNBOUND}"
        self._next = f"{self._bound}{_NEXT}"
        self._known: Collection | None = None
        self._version: str | None = None
        self._locks: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = weakref.WeakKeyDictionary()

    async def namespaces(self) -> list[str]:
        """Those of this server or file that fastrag made."""
        names = [name for name in await self._names() if name.startswith(_PREFIX) and not name.endswith(_NEXT)]
        ours = [name for name in names if is_ours(await self._described(name))]
        return sorted({name.removeprefix(_PREFIX).removesuffix(_UNBOUND) for name in ours})

    async def get(self) -> Collection | None:
        """The collection as it was last seen; None where there is none."""
        return self._known or await self.find()

    def forget(self) -> None:
        """Look again at the next call: the collection is not as it was last seen."""
        self._known = None

    async def find(self) -> Collection | None:
        """The collection as it is now, ready to be read; None where there is none.

        Raises:
            ConfigurationError: It is of somebody else, of a newer fastrag, or of another language.
        """
        self._known = None
        names = await self._names()
        name = next((each for each in (self._bound, self._unbound) if each in names), None)
        if name is None:
            return None
        info = await self._described(name)
        if not info:
            return None
        where = f"the collection {name} of {self._server.place}"
        check_marks(info, language=self._settings.language, where=where)
        found = Collection(name, binding_of(info), layout_of(info))
        await self._make_ready(found)
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
        self._known = None
        await self._server.ask(
            f"mark the collection {collection.name}",
            "alter_collection_properties",
            collection.name,
            properties=embedder_mark(binding),
        )

    async def drop(self) -> None:
        """Remove all that belongs to the namespace."""
        self._known = None
        names = await self._names()
        for name in (self._bound, self._unbound, self._next):
            if name in names and is_ours(await self._described(name)):
                await self._drop(name)

    async def version(self) -> str:
        """That of the server, in its own words."""
        if self._version is None:
            self._version = str(await self._server.ask("tell its version", "get_server_version"))
        return self._version

    async def has_words(self) -> bool:
        """Whether the server has the BM25 function."""
        if self._server.is_local:
            return True
        number = re.match(r"v?(\d+)\.(\d+)", await self.version())
        # A server that is built from source tells no number.
        return number is None or (int(number[1]), int(number[2])) >= _BM25_SINCE

    async def rows(
        self, collection: Collection, documents: Sequence[Document], embeddings: Matrix | None
    ) -> list[dict[str, Any]]:
        """Rows of ``collection`` for the Documents.

        Raises:
            MissingDependencyError: tantivy is not installed.
        """
        dimension = None if collection.binding is None else collection.binding.dimension
        analyzer = self.analyzer() if collection.layout.words else None
        rows = rows_of(documents, embeddings, dimension, collection.layout, analyzer)
        return await asyncio.to_thread(list, rows)

    def analyzer(self) -> Any:
        """What takes texts apart into words; not for two threads at once."""
        return word_analyzer(imported("tantivy"), self._settings.language)

    async def page(
        self, collection: Collection, expression: str, fields: Sequence[str], limit: int
    ) -> list[dict[str, Any]]:
        """The first ``limit`` rows by primary key, or less; none only where there are none."""
        # Both parameters, which pymilvus' own iterator gives too, make a server keep that order.
        rows: list[dict[str, Any]] = await self._server.ask(
            f"read the collection {collection.name}",
            "query",
            collection.name,
            filter=expression,
            output_fields=["id", *fields],
            limit=limit,
            iterator="True",
            reduce_stop_for_best=True,
        )
        return rows

    async def write(self, collection: Collection, rows: list[dict[str, Any]]) -> None:
        """Add ``rows``, replacing those of the same key, in one request."""
        # The local engine's upsert keeps what a row had and its successor has not; its insert replaces.
        method = "insert" if self._server.is_local else "upsert"
        await self._server.write(f"write the collection {collection.name}", method, collection.name, rows)

    async def wait_for_indexes(self, collection: Collection) -> None:
        """Wait until what was flushed is in the graph."""
        async with asyncio.timeout(SLOW_S):
            while True:
                state = await self._server.ask(
                    f"look at the index of {collection.name}", "describe_index", collection.name, "vector"
                )
                if state is None or not state.get("pending_index_rows"):
                    return
                await asyncio.sleep(_POLLED_S)

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

    async def _create(self, name: str, binding: Binding | None) -> Collection:
        layout = Layout(facts=not self._server.is_local, words=await self.has_words())
        dimension = None if binding is None else binding.dimension
        try:
            await self._server.ask(
                f"make the collection {name}",
                "create_collection",
                name,
                schema=new_schema(await self._server.module(), dimension, layout),
                properties=new_marks(self._settings.language, binding),
                num_shards=self._settings.shards,
                consistency_level=self._settings.consistency,
            )
        except StoreError:
            # Another process may have made it in between.
            found = None if name == self._next else await self.find()
            if found is None:
                raise
            return found
        created = Collection(name, binding, layout)
        await self._make_ready(created)
        self._known = created if name == self._bound else None
        return created

    async def _copy(self, found: Collection, binding: Binding) -> Collection:
        await self._drop(self._next)
        copy = await self._create(self._next, binding)
        last = ""
        while read := await self.page(found, f'id > "{last}"', ["document", "written"], _COPIED_ROWS):
            last = read[-1]["id"]
            rows = await self.rows(copy, [document_of(row) for row in read], None)
            for row, old in zip(rows, read, strict=True):
                row["written"] = old["written"]
            await self.write(copy, rows)
        await self._server.ask(f"rename the collection {copy.name}", "rename_collection", copy.name, self._bound)
        await self._drop(found.name)
        self._known = Collection(self._bound, binding, copy.layout)
        return self._known

    async def _drop(self, name: str) -> None:
        await self._server.ask(f"drop the collection {name}", "drop_collection", name)

    async def _make_ready(self, collection: Collection) -> None:
        """Have the collection indexed and loaded. A file's is read without either, and searched exactly."""
        if self._server.is_local:
            return
        name = collection.name
        milvus = await self._server.module()
        state = await self._server.ask(f"look at the collection {name}", "get_load_state", name)
        if str(state["state"]) == "Loaded":
            return
        indexes = milvus.MilvusClient.prepare_index_params()
        graph = {"M": self._settings.m, "efConstruction": self._settings.ef_construction}
        indexes.add_index("vector", index_type="HNSW", metric_type="IP", params=graph)
        if collection.layout.words:
            weights = {"bm25_k1": 1.2, "bm25_b": 0.75}
            indexes.add_index("bm25", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params=weights)
        # Loading waits for the indexes; so does the asynchronous client, but for half a second each at the least.
        await self._server.write(f"index the collection {name}", "create_index", name, indexes, sync=False)
        await self._server.ask(f"load the collection {name}", "load_collection", name, timeout_s=SLOW_S)
