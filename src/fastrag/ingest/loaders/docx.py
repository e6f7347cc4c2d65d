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

    Headings are written like Markdown's (``## ...``), so that a `MarkdownChunker` sees them; a table is a line for
    each row, its cells with `` | `` between; a merged cell's text stands in its first row and column. Headers,
    footers, notes and pictures are left out.

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
        text = "\n\n".join(_blocks(document, {}))
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


def _blocks(container: Any, style_names: dict[str | None, str]) -> Iterator[str]:
    for block in container.iter_inner_content():
        text = _table(block, style_names) if hasattr(block, "rows") else _paragraph(block, style_names)
        if text.strip():
            yield text


def _paragraph(paragraph: Any, style_names: dict[str | None, str]) -> str:
    style_id = paragraph._p.style
    if style_id not in style_names:  # the library searches all styles for each paragraph
        style_names[style_id] = (paragraph.style.name if paragraph.style is not None else None) or ""
    heading = _HEADING_STYLE.fullmatch(style_names[style_id])
    text: str = paragraph.text
    return f"{'#' * min(int(heading[1]), 6)} {' '.join(text.split())}" if heading and text.strip() else text


def _table(table: Any, style_names: dict[str | None, str]) -> str:
    library = import_extra("docx.table", extra="loaders", purpose="reading DOCX files")
    lines = []
    for row in table.rows:
        # The cells that are written in the file. row.cells has one for each column that a merged cell covers, as
        # many as a file says there are.
        cells = [library._Cell(cell, table) for cell in row._tr.tc_lst]
        lines.append(" | ".join(" ".join(" ".join(_blocks(cell, style_names)).split()) for cell in cells))
    return "\n".join(lines)
