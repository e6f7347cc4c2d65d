"""Fakes and conformance suites for testing fastrag, your own layers, and pipelines built on them.

The conformance suites are classes for pytest to run: they need ``pip install 'fastrag[test]'``, the rest does not.
`fastrag.testing.pytest_plugin` is a plugin for pytest (``pip install 'fastrag[pytest]'``).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastrag.testing.anthropic_server import AnthropicServer
    from fastrag.testing.conformance import EmbedderConformance, LLMConformance
    from fastrag.testing.embedder import HashEmbedder
    from fastrag.testing.http_server import Fault, RecordedRequest
    from fastrag.testing.llm import ScriptedLLM
    from fastrag.testing.openai_server import OpenAICompatibleServer
    from fastrag.testing.store_conformance import StoreConformance

__all__ = [
    "AnthropicServer",
    "EmbedderConformance",
    "Fault",
    "HashEmbedder",
    "LLMConformance",
    "OpenAICompatibleServer",
    "RecordedRequest",
    "ScriptedLLM",
    "StoreConformance",
]

_HOMES = {
    "AnthropicServer": "fastrag.testing.anthropic_server",
    "EmbedderConformance": "fastrag.testing.conformance",
    "Fault": "fastrag.testing.http_server",
    "HashEmbedder": "fastrag.testing.embedder",
    "LLMConformance": "fastrag.testing.conformance",
    "OpenAICompatibleServer": "fastrag.testing.openai_server",
    "RecordedRequest": "fastrag.testing.http_server",
    "ScriptedLLM": "fastrag.testing.llm",
    "StoreConformance": "fastrag.testing.store_conformance",
}


def __getattr__(name: str) -> Any:
    # The suites import pytest and hypothesis, which is no business of those who only want a fake; and pytest imports
    # this room whenever it starts, for the plugin in it.
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
