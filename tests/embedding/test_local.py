from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastrag.embedding import LocalEmbedder, default_model_dir
from fastrag.errors import ConfigurationError, ModelError

TEXTS = [
    "A tuple is an immutable sequence.",
    "",
    "The with statement wraps the execution of a block. " * 60,
    "naïve café 北京 🐍",
    "x",
] * 5


@pytest.fixture(scope="module")
def model_dir() -> Path:
    folder = default_model_dir()
    if not (folder / "model.onnx").is_file():
        pytest.skip(f"no model in {folder}: run scripts/fetch_model.py")
    return folder


@pytest.fixture
async def embedder(model_dir: Path) -> Any:
    embedder = LocalEmbedder(model_dir=model_dir)
    yield embedder
    await embedder.close()


@pytest.fixture
def copied_dir(model_dir: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_dir, tmp_path / "copy"))


def reference_vectors(folder: Path, texts: list[str]) -> np.ndarray:
    """Mean pooling and L2 norm by the book, on onnxruntime and tokenizers alone, one text at a time."""
    import onnxruntime
    from tokenizers import Tokenizer

    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    rows = []
    for text in texts:
        ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        wanted = {node.name for node in session.get_inputs()}
        states = session.run(None, {name: value for name, value in inputs.items() if name in wanted})[0]
        mean = states[0].astype(np.float64).mean(axis=0)
        rows.append(mean / np.linalg.norm(mean))
    return np.array(rows)


async def test_vectors_are_the_models_own_in_the_order_given(embedder: LocalEmbedder, model_dir: Path) -> None:
    vectors = await embedder.embed_documents(TEXTS)
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, reference_vectors(model_dir, TEXTS), atol=2e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(await embedder.embed_query(TEXTS[0]), vectors[0], atol=1e-6)


async def test_texts_are_cut_at_256_tokens(embedder: LocalEmbedder) -> None:
    # One token a word, and [CLS] and [SEP]: word 254 is the last that counts.
    words = ["dog"] * 254
    last_changed = [*words[:253], "whale"]
    vectors = await embedder.embed_documents([" ".join(w) for w in (words, [*words, "whale"], last_changed)])
    np.testing.assert_array_equal(vectors[0], vectors[1])
    assert not np.allclose(vectors[0], vectors[2])


async def test_prefixes_are_part_of_the_text(embedder: LocalEmbedder, model_dir: Path) -> None:
    prefixed = LocalEmbedder(model_dir=model_dir, query_prefix="query: ", document_prefix="passage: ")
    plain = await embedder.embed_documents(["query: tuple", "passage: tuple"])
    np.testing.assert_array_equal(await prefixed.embed_query("tuple"), plain[0])
    np.testing.assert_array_equal((await prefixed.embed_documents(["tuple"]))[0], plain[1])
    await prefixed.close()


async def test_no_texts_give_no_rows(embedder: LocalEmbedder) -> None:
    assert len(await embedder.embed_documents([])) == 0


async def test_the_id_follows_what_changes_the_vectors(model_dir: Path, copied_dir: Path) -> None:
    original = LocalEmbedder(model_dir=model_dir).id
    assert LocalEmbedder(model_dir=copied_dir).id == original
    assert LocalEmbedder(model_dir=copied_dir, query_prefix="q: ").id != original
    assert LocalEmbedder(model_dir=copied_dir, document_prefix="q: ").id != original
    tokenizer_config = copied_dir / "tokenizer_config.json"
    changed = json.loads(tokenizer_config.read_bytes()) | {"model_max_length": 128}
    tokenizer_config.write_text(json.dumps(changed))
    assert "max_tokens=128" in LocalEmbedder(model_dir=copied_dir).id
    assert "max_tokens=256" in original


async def test_a_folder_needs_no_network(model_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    named = LocalEmbedder("sentence-transformers/all-MiniLM-L6-v2", model_dir=model_dir)
    assert (await named.embed_query("tuple")).shape == (384,)
    await named.close()


async def test_the_variable_names_the_default_folder(copied_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTRAG_MODEL_DIR", str(copied_dir))
    assert default_model_dir() == copied_dir
    assert (await LocalEmbedder().embed_query("tuple")).shape == (384,)


async def test_the_model_is_loaded_once_for_calls_that_overlap(
    embedder: LocalEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fastembed

    loads = []
    original = fastembed.TextEmbedding

    class Counting(original):  # type: ignore[misc, valid-type]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            loads.append(arguments)
            super().__init__(*arguments, **options)

    monkeypatch.setattr(fastembed, "TextEmbedding", Counting)
    await asyncio.gather(*(embedder.embed_query(f"question {i}") for i in range(5)), embedder.embed_documents(TEXTS))
    assert len(loads) == 1


async def test_a_question_does_not_wait_for_many_documents(embedder: LocalEmbedder) -> None:
    documents = asyncio.create_task(embedder.embed_documents([TEXTS[2]] * 500))
    await embedder.embed_query("first, so that the model is loaded")
    await embedder.embed_query("What is a tuple?")
    assert not documents.done()
    documents.cancel()
    with pytest.raises(asyncio.CancelledError):
        await documents


async def test_refuses_what_is_not_text(embedder: LocalEmbedder) -> None:
    with pytest.raises(ConfigurationError, match="not one text"):
        await embedder.embed_documents("tuple")
    with pytest.raises(ConfigurationError, match=r"texts\[1\] must be a text, not None"):
        await embedder.embed_documents(["a", None])  # type: ignore[list-item]
    with pytest.raises(ConfigurationError, match=r"texts\[0\] has a lone surrogate at character 1"):
        await embedder.embed_documents(["a\ud800"])
    with pytest.raises(ConfigurationError, match="text must be"):
        await embedder.embed_query(" ")


async def test_a_closed_embedder_says_so(embedder: LocalEmbedder) -> None:
    await embedder.close()
    await embedder.close()
    with pytest.raises(ConfigurationError, match="closed"):
        await embedder.embed_query("tuple")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("model.onnx", None, "there is no model.onnx in"),
        ("model.onnx", b"\x00garbage", "cannot load the model"),
        ("tokenizer.json", None, "Could not find tokenizer.json"),
        ("tokenizer.json", b"{}", "cannot load the model"),
        ("tokenizer_config.json", b"{", "cannot load the model"),
        ("tokenizer_config.json", None, "Could not find tokenizer_config.json"),
    ],
)
async def test_a_broken_folder_is_a_model_error(
    copied_dir: Path, name: str, content: bytes | None, message: str
) -> None:
    (copied_dir / name).unlink()
    if content is not None:
        (copied_dir / name).write_bytes(content)
    broken = LocalEmbedder(model_dir=copied_dir)
    with pytest.raises(ModelError, match=message):
        await broken.embed_documents(TEXTS)
    with pytest.raises(ModelError, match=message):
        await broken.embed_query("tuple")
    with pytest.raises(ModelError, match=message):
        _ = broken.id


async def test_a_tokenizer_that_does_not_fit_the_model_is_a_model_error(copied_dir: Path) -> None:
    tokenizer = json.loads((copied_dir / "tokenizer.json").read_bytes())
    tokenizer["model"]["vocab"]["tuple"] = 99_999  # beyond the model's 30,522 token vectors
    (copied_dir / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(ModelError, match="could not embed 1 texts"):
        await LocalEmbedder(model_dir=copied_dir).embed_query("tuple")


def test_a_missing_folder_says_how_to_get_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match=r"nowhere: run `python scripts/fetch_model\.py`"):
        LocalEmbedder(model_dir=tmp_path / "nowhere")
    monkeypatch.setenv("FASTRAG_MODEL_DIR", str(tmp_path / "unset"))
    with pytest.raises(ModelError, match="LocalEmbedder\\('sentence-transformers/all-MiniLM-L6-v2'\\)"):
        LocalEmbedder()


async def test_an_unknown_name_is_not_downloaded_but_explained() -> None:
    embedder = LocalEmbedder("sentence-transformers/all-MiniLM-L6-v3")
    with pytest.raises(ModelError, match="did you mean 'sentence-transformers/all-MiniLM-L6-v2'"):
        await embedder.embed_query("tuple")


@pytest.mark.parametrize(
    "options", [{"model": ""}, {"threads": 0}, {"query_prefix": None}, {"document_prefix": 3}, {"model": 3}]
)
def test_refuses_wrong_arguments(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        LocalEmbedder(**{"model": "sentence-transformers/all-MiniLM-L6-v2", **options})


_IN_A_FORK = """
import asyncio, os, sys
import numpy as np
from fastrag.embedding import LocalEmbedder
embedder = LocalEmbedder(model_dir=sys.argv[1], threads=2)
texts = ["a tuple", "a list"] * 20
before = asyncio.run(embedder.embed_documents(texts))
embedder._lock.acquire()  # as if another thread were loading at the moment of the fork
child = os.fork()
if child == 0:
    async def both():
        return await embedder.embed_documents(texts), await embedder.embed_query(texts[0])
    after, question = asyncio.run(both())
    os._exit(0 if np.array_equal(after, before) and np.allclose(question, before[0], atol=1e-6) else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_loads_its_own_model(model_dir: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", _IN_A_FORK, str(model_dir)], timeout=60, check=False)
    assert ended.returncode == 0


async def test_closing_ends_calls_that_are_not_through_with_an_error_of_their_own(model_dir: Path) -> None:
    embedder = LocalEmbedder(model_dir=model_dir, threads=1)
    await embedder.embed_query("so that the model is loaded")
    documents = asyncio.create_task(embedder.embed_documents([TEXTS[2]] * 500))
    await embedder.embed_query("What is a tuple?")
    await embedder.close()
    with pytest.raises(ConfigurationError, match="closed"):
        await documents


async def test_a_call_that_is_cancelled_and_closed_is_cancelled(model_dir: Path) -> None:
    embedder = LocalEmbedder(model_dir=model_dir, threads=1)
    await embedder.embed_query("so that the model is loaded")
    documents = asyncio.create_task(embedder.embed_documents([TEXTS[2]] * 500))
    await embedder.embed_query("What is a tuple?")
    documents.cancel()
    await embedder.close()
    with pytest.raises(asyncio.CancelledError):
        await documents


async def test_vectors_are_made_unit_where_the_pooling_does_not(model_dir: Path, copied_dir: Path) -> None:
    # fastembed pools this model's tokens without making the mean a unit vector.
    import fastembed

    name = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
    [entry] = [entry for entry in fastembed.TextEmbedding.list_supported_models() if entry["model"] == name]
    (copied_dir / entry["model_file"]).parent.mkdir(exist_ok=True)
    (copied_dir / "model.onnx").rename(copied_dir / entry["model_file"])
    embedder = LocalEmbedder(name, model_dir=copied_dir)
    vectors = await embedder.embed_documents(TEXTS[:4])
    assert ":PooledEmbedding:" in embedder.id
    await embedder.close()
    np.testing.assert_allclose(vectors, reference_vectors(model_dir, TEXTS[:4]), atol=2e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)


async def test_the_id_names_the_model(model_dir: Path, copied_dir: Path) -> None:
    assert LocalEmbedder(model_dir=model_dir).id.startswith("fastembed:sentence-transformers/all-MiniLM-L6-v2:sha256=")
    config = json.loads((copied_dir / "config.json").read_bytes())
    (copied_dir / "config.json").write_text(json.dumps(config | {"_name_or_path": "/home/someone/runs/best"}))
    assert LocalEmbedder(model_dir=copied_dir).id.startswith("fastembed:runs/best:sha256=")
    del config["_name_or_path"]
    (copied_dir / "config.json").write_text(json.dumps(config))
    assert LocalEmbedder(model_dir=copied_dir).id.startswith("fastembed:copy:sha256=")


async def test_texts_may_come_from_a_generator(embedder: LocalEmbedder) -> None:
    assert (await embedder.embed_documents(text for text in ("a", "b"))).shape == (2, 384)  # type: ignore[arg-type]
