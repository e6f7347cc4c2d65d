"""The demonstration from end to end, on the real model, the real index and the real questions."""

import asyncio
import io
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from rich.console import Console

from fastrag import LocalEmbedder
from fastrag.benchmark import BenchmarkResult, read_samples
from fastrag.demo import samples
from fastrag.demo.run import run_demo
from fastrag.embedding import default_model_dir

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "python_reference" / "benchmark.py"

needs_model = pytest.mark.skipif(
    not (default_model_dir() / "model.onnx").is_file(),
    reason="the local model is not there: run scripts/fetch_model.py",
)


async def shown(folder):
    stream = io.StringIO()
    results = await run_demo(folder, model_dir=None, console=Console(file=stream, width=80))
    return stream.getvalue(), results


@needs_model
@pytest.mark.timeout(600)
async def test_the_demonstration_twice(tmp_path, monkeypatch):
    text, results = await shown(tmp_path)
    assert [result.name for result in results] == [
        "lexical-bm25", "dense-minilm", "hybrid-rrf", "hybrid-rrf-extractive",
    ]  # fmt: skip
    for result in results:
        assert BenchmarkResult.load(tmp_path / "results" / f"{result.name}.json") == result
        assert len(result.samples) == len(samples())
        assert result.status.errored == 0
        assert result.summary["ndcg@10"].count == sum(bool(sample.relevant_ids) for sample in samples())
        assert result.summary["ndcg@10"].mean > 0.5
    assert results[-1].summary["token_f1"].mean > 0.1
    assert len(read_samples(tmp_path / "questions.jsonl")) == len(samples())
    if (files("fastrag.benchmark.report.html") / "static" / "report.js").is_file():
        assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
        assert f"  {tmp_path / 'report.html'}\n" in text
    else:
        assert "There is no report to open in a browser: " in text
    assert "\nbest by ndcg@10: " in text
    assert max(map(len, text.splitlines())) <= 80 + len(str(tmp_path))

    embedded = []
    original = LocalEmbedder.embed_documents

    async def counting(self, texts):
        embedded.extend(texts)
        return await original(self, texts)

    monkeypatch.setattr(LocalEmbedder, "embed_documents", counting)
    _, again = await shown(tmp_path)
    assert embedded == []
    assert [r.summary["ndcg@10"] for r in again] == [r.summary["ndcg@10"] for r in results]

    # The script to copy makes the same index, and so finds this one complete.
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copy(EXAMPLE, copy)
    shutil.copytree(tmp_path / "index", copy / "index")
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, copy / EXAMPLE.name], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("best by ndcg@10: ")
    assert "79/79 documents, 0 chunks" in done.stderr
    assert len(list((copy / "results").glob("*.json"))) == 4
