from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrag.errors import ConfigurationError
from fastrag.testing import EmbedderConformance, HashEmbedder


async def test_texts_that_share_words_are_closer() -> None:
    vectors = await HashEmbedder().embed_documents(["red apples grow", "Apples, RED!", "blue whales swim"])
    assert vectors[0] @ vectors[1] == pytest.approx(2 / np.sqrt(6), abs=1e-6)
    assert vectors[0] @ vectors[2] == pytest.approx(0.0, abs=1e-6)


@given(st.lists(st.text(max_size=40), max_size=5), st.integers(1, 300))
async def test_every_text_has_a_finite_unit_vector(texts: list[str], dimension: int) -> None:
    vectors = await HashEmbedder(dimension).embed_documents(texts)
    assert vectors.shape == (len(texts), dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)


async def test_a_query_is_embedded_like_a_document_and_not_recorded() -> None:
    embedder = HashEmbedder(64)
    documents = await embedder.embed_documents(["one two", ""])
    np.testing.assert_array_equal(await embedder.embed_query("two one"), documents[0])
    assert embedder.embedded == ["one two", ""]


def test_vectors_do_not_depend_on_the_process() -> None:
    # PYTHONHASHSEED differs between processes, so hash() in the implementation would show here.
    code = (
        "import asyncio; from fastrag.testing import HashEmbedder;"
        "print(asyncio.run(HashEmbedder(16).embed_query('the quick brown fox')).tolist())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


async def test_refuses_empty_questions_and_dimensions_below_one() -> None:
    with pytest.raises(ConfigurationError, match="text must be"):
        await HashEmbedder().embed_query("  ")
    with pytest.raises(ConfigurationError, match="dimension must be"):
        HashEmbedder(0)


def test_the_id_names_what_changes_the_vectors() -> None:
    assert HashEmbedder(8).id != HashEmbedder(9).id
    assert HashEmbedder(8).id == HashEmbedder(8).id
    assert HashEmbedder(8, name="other").id != HashEmbedder(8).id


class TestHashEmbedder(EmbedderConformance):
    def make_embedder(self) -> HashEmbedder:
        return HashEmbedder()
