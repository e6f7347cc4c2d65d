from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrag.document import Document
from fastrag.errors import ConfigurationError
from fastrag.ingest import SentenceChunker


def texts(chunker: SentenceChunker, text: str) -> list[str]:
    return [chunk.text for chunk in chunker.chunk(Document("d", text))]


def test_sentences_are_grouped_up_to_size() -> None:
    text = "One is short. Two is, too. Three is a little longer."
    assert texts(SentenceChunker(size=30), text) == ["One is short. Two is, too.", "Three is a little longer."]
    assert texts(SentenceChunker(size=60), text) == [text]


def test_abbreviations_and_numbers_do_not_end_a_sentence() -> None:
    text = "Dr. Smith paid 3.50 to Mr. Jones. He left."
    assert texts(SentenceChunker(size=36), text) == ["Dr. Smith paid 3.50 to Mr. Jones.", "He left."]


def test_sentences_of_other_scripts() -> None:
    assert texts(SentenceChunker(size=6, language="ja"), "こんにちは。さようなら。") == ["こんにちは。", "さようなら。"]


def test_a_sentence_longer_than_size_is_cut_between_words_and_stands_alone() -> None:
    text = "Short one. This sentence has far too many words. Last one."
    assert texts(SentenceChunker(size=20), text) == [
        "Short one.",
        "This sentence has",
        "far too many words.",
        "Last one.",
    ]


def test_overlap_repeats_whole_sentences() -> None:
    text = "A one. B two. C three. D four."
    assert texts(SentenceChunker(size=16, overlap=1), text) == ["A one. B two.", "B two. C three.", "C three. D four."]


def test_overlap_gives_way_where_it_does_not_fit() -> None:
    text = "A rather long one here. B two. C three is long as well."
    assert texts(SentenceChunker(size=30, overlap=5), text) == [
        "A rather long one here. B two.",
        "C three is long as well.",
    ]


@settings(deadline=None, max_examples=60)
@given(
    lengths=st.lists(st.integers(1, 30), min_size=1, max_size=20), size=st.integers(5, 60), overlap=st.integers(0, 4)
)
def test_every_sentence_that_fits_is_whole_in_some_chunk(lengths: list[int], size: int, overlap: int) -> None:
    sentences = [f"{'Ab' * length}." for length in lengths]
    chunks = texts(SentenceChunker(size=size, overlap=overlap), " ".join(sentences))
    for sentence in sentences:
        assert len(sentence) > size or any(sentence in chunk for chunk in chunks)


@pytest.mark.parametrize(
    "arguments", [{"size": 0}, {"size": "9"}, {"overlap": -1}, {"overlap": 1.0}, {"overlap": True}, {"language": " "}]
)
def test_wrong_arguments_are_refused(arguments: dict[str, object]) -> None:
    (name,) = arguments
    with pytest.raises(ConfigurationError, match=name):
        SentenceChunker(**arguments)  # type: ignore[arg-type]


def test_the_id_names_what_decides_the_cuts() -> None:
    chunkers = [
        SentenceChunker(),
        SentenceChunker(size=10),
        SentenceChunker(overlap=1),
        SentenceChunker(language="de"),
    ]
    assert len({chunker.id for chunker in chunkers}) == 4
