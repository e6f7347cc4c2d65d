"""What benchmarks/stores.py measures: each engine called directly, as its own documentation shows it, and its store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from fastrag.store import InMemoryStore, LanceStore, MilvusStore, PgVectorStore, QdrantStore, VectorStore
from store_engines import servers
from store_engines.base import Engine
from store_engines.lance import LanceDB
from store_engines.memory import NumpyAndTantivy
from store_engines.milvus import Milvus
from store_engines.postgres import Postgres
from store_engines.qdrant import Qdrant
from store_engines.servers import Server


def _milvus(url: str) -> MilvusStore:
    """As a user who knows what is filtered by; the engine has a column for each of them, too."""
    parts = urlsplit(url)
    token = f"{parts.username}:{parts.password}"
    address = f"http://{parts.hostname}:{parts.port}"
    return MilvusStore(address, token=token, filtered_fields=["tenth", "hundredth"])


@dataclass(frozen=True, slots=True)
class Setup:
    """How an engine is used directly, how the store in front of it, and where both are.

    Attributes:
        engine: Of the server's URL, or of a path that nothing is at.
        store: The same.
        server: Starts one; what needs none gets one without a URL.
        most: Of how many rows it is not afraid.
        at_once: How many searches it stands at a time.
    """

    engine: Callable[[str], Engine]
    store: Callable[[str], VectorStore]
    server: Callable[[], AbstractContextManager[Server]] = lambda: nullcontext(Server(""))
    most: int = 10_000_000
    at_once: int = 64


ENGINES = {
    "memory": Setup(NumpyAndTantivy, lambda place: InMemoryStore()),
    "lance": Setup(LanceDB, LanceStore),
    "postgres": Setup(Postgres, PgVectorStore, servers.postgres),
    "milvus": Setup(Milvus, _milvus, servers.milvus),
    "milvus-file": Setup(
        lambda place: Milvus(f"{place}.db"), lambda place: MilvusStore(Path(f"{place}.db")), most=100_000
    ),
    "qdrant-imitation": Setup(Qdrant, QdrantStore, servers.qdrant, most=2_000, at_once=4),
}
