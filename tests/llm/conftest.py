"""The real model on this machine, for the tests marked ``llm``."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from fastrag.llm.gguf import default_gguf_path
from fastrag.llm.llama_cpp import LlamaCppServer


@pytest.fixture(scope="session")
def llama_cpp() -> Iterator[LlamaCppServer]:
    """The small model on one core, or a skipped test."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: pip install 'fastrag[llama-cpp]'")
    if not default_gguf_path().is_file():
        pytest.skip("the language model is not there: run scripts/fetch_llm.py")
    with LlamaCppServer(threads=1) as server:
        yield server
