from __future__ import annotations

import pytest

from fastrag.errors import ConfigurationError
from fastrag.ingest.chunking.windows import split_in_windows


class Splitter:
    """Cuts into pieces of ``size`` characters, trimmed, and counts the characters it was shown."""

    def __init__(self, size: int, overlap: int = 0) -> None:
        self.size, self.overlap, self.shown = size, overlap, 0

    def __call__(self, text: str) -> list[tuple[int, str]]:
        self.shown += len(text)
        pieces = [
            (start, text[start : start + self.size])
            for start in range(0, max(len(text) - self.overlap, 1), self.size - self.overlap)
        ]
        return [(start + len(piece) - len(piece.lstrip()), piece.strip()) for start, piece in pieces if piece.strip()]


@pytest.mark.parametrize("window", [5, 10, 11, 64, 1000])
@pytest.mark.parametrize("overlap", [0, 2])
def test_pieces_are_those_of_the_whole_text(window: int, overlap: int) -> None:
    text = "".join(chr(ord("a") + position % 26) for position in range(303))
    whole = [(start, start + len(piece)) for start, piece in Splitter(5, overlap)(text)]
    assert list(split_in_windows(Splitter(5, overlap), text, window=window)) == whole


def test_the_work_grows_with_the_text_and_not_with_its_square() -> None:
    splitter = Splitter(10)
    list(split_in_windows(splitter, "x" * 100_000, window=100))
    assert splitter.shown < 2 * 100_000


def test_a_piece_larger_than_the_window_is_seen_whole() -> None:
    assert list(split_in_windows(Splitter(50), "x" * 120, window=8)) == [(0, 50), (50, 100), (100, 120)]


def test_white_space_longer_than_the_window_is_passed_over() -> None:
    text = " " * 1000 + "ab" + " " * 1000 + "cd"
    assert list(split_in_windows(Splitter(2), text, window=16)) == [(1000, 1002), (2002, 2004)]


def test_lone_surrogates_are_shown_as_replacement_characters_of_the_same_length() -> None:
    seen: list[str] = []

    def split(text: str) -> list[tuple[int, str]]:
        seen.append(text)
        return [(0, text)]

    assert list(split_in_windows(split, "a\ud800b\udfff😀")) == [(0, 5)]
    assert seen == ["a\ufffdb\ufffd😀"]


class PanicException(BaseException):
    """Stands in for the panic of a library written in Rust."""


def test_a_panic_becomes_an_error_that_programs_handle() -> None:
    def split(text: str) -> list[tuple[int, str]]:
        raise PanicException("index out of bounds")

    with pytest.raises(ConfigurationError, match=r"after character 0; .*index out of bounds") as caught:
        list(split_in_windows(split, "text"))
    assert isinstance(caught.value.__cause__, PanicException)


def test_an_interrupt_stays_one() -> None:
    def split(text: str) -> list[tuple[int, str]]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(split_in_windows(split, "text"))


def test_no_text_no_pieces() -> None:
    assert list(split_in_windows(Splitter(2), "")) == []
