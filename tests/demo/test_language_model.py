import importlib.util
import io

import pytest
from rich.console import Console

from fastrag import InMemoryStore, LexicalRetriever
from fastrag.benchmark import BenchmarkResult
from fastrag.demo import documents, language_model
from fastrag.llm.gguf import default_gguf_path


@pytest.mark.llm
@pytest.mark.timeout(600)
@pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None or not default_gguf_path().is_file(),
    reason="xllamacpp (the extra llama-cpp) or the language model (scripts/fetch_llm.py) is not there",
)
async def test_a_model_and_quotes_answer_the_same_few_questions(tmp_path, monkeypatch):
    monkeypatch.setattr(language_model, "_EVERY", 120)
    store = InMemoryStore()
    await store.upsert(documents())
    stream = io.StringIO()
    console = Console(file=stream, width=100)
    results = await language_model.ask_language_model(LexicalRetriever(store, k=1), tmp_path, console)
    quoted, written = results
    assert written.name == f"hybrid-rrf-{default_gguf_path().stem}"
    for result in results:
        assert BenchmarkResult.load(tmp_path / f"{result.name}.json") == result
        assert result.status.successful == len(result.samples) == 2
    assert [sample.question for sample in quoted.samples] == [sample.question for sample in written.samples]
    assert "2 questions" in stream.getvalue()
    assert "little sense" in stream.getvalue()
