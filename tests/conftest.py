"""Fixtures that several rooms' tests share."""

import importlib.util
import os
from pathlib import Path

import pytest
from hypothesis import settings

# A slow machine is no bug: what is slow is shown by benchmarks/, not by a test that sometimes fails.
settings.register_profile("fastrag", deadline=None)
settings.load_profile("fastrag")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the repository; tests that use it are marked ``shared``."""
    if not SHARED.is_dir():
        pytest.skip("the reference data beside the repository is not here")
    return SHARED


@pytest.fixture(autouse=True)
def judges_cache(tmp_path_factory, monkeypatch) -> Path:
    """The file in which judges keep their answers: this test's own, never the user's."""
    path = tmp_path_factory.mktemp("cache", numbered=True) / "judgements.sqlite"
    monkeypatch.setattr("fastrag.llm.cache.default_cache_path", lambda: path)
    monkeypatch.setattr("fastrag.benchmark.judging.judge.default_cache_path", lambda: path)
    return path


@pytest.fixture(scope="session")
def built_pages() -> None:
    """The report's pages, built from frontend/; skipped where they are not, failed where they have to be."""
    from fastrag.benchmark.report.html.assets import read_assets
    from fastrag.errors import ConfigurationError

    try:
        read_assets()
    except ConfigurationError as error:
        if os.environ.get("FASTRAG_REQUIRE_FRONTEND") == "1":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def llama_cpp():
    """The small language model on one core, for tests marked ``llm``; or a skipped test."""
    from fastrag.llm.gguf import default_gguf_path
    from fastrag.llm.llama_cpp import LlamaCppServer

    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: pip install 'fastrag[llama-cpp]'")
    if not default_gguf_path().is_file():
        pytest.skip("the language model is not there: run scripts/fetch_llm.py")
    with LlamaCppServer(threads=1) as server:
        yield server
