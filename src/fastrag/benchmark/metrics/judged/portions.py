"""Cutting texts into portions that a judge can read at once, so that none of a text is lost."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BREAKS = (re.compile(r"\n\s*\n"), re.compile(r"\n"), re.compile(r"[.!?。！？]\s*"), re.compile(r"\s"))


def cut(text: str, max_characters: int, overlap: int = 0) -> list[str]:
    """``text`` in pieces of at most ``max_characters``, in order; white space alone gives none.

    A piece ends where a paragraph, else a line, a sentence, a word does, if that is in its last quarter.

    Args:
        text: Any.
        max_characters: Of a piece; at least 4.
        overlap: So many characters of a piece stand in the next one again, for what lies across the border; less than
            half of ``max_characters``.

    >>> cut("First line.\\nSecond one here.", 12)
    ['First line.\\n', 'Second one ', 'here.']
    """
    pieces = []
    start = 0
    while len(text) - start > max_characters:
        end = _end(text, start + max_characters - max_characters // 4, start + max_characters)
        pieces.append(text[start:end])
        start = end - overlap
    pieces.append(text[start:])
    return [piece for piece in pieces if piece.strip()]


def pack(
    sources: Sequence[str], max_characters: int, overlap: int = 0, *, apart: bool = False
) -> list[list[tuple[int, str]]]:
    """``sources`` with their numbers (from 1), in portions of at most ``max_characters`` each, in order.

    A source that is longer by itself is cut, and each of its pieces carries its number. Sources of nothing but white
    space keep their number and are left out.

    Args:
        sources: Texts.
        max_characters: Of all texts of a portion together.
        overlap: See `cut`.
        apart: Whether no two sources may share a portion.

    >>> pack(["aaaa", "", "bb", "cccccc"], 6)
    [[(1, 'aaaa'), (3, 'bb')], [(4, 'cccccc')]]
    """
    portions: list[list[tuple[int, str]]] = []
    taken = 0
    for number, source in enumerate(sources, start=1):
        for piece in cut(source, max_characters, overlap):
            if not portions or apart or taken + len(piece) > max_characters:
                portions.append([])
                taken = 0
            portions[-1].append((number, piece))
            taken += len(piece)
    return portions


def _end(text: str, earliest: int, latest: int) -> int:
    """Where to end a piece, after ``earliest`` and not after ``latest``."""
    for kind in _BREAKS:
        ends = [match.end() for match in kind.finditer(text, earliest, latest)]
        if ends:
            return ends[-1]
    return latest
