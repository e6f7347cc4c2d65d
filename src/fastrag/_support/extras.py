"""Importing what an extra brings, with an error that says how to get it."""

from __future__ import annotations

import importlib
from typing import Any

from fastrag.errors import MissingDependencyError


def import_extra(module: str, *, extra: str, purpose: str) -> Any:
    """Import ``module``, or say which ``pip install`` brings it.

    Raises:
        MissingDependencyError: ``module`` cannot be imported.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"{purpose} needs the package '{module.partition('.')[0]}', which cannot be imported ({error}): "
            f"pip install 'fastrag[{extra}]'"
        ) from error
