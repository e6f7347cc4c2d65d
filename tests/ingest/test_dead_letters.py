"""The list of what failed: what stands in it, what leaves it, and what it is used for."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fastrag.document import Document
from fastrag.embedding.base import Matrix
from fastrag.errors import ConfigurationError, ServiceRejectedError, ServiceTimeoutError
from fastrag.ingest import CharacterChunker, DeadLetter, ingest, read_dead_letters
from fastrag.store.memory.store import InMemoryStore
from fastrag.testing import HashEmbedder


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two good files and two that are not UTF-8."""
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.md").write_text("apples")
    (folder / "b.md").write_bytes(b"\xff")
    (folder / "sub/c.md").write_bytes(b"caf\xe9")
    (folder / "sub/d.md").write_text("dates")
    return folder


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    return tmp_path / "lists" / "failed.jsonl"


def ids(letters: Path) -> list[str | None]:
    return [letter.id for letter in read_dead_letters(letters)]


async def test_what_a_line_says(store: InMemoryStore, folder: Path, letters: Path) -> None:
    before = datetime.now(UTC) - timedelta(seconds=1)
    report = await ingest(folder, store=store, dead_letters=letters)
    found = read_dead_letters(letters)
    assert [(letter.source, letter.reason) for letter in found] == [
        (failure.source, failure.reason) for failure in report.failures
    ]
    assert [(letter.id, letter.root) for letter in found] == [("b.md", str(folder)), ("sub/c.md", str(folder))]
    assert len({letter.digest for letter in found} - {None}) == 2
    assert all(before <= datetime.fromisoformat(letter.failed_at) <= datetime.now(UTC) for letter in found)
    first = json.loads(letters.read_text().splitlines()[0])
    assert list(first) == ["source", "reason", "failed_at", "digest", "id", "root"]


async def test_what_does_not_fail_any_more_or_is_gone_leaves_the_list(
    store: InMemoryStore, folder: Path, letters: Path
) -> None:
    await ingest(folder, store=store, dead_letters=letters)
    (folder / "b.md").write_text("berries")
    (folder / "sub/c.md").unlink()
    (folder / "e.md").write_bytes(b"\xfe")
    report = await ingest(folder, store=store, dead_letters=letters)
    assert (report.added, report.failed) == (1, 1)
    assert ids(letters) == ["e.md"]
    (folder / "e.md").write_text("   ")
    await ingest(folder, store=store, dead_letters=letters)
    assert letters.read_text() == ""


async def test_letters_of_another_folder_and_of_documents_stay(
    store: InMemoryStore, folder: Path, letters: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/x.md").write_text("x")
    bad = Document("bad\ud800", "text")
    await ingest(folder, store=store, dead_letters=letters)
    await ingest([bad, Document("good", "text")], store=store, dead_letters=letters)
    await ingest(tmp_path / "other", store=store, dead_letters=letters)
    found = read_dead_letters(letters)
    assert [(letter.id, letter.root) for letter in found] == [
        ("b.md", str(folder)),
        ("sub/c.md", str(folder)),
        ("bad\ud800", ""),
    ]
    # Documents are mirrored only where that is asked for.
    await ingest([Document("good", "text")], store=store, dead_letters=letters)
    assert "bad\ud800" in ids(letters)
    await ingest([Document("good", "text")], store=store, dead_letters=letters, prune=True)
    assert ids(letters) == ["b.md", "sub/c.md"]


async def test_a_folder_that_cannot_be_listed_is_on_the_list_until_it_can(
    store: InMemoryStore, folder: Path, letters: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ingest(folder, store=store, dead_letters=letters)
    scandir = os.scandir

    def refusing(path: str) -> object:
        if path == str(folder / "sub"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refusing)
        await ingest(folder, store=store, dead_letters=letters)
        found = read_dead_letters(letters)
        # What failed in there before may fail still.
        assert {(letter.id, Path(letter.source).name) for letter in found} == {
            (None, "sub"),
            ("b.md", "b.md"),
            ("sub/c.md", "c.md"),
        }
    await ingest(folder, store=store, dead_letters=letters)
    assert ids(letters) == ["b.md", "sub/c.md"]


async def test_what_failed_before_is_tried_again_unless_it_is_to_be_skipped(
    store: InMemoryStore, folder: Path, letters: Path
) -> None:
    await ingest(folder, store=store, dead_letters=letters)
    before = letters.read_text()
    assert (await ingest(folder, store=store, dead_letters=letters)).failed == 2

    report = await ingest(folder, store=store, dead_letters=letters, failed_before="skip")
    assert (report.unchanged, report.failed) == (2, 0)
    told = "failed before and is unchanged: not utf-8 at byte 0 (invalid start byte); convert it to UTF-8"
    assert (report.skipped[0].source, report.skipped[0].reason) == (str(folder / "b.md"), told)
    assert len(report.skipped) == 2
    assert [letter.id for letter in read_dead_letters(letters)] == ["b.md", "sub/c.md"]
    assert {json.loads(line)["digest"] for line in before.splitlines()} == {
        letter.digest for letter in read_dead_letters(letters)
    }

    # One that has changed is tried, and so is every one when it is to be treated in another way.
    (folder / "b.md").write_bytes(b"ab\xff")
    report = await ingest(folder, store=store, dead_letters=letters, failed_before="skip")
    assert [failure.source for failure in report.failures] == [str(folder / "b.md")]
    report = await ingest(
        folder, store=store, dead_letters=letters, failed_before="skip", chunker=CharacterChunker(size=7)
    )
    assert report.failed == 2


async def test_skipping_removes_nothing(store: InMemoryStore, folder: Path, letters: Path) -> None:
    (folder / "b.md").write_text("berries")
    await ingest(folder, store=store, dead_letters=letters)
    (folder / "b.md").write_bytes(b"\xff")
    await ingest(folder, store=store, dead_letters=letters)
    report = await ingest(folder, store=store, dead_letters=letters, failed_before="skip")
    assert report.removed == 0
    assert [chunk.text for chunk in await store.get(["b.md#0"])] == ["berries"]
    # Nor where all that could be read is given up: that says nothing of what else was there.
    for name in ("a.md", "sub/d.md", "sub/c.md"):
        (folder / name).unlink()
    report = await ingest(folder, store=store, dead_letters=letters, failed_before="skip")
    assert (report.removed, await store.count()) == (0, 3)


async def test_only_what_failed_before_is_tried_and_nothing_removed(
    store: InMemoryStore, folder: Path, letters: Path
) -> None:
    await ingest(folder, store=store, dead_letters=letters)
    (folder / "a.md").unlink()
    (folder / "sub/d.md").write_text("Dates!")
    (folder / "sub/c.md").write_text("café")
    seen: list[tuple[int, int | None]] = []
    report = await ingest(
        folder,
        store=store,
        dead_letters=letters,
        failed_before="only",
        progress=lambda progress: seen.append((progress.done, progress.total)),
    )
    assert (report.added, report.failed, report.updated, report.unchanged, report.removed) == (1, 1, 0, 0, 0)
    assert seen == [(1, 2), (2, 2)]
    assert ids(letters) == ["b.md"]
    assert sorted([chunk.text async for chunk in store.scan()]) == ["apples", "café", "dates"]


async def test_only_with_documents_from_an_iterator(store: InMemoryStore, letters: Path) -> None:
    class Picky(HashEmbedder):
        async def embed_documents(self, texts: Sequence[str]) -> Matrix:
            if "bad" in texts:
                raise ServiceRejectedError("not this")
            return await super().embed_documents(texts)

    documents = [Document("a", "good"), Document("b", "bad"), Document("c", "good, too")]
    await ingest(documents, store=store, embedder=Picky(8), dead_letters=letters)
    assert ids(letters) == ["b"]
    embedder = HashEmbedder(8)
    options = {"store": store, "embedder": embedder, "dead_letters": letters}
    # What the embedder refused is given up, too, while it is the same embedder.
    report = await ingest(iter(documents), **options, failed_before="skip")  # type: ignore[arg-type]
    assert [skip.source for skip in report.skipped] == ["b"]
    report = await ingest(iter(documents), **options, failed_before="only")  # type: ignore[arg-type]
    assert (report.added, embedder.embedded) == (1, ["bad"])
    assert ids(letters) == []


async def test_a_run_that_breaks_off_says_what_had_failed_and_forgets_nothing(
    store: InMemoryStore, letters: Path
) -> None:
    class Breaking(HashEmbedder):
        async def embed_documents(self, texts: Sequence[str]) -> Matrix:
            raise ServiceTimeoutError("no reply")

    late = Document("late", "x", None, {"n": object()})
    await ingest([Document("a", "x"), late], store=store, dead_letters=letters)
    early = Document("early", "x", None, {"n": object()})
    with pytest.raises(ServiceTimeoutError):
        await ingest(
            [early, *[Document(f"d{number}", "x") for number in range(200)], late],
            store=store,
            embedder=Breaking(8),
            dead_letters=letters,
            batch_size=1,
            prune=True,
        )
    assert sorted(map(str, ids(letters))) == ["early", "late"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{}", "line 1 is no dead letter: .*source"),
        ('\n{"source": "a", "reason": 7, "failed_at": "x"}', "line 2 is no dead letter: .*reason"),
        ("[" * 100_000, "line 1 is no dead letter"),
        ("nonsense", "line 1 is no dead letter"),
    ],
)
async def test_a_file_of_something_else_is_refused_and_left_alone(
    store: InMemoryStore, letters: Path, content: str, told: str
) -> None:
    letters.parent.mkdir()
    letters.write_text(content)
    with pytest.raises(ConfigurationError, match=f"failed.jsonl: {told}"):
        await ingest([Document("a", "x")], store=store, dead_letters=letters)
    assert letters.read_text() == content
    assert await store.count() == 0


async def test_what_is_wrong_is_said_before_the_work(store: InMemoryStore, tmp_path: Path) -> None:
    documents = [Document("a", "x")]
    for arguments, told in (
        ({"failed_before": "never"}, "failed_before must be"),
        ({"failed_before": "skip"}, "needs dead_letters"),
        ({"failed_before": "only", "dead_letters": tmp_path / "none"}, "none: dead letters cannot be read"),
        ({"dead_letters": tmp_path}, "dead letters cannot be read"),
    ):
        with pytest.raises(ConfigurationError, match=told):
            await ingest(documents, store=store, **arguments)  # type: ignore[arg-type]
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="dead letters cannot be"):
        await ingest(documents, store=store, dead_letters=tmp_path / "file" / "failed.jsonl")
    assert await store.count() == 0


def test_a_letter_of_a_folder_has_no_id(tmp_path: Path) -> None:
    (tmp_path / "x").write_text('{"source": "/f", "reason": "r", "failed_at": "2026-01-01T00:00:00+00:00"}\n')
    assert read_dead_letters(tmp_path / "x") == [DeadLetter("/f", "r", "2026-01-01T00:00:00+00:00")]
