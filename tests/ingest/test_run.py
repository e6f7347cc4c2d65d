"""`ingest` on the in-memory store: what is written, left alone, replaced, removed, and what is refused."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from fastrag.document import Document
from fastrag.embedding.base import Matrix
from fastrag.errors import ConfigurationError, EmbedderMismatchError, ModelError, ServiceTimeoutError, StoreError
from fastrag.ingest import CharacterChunker, IngestProgress, IngestReport, SentenceChunker, ingest, pipeline
from fastrag.ingest.base import Span
from fastrag.store.filters import Filter
from fastrag.store.memory.store import InMemoryStore
from fastrag.testing import HashEmbedder


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder(16)


async def held(store: InMemoryStore) -> dict[str, str]:
    return {chunk.id: chunk.text async for chunk in store.scan()}


def counts(report: IngestReport) -> tuple[int, int, int, int]:
    return report.added, report.updated, report.unchanged, report.removed


def texts(**contents: str) -> list[Document]:
    return [Document(id, text) for id, text in contents.items()]


def write(folder: Path, **contents: str) -> Path:
    for name, content in contents.items():
        path = folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder


async def test_what_is_stored(store: InMemoryStore, embedder: HashEmbedder) -> None:
    document = Document("a", "One two. Three four.", "https://a.example/", {"lang": "en"})
    report = await ingest([document], store=store, embedder=embedder, chunker=CharacterChunker(size=12))

    assert counts(report) == (1, 0, 0, 0)
    assert report.chunks_written == 2
    assert embedder.embedded == ["One two.", "Three four."]
    first, second = await store.get(["a#0", "a#1"])
    assert (first.text, first.uri) == ("One two.", "https://a.example/")
    assert {key: first.metadata[key] for key in ("lang", "parent_id", "start", "end")} == {
        "lang": "en",
        "parent_id": "a",
        "start": 0,
        "end": 8,
    }
    assert first.metadata["chunk_count"] == second.metadata["chunk_count"] == 2
    (found,) = await store.search(embedding=await embedder.embed_query("three"), k=1)
    assert found.id == "a#1"
    assert document == Document("a", "One two. Three four.", "https://a.example/", {"lang": "en"})


async def test_a_second_time_embeds_nothing(store: InMemoryStore, embedder: HashEmbedder) -> None:
    documents = texts(a="apples", b="pears")
    await ingest(documents, store=store, embedder=embedder)
    before = await held(store)
    report = await ingest(documents, store=store, embedder=embedder)

    assert counts(report) == (0, 0, 2, 0)
    assert report.chunks_written == 0
    assert len(embedder.embedded) == 2
    assert await held(store) == before


async def test_changed_documents_are_replaced_and_their_old_chunks_go(
    store: InMemoryStore, embedder: HashEmbedder
) -> None:
    chunker = CharacterChunker(size=6)
    await ingest(texts(a="one\n\ntwo\n\nthree", b="same"), store=store, embedder=embedder, chunker=chunker)
    report = await ingest(texts(a="uno", b="same"), store=store, embedder=embedder, chunker=chunker)

    assert counts(report) == (0, 1, 1, 0)
    assert await held(store) == {"a#0": "uno", "b#0": "same"}
    assert embedder.embedded[4:] == ["uno"]


@pytest.mark.parametrize(
    "changed",
    [
        Document("a", "Text.", "file:///x", {"n": 2}),
        Document("a", "Text.", "file:///y", {"n": 1}),
        Document("a", "Text!", "file:///x", {"n": 1}),
    ],
)
async def test_text_metadata_and_uri_count_as_changes(store: InMemoryStore, changed: Document) -> None:
    await ingest([Document("a", "Text.", "file:///x", {"n": 1})], store=store)
    assert counts(await ingest([changed], store=store)) == (0, 1, 0, 0)
    (chunk,) = await store.get(["a#0"])
    assert (chunk.text, chunk.uri, chunk.metadata["n"]) == (changed.text, changed.uri, changed.metadata["n"])


async def test_another_chunker_counts_as_a_change(store: InMemoryStore) -> None:
    await ingest(texts(a="One. Two."), store=store, chunker=CharacterChunker(size=5))
    report = await ingest(texts(a="One. Two."), store=store, chunker=SentenceChunker(size=50))
    assert counts(report) == (0, 1, 0, 0)
    assert await held(store) == {"a#0": "One. Two."}


async def test_documents_left_out_stay_unless_pruned(store: InMemoryStore) -> None:
    await ingest(texts(a="x", b="y"), store=store)
    assert counts(await ingest(texts(a="x"), store=store)) == (0, 0, 1, 0)
    assert counts(await ingest(texts(a="x"), store=store, prune=True)) == (0, 0, 1, 1)
    assert await held(store) == {"a#0": "x"}


async def test_what_came_into_the_store_by_other_ways_is_never_touched(store: InMemoryStore, tmp_path: Path) -> None:
    mine = Document("mine", "z", None, {"parent_id": "a", "source_digest": 7, "chunk_count": "many"})
    await store.upsert([mine])
    await ingest(texts(a="x"), store=store, prune=True)
    await ingest(write(tmp_path, b="y"), store=store)
    assert await store.get(["mine"]) == [mine]


async def test_pruning_documents_leaves_files_alone_and_the_other_way_round(
    store: InMemoryStore, tmp_path: Path
) -> None:
    await ingest(write(tmp_path, f="file"), store=store)
    await ingest(texts(a="x"), store=store, prune=True)
    await ingest(tmp_path, store=store, prune=True)
    assert await held(store) == {"f.md#0": "file", "a#0": "x"}


async def test_a_folder_is_mirrored(store: InMemoryStore, embedder: HashEmbedder, tmp_path: Path) -> None:
    folder = write(tmp_path / "docs", a="apples", b="pears", **{"sub/c": "plums"})
    assert counts(await ingest(folder, store=store, embedder=embedder)) == (3, 0, 0, 0)

    (folder / "a.md").unlink()
    write(folder, b="Pears!", d="dates")
    report = await ingest(str(folder), store=store, embedder=embedder)

    assert counts(report) == (1, 1, 1, 1)
    assert await held(store) == {"b.md#0": "Pears!", "d.md#0": "dates", "sub/c.md#0": "plums"}
    assert embedder.embedded == ["apples", "pears", "plums", "Pears!", "dates"]
    (chunk,) = await store.get(["sub/c.md#0"])
    assert chunk.uri == (folder / "sub/c.md").as_uri()
    assert chunk.metadata["format"] == "markdown"


async def test_one_folder_does_not_remove_what_came_from_another(store: InMemoryStore, tmp_path: Path) -> None:
    await ingest(write(tmp_path / "one", a="x"), store=store)
    await ingest(write(tmp_path / "two", b="y"), store=store)
    await ingest(write(tmp_path / "one" / "inner", c="z") / "c.md", store=store)
    assert await held(store) == {"a.md#0": "x", "b.md#0": "y", "c.md#0": "z"}


async def test_a_single_file_belongs_to_its_folder(store: InMemoryStore, tmp_path: Path) -> None:
    write(tmp_path, a="x", b="y")
    await ingest(tmp_path / "a.md", store=store)
    assert counts(await ingest(tmp_path, store=store)) == (1, 0, 1, 0)
    assert counts(await ingest(tmp_path / "a.md", store=store)) == (0, 0, 1, 0)
    (tmp_path / "a.md").unlink()
    assert counts(await ingest(tmp_path, store=store)) == (0, 0, 1, 1)


async def test_touching_a_file_changes_nothing(store: InMemoryStore, tmp_path: Path) -> None:
    write(tmp_path, a="x")
    await ingest(tmp_path, store=store)
    os.utime(tmp_path / "a.md", (1, 1))
    assert counts(await ingest(tmp_path, store=store)) == (0, 0, 1, 0)


async def test_two_origins_of_one_id_are_refused_before_anything_is_written(
    store: InMemoryStore, tmp_path: Path
) -> None:
    await ingest(write(tmp_path / "one", a="x"), store=store)
    write(tmp_path / "two", **{"0": "first", "a": "other"})
    with pytest.raises(ConfigurationError, match=r"two/a\.md has the id 'a\.md'.*the file .*one/a\.md"):
        await ingest(tmp_path / "two", store=store)
    with pytest.raises(ConfigurationError, match=r"a file in .*one"):
        await ingest([Document("0", "first"), Document("a.md", "other")], store=store)
    assert await held(store) == {"a.md#0": "x"}

    await ingest(texts(**{"b.md": "y"}), store=store)
    with pytest.raises(ConfigurationError, match=r"b\.md has the id .*a Document that was ingested as such"):
        await ingest(write(tmp_path / "three", b="z"), store=store)
    with pytest.raises(ConfigurationError, match="a file in"):
        await ingest(iter([Document("a.md", "other")]), store=store)


async def test_a_folder_that_was_moved_is_taken_over(store: InMemoryStore, tmp_path: Path) -> None:
    write(tmp_path / "old", a="x")
    await ingest(tmp_path / "old", store=store)
    (tmp_path / "old").rename(tmp_path / "new")
    assert counts(await ingest(tmp_path / "new", store=store)) == (0, 1, 0, 0)
    (chunk,) = await store.get(["a.md#0"])
    assert chunk.metadata["source_root"] == str(tmp_path / "new")
    assert await store.count() == 1


async def test_a_file_that_fails_now_keeps_its_old_chunks(store: InMemoryStore, tmp_path: Path) -> None:
    write(tmp_path, a="apples", b="pears")
    await ingest(tmp_path, store=store)
    (tmp_path / "a.md").write_bytes(b"caf\xe9")
    report = await ingest(tmp_path, store=store)

    assert counts(report) == (0, 0, 1, 0)
    assert report.failed == 1
    assert report.failures[0].source == str(tmp_path / "a.md")
    assert "not utf-8 at byte 3" in report.failures[0].reason
    assert await held(store) == {"a.md#0": "apples", "b.md#0": "pears"}


async def test_a_folder_in_which_everything_fails_removes_nothing(store: InMemoryStore, tmp_path: Path) -> None:
    write(tmp_path, a="apples", b="pears")
    await ingest(tmp_path, store=store)
    (tmp_path / "a.md").write_bytes(b"\xff")
    (tmp_path / "b.md").unlink()
    report = await ingest(tmp_path, store=store)

    assert counts(report) == (0, 0, 0, 0)
    assert report.failed == 1
    assert len(await held(store)) == 2


async def test_a_folder_that_is_empty_now_takes_its_documents_along(store: InMemoryStore, tmp_path: Path) -> None:
    await ingest([*texts(d="plums")], store=store)
    write(tmp_path / "one", a="apples")
    await ingest(tmp_path / "one", store=store)
    (tmp_path / "one/a.md").unlink()
    assert counts(await ingest(tmp_path / "one", store=store)) == (0, 0, 0, 1)
    assert await held(store) == {"d#0": "plums"}


async def test_a_folder_of_which_nothing_is_stored_must_not_be_empty(store: InMemoryStore, tmp_path: Path) -> None:
    await ingest(write(tmp_path / "one", a="apples"), store=store)
    (tmp_path / "two").mkdir()
    with pytest.raises(ConfigurationError, match=r"no documents found in .*two"):
        await ingest(tmp_path / "two", store=store)
    (tmp_path / "one/a.md").unlink()
    (tmp_path / "one").rmdir()
    with pytest.raises(ConfigurationError, match="no such file or folder"):
        await ingest(tmp_path / "one", store=store)
    assert await held(store) == {"a.md#0": "apples"}


async def test_what_was_deleted_while_its_folder_was_moved_is_removed(store: InMemoryStore, tmp_path: Path) -> None:
    await ingest(write(tmp_path / "old", a="apples", b="pears", c="plums"), store=store)
    await ingest(write(tmp_path / "other", x="nuts"), store=store)
    (tmp_path / "old").rename(tmp_path / "new")
    (tmp_path / "new/b.md").unlink()
    (tmp_path / "new/c.md").write_bytes(b"\xff")
    report = await ingest(tmp_path / "new", store=store)
    assert counts(report) == (0, 1, 0, 1)
    assert report.failures[0].reason == "not utf-8 at byte 0 (invalid start byte); convert it to UTF-8"
    assert await held(store) == {"a.md#0": "apples", "c.md#0": "plums", "x.md#0": "nuts"}


async def test_a_folder_that_is_still_there_is_not_taken_for_one_that_was_moved(
    store: InMemoryStore, tmp_path: Path
) -> None:
    await ingest(write(tmp_path / "old", a="apples", b="pears"), store=store)
    (tmp_path / "new").mkdir()
    (tmp_path / "old/a.md").rename(tmp_path / "new/a.md")
    assert counts(await ingest(tmp_path / "new", store=store)) == (0, 1, 0, 0)
    assert await held(store) == {"a.md#0": "apples", "b.md#0": "pears"}


async def test_what_lies_in_a_folder_that_cannot_be_listed_stays(
    store: InMemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, a="apples", **{"sub/b": "pears"})
    await ingest(tmp_path, store=store)
    scandir = os.scandir

    def refusing(path: str) -> object:
        if path == str(tmp_path / "sub"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    report = await ingest(tmp_path, store=store)
    assert counts(report) == (0, 0, 1, 0)
    assert report.failures[0].reason == "cannot be listed: Permission denied"
    assert len(await held(store)) == 2


async def test_a_text_with_nothing_in_it_is_skipped_and_takes_its_old_chunks_along(store: InMemoryStore) -> None:
    await ingest(texts(a="apples", b="pears"), store=store)
    report = await ingest(texts(a=" \n", b="pears"), store=store)
    assert counts(report) == (0, 0, 1, 1)
    assert [(skip.source, skip.reason) for skip in report.skipped] == [("a", "no text in it")]
    assert await held(store) == {"b#0": "pears"}


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (Document("bad", "half \ud800 pair"), "lone surrogate"),
        (Document("bad", "text", None, {"when": object()}), "JSON-like"),
        (Document("bad", "text", None, {"score": float("nan")}), "finite"),
        (Document("bad", 7), "must be a text"),  # type: ignore[arg-type]
    ],
)
async def test_a_document_no_store_takes_fails_alone(
    store: InMemoryStore, embedder: HashEmbedder, bad: Document, told: str
) -> None:
    report = await ingest([*texts(a="x"), bad, *texts(c="z")], store=store, embedder=embedder)
    assert counts(report) == (2, 0, 0, 0)
    assert [failure.source for failure in report.failures] == ["bad"]
    assert told in report.failures[0].reason
    assert await held(store) == {"a#0": "x", "c#0": "z"}


class PanicException(BaseException):
    """Stands in for the panic of a library written in Rust."""


class PanickingChunker(CharacterChunker):
    def spans(self, text: str) -> Iterable[Span]:
        if "bad" in text:
            raise PanicException("index out of bounds")
        return super().spans(text)


async def test_a_document_over_which_the_chunker_panics_fails_alone(store: InMemoryStore) -> None:
    report = await ingest(texts(a="good", b="bad", c="good"), store=store, chunker=PanickingChunker())
    assert await held(store) == {"a#0": "good", "c#0": "good"}
    [failure] = report.failures
    assert (failure.source, "index out of bounds" in failure.reason) == ("b", True)


async def test_a_missing_library_fails_its_files_only(
    store: InMemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, a="x")
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.7")
    monkeypatch.setitem(__import__("sys").modules, "pypdf", None)
    report = await ingest(tmp_path, store=store)
    assert report.added == 1
    assert "pip install 'fastrag[loaders]'" in report.failures[0].reason


async def test_large_files_fail(store: InMemoryStore, tmp_path: Path) -> None:
    write(tmp_path, a="x", b="y" * 50)
    report = await ingest(tmp_path, store=store, max_bytes=10)
    assert (report.added, report.failures[0].source) == (1, str(tmp_path / "b.md"))


class Batches(HashEmbedder):
    """Remembers how many texts came at once; fails at the batch that holds ``poison``."""

    def __init__(self, poison: str = "") -> None:
        super().__init__(16)
        self.poison = poison
        self.sizes: list[int] = []

    async def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self.sizes.append(len(texts))
        if self.poison in texts:
            raise ServiceTimeoutError("no reply within 3 s")
        return await super().embed_documents(texts)


async def test_batches_are_bounded_and_filled_across_documents(store: InMemoryStore) -> None:
    embedder = Batches()
    documents = texts(a="1\n\n2\n\n3", b="4", c="5\n\n6\n\n7")
    report = await ingest(documents, store=store, embedder=embedder, chunker=CharacterChunker(size=1), batch_size=3)
    assert embedder.sizes == [3, 3, 1]
    assert report.chunks_written == await store.count() == 7


async def test_a_failing_embedder_stops_the_run_and_the_next_one_goes_on(store: InMemoryStore) -> None:
    documents = [Document(f"d{number}", f"text {number}") for number in range(8)]
    with pytest.raises(ServiceTimeoutError, match="no reply within 3 s"):
        await ingest(documents, store=store, embedder=Batches("text 5"), batch_size=2)
    assert sorted(await held(store)) == ["d0#0", "d1#0", "d2#0", "d3#0"]

    embedder = Batches()
    assert counts(await ingest(documents, store=store, embedder=embedder, batch_size=2)) == (4, 0, 4, 0)
    assert embedder.embedded == ["text 4", "text 5", "text 6", "text 7"]


class Odd(HashEmbedder):
    """Gives ``first`` for the first batch, and ``then`` for all later ones."""

    def __init__(self, first: object, then: object = None) -> None:
        super().__init__(2)
        self.first, self.then, self.calls = first, then, 0

    async def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self.calls += 1
        return self.first if self.calls == 1 else self.then  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("given", "came"),
    [
        (None, "NoneType"),
        ("ab", "str"),
        ([[1.0, 0.0]], r"list of shape \(1, 2\)"),
        ([1.0, 0.0], r"list of shape \(2,\)"),
        ([[1.0, 0.0], [1.0]], "list: "),
        ([["a", "b"], ["c", "d"]], "list: "),
        ([[], []], r"list of shape \(2, 0\)"),
        (np.array([[1.0, 0.0], [np.nan, 1.0]]), "not finite"),
        (np.array([[1.0, 0.0], [1e300, 1.0]]), "not finite"),
    ],
)
async def test_what_is_no_matrix_of_vectors_is_refused_and_binds_nothing(
    store: InMemoryStore, given: object, came: str
) -> None:
    with pytest.raises(ModelError, match=rf"'hash:.*\(Odd\) must give .* for 2 texts, and gave .*{came}"):
        await ingest(texts(a="one", b="two"), store=store, embedder=Odd(given))
    assert await store.count() == 0
    # Not bound, so another embedder is free to use it.
    assert (await ingest(texts(a="one"), store=store, embedder=HashEmbedder(16))).added == 1


async def test_a_matrix_as_lists_is_taken(store: InMemoryStore) -> None:
    report = await ingest(texts(a="one", b="two"), store=store, embedder=Odd([[1, 0], [0, 1]]))
    assert report.added == 2
    [found] = await store.search(embedding=np.array([0, 1], dtype=np.float32), k=1)
    assert found.text == "two"


async def test_a_later_batch_of_another_width_is_refused_and_the_first_one_kept(store: InMemoryStore) -> None:
    embedder = Odd([[1.0, 0.0]], [[1.0, 0.0, 0.0]])
    with pytest.raises(ModelError, match=r"\(1, 2\) .* gave list of shape \(1, 3\)"):
        await ingest(texts(a="one", b="two"), store=store, embedder=embedder, batch_size=1)
    assert await held(store) == {"a#0": "one"}


async def test_a_document_is_replaced_as_a_whole_however_small_the_batches_are(store: InMemoryStore) -> None:
    chunker = CharacterChunker(size=1)
    old, new = texts(a="1\n\n2\n\n3\n\n4", b="9"), texts(a="5\n\n6\n\n7", b="9")
    await ingest(old, store=store, embedder=Batches(), chunker=chunker)
    with pytest.raises(ServiceTimeoutError):
        await ingest(new, store=store, embedder=Batches("7"), chunker=chunker, batch_size=1)
    assert await held(store) == {"a#0": "1", "a#1": "2", "a#2": "3", "a#3": "4", "b#0": "9"}

    embedder = Batches()
    assert counts(await ingest(new, store=store, embedder=embedder, chunker=chunker)) == (0, 1, 1, 0)
    assert await held(store) == {"a#0": "5", "a#1": "6", "a#2": "7", "b#0": "9"}
    assert embedder.embedded == ["5", "6", "7"]


class Naming(CharacterChunker):
    def chunk(self, document: Document) -> list[Document]:
        return [Document(f"{document.id}:{part.id}", part.text) for part in super().chunk(document)]


async def test_chunks_that_nobody_could_find_again_are_refused(store: InMemoryStore) -> None:
    report = await ingest(texts(a="x"), store=store, chunker=Naming())
    assert report.failures[0].reason == ("characters:size=1000:overlap=0 gave its chunk 0 the id 'a:a#0', not 'a#0'")


@pytest.mark.parametrize("id", ["a", "a#1", "a#00", "a#²", "a#-1", "b#0", "A#0"])
async def test_a_copy_of_a_chunk_under_another_id_is_not_taken_for_one(store: InMemoryStore, id: str) -> None:
    await ingest(texts(a="x"), store=store)
    (chunk,) = await store.get(["a#0"])
    copy = Document(id, chunk.text, chunk.uri, chunk.metadata)
    await store.upsert([copy])
    assert counts(await ingest(texts(a="x"), store=store)) == (0, 0, 1, 0)
    assert counts(await ingest(texts(c="y"), store=store, prune=True)) == (1, 0, 0, 1)
    assert await held(store) == {id: "x", "c#0": "y"}


class FailingDeletes(InMemoryStore):
    async def delete(self, **arguments: object) -> int:
        raise StoreError("disk full")


async def test_old_chunks_are_removed_after_the_new_ones_are_written_and_later_if_need_be() -> None:
    store = FailingDeletes()
    chunker = CharacterChunker(size=1)
    await ingest(texts(a="1\n\n2\n\n3"), store=store, embedder=Batches(), chunker=chunker)
    with pytest.raises(StoreError, match="disk full"):
        await ingest(texts(a="4"), store=store, embedder=Batches(), chunker=chunker)
    assert await held(store) == {"a#0": "4", "a#1": "2", "a#2": "3"}

    store.delete = super(FailingDeletes, store).delete  # type: ignore[method-assign]
    embedder = Batches()
    assert counts(await ingest(texts(a="4"), store=store, embedder=embedder, chunker=chunker)) == (0, 0, 1, 0)
    assert embedder.embedded == [], "the new chunks are all there"
    assert await held(store) == {"a#0": "4"}


class FailingWrites(InMemoryStore):
    """Takes ``good`` writes, then fails."""

    def __init__(self, good: int) -> None:
        super().__init__()
        self.good = good

    async def upsert(self, documents: Sequence[Document], embeddings: Matrix | None = None) -> None:
        if self.good == 0:
            raise StoreError("disk full")
        self.good -= 1
        await super().upsert(documents, embeddings)


async def test_a_failing_store_stops_the_run_with_its_own_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "_WRITTEN_AT_ONCE", 2)
    store = FailingWrites(2)
    documents = [Document(f"d{number}", "text") for number in range(9)]
    with pytest.raises(StoreError, match="disk full"):
        await ingest(documents, store=store, embedder=Batches(), batch_size=1)
    written = sorted(await held(store))
    assert written == [f"d{number}#0" for number in range(len(written))]
    assert 2 <= len(written) < 9
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_the_next_batch_is_embedded_while_one_is_written() -> None:
    second_embedded = asyncio.Event()

    class Waiting(Batches):
        async def embed_documents(self, texts: Sequence[str]) -> Matrix:
            if texts == ["b"]:
                second_embedded.set()
            return await super().embed_documents(texts)

    class Store(InMemoryStore):
        async def upsert(self, documents: Sequence[Document], embeddings: Matrix | None = None) -> None:
            await asyncio.wait_for(second_embedded.wait(), 30)
            await super().upsert(documents, embeddings)

    report = await ingest(texts(a="a", b="b"), store=Store(), embedder=Waiting(), batch_size=1)
    assert report.added == 2


async def test_a_cancelled_run_ends_and_the_next_one_goes_on(store: InMemoryStore) -> None:
    reached, first_is_written = asyncio.Event(), asyncio.Event()

    class Stuck(Batches):
        async def embed_documents(self, texts: Sequence[str]) -> Matrix:
            if "c" in texts:
                reached.set()
                await asyncio.Event().wait()
            return await super().embed_documents(texts)

    documents = texts(a="a", b="b", c="c", d="d")
    running = asyncio.create_task(
        ingest(documents, store=store, embedder=Stuck(), batch_size=1, progress=lambda _: first_is_written.set())
    )
    await reached.wait()
    await first_is_written.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []

    done = set(await held(store))
    assert {"a#0"} <= done <= {"a#0", "b#0"}
    assert (await ingest(documents, store=store, embedder=Batches())).unchanged == len(done)
    assert len(await held(store)) == 4


async def test_another_embedder_is_refused_before_anything_is_written_or_removed(store: InMemoryStore) -> None:
    await ingest(texts(a="x", b="y"), store=store, embedder=HashEmbedder(16))
    before = await held(store)
    other = HashEmbedder(16, name="other")
    for embedder in (other, HashEmbedder(8), None):
        with pytest.raises(EmbedderMismatchError, match="hash:words:16"):
            await ingest(texts(a="changed"), store=store, embedder=embedder, prune=True)
    assert await held(store) == before
    assert other.embedded == []


async def test_a_scan_that_is_left_is_closed() -> None:
    closed = 0

    class Store(InMemoryStore):
        async def scan(self, filter: Filter | None = None) -> AsyncIterator[Document]:
            nonlocal closed
            try:
                async for chunk in super().scan(filter):
                    yield chunk
            finally:
                closed += 1

    store = Store()
    await ingest(texts(a="x", b="y"), store=store, embedder=HashEmbedder(16))
    with pytest.raises(EmbedderMismatchError):
        await ingest(texts(a="x"), store=store)
    # Looked at while whoever raised still holds the generator.
    assert closed == 2


async def test_a_store_bound_elsewhere_refuses_before_anything_is_written(store: InMemoryStore) -> None:
    await store.bind("another", 16)
    with pytest.raises(EmbedderMismatchError):
        await ingest(texts(a="x"), store=store, embedder=HashEmbedder(16))
    assert await store.count() == 0


async def test_without_an_embedder_and_then_with_one(store: InMemoryStore, embedder: HashEmbedder) -> None:
    await ingest(texts(a="apples"), store=store)
    assert (await store.search(text="apples"))[0].id == "a#0"
    assert counts(await ingest(texts(a="apples"), store=store, embedder=embedder)) == (0, 1, 0, 0)
    assert (await store.search(embedding=await embedder.embed_query("apples")))[0].id == "a#0"


async def test_the_store_is_tidied_once_and_only_if_something_changed() -> None:
    class Store(InMemoryStore):
        tidied = 0

        async def optimize(self) -> None:
            self.tidied += 1
            await super().optimize()

    store = Store()
    await ingest(texts(a="x", b="y"), store=store, batch_size=1)
    assert store.tidied == 1
    await ingest(texts(a="x", b="y"), store=store)
    assert store.tidied == 1
    await ingest(texts(a="x"), store=store, prune=True)
    assert store.tidied == 2


async def test_documents_from_an_iterator_are_taken_as_they_are_needed(store: InMemoryStore) -> None:
    taken, count = 0, 6000

    def documents() -> Iterator[Document]:
        nonlocal taken
        for number in range(count):
            taken += 1
            yield Document(f"d{number}", "text")

    seen: list[tuple[IngestProgress, int]] = []
    await ingest(documents(), store=store, batch_size=2, progress=lambda progress: seen.append((progress, taken)))
    # What one write takes, and as much again that is made meanwhile.
    assert all(taken <= progress.done + 2 * 1024 + 50 for progress, taken in seen)
    assert [progress.done for progress, _ in seen] == list(range(1, count + 1))
    assert {progress.total for progress, _ in seen} == {None}


@pytest.mark.parametrize("workers", [1, 2, 5])
async def test_the_order_is_that_of_the_sources_however_many_workers_there_are(
    tmp_path: Path, embedder: HashEmbedder, workers: int
) -> None:
    names = [f"{number:03}.md" for number in range(40)]
    for name in names:
        (tmp_path / name).write_text("word " * (5 if int(name[:3]) % 3 else 5000))
    store = InMemoryStore()
    seen: list[str] = []
    await ingest(
        tmp_path,
        store=store,
        embedder=embedder,
        workers=workers,
        progress=lambda progress: seen.append(Path(progress.source).name),
    )
    assert seen == names
    stored = [chunk.id async for chunk in store.scan()]
    assert [id for id in stored if id.endswith("#0")] == [f"{name}#0" for name in names]
    assert len(stored) > 200


async def test_as_many_sources_are_prepared_at_once_as_there_are_workers(store: InMemoryStore, tmp_path: Path) -> None:
    write(tmp_path, a="x", b="y", c="z")
    together = threading.Barrier(3)

    class Meeting(CharacterChunker):
        def spans(self, text: str) -> Iterable[Span]:
            together.wait(60)
            return super().spans(text)

    assert (await ingest(tmp_path, store=store, chunker=Meeting(), workers=3)).added == 3


async def test_a_duplicate_from_an_iterator_is_refused_when_it_comes(store: InMemoryStore) -> None:
    with pytest.raises(ConfigurationError, match="two Documents have the id 'a'"):
        await ingest(iter([Document("a", "x"), Document("a", "y")]), store=store)


async def test_progress_counts_everything_that_is_finished(store: InMemoryStore, tmp_path: Path) -> None:
    write(tmp_path, a="x", b="", c="z")
    (tmp_path / "d.md").write_bytes(b"\xff")
    seen: list[IngestProgress] = []
    await ingest(tmp_path, store=store, progress=seen.append)
    assert [progress.done for progress in seen] == [1, 2, 3, 4]
    assert {progress.total for progress in seen} == {4}
    assert seen[-1].chunks_written == 2
    assert {Path(progress.source).name for progress in seen} == {"a.md", "b.md", "c.md", "d.md"}


async def test_an_error_in_the_callers_callback_is_not_hidden(store: InMemoryStore) -> None:
    def callback(progress: IngestProgress) -> None:
        raise RuntimeError(f"cannot show {progress.done}")

    with pytest.raises(RuntimeError, match="cannot show 1"):
        await ingest(texts(a="x"), store=store, progress=callback)


@pytest.mark.parametrize("argument", ["workers", "batch_size", "max_bytes"])
@pytest.mark.parametrize("value", [0, -1, 2.0, True])
async def test_wrong_numbers_are_refused(store: InMemoryStore, argument: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=argument):
        await ingest(texts(a="x"), store=store, **{argument: value})  # type: ignore[arg-type]
