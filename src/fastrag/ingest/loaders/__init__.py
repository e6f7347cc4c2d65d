"""Loaders: a file of a known format becomes a Document. One file per format."""

from __future__ import annotations

from fastrag.ingest.loaders.formats import can_load, load_file
from fastrag.ingest.loaders.reading import DEFAULT_MAX_BYTES

__all__ = ["DEFAULT_MAX_BYTES", "can_load", "load_file"]
