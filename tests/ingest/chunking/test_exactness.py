"""What holds for every chunker, whatever the text."""

from __future__ import annotations

import functools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from fastrag.document import Document
from fastrag.ingest import CharacterChunker, Chunker, MarkdownChunker, SentenceChunker, TokenChunker

# Pieces in which splitters go wrong: composed emoji, combining marks, every kind of line end, NUL, right-to-left
# text, characters beyond the BMP, half surrogate pairs, byte order marks, Markdown's own marks.
PIECES = [
    "word ", "Dr. Smith. ", "Ende! ", "こんにちは。", "שלום עולם ", "مرحبا ",
    "👩‍👩‍👧‍👦", "e\u0301", "\u0301", "𝔘𝔫𝔦", "\U0010ffff", "\ud800", "\udfff",
    "\r\n", "\r", "\n", "\n\n", "\u2028", "\x85", "\x0b", "\x1c", "\t", "\xa0", "\u200b", "\ufeff", "\x00",
    "# Head\n", "## Sub\r\n", "Title\n===\n", "```\n", "~~~\n", "- item\n", "> quote\n", "| a |\n|---|\n",
    "---\n", "    code\n", "[link](x) ", "*", "`", "<b>", "x" * 60,
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=40).map("".join)


@functools.cache
def byte_level_tokenizer() -> Tokenizer:
    """A tokenizer that takes any text and puts two special tokens around it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=350,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["the quick brown fox jumps over the lazy dog, word by word"] * 3, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    return tokenizer


@functools.cache
def chunker(kind: str, size: int, overlap: int) -> Chunker:
    if kind == "sentences":
        return SentenceChunker(size=size, overlap=overlap)
    if kind == "tokens":
        return TokenChunker(byte_level_tokenizer(), size=size + 2, overlap=overlap)
    if kind == "markdown":
        return MarkdownChunker(size=size, overlap=overlap)
    return CharacterChunker(size=size, overlap=overlap)


KINDS = ["characters", "sentences", "tokens", "markdown"]
# White space of one, two and three bytes, among the characters that end sentences, words and Markdown's blocks.
TRICKY = "\x0b\x0c\x1c\x85\xa0\u1680\u2003\u2028\u2029\u202f\u205f\u3000\ufeff\u200b \t\r\n.!?。:,()\"'»-—*#>`|aAé漢1"
SHAPES = [(1, 0), (2, 1), (7, 0), (7, 3), (7, 6), (40, 10), (1000, 0)]


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=200)
@given(text=TEXTS | st.text(TRICKY, max_size=14), shape=st.sampled_from(SHAPES))
@example(text="Vitamin C\xa0. Good", shape=(40, 10))
@example(text="A\u3000.", shape=(7, 0))
@example(text="H\u2029.", shape=(7, 0))
@example(text="\x0b\r\n\x0b-\n\ufeff。", shape=(7, 6))
@example(text="|  \r\n 1\r\t|  ", shape=(6, 2))
@example(text="\r\n# A\r\x00\n\ud83d text 👩‍👩‍👧‍👦\r\n", shape=(7, 3))
def test_spans_index_exactly_and_nothing_is_lost(kind: str, text: str, shape: tuple[int, int]) -> None:
    parent = Document("doc", text, "file:///doc", {"lang": "x", "tags": ["a"]})
    chunks = chunker(kind, *shape).chunk(parent)

    covered = [False] * len(text)
    position = -1
    for number, chunk in enumerate(chunks):
        start, end = chunk.metadata["start"], chunk.metadata["end"]
        assert text[start:end] == chunk.text
        assert chunk.text == chunk.text.strip() != ""
        assert chunk.id == f"doc#{number}"
        assert chunk.uri == "file:///doc"
        assert chunk.metadata["parent_id"] == "doc"
        assert chunk.metadata["lang"] == "x"
        assert start > position, "chunks come in order, and none begins where another did"
        position = start
        covered[start:end] = [True] * (end - start)
    lost = "".join(character for character, there in zip(text, covered, strict=True) if not there)
    assert not lost.strip(), "only white space is left out"
    assert parent == Document("doc", text, "file:///doc", {"lang": "x", "tags": ["a"]})


@pytest.mark.parametrize("kind", ["characters", "sentences", "markdown"])
@settings(deadline=None, max_examples=100)
@given(text=TEXTS, shape=st.sampled_from(SHAPES))
def test_no_chunk_has_more_characters_than_size(kind: str, text: str, shape: tuple[int, int]) -> None:
    assert all(len(chunk.text) <= shape[0] for chunk in chunker(kind, *shape).chunk(Document("d", text)))


@settings(deadline=None, max_examples=150)
@given(text=TEXTS, shape=st.sampled_from(SHAPES))
def test_no_chunk_has_more_tokens_than_size(text: str, shape: tuple[int, int]) -> None:
    size = shape[0] + 2
    for chunk in chunker("tokens", *shape).chunk(Document("d", text)):
        seen_by_the_model = byte_level_tokenizer().encode(chunk.text.encode("utf-8", "replace").decode())
        assert len(seen_by_the_model.ids) <= size or len(chunk.text) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["", " ", "\n\n\t\r\n", "\x1c\x85\xa0\u2028"])
def test_a_text_of_white_space_has_no_chunks(kind: str, text: str) -> None:
    assert chunker(kind, 40, 0).chunk(Document("d", text)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_share_no_metadata_with_parent_or_each_other(kind: str) -> None:
    parent = Document("d", "# One\n\nFirst words. Second words here.", None, {"tags": ["a"]})
    first, second, *_ = chunker(kind, 20, 0).chunk(parent)

    first.metadata["tags"].append("b")
    first.metadata.setdefault("headings", []).append("b")

    assert parent.metadata == {"tags": ["a"]}
    assert second.metadata["tags"] == ["a"]
    assert "b" not in second.metadata.get("headings", [])


@pytest.mark.parametrize("kind", KINDS)
def test_long_texts_without_a_place_to_cut_are_split_in_windows_and_nothing_is_lost(kind: str) -> None:
    text = "x" * 300_000 + " " + "ab " * 50_000
    chunks = chunker(kind, 1000, 0).chunk(Document("d", text))

    assert len(chunks) > 100
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(text.split())


def test_the_keys_of_a_chunk_win_over_its_parents() -> None:
    parent = Document("d", "text", None, {"start": 7, "parent_id": "other", "id": 3})
    (chunk,) = CharacterChunker().chunk(parent)
    assert chunk.metadata == {"start": 0, "end": 4, "parent_id": "d", "id": 3}


def test_a_chunk_of_paged_text_knows_its_page() -> None:
    parent = Document("d", "aaaa\n\nbbbb\n\n\n\ncccc", None, {"page_starts": [0, 6, 12, 14]})
    chunks = CharacterChunker(size=4).chunk(parent)
    assert [(chunk.text, chunk.metadata["page"]) for chunk in chunks] == [("aaaa", 1), ("bbbb", 2), ("cccc", 4)]
    assert all("page_starts" not in chunk.metadata for chunk in chunks)


def test_page_starts_of_another_kind_are_metadata_like_any_other() -> None:
    (chunk,) = CharacterChunker().chunk(Document("d", "text", None, {"page_starts": "none"}))
    assert chunk.metadata["page_starts"] == "none"
    assert "page" not in chunk.metadata
