"""What every chunker is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from fastrag._support.checks import require_positive_int
from fastrag.document import Document
from fastrag.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Span:
    """Where a chunk lies in its parent's text: characters ``start`` up to, not including, ``end``.

    ``metadata`` is what the chunk knows beyond its parent, such as its headings.
    """

    start: int
    end: int
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Chunker(ABC):
    """Cuts a Document into chunk Documents. An implementation says where (`spans`); the rest is the same for all.

    A chunker keeps nothing from one Document to the next and may be used from several threads.
    """

    @property
    @abstractmethod
    def id(self) -> str:
        """Names everything that decides where it cuts; Documents chunked under another id are chunked again."""

    @abstractmethod
    def spans(self, text: str) -> Iterable[Span]:
        """Where to cut ``text``, in order. Spans may overlap; white space at their ends is left out.

        ``text`` may be anything a str can be, lone surrogates included.
        """

    def chunk(self, document: Document) -> list[Document]:
        """The chunks of ``document``, in order; none for a text that is empty or white space.

        Chunk n (from 0) has the id ``f"{document.id}#{n}"``, its parent's ``uri``, and a copy of its parent's
        ``metadata`` in which these keys are set: ``parent_id``, ``start`` and ``end`` (always
        ``document.text[start:end] == chunk.text``), and what the chunker adds. The parent's ``page_starts``
        (of a PDF, see `load_file`) is not copied; the chunk has ``page`` instead, the page it starts on, from 1.

        Raises:
            ConfigurationError: The library that finds the places to cut broke down over this text.
        """
        inherited = dict(document.metadata)
        page_starts = inherited.pop("page_starts", None) if _has_page_starts(document) else None
        chunks: list[Document] = []
        for number, span in enumerate(_trimmed(self.spans(document.text), document.text)):
            # Chunks share no list or mapping with their parent or with each other.
            metadata = deepcopy(inherited | dict(span.metadata))
            metadata |= {"parent_id": document.id, "start": span.start, "end": span.end}
            if page_starts is not None:
                metadata["page"] = bisect_right(page_starts, span.start)
            text = document.text[span.start : span.end]
            chunks.append(Document(f"{document.id}#{number}", text, document.uri, metadata))
        return chunks


def check_size_and_overlap(size: object, overlap: object) -> tuple[int, int]:
    """Return both if ``size`` is at least 1 and ``overlap`` from 0 to ``size - 1``.

    Raises:
        ConfigurationError: It is not so.
    """
    checked_size = require_positive_int("size", size)
    if isinstance(overlap, bool) or not isinstance(overlap, int) or not 0 <= overlap < checked_size:
        raise ConfigurationError(
            f"overlap must be a whole number from 0 to size - 1 = {checked_size - 1}, not {overlap!r}"
        )
    return checked_size, overlap


def _has_page_starts(document: Document) -> bool:
    starts = document.metadata.get("page_starts")
    return isinstance(starts, list) and all(isinstance(start, int) for start in starts)


def _trimmed(spans: Iterable[Span], text: str) -> list[Span]:
    """``spans`` without white space at their ends, and without those that say nothing that a neighbour does not."""
    kept: list[Span] = []
    for span in spans:
        inside = text[span.start : span.end]
        start = span.start + len(inside) - len(inside.lstrip())
        end = start + len(inside.strip())
        # Spans that overlap can differ by white space alone.
        if start == end or (kept and end <= kept[-1].end):
            continue
        if kept and start == kept[-1].start:
            kept.pop()
        kept.append(Span(start, end, span.metadata))
    return kept
