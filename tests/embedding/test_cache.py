from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from fastrag.embedding import CachedEmbedder, Matrix
from fastrag.errors import ConfigurationError, ServiceUnavailableError
from fastrag.testing import EmbedderConformance, HashEmbedder


class FailsAfter(HashEmbedder):
    """Fails from the call number ``good`` + 1 on."""

    def __init__(self, good: int) -> None:
        super().__init__()
        self.good = good

    async def embed_documents(self, texts: Sequence[str]) -> Matrix:
        if not self.good:
            raise ServiceUnavailableError("down")
        self.good -= 1
        return await super().embed_documents(texts)


class TestCachedEmbedder(EmbedderConformance):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.path = tmp_path / "vectors.sqlite"

    def make_embedder(self) -> CachedEmbedder:
        return CachedEmbedder(HashEmbedder(), self.path, cache_queries=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "vectors.sqlite"


async def test_no_text_is_embedded_twice(path: Path) -> None:
    inner = HashEmbedder()
    texts = [f"text {i}" for i in range(600)]
    first = await CachedEmbedder(inner, path).embed_documents(texts)
    assert inner.embedded == texts
    again = await CachedEmbedder(inner, path).embed_documents(["new", *reversed(texts), "new"])
    assert inner.embedded == [*texts, "new"]
    np.testing.assert_array_equal(again[1:-1], first[::-1])
    np.testing.assert_array_equal(first, await HashEmbedder().embed_documents(texts))


async def test_another_embedder_does_not_get_these_vectors(path: Path) -> None:
    await CachedEmbedder(HashEmbedder(8), path).embed_documents(["a"])
    other = HashEmbedder(16)
    assert (await CachedEmbedder(other, path).embed_documents(["a"])).shape == (1, 16)
    assert other.embedded == ["a"]


async def test_what_was_embedded_before_a_failure_is_kept(path: Path) -> None:
    texts = [f"text {i}" for i in range(600)]
    with pytest.raises(ServiceUnavailableError):
        await CachedEmbedder(FailsAfter(2), path).embed_documents(texts)
    inner = HashEmbedder()
    await CachedEmbedder(inner, path).embed_documents(texts)
    assert inner.embedded == texts[512:]


async def test_questions_are_cached_only_when_told(path: Path) -> None:
    class Counting(HashEmbedder):
        questions = 0

        async def embed_query(self, text: str) -> np.ndarray:
            self.questions += 1
            return await super().embed_query(text)

    inner = Counting()
    counts = []
    for cache_queries in (False, False, True, True):
        embedder = CachedEmbedder(inner, path, cache_queries=cache_queries)
        np.testing.assert_array_equal(await embedder.embed_query("a?"), await HashEmbedder().embed_query("a?"))
        counts.append(inner.questions)
    assert counts == [1, 2, 3, 3]
    await CachedEmbedder(inner, path).embed_documents(["a?"])
    assert inner.embedded == ["a?"], "a question's vector is not a document's"


async def test_processes_share_a_file(path: Path) -> None:
    code = (
        "import asyncio, sys; from fastrag.embedding import CachedEmbedder; from fastrag.testing import HashEmbedder\n"
        "texts = [f'text {i}' for i in range(300)]\n"
        "asyncio.run(CachedEmbedder(HashEmbedder(), sys.argv[1]).embed_documents(texts))"
    )
    workers = [await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(path)) for _ in range(3)]
    assert [await worker.wait() for worker in workers] == [0, 0, 0]
    inner = HashEmbedder()
    await CachedEmbedder(inner, path).embed_documents([f"text {i}" for i in range(300)])
    assert inner.embedded == []


async def test_the_texts_are_not_in_the_file(path: Path) -> None:
    await CachedEmbedder(HashEmbedder(), path).embed_documents(["a secret text"])
    assert all(b"secret" not in file.read_bytes() for file in path.parent.iterdir())


@pytest.mark.parametrize("content", [b"not a database" * 100, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_file_that_is_no_cache_is_left_alone(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"vectors\.sqlite cannot be used: .* delete it"):
        CachedEmbedder(HashEmbedder(), path)
    assert path.read_bytes() == content


async def test_a_cache_damaged_later_is_an_error_and_not_a_wrong_vector(path: Path) -> None:
    embedder = CachedEmbedder(HashEmbedder(), path)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE vectors")
    connection.close()
    with pytest.raises(ConfigurationError, match="no such table"):
        await embedder.embed_documents(["a"])


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigurationError, match="cannot make the folder"):
        CachedEmbedder(HashEmbedder(), tmp_path / "file" / "vectors.sqlite")
