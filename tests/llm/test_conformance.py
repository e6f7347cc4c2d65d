from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from fastrag.llm import AnthropicLLM, ExtractiveLLM, OpenAICompatibleLLM
from fastrag.testing import AnthropicServer, LLMConformance, OpenAICompatibleServer

JSON = json.dumps({"answer": "80 degrees"})


class TestOpenAICompatibleLLM(LLMConformance):
    secret = "sk-a-very-secret-key"

    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        with OpenAICompatibleServer(JSON, first_token={"A": -0.1, "B": -3.0}) as self.server:
            yield

    def make_llm(self) -> OpenAICompatibleLLM:
        return OpenAICompatibleLLM("m", base_url=self.server.base_url, api_key=self.secret)


class TestAnthropicLLM(LLMConformance):
    secret = "sk-another-secret-key"

    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        with AnthropicServer(JSON) as self.server:
            yield

    def make_llm(self) -> AnthropicLLM:
        return AnthropicLLM("m", base_url=self.server.base_url, api_key=self.secret)


class TestExtractiveLLM(LLMConformance):
    heeds_schema = False

    def make_llm(self) -> ExtractiveLLM:
        return ExtractiveLLM()
