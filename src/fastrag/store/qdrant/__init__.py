"""A Qdrant server or cluster."""

from fastrag.store.qdrant.store import QdrantStore

__all__ = ["QdrantStore"]
