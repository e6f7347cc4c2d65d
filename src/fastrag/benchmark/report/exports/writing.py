"""Putting an export where it was asked for."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from fastrag._support.files import write_chunks_atomically
from fastrag.errors import ConfigurationError


def write_text(path: str | Path, pieces: Iterable[str], *, start: bytes = b"") -> None:
    """Write pieces of text as UTF-8 after ``start``, atomically and with the ends of lines that they have.

    Raises:
        ConfigurationError: ``path`` cannot be written; what was there is as it was.
    """
    try:
        write_chunks_atomically(Path(path), chain([start], (piece.encode("utf-8") for piece in pieces)))
    except OSError as error:
        raise unwritable(path, error) from error


def unwritable(path: str | Path, error: OSError) -> ConfigurationError:
    """The error that says so."""
    return ConfigurationError(f"{path}: the export could not be written: {error.strerror or error}")
