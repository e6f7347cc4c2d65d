"""What holds for every format."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from fastrag.errors import ConfigurationError, LoadError
from fastrag.ingest import can_load, load_file
from fastrag.ingest.loaders import formats


def test_the_document_names_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a b#ü.md"
    path.write_text("# Hi")
    document = load_file(path)

    assert document.id == "a b#ü.md"
    assert document.uri == path.as_uri()
    assert document.metadata == {"format": "markdown"}
    assert load_file(path, id="mine").id == "mine"
    monkeypatch.chdir(tmp_path)
    assert load_file("a b#ü.md") == document


def test_extensions_decide_in_any_case() -> None:
    assert can_load("A.PDF")
    assert can_load(Path("x/y.Docx"))
    assert not can_load("x.pdf.bak")
    assert not can_load(".md")
    assert not can_load("README")


def test_an_unknown_extension_is_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "really.text.exe"
    path.write_text("text")
    with pytest.raises(LoadError, match=r"'\.exe' is none that can be loaded \(\.txt, "):
        load_file(path)


@pytest.mark.parametrize("name", ["a.txt", "a.html", "a.pdf", "a.docx"])
def test_files_larger_than_the_limit_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"x" * 11)
    with pytest.raises(LoadError, match="larger than max_bytes=10"):
        load_file(path, max_bytes=10)


def test_a_file_as_large_as_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * 10)
    assert load_file(path, max_bytes=10).text == "x" * 10


@pytest.mark.parametrize("max_bytes", [0, -1, 1.5, True])
def test_limits_that_make_no_sense_are_refused(tmp_path: Path, max_bytes: int) -> None:
    with pytest.raises(ConfigurationError, match="max_bytes"):
        load_file(tmp_path / "a.txt", max_bytes=max_bytes)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"gone\.txt: cannot be read: No such file"):
        load_file(tmp_path / "gone.txt")


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(LoadError, match=r"folder\.txt: cannot be read"):
        load_file(tmp_path / "folder.txt")


def test_a_name_that_no_file_can_have() -> None:
    with pytest.raises(LoadError, match="null byte"):
        load_file("a\x00.txt")


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")
def test_a_link_that_leads_to_itself(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to("a.txt")
    with pytest.raises(LoadError, match="symbolic links"):
        load_file(tmp_path / "a.txt")


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    with pytest.raises(LoadError, match="not a regular file"):
        load_file(tmp_path / "a.txt")


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")
def test_a_socket_and_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket is limited to some 100 bytes
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind("a.txt")
        with pytest.raises(LoadError, match=r"a\.txt"):
            load_file("a.txt")
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    with pytest.raises(LoadError, match="not a regular file"):
        load_file("zero.txt")


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("secret")
    path.chmod(0)
    with pytest.raises(LoadError, match="Permission denied"):
        load_file(path)


def test_a_format_is_named_with_the_release_of_its_library() -> None:
    from importlib.metadata import version

    assert formats.format_of(Path("a.md")).id == "markdown"
    assert formats.format_of(Path("a.pdf")).id == f"pdf:pypdf={version('pypdf')}"
    assert formats.Format("x", formats.parse_text, "no-such-package-at-all").id == "x:no-such-package-at-all"
