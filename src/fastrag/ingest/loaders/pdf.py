"""PDF: the text of its pages."""

from __future__ import annotations

import io
import logging
from pathlib import Path

from fastrag._support.extras import import_extra
from fastrag.errors import LoadError
from fastrag.ingest.loaders.reading import Parsed, broken_files_reported

_BETWEEN_PAGES = "\n\n"


def parse_pdf(data: bytes, path: Path, max_bytes: int) -> Parsed:
    """The text of all pages with an empty line between them, ``page_starts``, and the ``title`` if there is one.

    A file encrypted with an empty password is read. A page without text, such as a scanned one, is empty text.

    Raises:
        LoadError: It is broken, encrypted, or has more than ``max_bytes`` characters of text.
        MissingDependencyError: The extra ``loaders`` is not installed.
    """
    pypdf = import_extra("pypdf", extra="loaders", purpose="reading PDF files")
    errors = import_extra("pypdf.errors", extra="loaders", purpose="reading PDF files")
    _quieten()
    pages: list[str] = []
    starts: list[int] = []
    length = 0
    with broken_files_reported(path, "PDF", errors.PyPdfError, errors.DependencyError):
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise LoadError(f"{path}: encrypted with a password")
        for page in reader.pages:
            # Fonts with a broken table yield half of a surrogate pair, which is no text that could be stored.
            text = page.extract_text().encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            starts.append(length)
            pages.append(text)
            length += len(text) + len(_BETWEEN_PAGES)
            if length > max_bytes:
                raise LoadError(f"{path}: its text is longer than max_bytes={max_bytes}")
        title = str((reader.metadata or {}).get("/Title") or "").strip()
    return _BETWEEN_PAGES.join(pages), {"page_starts": starts} | ({"title": title} if title else {})


def _quieten() -> None:
    # pypdf logs a warning for each oddity of a file. Who has set a level for its logger gets what he asked for.
    logger = logging.getLogger("pypdf")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)
