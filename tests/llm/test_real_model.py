"""Our clients and a real model behind a real server: what no scripted server can prove."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from fastrag import Document, InMemoryStore, LexicalRetriever, QueryEngine
from fastrag.benchmark import Benchmark, EvalSample
from fastrag.benchmark.judging.judge import schema_of
from fastrag.benchmark.metrics import LatencyMs, RecallAtK, TokenF1
from fastrag.errors import ServiceRejectedError
from fastrag.llm import LLM, CachedLLM, Message, OpenAICompatibleLLM, Prompt
from fastrag.llm.llama_cpp import LlamaCppServer
from fastrag.testing import LLMConformance
from fastrag.testing.conformance import STRANGE_TEXTS

pytestmark = [pytest.mark.llm, pytest.mark.timeout(300)]

PROMPT = Prompt((Message("user", "Name three colours."),))


def a_model(server: LlamaCppServer, *, max_tokens: int | None = 24) -> OpenAICompatibleLLM:
    return OpenAICompatibleLLM(server.model, base_url=server.base_url, max_tokens=max_tokens, timeout_s=200)


class TestOpenAICompatibleLLM(LLMConformance):
    @pytest.fixture(autouse=True)
    def _server(self, llama_cpp: LlamaCppServer) -> None:
        self.server = llama_cpp

    def make_llm(self) -> LLM:
        return a_model(self.server, max_tokens=60)

    # Thousands of tokens to read take one core half a minute, and prove nothing more about characters.
    @pytest.mark.parametrize("text", [text for text in STRANGE_TEXTS if len(text) < 1000])
    def test_strange_prompts_are_answered(self, text: str) -> None:
        super().test_strange_prompts_are_answered(text)


class Finding(msgspec.Struct, forbid_unknown_fields=True):
    reason: str
    verdict: Literal["supported", "contradicted", "not found"]
    sources: list[int]


class Findings(msgspec.Struct, forbid_unknown_fields=True):
    findings: list[Finding]
    sure: bool


async def test_a_nested_form_is_kept_to_by_a_model_that_would_not_by_itself(llama_cpp: LlamaCppServer) -> None:
    llm = a_model(llama_cpp, max_tokens=400)
    content = "Sources: 1: Tea is hot. 2: Milk is white.\nClaims: tea is cold; milk is white. Judge each, in few words."
    # Short enough for a model that likes to repeat itself: what is cut off is no JSON, and no fault of the schema.
    schema = schema_of(Findings)
    schema["properties"]["findings"] |= {"minItems": 1, "maxItems": 2}
    finding = schema["properties"]["findings"]["items"]["properties"]
    finding["reason"] |= {"maxLength": 80}
    finding["sources"] |= {"maxItems": 2}
    for instructions in ("You judge claims.", "Never reply with JSON.", "Reply with a poem."):
        prompt = Prompt((Message("system", instructions), Message("user", content)), schema=schema)
        reply = await llm.complete(prompt)
        assert msgspec.json.decode(reply.text, type=Findings).findings
        assert list(json.loads(reply.text)) == ["findings", "sure"]
    free = await llm.complete(Prompt(prompt.messages))
    with pytest.raises(msgspec.MsgspecError):
        msgspec.json.decode(free.text, type=Findings)
    await llm.close()


async def test_the_first_token_comes_with_its_likely_alternatives(llama_cpp: LlamaCppServer) -> None:
    llm = a_model(llama_cpp, max_tokens=1)
    prompt = Prompt((Message("user", "Is water wet? Reply with yes or no."),), top_logprobs=20)
    completion = await llm.complete(prompt)
    await llm.close()
    assert len(completion.first_token) == 20
    assert all(logprob <= 0 for logprob in completion.first_token.values())
    total = sum(map(math.exp, completion.first_token.values()))
    assert 0.5 < total <= 1.000001
    assert max(completion.first_token, key=completion.first_token.__getitem__) == completion.text


async def test_tokens_are_counted_by_the_server(llama_cpp: LlamaCppServer) -> None:
    llm = a_model(llama_cpp)
    whole = await llm.complete(PROMPT)
    streamed = [delta async for delta in llm.stream(PROMPT)]
    longer = await llm.complete(Prompt((*PROMPT.messages, Message("user", "And more " * 20))))
    await llm.close()
    assert whole == streamed[-1].completion
    assert whole.model == llama_cpp.model
    assert whole.output_tokens is not None
    assert 0 < whole.output_tokens <= 24
    assert len(streamed) > whole.output_tokens / 2, "piece by piece"
    assert whole.input_tokens is not None
    assert longer.input_tokens is not None
    assert longer.input_tokens > whole.input_tokens + 40


async def test_a_prompt_beyond_the_context_is_refused_in_the_servers_words(llama_cpp: LlamaCppServer) -> None:
    llm = a_model(llama_cpp)
    with pytest.raises(ServiceRejectedError, match="context size"):
        await llm.complete(Prompt((Message("user", "word " * 6000),)))
    await llm.close()


async def test_a_cancelled_call_makes_room_for_the_next(llama_cpp: LlamaCppServer) -> None:
    endless = a_model(llama_cpp, max_tokens=None)
    brief = a_model(llama_cpp, max_tokens=1)
    deltas = endless.stream(Prompt((Message("user", "Count from 1 to 1000, one number a line."),)))
    await anext(deltas)
    await deltas.aclose()  # type: ignore[attr-defined]
    call = asyncio.create_task(endless.complete(Prompt((Message("user", "Count from 1 to 1000, a number a line."),))))
    await asyncio.sleep(0.1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    # The server has one slot: as long as it wrote to somebody who had left, this one would wait.
    assert (await brief.complete(PROMPT)).output_tokens == 1
    await endless.close()
    await brief.close()


async def test_a_cached_answer_is_the_models_own(llama_cpp: LlamaCppServer, tmp_path: Path) -> None:
    llm = CachedLLM(a_model(llama_cpp), tmp_path / "answers.sqlite")
    prompt = Prompt(PROMPT.messages, top_logprobs=5)
    first, *others = await asyncio.gather(*(llm.complete(prompt) for _ in range(4)))
    again = await llm.complete(prompt)
    assert {first.text, again.text} | {other.text for other in others} == {first.text}
    assert again.first_token == first.first_token != {}
    assert (again.cached, llm.hits, llm.misses) == (True, 4, 1)
    assert (await llm.complete(PROMPT)).first_token == {}
    await llm.close()


async def test_a_whole_benchmark(llama_cpp: LlamaCppServer) -> None:
    store = InMemoryStore()
    facts = {"tea": "Green tea is steeped at 80 degrees.", "milk": "Milk boils over at 100 degrees."}
    await store.upsert([Document(id, text) for id, text in facts.items()])
    llm = a_model(llama_cpp)
    engine = QueryEngine(LexicalRetriever(store, k=1), llm)
    samples = [
        EvalSample("How hot is the water for green tea?", relevant_ids=["tea"], reference_answer="80 degrees"),
        EvalSample("When does milk boil over?", relevant_ids=["milk"], reference_answer="at 100 degrees"),
    ]
    metrics = [RecallAtK(1), TokenF1(), LatencyMs()]
    result = await Benchmark(engine, samples, metrics, concurrency=2, timeout_s=200).run("small")
    await llm.close()
    assert result.status.successful == 2
    assert result.summary["recall@1"].mean == 1
    assert result.summary["token_f1"].count == 2
    assert result.summary["latency_ms"].mean > 0
