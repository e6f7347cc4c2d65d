"""Reading a file's bytes, and decoding them."""

from __future__ import annotations

import codecs
import os
import stat
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastrag._support.checks import require_positive_int
from fastrag.errors import LoadError

DEFAULT_MAX_BYTES = 100_000_000
"""Larger files are refused unless the caller says otherwise."""

Parsed = tuple[str, dict[str, Any]]
"""A file's text, and the metadata found in it."""

# UTF-32 first: its little-endian mark begins with UTF-16's.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# What parsers written in Python raise, beside their own errors, on files that are broken or made to break them.
_BROKEN_FILE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)


def read_file(path: Path, max_bytes: int) -> bytes:
    """The bytes of a regular file.

    Raises:
        LoadError: It cannot be read, is no regular file, or has more than ``max_bytes``.
    """
    require_positive_int("max_bytes", max_bytes)
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise LoadError(f"{path}: not a regular file")
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise LoadError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise LoadError(f"{path!r}: no path: {error}") from error
    if len(data) > max_bytes:
        raise LoadError(f"{path}: larger than max_bytes={max_bytes}")
    return data


def _open_without_waiting(path: str, flags: int) -> int:
    # Opening a named pipe would wait for a writer, for ever perhaps.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def decode(data: bytes, path: Path, *, declared: str | None = None) -> str:
    """Decode as a byte order mark says, else as ``declared``, else as UTF-8; the mark is left out.

    Raises:
        LoadError: ``data`` is not in that encoding, or has a NUL; says where.
    """
    encoding, skip = declared or "utf-8", 0
    for mark, name in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            encoding, skip = name, len(mark)
            break
    try:
        text = data[skip:].decode(encoding)
    except UnicodeDecodeError as error:
        raise LoadError(
            f"{path}: not {encoding} at byte {skip + error.start} ({error.reason}); convert it to UTF-8"
        ) from error
    if (position := text.find("\0")) >= 0:
        raise LoadError(f"{path}: looks binary: its character {position} is NUL, which no text has")
    return text


@contextmanager
def broken_files_reported(path: Path, kind: str, *others: type[Exception]) -> Iterator[None]:
    """Turn what a parser raises on a broken file, ``others`` included, into a LoadError."""
    causes: tuple[type[Exception], ...] = (*_BROKEN_FILE, *others)
    try:
        yield
    except causes as error:
        raise LoadError(f"{path}: not a {kind} that can be read: {type(error).__name__}: {error}") from error
