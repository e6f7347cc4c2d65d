"""An index in memory: exact search by numpy, words by tantivy."""

from fastrag.store.memory.store import InMemoryStore

__all__ = ["InMemoryStore"]
