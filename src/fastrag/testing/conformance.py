"""The tests that every embedder and every language model has to pass; needs pytest."""

# ruff: noqa: D102 - the name of a test says what it checks

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pytest

from fastrag.document import Document
from fastrag.embedding.base import Embedder
from fastrag.errors import ConfigurationError, FastRAGError
from fastrag.llm.base import LLM, Completion, Prompt
from fastrag.query.prompt import build_prompt

_Subject = TypeVar("_Subject", Embedder, LLM)

STRANGE_TEXTS = (
    "?",
    "a\x00b",
    "line\nbreak\r\n\ttab",
    "naïve café 北京 עברית 🐍👩‍👩‍👧",
    "</s> [CLS] <|im_end|> {} %s \\",
    "unbroken" * 300,
    "many words " * 600,
)
"""Texts that break code which is careless about characters, marks or lengths."""


class EmbedderConformance:
    """Inherit it in a test class, give `make_embedder`, and pytest runs every test on that embedder.

    Each test runs in an event loop of its own; no pytest plugin is needed::

        class TestMyEmbedder(EmbedderConformance):
            def make_embedder(self):
                return MyEmbedder("small")
    """

    tolerance = 1e-5
    """How far a number in a vector may differ between two calls."""

    def make_embedder(self) -> Embedder:
        """A new embedder, always of the same kind."""
        raise NotImplementedError("a class that inherits EmbedderConformance defines make_embedder")

    def test_rows_are_finite_and_in_the_order_of_the_texts(self) -> None:
        async def check(embedder: Embedder) -> None:
            texts = [f"sentence number {i} " + "and more words " * (i % 7) for i in range(70)]
            together = await embedder.embed_documents(texts)
            assert together.shape[0] == len(texts)
            assert together.dtype == np.float32
            assert np.isfinite(together).all()
            for i in (0, 13, 69):
                self._assert_same(await embedder.embed_documents([texts[i]]), together[i : i + 1])

        _run(self.make_embedder(), check)

    def test_no_texts_give_no_rows(self) -> None:
        async def check(embedder: Embedder) -> None:
            assert (await embedder.embed_documents([])).shape[0] == 0

        _run(self.make_embedder(), check)

    def test_a_question_has_a_vector_of_the_same_dimension(self) -> None:
        async def check(embedder: Embedder) -> None:
            documents = await embedder.embed_documents(["A tuple is immutable."])
            question = await embedder.embed_query("What is a tuple?")
            assert question.shape == documents.shape[1:]
            assert question.dtype == np.float32

        _run(self.make_embedder(), check)

    def test_a_question_is_closer_to_what_answers_it(self) -> None:
        async def check(embedder: Embedder) -> None:
            texts = ["Green tea is steeped in hot water.", "The stock market fell on Monday."]
            documents = await embedder.embed_documents(texts)
            question = await embedder.embed_query("How hot is the water for green tea?")
            close, far = documents @ question
            assert close > far

        _run(self.make_embedder(), check)

    def test_strange_texts_have_vectors(self) -> None:
        async def check(embedder: Embedder) -> None:
            vectors = await embedder.embed_documents(STRANGE_TEXTS)
            assert vectors.shape[0] == len(STRANGE_TEXTS)
            assert np.isfinite(vectors).all()
            for text in STRANGE_TEXTS:
                assert np.isfinite(await embedder.embed_query(text)).all()

        _run(self.make_embedder(), check)

    @pytest.mark.parametrize("text", ["", " ", "\n\t"])
    def test_an_empty_question_is_refused(self, text: str) -> None:
        async def check(embedder: Embedder) -> None:
            with pytest.raises(ConfigurationError):
                await embedder.embed_query(text)

        _run(self.make_embedder(), check)

    @pytest.mark.parametrize("texts", ["one text", ["a", None], [b"bytes"]])
    def test_what_is_not_a_list_of_texts_is_refused(self, texts: Any) -> None:
        async def check(embedder: Embedder) -> None:
            with pytest.raises(ConfigurationError):
                await embedder.embed_documents(texts)

        _run(self.make_embedder(), check)

    def test_calls_may_overlap(self) -> None:
        async def check(embedder: Embedder) -> None:
            texts = [f"text number {i}" for i in range(8)]
            alone = [await embedder.embed_query(text) for text in texts]
            together = await asyncio.gather(*map(embedder.embed_query, texts), embedder.embed_documents(texts))
            self._assert_same(np.stack(together[:-1]), np.stack(alone))

        _run(self.make_embedder(), check)

    def test_a_cancelled_call_leaves_the_embedder_usable(self) -> None:
        async def check(embedder: Embedder) -> None:
            before = await embedder.embed_query("still there")
            task = asyncio.create_task(embedder.embed_documents(["many words " * 50] * 40))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            self._assert_same(await embedder.embed_query("still there"), before)

        _run(self.make_embedder(), check)

    def test_one_id_means_interchangeable_vectors(self) -> None:
        async def embed(embedder: Embedder) -> tuple[str, Any]:
            vector = await embedder.embed_query("What is a tuple?")
            assert isinstance(embedder.id, str)
            assert embedder.id.strip()
            return embedder.id, vector

        (id_1, vector_1), (id_2, vector_2) = (_run(self.make_embedder(), embed) for _ in range(2))
        assert id_1 == id_2
        self._assert_same(vector_1, vector_2)

    def test_a_result_may_be_changed(self) -> None:
        async def check(embedder: Embedder) -> None:
            first = await embedder.embed_documents(["a text"])
            kept = first.copy()
            first *= 2
            self._assert_same(await embedder.embed_documents(["a text"]), kept)

        _run(self.make_embedder(), check)

    def _assert_same(self, actual: Any, expected: Any) -> None:
        np.testing.assert_allclose(actual, expected, atol=self.tolerance, rtol=0)


class LLMConformance:
    """Inherit it in a test class, give `make_llm`, and pytest runs every test on that model.

    Each test runs in an event loop of its own; no pytest plugin is needed::

        class TestMyModel(LLMConformance):
            def make_llm(self):
                return MyModel("small")
    """

    deterministic = True
    """Whether the same prompt gets the same answer."""

    heeds_schema = True
    """Whether a prompt with a schema is answered with JSON."""

    secret: str | None = None
    """The key that `make_llm` gives, if any: nothing that is shown or kept may hold it."""

    def make_llm(self) -> LLM:
        """A new model, always of the same kind."""
        raise NotImplementedError("a class that inherits LLMConformance defines make_llm")

    def test_an_answer_is_text_with_counts_or_without(self) -> None:
        async def check(llm: LLM) -> None:
            _assert_complete(await llm.complete(_prompt()))

        _run(self.make_llm(), check)

    def test_the_pieces_of_a_stream_add_up(self) -> None:
        async def check(llm: LLM) -> None:
            deltas = [delta async for delta in llm.stream(_prompt())]
            *pieces, last = deltas
            assert all(piece.completion is None for piece in pieces)
            assert last.completion is not None
            _assert_complete(last.completion)
            assert "".join(delta.text for delta in deltas) == last.completion.text

        _run(self.make_llm(), check)

    def test_the_same_prompt_gets_the_same_answer(self) -> None:
        async def check(llm: LLM) -> None:
            if not self.deterministic:
                pytest.skip("this model is declared not to be deterministic")
            first, second = await llm.complete(_prompt()), await llm.complete(_prompt())
            streamed = [delta async for delta in llm.stream(_prompt())][-1].completion
            assert replace(first, cached=second.cached) == second
            assert streamed is not None
            assert streamed.text == first.text

        _run(self.make_llm(), check)

    def test_calls_may_overlap(self) -> None:
        async def check(llm: LLM) -> None:
            for completion in await asyncio.gather(*(llm.complete(_prompt()) for _ in range(5))):
                _assert_complete(completion)

        _run(self.make_llm(), check)

    def test_one_id_for_equal_settings_and_without_the_key(self) -> None:
        async def identify(llm: LLM) -> str:
            before = llm.id
            assert isinstance(before, str)
            assert before.strip()
            await llm.complete(_prompt())
            assert llm.id == before
            for shown in (before, repr(llm), llm.model or "", llm.endpoint or ""):
                assert self.secret is None or self.secret not in shown
            return before

        llms = [self.make_llm(), self.make_llm()]
        first, second = (_run(llm, identify) for llm in llms)
        # A script, say, goes on from where it is: no two of them are interchangeable.
        assert (first == second) == all(llm.is_repeatable for llm in llms)

    def test_a_prompt_with_a_schema_gets_json_or_an_error(self) -> None:
        async def check(llm: LLM) -> None:
            if not self.heeds_schema:
                pytest.skip("this model is declared not to heed a schema")
            text: dict[str, Any] = {"type": "string"}
            schema = {"type": "object", "properties": {"answer": text}, "required": ["answer"]}
            prompt = replace(_prompt(), schema=schema | {"additionalProperties": False})
            try:
                completion = await llm.complete(prompt)
            except FastRAGError:
                return
            assert set(json.loads(completion.text)) == {"answer"}

        _run(self.make_llm(), check)

    def test_another_take_is_an_answer_too(self) -> None:
        async def check(llm: LLM) -> None:
            for take in range(3):
                _assert_complete(await llm.complete(replace(_prompt(), take=take)))

        _run(self.make_llm(), check)

    def test_log_probabilities_are_none_or_plausible(self) -> None:
        async def check(llm: LLM) -> None:
            assert (await llm.complete(_prompt())).first_token == {}
            first_token = (await llm.complete(replace(_prompt(), top_logprobs=5))).first_token
            assert len(first_token) <= 5
            assert all(-math.inf < logprob <= 0 for logprob in first_token.values())
            assert sum(map(math.exp, first_token.values())) < 1.001

        _run(self.make_llm(), check)

    @pytest.mark.parametrize("text", STRANGE_TEXTS)
    def test_strange_prompts_are_answered(self, text: str) -> None:
        async def check(llm: LLM) -> None:
            completion = await llm.complete(_prompt(text, text))
            assert isinstance(completion.text, str)

        _run(self.make_llm(), check)

    def test_a_stream_may_be_left_early(self) -> None:
        async def check(llm: LLM) -> None:
            async for _ in llm.stream(_prompt()):
                break
            _assert_complete(await llm.complete(_prompt()))

        _run(self.make_llm(), check)

    def test_a_cancelled_call_leaves_the_model_usable(self) -> None:
        async def check(llm: LLM) -> None:
            task = asyncio.create_task(llm.complete(_prompt()))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            _assert_complete(await llm.complete(_prompt()))

        _run(self.make_llm(), check)


def _prompt(question: str = "How hot is the water for green tea?", source: str | None = None) -> Prompt:
    text = source or "Green tea is steeped in water of 80 degrees. Black tea takes boiling water."
    return build_prompt(question, [Document("tea", text)], max_source_characters=10_000)


def _assert_complete(completion: Completion) -> None:
    assert isinstance(completion.text, str)
    assert completion.text.strip()
    for count in (completion.input_tokens, completion.output_tokens):
        assert count is None or (type(count) is int and count >= 0)


_T = TypeVar("_T")


def _run(subject: _Subject, check: Callable[[_Subject], Awaitable[_T]]) -> _T:
    async def scenario() -> _T:
        try:
            return await check(subject)
        finally:
            await subject.close()
            await subject.close()  # harmless, says the interface

    return asyncio.run(scenario())
