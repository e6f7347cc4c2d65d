"""Fixtures that several rooms' tests share."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the repository; tests that use it are marked ``shared``."""
    if not SHARED.is_dir():
        pytest.skip("the reference data beside the repository is not here")
    return SHARED
