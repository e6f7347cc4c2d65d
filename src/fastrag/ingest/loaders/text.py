"""Plain text and Markdown: the file is the text."""

from __future__ import annotations

from pathlib import Path

from fastrag.ingest.loaders.reading import Parsed, decode


def parse_text(data: bytes, path: Path, max_bytes: int) -> Parsed:
    """The text as it is, without a byte order mark. ``max_bytes`` is of no use here: nothing is unpacked.

    Raises:
        LoadError: It is not UTF-8, nor what its byte order mark says, or has a NUL in it.
    """
    return decode(data, path), {}
