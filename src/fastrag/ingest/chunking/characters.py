"""Chunks of so many characters."""

from __future__ import annotations

from collections.abc import Iterable

from fastrag._support.extras import import_extra
from fastrag.ingest.base import Chunker, Span, check_size_and_overlap
from fastrag.ingest.chunking.windows import WINDOW_CHARACTERS, split_in_windows


class CharacterChunker(Chunker):
    """Chunks of at most ``size`` characters, cut at the best place there is.

    The best place is between paragraphs, else between lines, sentences, words, and only inside a word that is
    longer than ``size`` between its characters. As much as fits goes into one chunk.

    Args:
        size: Most characters (Unicode code points) of a chunk, at least 1. 1000 are some 150 to 250 words of
            English, what a small embedding model reads at once.
        overlap: Most characters that a chunk repeats from the end of the one before it, from 0 to ``size - 1``.

    Raises:
        ConfigurationError: ``size`` or ``overlap`` is out of range.
        MissingDependencyError: The extra ``chunking`` is not installed.

    >>> from fastrag.document import Document
    >>> chunks = CharacterChunker(size=20).chunk(Document("d", "One sentence. And another one."))
    >>> [(chunk.id, chunk.text) for chunk in chunks]
    [('d#0', 'One sentence.'), ('d#1', 'And another one.')]
    """

    def __init__(self, *, size: int = 1000, overlap: int = 0) -> None:
        self.size, self.overlap = check_size_and_overlap(size, overlap)
        library = import_extra("semantic_text_splitter", extra="chunking", purpose="CharacterChunker")
        self._splitter = library.TextSplitter(self.size, self.overlap)

    @property
    def id(self) -> str:
        """See `Chunker.id`."""
        return f"characters:size={self.size}:overlap={self.overlap}"

    def spans(self, text: str) -> Iterable[Span]:
        """See `Chunker.spans`."""
        window = max(WINDOW_CHARACTERS, 4 * self.size)
        for start, end in split_in_windows(self._splitter.chunk_indices, text, window=window):
            yield Span(start, end)
