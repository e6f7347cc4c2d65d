"""Fakes and conformance suites for testing fastrag, your own layers, and pipelines built on them.

The conformance suites are classes for pytest to run: they need ``pip install 'fastrag[test]'``, the rest does not.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fastrag.testing.embedder import HashEmbedder
from fastrag.testing.llm import ScriptedLLM
from fastrag.testing.openai_server import Fault, OpenAICompatibleServer, RecordedRequest

if TYPE_CHECKING:
    from fastrag.testing.conformance import EmbedderConformance, LLMConformance
    from fastrag.testing.store_conformance import StoreConformance

__all__ = [
    "EmbedderConformance",
    "Fault",
    "HashEmbedder",
    "LLMConformance",
    "OpenAICompatibleServer",
    "RecordedRequest",
    "ScriptedLLM",
    "StoreConformance",
]

_SUITES = {
    "EmbedderConformance": "fastrag.testing.conformance",
    "LLMConformance": "fastrag.testing.conformance",
    "StoreConformance": "fastrag.testing.store_conformance",
}


def __getattr__(name: str) -> Any:
    # The suites import pytest (and hypothesis), which is no business of those who only want a fake.
    if name in _SUITES:
        return getattr(importlib.import_module(_SUITES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
