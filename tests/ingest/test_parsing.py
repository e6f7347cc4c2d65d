"""Parsing in processes: the same Documents and errors, whoever crashes, and nothing left over."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import docx
import pytest
from reportlab.pdfgen.canvas import Canvas

from fastrag.errors import LoadError, MissingDependencyError
from fastrag.ingest import ingest, parsing
from fastrag.ingest.loaders.formats import format_of, parse_file
from fastrag.store.memory.store import InMemoryStore

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs signals and named pipes")


def pdf(path: Path, *pages: str) -> Path:
    canvas = Canvas(str(path))
    for page in pages:
        canvas.drawString(72, 700, page)
        canvas.showPage()
    canvas.save()
    return path


def word(path: Path, text: str) -> Path:
    document = docx.Document()
    document.add_paragraph(text)
    document.save(str(path))
    return path


def parse(parser: parsing.Parse, path: Path) -> object:
    return parser(path, path.read_bytes(), format_of(path), id=path.name, max_bytes=10_000_000)


def told(parser: parsing.Parse, path: Path) -> object:
    """What the parser gives, or raises."""
    try:
        return parse(parser, path)
    except LoadError as error:
        return str(error)


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in place of the parser process: it kills itself over "crash", and never ends over "hang"."""
    program = tmp_path / "parser.py"
    program.write_text(
        "import os, sys, time\n"
        "from fastrag.ingest import parsing\n"
        "real = parsing.parse_file\n"
        "def parse(path, data, *arguments, **options):\n"
        "    if data == b'crash':\n"
        "        os.abort()\n"
        "    if data == b'hang':\n"
        f"        open({str(tmp_path / 'hangs')!r}, 'w').close()\n"
        "        time.sleep(10_000)\n"
        "    return real(path, data, *arguments, **options)\n"
        "parsing.parse_file = parse\n"
        "parsing._serve(sys.stdin.buffer, sys.stdout.buffer)\n"
    )
    monkeypatch.setattr(parsing, "_COMMAND", [sys.executable, str(program)])
    return program


def test_the_same_documents_and_errors_as_without_processes(tmp_path: Path) -> None:
    files = [
        pdf(tmp_path / "a.pdf", "Ähren sind gelb.", "Seite 2"),
        word(tmp_path / "b.docx", "Pears \u2028 and 🍐"),
        tmp_path / "broken.pdf",
        tmp_path / "broken.docx",
        tmp_path / "c.txt",
    ]
    files[2].write_bytes(b"%PDF-1.4")
    files[3].write_bytes(b"PK")
    files[4].write_text("plain")
    with parsing.parsing(2) as parser:
        assert parser is not parse_file
        for path in files:
            assert told(parser, path) == told(parse_file, path)
    with parsing.parsing(1) as parser:
        assert parser is parse_file


def test_what_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pypdf.py").write_text("raise ImportError('hidden')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "pypdf", raising=False)
    with parsing.parsing(2) as parser, pytest.raises(MissingDependencyError, match=r"fastrag\[loaders\]"):
        parse(parser, pdf(tmp_path / "a.pdf", "x"))


def test_the_current_folder_is_no_place_of_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pypdf.py").write_text("raise SystemExit('run by whoever wrote the documents')")
    path = pdf(tmp_path / "a.pdf", "Apples.")
    with parsing.parsing(2) as parser:
        assert told(parser, path) == told(parse_file, path)


@posix
def test_a_file_that_crashes_its_parser_fails_and_the_next_one_does_not(tmp_path: Path, stand_in: Path) -> None:
    good, bad = word(tmp_path / "good.docx", "x"), tmp_path / "bad.docx"
    bad.write_bytes(b"crash")
    with parsing.parsing(2) as parser:
        assert told(parser, good) == told(parse_file, good)
        assert told(parser, bad) == f"{bad}: cannot be read: its parser crashed (exit code -6)"
        assert told(parser, good) == told(parse_file, good)


def test_a_process_that_ended_while_it_was_idle_is_nobodys_fault(tmp_path: Path) -> None:
    path = word(tmp_path / "a.docx", "x")
    with parsing.parsing(2) as parser:
        first = parse(parser, path)
        (idle,) = parser.__self__._idle  # type: ignore[attr-defined]
        idle.kill()
        assert parse(parser, path) == first


@posix
def test_the_end_ends_what_is_being_parsed(tmp_path: Path, stand_in: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(b"hang")
    os.mkfifo(tmp_path / "hangs")
    answers = []
    with parsing.parsing(2) as parser:
        thread = threading.Thread(target=lambda: answers.append(told(parser, path)))
        thread.start()
        # Opened by the process once it hangs.
        (tmp_path / "hangs").read_bytes()
        (process,) = parser.__self__._busy  # type: ignore[attr-defined]
    thread.join(60)
    assert answers == ["the ingest has ended"]
    assert process._process.poll() is not None


async def test_an_ingest_of_many_with_processes_is_as_one_without(tmp_path: Path) -> None:
    for number in range(6):
        pdf(tmp_path / f"{number}.pdf", f"Page of {number}.")
        word(tmp_path / f"{number}.docx", f"Text of {number}.")
    (tmp_path / "7.pdf").write_bytes(b"%PDF")
    stores = []
    for workers in (1, 3):
        store = InMemoryStore()
        report = await ingest(tmp_path, store=store, workers=workers)
        assert (report.added, report.failed) == (12, 1)
        stores.append([chunk async for chunk in store.scan()])
    assert stores[0] == stores[1]
