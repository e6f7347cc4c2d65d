"""Fakes and conformance suites for testing fastrag, your own layers, and pipelines built on them."""

from __future__ import annotations

from fastrag.testing.embedder import HashEmbedder

__all__ = ["HashEmbedder"]
