from __future__ import annotations

from pathlib import Path

import pytest

from fastrag.document import Document
from fastrag.errors import LoadError
from fastrag.ingest import load_file


def load(folder: Path, html: str | bytes) -> Document:
    path = folder / "page.html"
    path.write_bytes(html.encode() if isinstance(html, str) else html)
    return load_file(path)


def test_what_a_reader_sees(tmp_path: Path) -> None:
    document = load(
        tmp_path,
        """<!doctype html><html><head><title> The
        title &amp; more</title><style>p {color: red}</style><script>var hidden = 1</script></head>
        <body><h1>He<b>ll</b>o</h1><p>One
          line.<br>Next&nbsp;line.</p><!-- comment --><template>not shown</template><noscript>nor this</noscript>
        <p hidden>nor that</p><ul><li>first<li>second</ul><table><tr><td>1</td><td>2</td></tr></table>
        <pre>a\n  b</pre></body></html>""",
    )
    assert document.metadata == {"format": "html", "title": "The title & more"}
    lines = [line.strip() for line in document.text.splitlines() if line.strip()]
    assert lines[:3] == ["Hello", "One line.", "Next\xa0line."]
    assert [line.lstrip("•* ") for line in lines[3:5]] == ["first", "second"]
    assert lines[5].split() == ["1", "2"]
    assert lines[6:] == ["a", "b"]
    assert "  b" in document.text


def test_no_title_no_key(tmp_path: Path) -> None:
    assert load(tmp_path, "<p>text").metadata == {"format": "html"}
    assert load(tmp_path, "<title> </title><p>text").metadata == {"format": "html"}


@pytest.mark.parametrize(
    ("declaration", "encoding"),
    [
        ('<meta charset="windows-1251">', "cp1251"),
        ("<META CHARSET=koi8-r>", "koi8-r"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">', "koi8-r"),
        ('<meta charset="utf-8">', "utf-8"),
        ("", "utf-8"),
        ("", "utf-8-sig"),
        ("", "utf-16"),
        ('<meta charset="koi8-r">', "utf-8-sig"),  # the byte order mark wins
        ('<meta charset="utf-16">', "utf-8"),  # readable so far, so it cannot be
        ('<meta charset="base64">', "utf-8"),  # no encoding of text
        ('<meta charset="nonsense">', "utf-8"),
    ],
)
def test_encodings(tmp_path: Path, declaration: str, encoding: str) -> None:
    html = f"<html><head>{declaration}<title>Привет</title></head><body><p>мир</p></body></html>"
    document = load(tmp_path, html.encode(encoding))
    assert (document.metadata["title"], document.text) == ("Привет", "мир")


def test_iso_8859_1_means_windows_1252_as_on_the_web(tmp_path: Path) -> None:
    assert load(tmp_path, b'<meta charset="iso-8859-1"><p>\x80 \x93x\x94').text == "€ “x”"


def test_an_undeclared_encoding_is_not_guessed(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="not utf-8 at byte 6"):
        load(tmp_path, "<p>café au lait".encode("latin-1"))


def test_a_wrong_declaration_is_told(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="not shift_jis at byte 25"):
        load(tmp_path, b"<meta charset=shift_jis> \xff")


@pytest.mark.parametrize("html", ["", "   ", "<", "<p", "<" * 1000, "</p></div>", "<svg><style>x", "<!--", "plain"])
def test_broken_pages_give_what_text_they_have(tmp_path: Path, html: str) -> None:
    assert "plain" in load(tmp_path, html).text or "plain" not in html


def test_deep_nesting_is_no_trouble(tmp_path: Path) -> None:
    assert load(tmp_path, "<div>" * 100_000 + "deep").text == "deep"


@pytest.mark.parametrize(
    ("html", "told"),
    [
        ("<p " + " ".join(f"a{n}=1" for n in range(300_000)) + ">x", "20000 attributes"),
        ("<P " + "a='1'" * 3 + " b" * 300_000, "20000 attributes"),
        ("<select>" + "<option>x" * 100_000, "20000 <option>"),
        ("<select>" + "<OPTION>x</OPTION>" * 100_000, "20000 <option>"),
    ],
)
def test_what_would_take_the_parser_minutes_is_refused(tmp_path: Path, html: str, told: str) -> None:
    with pytest.raises(LoadError, match=told):
        load(tmp_path, html)


def test_a_large_picture_in_the_page_is_no_trouble(tmp_path: Path) -> None:
    picture = "ab/+" * 300_000
    assert "text" in load(tmp_path, f'<img alt="photo" src="data:image/png;base64,{picture}"><p>text').text
