"""An index on disk: the embedded default, by LanceDB."""

from fastrag.store.lance.store import LanceStore

__all__ = ["LanceStore"]
