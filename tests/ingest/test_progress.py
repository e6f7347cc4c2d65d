from __future__ import annotations

import pytest

from fastrag.document import Document
from fastrag.ingest import IngestProgress, ingest
from fastrag.ingest.progress import shown_progress
from fastrag.store.memory.store import InMemoryStore

DOCUMENTS = [Document(f"d{number}", "Some text.") for number in range(5)]


@pytest.mark.parametrize("progress", [None, False])
async def test_silence_is_the_default(progress: bool | None, capfd: pytest.CaptureFixture[str]) -> None:
    await ingest(DOCUMENTS, store=InMemoryStore(), progress=progress)
    assert capfd.readouterr() == ("", "")


async def test_lines_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    await ingest(DOCUMENTS, store=InMemoryStore(), progress=True)
    assert capsys.readouterr() == ("", "ingest: 5/5 documents, 5 chunks\n")


async def test_a_bar_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for variable in ("CI", "NO_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    await ingest(DOCUMENTS, store=InMemoryStore(), progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "5/5" in err
    assert "━" in err


async def test_colours_make_no_terminal_of_a_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("CI", raising=False)
    await ingest(DOCUMENTS, store=InMemoryStore(), progress=True)
    assert "\x1b[?25l" not in capsys.readouterr().err


def test_lines_come_at_intervals_and_at_the_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([100.0, 125.0, 131.0, 132.0, 133.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    with shown_progress(4) as on_progress:
        for done in (1, 2, 3, 4):
            on_progress(IngestProgress(done, 4, 10 * done, "a[b].md"))
    assert capsys.readouterr().err == "ingest: 2/4 documents, 20 chunks\ningest: 4/4 documents, 40 chunks\n"


def test_lines_of_an_unknown_total(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 140.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    with shown_progress(None) as on_progress:
        on_progress(IngestProgress(7, None, 9, "a"))
    assert capsys.readouterr().err == "ingest: 7 documents, 9 chunks\n"
