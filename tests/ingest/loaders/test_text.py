from __future__ import annotations

from pathlib import Path

import pytest

from fastrag.errors import LoadError
from fastrag.ingest import load_file

TEXT = "Grüße,\r\n😀 שלום\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("name", ["a.txt", "a.TEXT", "a.rst", "a.md", "a.markdown"])
def test_text_is_as_it_is_in_every_encoding_with_a_mark(tmp_path: Path, encoding: str, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(TEXT.encode(encoding))
    assert load_file(path).text == TEXT


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_marks_of_both_byte_orders(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(("\ufeff" + TEXT).encode(encoding))
    assert load_file(path).text == TEXT


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"caf\xe9 au lait", "not utf-8 at byte 3"),
        (b"\xef\xbb\xbfok \xff", "not utf-8 at byte 6"),
        (b"\xff\xfea\x00b", "not utf-16-le at byte 4"),
        (b"\xff\xfe\x00\xd8a\x00", "not utf-16-le at byte 2"),
        (b"lone surrogate \xed\xa0\x80", "not utf-8 at byte 15"),
    ],
)
def test_what_cannot_be_decoded_is_told_with_its_place(tmp_path: Path, data: bytes, told: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    with pytest.raises(LoadError, match=told) as caught:
        load_file(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html"])
def test_what_has_a_nul_is_no_text(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"abc\x00\x01\x02")
    with pytest.raises(LoadError, match="looks binary: its character 3 is NUL"):
        load_file(path)
