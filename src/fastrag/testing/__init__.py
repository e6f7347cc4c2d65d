"""Fakes and conformance suites for testing fastrag, your own layers, and pipelines built on them."""

from __future__ import annotations

from fastrag.testing.embedder import HashEmbedder
from fastrag.testing.openai_server import Fault, OpenAICompatibleServer, RecordedRequest

__all__ = ["Fault", "HashEmbedder", "OpenAICompatibleServer", "RecordedRequest"]
