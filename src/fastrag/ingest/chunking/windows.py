"""Splitting a long text in linear time, whatever is in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from fastrag._support.panics import panics_as
from fastrag.errors import ConfigurationError

WINDOW_CHARACTERS = 32_768
"""How much text a splitter sees at once, unless a single piece needs more."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def split_in_windows(
    split: Callable[[str], Sequence[tuple[int, str]]], text: str, *, window: int = WINDOW_CHARACTERS
) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the pieces that ``split`` makes of ``text``, giving it a part of the text at a time.

    The splitters look ahead as far as there is text, for every piece: where nothing suggests a place to cut
    (base64, minified code) that is quadratic, and a few megabytes take minutes. So the text is given in windows.
    The last piece of a window may have been cut by the window's end; the next window starts with it.

    Args:
        split: Returns (start, piece) in order.
        text: Lone surrogates, which splitters written in Rust refuse, are shown to ``split`` as U+FFFD, one for
            one; so the places stay right.
        window: Characters a window has at first; doubled where a window holds fewer than two pieces.

    Raises:
        ConfigurationError: ``split`` panicked.
    """
    text = _LONE_SURROGATE.sub("\ufffd", text)
    start, width = 0, window
    while start < len(text):
        with panics_as(ConfigurationError, f"the text cannot be split after character {start}; use another chunker"):
            pieces = split(text[start : start + width])
        if start + width >= len(text):
            yield from ((start + offset, start + offset + len(piece)) for offset, piece in pieces)
            return
        if len(pieces) > 1 and pieces[-1][0] > 0:
            yield from ((start + offset, start + offset + len(piece)) for offset, piece in pieces[:-1])
            start, width = start + pieces[-1][0], window
        else:
            width *= 2
