"""Chunks of whole sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from fastrag._support.checks import require_positive_int, require_text
from fastrag._support.extras import import_extra
from fastrag.errors import ConfigurationError
from fastrag.ingest.base import Chunker, Span
from fastrag.ingest.chunking.windows import WINDOW_CHARACTERS, split_in_windows

# sentencex takes white space behind a single letter for one byte long, and panics where it is longer.
_ODD_SPACE = re.compile(r"[^\S \t\r\n]")


class SentenceChunker(Chunker):
    """Chunks of as many whole sentences as fit into ``size`` characters.

    Sentences end where the rules of their language say (``Dr. Smith`` is not an end), and at an empty line. A
    sentence longer than ``size`` is cut between its words and shares a chunk with no other.

    Args:
        size: Most characters (Unicode code points) of a chunk, at least 1.
        overlap: How many sentences a chunk repeats from the end of the one before it, at least 0; fewer where
            they do not fit beside a new one.
        language: ISO 639-1 code of the text's language; one that is not known is treated like English.

    Raises:
        ConfigurationError: ``size`` or ``overlap`` is out of range, or ``language`` is empty.
        MissingDependencyError: The extra ``chunking`` is not installed.

    >>> from fastrag.document import Document
    >>> text = "Dr. Smith came. He saw it. He left."
    >>> [chunk.text for chunk in SentenceChunker(size=20, overlap=1).chunk(Document("d", text))]
    ['Dr. Smith came.', 'He saw it. He left.']
    """

    def __init__(self, *, size: int = 1000, overlap: int = 0, language: str = "en") -> None:
        self.size = require_positive_int("size", size)
        if isinstance(overlap, bool) or not isinstance(overlap, int) or overlap < 0:
            raise ConfigurationError(f"overlap must be a whole number of sentences, at least 0, not {overlap!r}")
        self.overlap = overlap
        self.language = require_text("language", language)
        import_extra("sentencex", extra="chunking", purpose="SentenceChunker")
        library = import_extra("semantic_text_splitter", extra="chunking", purpose="SentenceChunker")
        self._words = library.TextSplitter(self.size)

    @property
    def id(self) -> str:
        """See `Chunker.id`."""
        return f"sentences:size={self.size}:overlap={self.overlap}:language={self.language}"

    def spans(self, text: str) -> Iterable[Span]:
        """See `Chunker.spans`."""
        group: list[tuple[int, int]] = []
        for start, end in sentence_spans(text, language=self.language):
            if end - start > self.size:
                if group:
                    yield Span(group[0][0], group[-1][1])
                window = max(WINDOW_CHARACTERS, 4 * self.size)
                for left, right in split_in_windows(self._words.chunk_indices, text[start:end], window=window):
                    yield Span(start + left, start + right)
                group = []
                continue
            if group and end - group[0][0] > self.size:
                yield Span(group[0][0], group[-1][1])
                group = group[len(group) - self.overlap :] if self.overlap < len(group) else group
                while group and end - group[0][0] > self.size:
                    group = group[1:]
            group.append((start, end))
        if group:
            yield Span(group[0][0], group[-1][1])


def sentence_spans(text: str, *, language: str = "en") -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the sentences of ``text``, without the white space around them.

    Raises:
        MissingDependencyError: The extra ``chunking`` is not installed.

    >>> [(start, end) for start, end in sentence_spans("Dr. Smith came.  He left. [1]")]
    [(0, 15), (17, 29)]
    """
    library = import_extra("sentencex", extra="chunking", purpose="finding sentences")

    def boundaries(part: str) -> list[tuple[int, str]]:
        found: list[dict[str, Any]] = library.get_sentence_boundaries(language, part)
        return [(sentence["start_index"], sentence["text"]) for sentence in found]

    for start, end in split_in_windows(boundaries, _ODD_SPACE.sub(" ", text)):
        sentence = text[start:end]
        if content := sentence.strip():
            start += len(sentence) - len(sentence.lstrip())
            yield start, start + len(content)
