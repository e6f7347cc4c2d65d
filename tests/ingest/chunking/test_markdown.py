from __future__ import annotations

import pytest

from fastrag.document import Document
from fastrag.errors import ConfigurationError
from fastrag.ingest import MarkdownChunker


def sections(text: str, size: int = 1000, overlap: int = 0) -> list[tuple[list[str], str]]:
    chunks = MarkdownChunker(size=size, overlap=overlap).chunk(Document("d", text))
    return [(chunk.metadata["headings"], chunk.text) for chunk in chunks]


def test_every_section_is_a_chunk_with_its_heading_path() -> None:
    text = "Before.\n\n# A\n\nIn A.\n\n## B\n\nIn B.\n\n### C\n\nIn C.\n\n## D\n\nIn D.\n\n# E\n\nIn E.\n"
    assert sections(text) == [
        ([], "Before."),
        (["A"], "# A\n\nIn A."),
        (["A", "B"], "## B\n\nIn B."),
        (["A", "B", "C"], "### C\n\nIn C."),
        (["A", "D"], "## D\n\nIn D."),
        (["E"], "# E\n\nIn E."),
    ]


def test_levels_may_be_skipped() -> None:
    assert [path for path, _ in sections("### C\nc\n# A\na\n#### D\nd\n## B\nb")] == [
        ["C"],
        ["A"],
        ["A", "D"],
        ["A", "B"],
    ]


@pytest.mark.parametrize(
    "block",
    [
        "```\n# comment\n```",
        "~~~sh\n# comment\n~~~",
        "````\n```\n# comment\n````",
        "> # quoted",
        "- # listed",
        "    # indented code",
        "<pre>\n# in HTML\n</pre>",
        "#hashtag",
        "\\# escaped",
    ],
)
def test_what_looks_like_a_heading_and_is_none(block: str) -> None:
    text = f"# Real\n\n{block}\n\nend"
    assert sections(text) == [(["Real"], text)]


def test_an_open_fence_runs_to_the_end() -> None:
    assert sections("# A\n```\n# no\n\n# no") == [(["A"], "# A\n```\n# no\n\n# no")]


def test_underlined_headings() -> None:
    assert sections("Top\n===\n\ntext\n\nSub\n---\n\nmore") == [
        (["Top"], "Top\n===\n\ntext"),
        (["Top", "Sub"], "Sub\n---\n\nmore"),
    ]


def test_front_matter_is_no_heading() -> None:
    assert sections("---\ntitle: x\n---\n\n# A\n\ntext") == [([], "---\ntitle: x\n---"), (["A"], "# A\n\ntext")]


def test_heading_texts_are_plain() -> None:
    text = "# The `code` *and* [link](u) <b>x</b> &amp; ![picture](p.png) \\* #\n\ntext"
    assert sections(text)[0][0] == ["The code and link x & picture *"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_kind(end: str) -> None:
    text = end.join(["# A", "", "in a\x00", "", "## B", "in b"])
    assert [path for path, _ in sections(text)] == [["A"], ["A", "B"]]


def test_a_heading_without_text_opens_the_section_below_it() -> None:
    assert sections("# Guide\n\n## Setup\n\n### Linux\n\ntext") == [
        (["Guide", "Setup", "Linux"], "# Guide\n\n## Setup\n\n### Linux\n\ntext")
    ]


def test_a_heading_without_text_does_not_join_its_sibling() -> None:
    assert sections("# A\n\n# B\n\ntext\n\n# C") == [(["A"], "# A"), (["B"], "# B\n\ntext"), (["C"], "# C")]


def test_a_long_section_is_cut_and_every_part_keeps_the_path() -> None:
    text = "# A\n\nFirst paragraph here.\n\nSecond paragraph here.\n\n- item one\n- item two\n"
    assert sections(text, size=30) == [
        (["A"], "# A\n\nFirst paragraph here."),
        (["A"], "Second paragraph here."),
        (["A"], "- item one\n- item two"),
    ]


def test_overlap_stays_inside_the_section() -> None:
    parts = sections("# A\n\none two three four\n\n# B\n\nfive six", size=14, overlap=6)
    assert parts == [
        (["A"], "# A"),
        (["A"], "one two three"),
        (["A"], "three four"),
        (["B"], "# B\n\nfive six"),
    ]


def test_an_empty_heading() -> None:
    assert sections("#\n\ntext\n\n## B\n\nmore") == [([""], "#\n\ntext"), (["", "B"], "## B\n\nmore")]


def test_wrong_sizes_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="size"):
        MarkdownChunker(size=0)
    with pytest.raises(ConfigurationError, match="overlap"):
        MarkdownChunker(size=5, overlap=5)


def test_the_id_names_what_decides_the_cuts() -> None:
    chunkers = [MarkdownChunker(), MarkdownChunker(size=10), MarkdownChunker(overlap=1)]
    assert len({chunker.id for chunker in chunkers}) == 3
