from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from fastrag.embedding import CachedEmbedder, Matrix
from fastrag.errors import ConfigurationError, ModelError, ServiceUnavailableError
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


@pytest.mark.parametrize(
    "damage", ["substr(vector, 1, 8)", "substr(vector, 1, 9)", "x'0000c07f0000c07f'", "7", "'text'"]
)
async def test_a_damaged_row_is_embedded_again(path: Path, damage: str) -> None:
    await CachedEmbedder(HashEmbedder(), path).embed_documents(["a", "b"])
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE vectors SET vector = {damage}")
    connection.close()
    inner = HashEmbedder()
    for _ in range(2):
        vectors = await CachedEmbedder(inner, path).embed_documents(["a", "b"])
        np.testing.assert_array_equal(vectors, await HashEmbedder().embed_documents(["a", "b"]))
    assert inner.embedded == ["a", "b"], "and kept again"


class Gives(HashEmbedder):
    """Gives ``given``, whatever the texts."""

    given: object = None

    async def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self.embedded += texts
        return self.given  # type: ignore[return-value]

    async def embed_query(self, text: str) -> np.ndarray:
        return self.given  # type: ignore[return-value]


@pytest.mark.parametrize("given", [None, [[1.0]], [1.0, 2.0], [[1.0], [float("nan")]], [[1.0], [2.0, 3.0]], "ab"])
async def test_what_are_no_vectors_is_refused_and_not_kept(path: Path, given: object) -> None:
    inner = Gives()
    inner.given = given
    embedder = CachedEmbedder(inner, path)
    for _ in range(2):
        with pytest.raises(ModelError, match=r"for 2 texts, and gave"):
            await embedder.embed_documents(["a", "b"])
    assert inner.embedded == ["a", "b", "a", "b"]


async def test_vectors_of_another_length_are_refused(path: Path) -> None:
    inner = Gives()
    inner.given = [[1, 2]]
    np.testing.assert_array_equal(await CachedEmbedder(inner, path).embed_documents(["a"]), [[1, 2]])
    inner.given = [[1, 2, 3]]
    with pytest.raises(ModelError, match=r"shape \(1, 2\) for 1 texts, and gave list of shape \(1, 3\)"):
        await CachedEmbedder(inner, path).embed_documents(["a", "b"])


async def test_a_questions_vector_is_checked_before_it_is_kept(path: Path) -> None:
    inner = Gives()
    embedder = CachedEmbedder(inner, path, cache_queries=True)
    with pytest.raises(ModelError):
        await embedder.embed_query("a?")
    inner.given = [1, 2]
    np.testing.assert_array_equal(await embedder.embed_query("a?"), [1, 2])


async def test_texts_may_come_from_a_generator(path: Path) -> None:
    vectors = await CachedEmbedder(HashEmbedder(), path).embed_documents(text for text in ("a", "b"))  # type: ignore[arg-type]
    np.testing.assert_array_equal(vectors, await HashEmbedder().embed_documents(["a", "b"]))
    with pytest.raises(ConfigurationError, match="must be a list of texts, not 3"):
        await CachedEmbedder(HashEmbedder(), path).embed_documents(3)  # type: ignore[arg-type]
