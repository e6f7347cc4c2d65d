"""Fixtures that several rooms' tests share."""

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
