"""Milvus, from a file through a server to a cluster."""

from fastrag.store.milvus.store import MilvusStore

__all__ = ["MilvusStore"]
