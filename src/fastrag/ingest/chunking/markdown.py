"""Chunks of Markdown that keep to its sections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from fastrag._support.extras import import_extra
from fastrag._support.panics import panics_as
from fastrag.errors import ConfigurationError
from fastrag.ingest.base import Chunker, Span, check_size_and_overlap
from fastrag.ingest.chunking.windows import WINDOW_CHARACTERS, split_in_windows

_LINE_END = re.compile(r"\r\n?|\n")


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading with the text up to the next one; before the first heading ``level`` is 0."""

    level: int
    headings: tuple[str, ...]
    start: int
    end: int
    bare: bool  # nothing but the heading


class MarkdownChunker(Chunker):
    """Chunks of at most ``size`` characters that never run over a heading into the next section.

    Every chunk has ``metadata["headings"]``: the headings it stands under, outermost first, as plain text; an
    empty list before the first heading. Headings are those of CommonMark at the top level of the document
    (``# ...`` and underlined), so none in code blocks, quotes, lists or YAML front matter. A heading with no
    text of its own opens the chunk of the first section below it, if it has one. Inside a section the cuts are
    between Markdown's blocks where possible, then as in `CharacterChunker`.

    Args:
        size: Most characters (Unicode code points) of a chunk, at least 1.
        overlap: Most characters that a chunk repeats from the end of the one before it in the same section,
            from 0 to ``size - 1``.

    Raises:
        ConfigurationError: ``size`` or ``overlap`` is out of range.
        MissingDependencyError: The extra ``chunking`` is not installed.

    >>> from fastrag.document import Document
    >>> document = Document("d", "# Guide\\n\\n## Start\\n\\nInstall it.\\n\\n## Use\\n\\nRun `it`.\\n")
    >>> for chunk in MarkdownChunker().chunk(document):
    ...     print(chunk.metadata["headings"], repr(chunk.text))
    ['Guide', 'Start'] '# Guide\\n\\n## Start\\n\\nInstall it.'
    ['Guide', 'Use'] '## Use\\n\\nRun `it`.'
    """

    def __init__(self, *, size: int = 1000, overlap: int = 0) -> None:
        self.size, self.overlap = check_size_and_overlap(size, overlap)
        library = import_extra("semantic_text_splitter", extra="chunking", purpose="MarkdownChunker")
        self._splitter = library.MarkdownSplitter(self.size, self.overlap)
        self._blind_splitter = library.TextSplitter(self.size, self.overlap)
        markdown_it = import_extra("markdown_it", extra="chunking", purpose="MarkdownChunker")
        front_matter = import_extra("mdit_py_plugins.front_matter", extra="chunking", purpose="MarkdownChunker")
        # Only blocks are parsed; what is inside a line matters for headings alone, see _plain.
        self._parser = markdown_it.MarkdownIt("commonmark").use(front_matter.front_matter_plugin).disable("inline")

    @property
    def id(self) -> str:
        """See `Chunker.id`."""
        return f"markdown:size={self.size}:overlap={self.overlap}"

    def spans(self, text: str) -> Iterable[Span]:
        """See `Chunker.spans`."""
        window = max(WINDOW_CHARACTERS, 4 * self.size)
        for section in _joined(self._sections(text)):
            metadata = {"headings": list(section.headings)}
            part = text[section.start : section.end]
            for start, end in split_in_windows(self._split, part, window=window):
                yield Span(section.start + start, section.start + end, metadata)

    def _split(self, part: str) -> list[tuple[int, str]]:
        pieces: list[tuple[int, str]]
        try:
            with panics_as(ConfigurationError, "the text cannot be split as Markdown"):
                pieces = self._splitter.chunk_indices(part)
        except ConfigurationError:
            # It panics on a few rare mixtures of line ends and marks, with an overlap near the size. The other
            # splitter takes any text, and cuts in the same way but for the blocks.
            pieces = self._blind_splitter.chunk_indices(part)
        return pieces

    def _sections(self, text: str) -> Iterator[_Section]:
        line_starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        path: list[tuple[int, str]] = []
        start, body = 0, 0
        environment: dict[str, object] = {}
        tokens = self._parser.parse(text, environment)
        for position, token in enumerate(tokens):
            if token.type != "heading_open" or token.level != 0:
                continue
            first, behind = token.map
            heading = line_starts[first]
            yield self._section(path, text, start, heading, body)
            level = int(token.tag[1:])
            path = [outer for outer in path if outer[0] < level]
            path.append((level, self._plain(tokens[position + 1].content, environment)))
            start, body = heading, line_starts[behind] if behind < len(line_starts) else len(text)
        yield self._section(path, text, start, len(text), body)

    @staticmethod
    def _section(path: list[tuple[int, str]], text: str, start: int, end: int, body: int) -> _Section:
        level = path[-1][0] if path else 0
        bare = bool(path) and not text[body:end].strip()
        return _Section(level, tuple(title for _, title in path), start, end, bare)

    def _plain(self, heading: str, environment: dict[str, object]) -> str:
        tokens: list[Any] = []
        self._parser.inline.parse(heading, self._parser, environment, tokens)
        texts = (
            " " if token.type in ("softbreak", "hardbreak") else token.content
            for token in tokens
            if token.type != "html_inline"
        )
        return "".join(texts).strip()


def _joined(sections: Iterable[_Section]) -> Iterator[_Section]:
    """Let bare headings open the section below them instead of standing as chunks that say nothing."""
    waiting: _Section | None = None
    for section in sections:
        start = section.start
        if waiting is not None:
            if section.level > waiting.level:
                start = waiting.start
            else:
                yield waiting
        current = replace(section, start=start)
        waiting = current if section.bare else None
        if waiting is None:
            yield current
    if waiting is not None:
        yield waiting
