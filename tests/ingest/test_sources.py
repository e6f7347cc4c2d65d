from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fastrag.document import Document
from fastrag.errors import ConfigurationError
from fastrag.ingest.report import IngestFailure, IngestSkip
from fastrag.ingest.sources import FileSource, plan

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")


def make(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return folder


async def test_a_folder_is_listed_with_ids_below_it(tmp_path: Path) -> None:
    make(tmp_path, "b.md", "a.txt", "sub/deep/c.html", "sub/photo.jpg", "Makefile")
    found = await plan(tmp_path, prune=False)

    assert list(found.sources) == [
        FileSource("a.txt", str(tmp_path)),
        FileSource("b.md", str(tmp_path)),
        FileSource("sub/deep/c.html", str(tmp_path)),
    ]
    assert [source.path for source in found.sources][2] == tmp_path / "sub/deep/c.html"
    assert found.total == 3
    assert found.mirrored == {str(tmp_path)}
    assert found.skipped == [
        IngestSkip(str(tmp_path / "Makefile"), "no extension"),
        IngestSkip(str(tmp_path / "sub/photo.jpg"), "unknown extension '.jpg'"),
    ]


async def test_a_single_file_has_its_name_as_id_and_mirrors_nothing(tmp_path: Path) -> None:
    make(tmp_path, "sub/a.md")
    found = await plan(str(tmp_path / "sub/a.md"), prune=False)
    assert [(source.id, source.root) for source in found.sources] == [("a.md", str(tmp_path / "sub"))]
    assert found.mirrored == set()


async def test_what_is_hidden_is_passed_over_unless_it_is_asked_for(tmp_path: Path) -> None:
    make(tmp_path, "a.md", ".git/x.md", ".b.md", "sub/.c.txt")
    assert [source.id for source in (await plan(tmp_path, prune=False)).sources] == ["a.md"]
    assert [source.id for source in (await plan(tmp_path / ".git", prune=False)).sources] == ["x.md"]
    assert [source.id for source in (await plan(tmp_path / ".b.md", prune=False)).sources] == [".b.md"]


@posix
async def test_links_to_folders_are_not_followed_so_there_are_no_loops(tmp_path: Path) -> None:
    make(tmp_path, "sub/a.md")
    (tmp_path / "sub/loop").symlink_to(tmp_path, target_is_directory=True)
    found = await plan(tmp_path, prune=False)
    assert [source.id for source in found.sources] == ["sub/a.md"]
    assert [skip.source for skip in found.skipped] == [str(tmp_path / "sub/loop")]


@posix
async def test_a_root_that_is_a_link_keeps_its_name(tmp_path: Path) -> None:
    make(tmp_path, "release-1/a.md")
    (tmp_path / "current").symlink_to("release-1", target_is_directory=True)
    found = await plan(tmp_path / "current", prune=False)
    assert [source.root for source in found.sources] == [str(tmp_path / "current")]


@posix
async def test_links_to_files_are_files_and_broken_ones_are_left_to_the_loader(tmp_path: Path) -> None:
    make(tmp_path, "a.md")
    (tmp_path / "b.md").symlink_to("a.md")
    (tmp_path / "c.md").symlink_to("gone.md")
    assert [source.id for source in (await plan(tmp_path, prune=False)).sources] == ["a.md", "b.md", "c.md"]


@pytest.mark.skipif(sys.platform != "linux", reason="only there a name may be any bytes")
async def test_a_name_that_is_no_text_is_a_failure(tmp_path: Path) -> None:
    make(tmp_path, "a.md")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md")).write_text("x")
    found = await plan(tmp_path, prune=False)
    assert [source.id for source in found.sources] == ["a.md"]
    assert found.failures == [IngestFailure(f"{tmp_path}/caf\ufffd.md", "the file's name is not valid Unicode")]


async def test_a_folder_that_cannot_be_listed_is_a_failure_and_keeps_what_is_stored_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "a.md", "sub/b.md")
    scandir = os.scandir

    def refusing(path: str) -> object:
        if path == str(tmp_path / "sub"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    found = await plan(tmp_path, prune=False)

    assert [source.id for source in found.sources] == ["a.md"]
    assert found.failures == [IngestFailure(str(tmp_path / "sub"), "cannot be listed: Permission denied")]
    assert found.keeps(str(tmp_path), "sub/b.md")
    assert not found.keeps(str(tmp_path), "subway.md")
    assert found.keeps("/another/root", "subway.md")


async def test_several_paths_and_the_same_one_twice(tmp_path: Path) -> None:
    make(tmp_path, "one/a.md", "two/b.md")
    paths = [tmp_path / "one", str(tmp_path / "two/b.md"), tmp_path / "one", tmp_path / "two/../one"]
    found = await plan(iter(paths), prune=False)
    assert [source.id for source in found.sources] == ["a.md", "b.md"]


async def test_two_files_of_one_id_are_refused_and_both_named(tmp_path: Path) -> None:
    make(tmp_path, "one/a.md", "two/a.md")
    with pytest.raises(ConfigurationError, match=r"two files have the id 'a\.md': .*one/a\.md and .*two/a\.md"):
        await plan([tmp_path / "one", tmp_path / "two"], prune=False)


async def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere: no such file or folder"):
        await plan([tmp_path, tmp_path / "nowhere"], prune=False)


@pytest.mark.parametrize("path", ["a\x00b", "a\ud800b"])
async def test_a_path_that_can_be_none(path: str) -> None:
    with pytest.raises(ConfigurationError):
        await plan(path, prune=False)


async def test_nothing_to_ingest_says_where_it_looked(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    # A folder may be empty now; whether it may be, only the store can tell.
    found = await plan(tmp_path / "empty", prune=False)
    assert re.search(r"no documents found in .*empty$", found.nothing_found)
    make(tmp_path, "empty/photo.jpg")
    told = r"1 skipped, the first: .*photo\.jpg \(unknown extension '\.jpg'\)"
    assert re.search(told, (await plan(tmp_path / "empty", prune=False)).nothing_found)
    with pytest.raises(ConfigurationError, match=told):
        await plan(tmp_path / "empty/photo.jpg", prune=False)
    for nothing in ([], (), iter(())):
        with pytest.raises(ConfigurationError, match="sources is empty"):
            await plan(nothing, prune=False)


async def test_documents() -> None:
    documents = [Document("a", "x"), Document("b", "y")]
    for given, total in ((documents, 2), (tuple(documents), 2), (iter(documents), None)):
        found = await plan(given, prune=False)
        assert found.total == total
        assert found.mirrored == set()
        assert [(source.id, source.document) for source in found.sources] == [  # type: ignore[union-attr]
            ("a", documents[0]),
            ("b", documents[1]),
        ]
    assert (await plan(documents, prune=True)).mirrored == {""}


async def test_an_iterator_of_documents_is_taken_as_it_goes() -> None:
    taken = []

    def documents() -> Iterator[Document]:
        for name in "abc":
            taken.append(name)
            yield Document(name, name)

    found = await plan(documents(), prune=False)
    next(iter(found.sources))
    assert taken == ["a"]


@pytest.mark.parametrize(
    ("sources", "told"),
    [
        (7, "not int"),
        (Document("a", "x"), "not Document; a single Document goes into a list"),
        (b"path", "sources must hold paths or Documents, not int"),
        ([None], "not NoneType"),
        ([Document("a", "x"), "path"], r"sources\[1\] must be a Document"),
        ([".", Document("a", "x")], "sources holds paths, and also something of type Document"),
        ([Document("a", "x"), Document("a", "y")], r"the id 'a': sources\[0\] and sources\[1\]"),
        ([Document("a", "x"), Document("", "y")], r"sources\[1\] must have an id that is a text, not ''"),
        ([Document(3, "x")], r"not 3"),  # type: ignore[arg-type]
    ],
)
async def test_what_cannot_be_ingested(sources: object, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        await plan(sources, prune=False)  # type: ignore[arg-type]
