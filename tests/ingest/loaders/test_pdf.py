from __future__ import annotations

import io
import logging
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from fastrag.errors import LoadError
from fastrag.ingest import CharacterChunker, load_file


def pdf(*pages: str, title: str | None = None, password: str | None = None) -> bytes:
    file = io.BytesIO()
    encryption = None if password is None else StandardEncryption(password, ownerPassword="owner", strength=128)
    canvas = Canvas(file, encrypt=encryption, pageCompression=0)
    if title is not None:
        canvas.setTitle(title)
    for page in pages:
        canvas.drawString(72, 700, page)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[bytes], Path]:
    def to_file(data: bytes) -> Path:
        path = tmp_path / "paper.pdf"
        path.write_bytes(data)
        return path

    return to_file


def test_pages_and_where_they_start(write: Callable[[bytes], Path]) -> None:
    document = load_file(write(pdf("First page.", "", "Third page.", title="A title")))
    starts = document.metadata["page_starts"]

    assert document.metadata == {"format": "pdf", "title": "A title", "page_starts": starts}
    assert len(starts) == 3
    assert document.text[starts[0] :].startswith("First page.")
    assert document.text[starts[2] :].strip() == "Third page."
    assert document.text[starts[1] : starts[2]].strip() == ""


def test_chunks_know_their_page(write: Callable[[bytes], Path]) -> None:
    document = load_file(write(pdf("First page.", "", "Third page.")))
    chunks = CharacterChunker(size=14).chunk(document)
    assert [(chunk.text, chunk.metadata["page"]) for chunk in chunks] == [("First page.", 1), ("Third page.", 3)]


def test_a_password_that_is_empty_is_no_obstacle(write: Callable[[bytes], Path]) -> None:
    assert "Open." in load_file(write(pdf("Open.", password=""))).text


def test_a_password_is_told(write: Callable[[bytes], Path]) -> None:
    with pytest.raises(LoadError, match=r"paper\.pdf: encrypted with a password"):
        load_file(write(pdf("Secret.", password="secret")))


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7", b"no pdf at all", pdf("x")[:200], b"\x00" * 1000])
def test_what_is_no_pdf(write: Callable[[bytes], Path], data: bytes) -> None:
    with pytest.raises(LoadError, match=r"paper\.pdf: not a PDF that can be read"):
        load_file(write(data))


def test_damaged_files_are_read_or_refused_and_nothing_else(write: Callable[[bytes], Path]) -> None:
    whole = pdf("First page of a paper.", "And the second one.", title="Title")
    random_source = random.Random(7)
    outcomes = set()
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(random_source.randint(1, 12)):
            damaged[random_source.randrange(len(damaged))] = random_source.randrange(256)
        try:
            load_file(write(bytes(damaged)))
            outcomes.add("read")
        except LoadError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def test_the_librarys_warnings_are_not_passed_on(
    write: Callable[[bytes], Path], capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    logging.getLogger("pypdf").setLevel(logging.NOTSET)
    broken_table = pdf("Still there.").replace(b"startxref\n", b"startxref\n9")
    assert "Still there." in load_file(write(broken_table)).text
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


def test_who_asks_for_the_librarys_warnings_gets_them(
    write: Callable[[bytes], Path], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="pypdf"):
        load_file(write(pdf("Still there.").replace(b"startxref\n", b"startxref\n9")))
    assert caplog.records


def test_more_text_than_the_limit_is_refused(write: Callable[[bytes], Path]) -> None:
    import pypdf

    one_page = pypdf.PdfReader(io.BytesIO(pdf("x" * 1000)))
    writer = pypdf.PdfWriter()
    for _ in range(50):
        writer.add_page(one_page.pages[0])
    writer.compress_identical_objects()
    file = io.BytesIO()
    writer.write(file)
    path = write(file.getvalue())
    limit = path.stat().st_size + 1

    assert limit < 50_000
    with pytest.raises(LoadError, match=f"its text is longer than max_bytes={limit}"):
        load_file(path, max_bytes=limit)
