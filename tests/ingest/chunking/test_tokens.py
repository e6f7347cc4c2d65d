from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from fastrag.document import Document
from fastrag.errors import ConfigurationError
from fastrag.ingest import TokenChunker


def word_tokenizer(*, special: bool = False) -> Tokenizer:
    vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "one": 3}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if special:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
        )
    return tokenizer


def texts(chunker: TokenChunker, text: str) -> list[str]:
    return [chunk.text for chunk in chunker.chunk(Document("d", text))]


def test_size_is_in_tokens() -> None:
    chunks = texts(TokenChunker(word_tokenizer(), size=3), "one extraordinarily long word and then two more")
    assert chunks == ["one extraordinarily long", "word and then", "two more"]


def test_special_tokens_count() -> None:
    chunks = texts(TokenChunker(word_tokenizer(special=True), size=4), "one two three four")
    assert chunks == ["one two", "three four"]


def test_overlap_is_in_tokens() -> None:
    assert texts(TokenChunker(word_tokenizer(), size=3, overlap=1), "a b c d e") == ["a b c", "c d e"]


def test_truncation_and_padding_do_not_hide_tokens_and_the_tokenizer_given_stays_as_it_was() -> None:
    tokenizer = word_tokenizer()
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=2)

    assert texts(TokenChunker(tokenizer, size=4), "a b c d e f") == ["a b c d", "e f"]
    assert tokenizer.truncation["max_length"] == 2
    assert tokenizer.padding["length"] == 2


def test_a_path_will_do(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    word_tokenizer().save(str(path))
    chunker = TokenChunker(path, size=2)

    assert texts(chunker, "a b c") == ["a b", "c"]
    assert texts(TokenChunker(str(path), size=2), "a b c") == ["a b", "c"]
    assert chunker.id == TokenChunker(word_tokenizer(), size=2).id


def test_the_id_names_the_tokenizer_and_the_sizes() -> None:
    chunkers = [
        TokenChunker(word_tokenizer(), size=5),
        TokenChunker(word_tokenizer(), size=6),
        TokenChunker(word_tokenizer(), size=5, overlap=1),
        TokenChunker(word_tokenizer(special=True), size=5),
    ]
    assert len({chunker.id for chunker in chunkers}) == 4


def test_a_path_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.json.*cannot be read"):
        TokenChunker(tmp_path / "none.json")


@pytest.mark.parametrize("content", [b"{}", b"no json", b"\xff\xfe"])
def test_a_file_that_is_no_tokenizer_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"tokenizer\.json"):
        TokenChunker(path)


@pytest.mark.parametrize(
    ("tokenizer", "size", "overlap", "told"),
    [
        (word_tokenizer(), 0, 0, "size"),
        (word_tokenizer(), 3, 3, "overlap"),
        (word_tokenizer(special=True), 2, 0, r"size=2 is not above 0 \+ 2"),
        (word_tokenizer(special=True), 5, 3, r"size=5 is not above 3 \+ 2"),
        (7, 5, 0, "tokenizer must be"),
    ],
)
def test_wrong_arguments_are_refused(tokenizer: Tokenizer, size: int, overlap: int, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        TokenChunker(tokenizer, size=size, overlap=overlap)
