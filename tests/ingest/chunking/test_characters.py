from __future__ import annotations

import pytest

from fastrag.document import Document
from fastrag.errors import ConfigurationError
from fastrag.ingest import CharacterChunker


def texts(chunker: CharacterChunker, text: str) -> list[str]:
    return [chunk.text for chunk in chunker.chunk(Document("d", text))]


def test_cuts_between_paragraphs_then_sentences_then_words() -> None:
    text = "First paragraph.\n\nThe second one. It has two sentences of some words."
    assert texts(CharacterChunker(size=30), text) == [
        "First paragraph.",
        "The second one.",
        "It has two sentences of some",
        "words.",
    ]


def test_a_word_longer_than_size_is_cut_but_not_inside_a_composed_emoji() -> None:
    assert texts(CharacterChunker(size=8), "👩‍👩‍👧‍👦👩‍👩‍👧‍👦") == ["👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"]


def test_overlap_repeats_the_end_of_the_chunk_before() -> None:
    assert texts(CharacterChunker(size=13, overlap=4), "one two three four five six") == [
        "one two three",
        "four five six",
    ]
    assert texts(CharacterChunker(size=13, overlap=6), "one two three four five six") == [
        "one two three",
        "three four",
        "four five six",
    ]


def test_a_short_text_is_one_chunk() -> None:
    assert texts(CharacterChunker(), "  All of it.\n") == ["All of it."]


@pytest.mark.parametrize(
    ("size", "overlap", "told"),
    [
        (0, 0, "size must be a whole number of at least 1, not 0"),
        (-5, 0, "not -5"),
        (2.5, 0, "not 2.5"),
        (True, 0, "not True"),
        (10, 10, "overlap must be a whole number from 0 to size - 1 = 9, not 10"),
        (10, -1, "not -1"),
        (10, 0.5, "not 0.5"),
        (10, False, "not False"),
    ],
)
def test_wrong_sizes_are_refused(size: object, overlap: object, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        CharacterChunker(size=size, overlap=overlap)  # type: ignore[arg-type]


def test_the_id_names_what_decides_the_cuts() -> None:
    ids = {CharacterChunker(size=size, overlap=overlap).id for size in (10, 20) for overlap in (0, 5)}
    assert len(ids) == 4
    assert CharacterChunker(size=10).id == CharacterChunker(size=10).id
