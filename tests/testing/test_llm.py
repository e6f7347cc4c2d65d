from __future__ import annotations

import pytest

from fastrag.errors import ConfigurationError, ServiceTimeoutError
from fastrag.llm import Completion, CompletionDelta, Message, Prompt
from fastrag.testing import LLMConformance, ScriptedLLM

PROMPT = Prompt((Message("user", "Why?"),), question="Why?")


class TestScriptedLLM(LLMConformance):
    heeds_schema = False

    def make_llm(self) -> ScriptedLLM:
        return ScriptedLLM("80 degrees [1].")


async def test_replies_come_one_after_the_other() -> None:
    counted = Completion("b", 3, 1)
    llm = ScriptedLLM(["a", counted, ServiceTimeoutError("too slow")])
    assert await llm.complete(PROMPT) == Completion("a")
    assert await llm.complete(PROMPT) == counted
    with pytest.raises(ServiceTimeoutError, match="too slow"):
        await llm.complete(PROMPT)
    with pytest.raises(ConfigurationError, match="no reply left for prompt number 4"):
        await llm.complete(PROMPT)
    assert llm.prompts == [PROMPT] * 4


async def test_a_function_sees_the_prompt() -> None:
    llm = ScriptedLLM(lambda prompt: f"You asked: {prompt.question}")
    assert (await llm.complete(PROMPT)).text == "You asked: Why?"


async def test_a_stream_comes_word_by_word() -> None:
    deltas = [delta async for delta in ScriptedLLM("a  b\n").stream(PROMPT)]
    assert deltas == [*map(CompletionDelta, ["a", "  b", "\n"]), CompletionDelta("", Completion("a  b\n"))]
