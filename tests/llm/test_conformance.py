from __future__ import annotations

from collections.abc import Iterator

import pytest

from fastrag.llm import ExtractiveLLM, OpenAICompatibleLLM
from fastrag.testing import LLMConformance, OpenAICompatibleServer


class TestOpenAICompatibleLLM(LLMConformance):
    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        with OpenAICompatibleServer() as self.server:
            yield

    def make_llm(self) -> OpenAICompatibleLLM:
        return OpenAICompatibleLLM("m", base_url=self.server.base_url)


class TestExtractiveLLM(LLMConformance):
    def make_llm(self) -> ExtractiveLLM:
        return ExtractiveLLM()
