"""What benchmarks/stores.py measures: each engine called directly, as its own documentation shows it, and its store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fastrag.store import InMemoryStore, LanceStore, VectorStore
from store_engines.base import Engine
from store_engines.lance import LanceDB
from store_engines.memory import NumpyAndTantivy


@dataclass(frozen=True, slots=True)
class Setup:
    """How an engine is used directly, how the store in front of it, and of how many rows it is not afraid."""

    engine: Callable[[str], Engine]
    store: Callable[[str], VectorStore]
    most: int = 10_000_000


ENGINES = {
    "memory": Setup(NumpyAndTantivy, lambda place: InMemoryStore()),
    "lance": Setup(LanceDB, LanceStore),
}
