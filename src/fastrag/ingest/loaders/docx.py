"""DOCX: what a Word document says, in the order it says it."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastrag._support.extras import import_extra
from fastrag.errors import LoadError
from fastrag.ingest.loaders.reading import Parsed, broken_files_reported

# The built-in styles have these names in the file, whatever language Word shows them in.
_HEADING_STYLE = re.compile(r"heading ([1-9])", re.IGNORECASE)


def parse_docx(data: bytes, path: Path, max_bytes: int) -> Parsed:
    """Paragraphs, headings and tables in document order with empty lines between, and the ``title`` if set.

    Headings are written like Markdown's (``## ...``), so that a `MarkdownChunker` sees them; a table is a line
    for each row, its cells with `` | `` between. Headers, footers, notes and pictures are left out.

    Raises:
        LoadError: It is no DOCX file, or would unpack to more than ``max_bytes``.
        MissingDependencyError: The extra ``loaders`` is not installed.
    """
    docx = import_extra("docx", extra="loaders", purpose="reading DOCX files")
    package_errors = import_extra("docx.opc.exceptions", extra="loaders", purpose="reading DOCX files")
    xml_errors = import_extra("docx.oxml.exceptions", extra="loaders", purpose="reading DOCX files")
    errors = (zipfile.BadZipFile, package_errors.OpcError, xml_errors.XmlchemyError)
    with broken_files_reported(path, "DOCX file", *errors):
        _check_archive(data, path, max_bytes)
        document = docx.Document(io.BytesIO(data))
        text = "\n\n".join(_blocks(document))
        title = str(document.core_properties.title or "").strip()
    return text, {"title": title} if title else {}


def _check_archive(data: bytes, path: Path, max_bytes: int) -> None:
    if not zipfile.is_zipfile(io.BytesIO(data)):
        raise LoadError(f"{path}: not a DOCX file (no zip archive): encrypted, in the old .doc format, or broken")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        # No member unpacks to more than it declares: zipfile stops reading there.
        size = sum(member.file_size for member in archive.infolist())
    if size > max_bytes:
        raise LoadError(f"{path}: would unpack to {size} bytes, more than max_bytes={max_bytes}")


def _blocks(container: Any) -> Iterator[str]:
    for block in container.iter_inner_content():
        text = _table(block) if hasattr(block, "rows") else _paragraph(block)
        if text.strip():
            yield text


def _paragraph(paragraph: Any) -> str:
    style = paragraph.style.name if paragraph.style is not None else None
    heading = _HEADING_STYLE.fullmatch(style or "")
    text: str = paragraph.text
    return f"{'#' * min(int(heading[1]), 6)} {' '.join(text.split())}" if heading and text.strip() else text


def _table(table: Any) -> str:
    lines = []
    for row in table.rows:
        cells: list[str] = []
        previous = None
        for cell in row.cells:
            # A merged cell comes once for each column it covers.
            if cell._tc is not previous:
                cells.append(" ".join(" ".join(_blocks(cell)).split()))
            previous = cell._tc
        lines.append(" | ".join(cells))
    return "\n".join(lines)
