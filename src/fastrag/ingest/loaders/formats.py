"""Which loader a file's name asks for."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path

from fastrag._support.panics import panics_as
from fastrag.document import Document
from fastrag.errors import LoadError
from fastrag.ingest.loaders.docx import parse_docx
from fastrag.ingest.loaders.html import parse_html
from fastrag.ingest.loaders.pdf import parse_pdf
from fastrag.ingest.loaders.reading import DEFAULT_MAX_BYTES, Parsed, read_file
from fastrag.ingest.loaders.text import parse_text


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: its name, who parses it (bytes, path to name in errors, most bytes to unpack), and how slowly."""

    name: str
    parse: Callable[[bytes, Path, int], Parsed]
    package: str | None = None
    is_slow: bool = False

    @property
    def id(self) -> str:
        """Names what decides which text comes out: the format and the release of the library that reads it."""
        if self.package is None:
            return self.name
        try:
            return f"{self.name}:{self.package}={version(self.package)}"
        except PackageNotFoundError:
            return f"{self.name}:{self.package}"


_TEXT = Format("text", parse_text)
_MARKDOWN = Format("markdown", parse_text)
_HTML = Format("html", parse_html, "resiliparse")
_PDF = Format("pdf", parse_pdf, "pypdf", is_slow=True)
_DOCX = Format("docx", parse_docx, "python-docx", is_slow=True)

_FORMATS = {
    ".txt": _TEXT,
    ".text": _TEXT,
    ".rst": _TEXT,
    ".md": _MARKDOWN,
    ".markdown": _MARKDOWN,
    ".html": _HTML,
    ".htm": _HTML,
    ".xhtml": _HTML,
    ".pdf": _PDF,
    ".docx": _DOCX,
}


def can_load(path: str | PathLike[str]) -> bool:
    """Whether `load_file` knows the format that the file's extension names. The file itself is not looked at.

    >>> can_load("notes.MD"), can_load("photo.jpg")
    (True, False)
    """
    return Path(path).suffix.lower() in _FORMATS


def format_of(path: Path) -> Format:
    """The format that ``path``'s extension names.

    Raises:
        LoadError: It is none of those known.
    """
    try:
        return _FORMATS[path.suffix.lower()]
    except KeyError:
        raise LoadError(
            f"{path}: the extension {path.suffix!r} is none that can be loaded ({', '.join(_FORMATS)})"
        ) from None


def load_file(path: str | PathLike[str], *, id: str | None = None, max_bytes: int = DEFAULT_MAX_BYTES) -> Document:
    """Read a file into a Document: text, Markdown, HTML, PDF or DOCX, by the file's extension.

    =========  ============================  ==========================================================
    format     extensions                    text
    =========  ============================  ==========================================================
    text       .txt .text .rst               as it is, line ends included
    markdown   .md .markdown                 as it is, line ends included
    html       .html .htm .xhtml             what a reader sees, block by block
    pdf        .pdf                          page by page, with an empty line between pages
    docx       .docx                         paragraphs, headings (as ``## ...``) and tables, in order
    =========  ============================  ==========================================================

    ``metadata`` has ``format``, ``title`` where an HTML page or a DOCX or PDF file has one, and for a PDF
    ``page_starts``: for each page the character of the text it starts at. Text is UTF-8, or what a byte order
    mark says, or for HTML what the page declares.

    Args:
        path: The file. Symbolic links are followed.
        id: The Document's id; None takes the file's name.
        max_bytes: Larger files are refused, and so are compressed ones that would unpack to more.

    Raises:
        LoadError: The file cannot be read, is no regular file, is too large, encrypted, or not what its
            extension says; or the extension is unknown. Says which file and why.
        MissingDependencyError: The format needs the extra ``loaders``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "notes.md")
    ...     _ = path.write_text("# Notes", encoding="utf-8")
    ...     document = load_file(path)
    >>> document.id, document.text, document.metadata
    ('notes.md', '# Notes', {'format': 'markdown'})
    """
    where = Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve would follow links, and name another file
    file_format = format_of(where)
    return parse_file(where, read_file(where, max_bytes), file_format, id=id or where.name, max_bytes=max_bytes)


def parse_file(path: Path, data: bytes, file_format: Format, *, id: str, max_bytes: int) -> Document:
    """Make the Document of a file whose bytes have been read; ``path`` is absolute.

    Raises:
        LoadError: ``data`` is not what ``file_format`` says.
        MissingDependencyError: The format needs the extra ``loaders``.
    """
    with panics_as(LoadError, f"{path}: cannot be read"):
        text, facts = file_format.parse(data, path, max_bytes)
    return Document(id, text, path.as_uri(), {"format": file_format.name} | facts)
