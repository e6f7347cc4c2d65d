"""The store room: keeping Documents with their vectors, and finding them by vector, by words, or by both."""

from fastrag.store.base import VectorStore
from fastrag.store.copying import copy_store
from fastrag.store.filters import And, Contains, Eq, Exists, Filter, In, Not, Or, Range, matches
from fastrag.store.lance.store import LanceStore
from fastrag.store.memory.store import InMemoryStore
from fastrag.store.milvus.store import MilvusStore
from fastrag.store.opening import open_store
from fastrag.store.postgres.store import PgVectorStore
from fastrag.store.qdrant.store import QdrantStore

__all__ = [
    "And",
    "Contains",
    "Eq",
    "Exists",
    "Filter",
    "In",
    "InMemoryStore",
    "LanceStore",
    "MilvusStore",
    "Not",
    "Or",
    "PgVectorStore",
    "QdrantStore",
    "Range",
    "VectorStore",
    "copy_store",
    "matches",
    "open_store",
]
