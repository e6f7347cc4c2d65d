"""HTML: what a reader of the page sees."""

from __future__ import annotations

import re
from email.message import Message
from pathlib import Path

from fastrag._support.extras import import_extra
from fastrag.errors import LoadError
from fastrag.ingest.loaders.reading import Parsed, decode

_PURPOSE = "reading HTML files"
# The HTML standard looks for the page's own word on its encoding in the first 1024 bytes.
_DECLARATION_BYTES = 1024
# The parser's time grows with the square of both; this many take it about a second.
_MOST_ATTRIBUTES = 20_000
_MOST_OPTIONS = 20_000
_LONG_TAG = re.compile(rf"<[a-z][^<>]{{{2 * _MOST_ATTRIBUTES},}}", re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_OPTION = re.compile(r"<opt(ion|group)\b", re.IGNORECASE)


def parse_html(data: bytes, path: Path, max_bytes: int) -> Parsed:
    """The page's visible text with its blocks on lines of their own, and its ``title``.

    Scripts, styles, comments and elements with the ``hidden`` attribute are left out; images give their
    alternative text. ``max_bytes`` is of no use here: nothing is unpacked.

    Raises:
        LoadError: It is not in the encoding that it declares, or not UTF-8 where it declares none; or has a NUL in it;
            or a tag with more than 20,000 attributes, or more than 20,000 options.
        MissingDependencyError: The extra ``loaders`` is not installed.
    """
    parser = import_extra("resiliparse.parse.html", extra="loaders", purpose=_PURPOSE)
    extractor = import_extra("resiliparse.extract.html2text", extra="loaders", purpose=_PURPOSE)
    page = decode(data, path, declared=_declared_encoding(data))
    _refuse_slow(page, path)
    tree = parser.HTMLTree.parse(page)
    text: str = extractor.extract_plain_text(tree, skip_elements=["[hidden]"])
    title = " ".join((tree.title or "").split())
    return text, {"title": title} if title else {}


def _refuse_slow(page: str, path: Path) -> None:
    if any(
        len(_QUOTED.sub("", tag[0]).replace("/", " ").split()) > _MOST_ATTRIBUTES for tag in _LONG_TAG.finditer(page)
    ):
        raise LoadError(f"{path}: has a tag with more than {_MOST_ATTRIBUTES} attributes")
    if sum(1 for _ in _OPTION.finditer(page)) > _MOST_OPTIONS:
        raise LoadError(f"{path}: has more than {_MOST_OPTIONS} <option> elements")


def _declared_encoding(data: bytes) -> str | None:
    parser = import_extra("resiliparse.parse.html", extra="loaders", purpose=_PURPOSE)
    encodings = import_extra("resiliparse.parse.encoding", extra="loaders", purpose=_PURPOSE)
    head = parser.HTMLTree.parse(data[:_DECLARATION_BYTES].decode("latin-1"))
    for meta in head.document.query_selector_all("meta[charset], meta[http-equiv='content-type' i]"):
        label = meta.getattr("charset") or _charset(meta.getattr("content") or "")
        encoding: str | None = encodings.map_encoding_to_html5(label, fallback_utf8=False) if label else None
        if encoding is not None:
            # A page that could be read as ASCII so far is not UTF-16, whatever it says; so the standard.
            return "utf-8" if encoding.startswith("utf-16") else encoding
    return None


def _charset(content_type: str) -> str | None:
    header = Message()
    header["Content-Type"] = content_type
    return header.get_content_charset()
