"""Where the local default model lies."""

from __future__ import annotations

import os
from pathlib import Path

MODEL_DIR_VARIABLE = "FASTRAG_MODEL_DIR"


def default_model_dir() -> Path:
    """The folder of the local default model, whether or not it is there.

    It is what the environment variable ``FASTRAG_MODEL_DIR`` names, if that is set and not empty, and
    otherwise `cached_model_dir`.

    >>> default_model_dir().is_absolute()
    True
    """
    chosen = os.environ.get(MODEL_DIR_VARIABLE, "").strip()
    return Path(chosen).expanduser().absolute() if chosen else cached_model_dir()


def cached_model_dir() -> Path:
    """``fastrag/models/all-MiniLM-L6-v2`` in the user's cache folder; ``scripts/fetch_model.py`` fills it."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("fastrag", appauthor=False)) / "models" / "all-MiniLM-L6-v2"
