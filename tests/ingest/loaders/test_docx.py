from __future__ import annotations

import io
import random
import zipfile
from copy import deepcopy
from pathlib import Path

import docx
import pytest
from docx.text.paragraph import Paragraph

from fastrag.document import Document
from fastrag.errors import LoadError
from fastrag.ingest import MarkdownChunker, load_file


def saved(document: object) -> bytes:
    file = io.BytesIO()
    document.save(file)  # type: ignore[attr-defined]
    return file.getvalue()


def load(folder: Path, data: bytes, **options: int) -> Document:
    path = folder / "letter.docx"
    path.write_bytes(data)
    return load_file(path, **options)  # type: ignore[arg-type]


def sample() -> bytes:
    document = docx.Document()
    document.core_properties.title = "The title"
    document.add_heading("Chapter", 1)
    document.add_paragraph("Before the table.")
    table = document.add_table(2, 3)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
    table.cell(0, 2).text = "c"
    table.cell(1, 0).text = "one\ntwo"
    table.cell(1, 2).add_table(1, 2).cell(0, 1).text = "nested"
    document.add_paragraph("")
    document.add_heading("Section", 2)
    document.add_paragraph("After the table.")
    return saved(document)


def test_everything_in_document_order(tmp_path: Path) -> None:
    document = load(tmp_path, sample())
    assert document.metadata == {"format": "docx", "title": "The title"}
    assert document.text.split("\n\n") == [
        "# Chapter",
        "Before the table.",
        "wide | c\none two |  | | nested",
        "## Section",
        "After the table.",
    ]


def test_headings_are_seen_by_the_markdown_chunker(tmp_path: Path) -> None:
    chunks = MarkdownChunker().chunk(load(tmp_path, sample()))
    assert [chunk.metadata["headings"] for chunk in chunks] == [["Chapter"], ["Chapter", "Section"]]


def test_an_empty_document(tmp_path: Path) -> None:
    assert load(tmp_path, saved(docx.Document())).text == ""


@pytest.mark.parametrize("data", [b"", b"text", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600, b"PK\x03\x04xxxx"])
def test_what_is_no_zip_archive(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(LoadError, match=r"letter\.docx: not a DOCX file \(no zip archive\)"):
        load(tmp_path, data)


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def test_an_archive_that_is_no_document(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"letter\.docx: not a DOCX file that can be read"):
        load(tmp_path, zipped(readme=b"hello"))


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    bomb = zipped(a=b"\x00" * 30_000_000, b=b"\x00" * 30_000_000)
    assert len(bomb) < 100_000
    with pytest.raises(LoadError, match="would unpack to 60000000 bytes, more than max_bytes=50000000"):
        load(tmp_path, bomb, max_bytes=50_000_000)


def test_entities_are_not_expanded(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("do not read me")
    source = zipfile.ZipFile(io.BytesIO(sample()))
    members = {name: source.read(name) for name in source.namelist()}
    declaration = f'<!DOCTYPE d [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'.encode()
    body = members["word/document.xml"].replace(b"Before the table.", b"Before &e; the table.")
    members["word/document.xml"] = body.replace(b"<w:document", declaration + b"<w:document", 1)
    try:
        text = load(tmp_path, zipped(**members)).text
    except LoadError:
        return
    assert "do not read me" not in text


def test_xml_that_is_well_formed_and_yet_no_document(tmp_path: Path) -> None:
    source = zipfile.ZipFile(io.BytesIO(sample()))
    members = {name: source.read(name) for name in source.namelist()}
    members["word/document.xml"] = members["word/document.xml"].replace(b'<w:pStyle w:val="Heading1"/>', b"<w:pStyle/>")
    with pytest.raises(LoadError, match="not a DOCX file that can be read: InvalidXmlError"):
        load(tmp_path, zipped(**members))


def test_damaged_files_are_read_or_refused_and_nothing_else(tmp_path: Path) -> None:
    whole = sample()
    random_source = random.Random(3)
    outcomes = set()
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(random_source.randint(1, 12)):
            damaged[random_source.randrange(len(damaged))] = random_source.randrange(256)
        try:
            load(tmp_path, bytes(damaged))
            outcomes.add("read")
        except LoadError:
            outcomes.add("refused")
    assert "refused" in outcomes


def test_a_span_over_more_columns_than_there_are_costs_nothing(tmp_path: Path) -> None:
    source = zipfile.ZipFile(io.BytesIO(sample()))
    members = {name: source.read(name) for name in source.namelist()}
    body = members["word/document.xml"]
    assert b'<w:gridSpan w:val="2"/>' in body
    members["word/document.xml"] = body.replace(b'<w:gridSpan w:val="2"/>', b'<w:gridSpan w:val="300000000"/>')
    assert "\n\nwide | c\n" in load(tmp_path, zipped(**members)).text


def test_a_cell_merged_over_many_rows_is_read_once(tmp_path: Path) -> None:
    document = docx.Document()
    table = document.add_table(2, 2)
    table.cell(0, 0).merge(table.cell(1, 0)).text = "tall"
    table.cell(0, 1).text, table.cell(1, 1).text = "first", "next"
    last = table.rows[1]._tr
    for _ in range(1500):
        last.addnext(deepcopy(last))
    lines = load(tmp_path, saved(document)).text.split("\n")
    assert lines == ["tall | first", *[" | next"] * 1501]


def test_a_style_is_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = docx.Document()
    for number in range(10):
        document.add_heading(f"H{number}", 2)
        document.add_paragraph("text")
    data = saved(document)
    looked_up = []
    original = Paragraph.style.fget

    def style(paragraph: Paragraph) -> object:
        looked_up.append(paragraph._p.style)
        return original(paragraph)

    monkeypatch.setattr(Paragraph, "style", property(style))
    assert load(tmp_path, data).text.startswith("## H0\n\ntext\n\n## H1")
    assert set(looked_up) == {"Heading2", None}
    assert len(looked_up) <= 4
