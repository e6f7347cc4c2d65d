"""Warnings that cannot cost a run its answers."""

from __future__ import annotations

import logging
import warnings

_log = logging.getLogger(__name__)


def warn(message: str) -> None:
    """Warn the user; where filters make warnings errors, log instead, for by then the answers are paid for."""
    try:
        warnings.warn(message, stacklevel=4)
    except UserWarning:
        _log.warning(message)
