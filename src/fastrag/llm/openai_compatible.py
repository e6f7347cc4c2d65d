"""Chat models behind any server that speaks OpenAI's ``/v1/chat/completions``."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import msgspec

from fastrag._support.checks import require_positive_int, require_text
from fastrag._support.openai_client import OpenAIConnection
from fastrag.errors import ConfigurationError, MalformedReplyError
from fastrag.llm.base import LLM, Completion, CompletionDelta, Prompt


class _Said(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None

    @property
    def text(self) -> str | None:
        return self.refusal if self.content is None else self.content


class _Choice(msgspec.Struct):
    message: _Said
    finish_reason: str | None = None


class _Reply(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: Any = None


class _DeltaChoice(msgspec.Struct):
    delta: _Said | None = None
    finish_reason: str | None = None


class _Piece(msgspec.Struct):
    choices: list[_DeltaChoice] = []
    model: str | None = None
    usage: Any = None


class OpenAICompatibleLLM(LLM):
    """Asks an OpenAI-compatible server to answer; needs the extra ``openai``.

    Token counts are the server's own, from the reply's ``usage``; where it gives none they are None.

    Args:
        model: The model's name, as the server knows it.
        base_url: Such as ``http://localhost:8000/v1``; None: ``OPENAI_BASE_URL``, or OpenAI itself.
        api_key: None: ``OPENAI_API_KEY``. May be missing where ``base_url`` is given.
        temperature: 0 for the likeliest answer; None leaves it to the server, for models that take no other.
        max_tokens: The longest answer in tokens; None leaves it to the server. A longer answer is cut.
        timeout_s: Seconds for one answer, the retries and the waits between them included. When streaming: seconds
            for the first piece, and for each further one.
        max_retries: How often the SDK tries again after 429, 5xx or a broken connection; it honours ``Retry-After``.
            A stream that breaks in the middle is not tried again.
        options: Further parameters of the request, as the server knows them: ``{"seed": 1, "top_p": 0.9}``.

    Raises:
        ConfigurationError: An argument is wrong, or a key is needed and there is none.
        MissingDependencyError: The extra ``openai`` is not installed.

    Example::

        llm = OpenAICompatibleLLM("qwen2.5:7b", base_url="http://localhost:11434/v1")
        completion = await llm.complete(Prompt((Message("user", "Say hello."),)))
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = None,
        timeout_s: float = 60.0,
        max_retries: int = 2,
        options: dict[str, Any] | None = None,
    ) -> None:
        self._model = require_text("model", model)
        self._parameters: dict[str, Any] = {"model": model}
        if temperature is not None:
            if isinstance(temperature, bool) or not isinstance(temperature, int | float):
                raise ConfigurationError(f"temperature must be a number or None, not {temperature!r}")
            if not 0 <= temperature < math.inf:
                raise ConfigurationError(f"temperature must be at least 0, not {temperature!r}")
            self._parameters["temperature"] = temperature
        if max_tokens is not None:
            self._parameters["max_tokens"] = require_positive_int("max_tokens", max_tokens)
        self._extra = dict(options or {})
        self._connection = OpenAIConnection(
            "OpenAICompatibleLLM", base_url=base_url, api_key=api_key, timeout_s=timeout_s, max_retries=max_retries
        )

    def __repr__(self) -> str:
        return f"OpenAICompatibleLLM({self._model!r}, base_url={self._connection.place!r})"

    @property
    def id(self) -> str:
        """See `LLM.id`."""
        parameters = json.dumps(self._parameters | self._extra, sort_keys=True, default=repr)
        return f"openai-compatible:{self._connection.place}:{parameters}"

    @property
    def model(self) -> str:
        """See `LLM.model`."""
        return self._model

    @property
    def endpoint(self) -> str:
        """See `LLM.endpoint`."""
        return self._connection.place

    async def complete(self, prompt: Prompt) -> Completion:
        """Answer ``prompt`` in one piece.

        Raises:
            ConfigurationError: ``prompt`` has no messages.
            ServiceError: The endpoint failed (see `fastrag.errors`).
        """
        request = self._request(prompt)
        async with self._connection.errors():
            client = await self._connection.client()
            reply = await client.chat.completions.with_raw_response.create(**request)
            content = reply.content
        decoded = self._connection.decode(content, _Reply)
        if not decoded.choices:
            raise MalformedReplyError(f"{self._connection.place} gave a reply without choices")
        choice = decoded.choices[0]
        if choice.message.text is None:
            raise MalformedReplyError(
                f"{self._connection.place} gave a reply without text (finish_reason {choice.finish_reason!r})"
            )
        return _completion(choice.message.text, decoded.usage, decoded.model)

    async def stream(self, prompt: Prompt) -> AsyncIterator[CompletionDelta]:
        """Answer ``prompt`` piece by piece; leaving the loop early closes the connection.

        Raises:
            ConfigurationError: ``prompt`` has no messages.
            ServiceError: The endpoint failed, at the start or in the middle.
        """
        request = self._request(prompt) | {"stream": True, "stream_options": {"include_usage": True}}
        texts: list[str] = []
        usage = model = finish_reason = None
        async with aclosing(self._pieces(request)) as pieces:
            async for piece in pieces:
                usage, model = piece.usage or usage, piece.model or model
                for choice in piece.choices[:1]:
                    finish_reason = choice.finish_reason or finish_reason
                    text = choice.delta.text if choice.delta else None
                    if text:
                        texts.append(text)
                        yield CompletionDelta(text)
        # A connection that is closed in an orderly way looks like an end; only this tells a whole answer from a part.
        if finish_reason is None:
            raise MalformedReplyError(
                f"{self._connection.place} ended the stream before the answer was complete, "
                f"after {len(''.join(texts))} characters"
            )
        yield CompletionDelta("", _completion("".join(texts), usage, model))

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        if not prompt.messages:
            raise ConfigurationError("a chat model needs a prompt with at least one message")
        messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
        return self._parameters | {"messages": messages, "extra_body": self._extra}

    async def _pieces(self, request: dict[str, Any]) -> AsyncGenerator[_Piece, None]:
        # The time limit is for each step: it must not run while the consumer holds a piece.
        async with self._connection.errors():
            client = await self._connection.client()
            stream = await client.chat.completions.create(**request)
        async with stream, aclosing(aiter(stream)) as pieces:
            count = 0
            while True:
                async with self._connection.errors():
                    chunk = await anext(pieces, None)
                if chunk is None:
                    break
                count += 1
                yield self._piece(chunk)
            if count == 0:
                kind = stream.response.headers.get("content-type")
                raise MalformedReplyError(f"{self._connection.place} was asked for a stream and sent none, but {kind}")

    def _piece(self, chunk: Any) -> _Piece:
        # The SDK builds its objects without checking them.
        try:
            return msgspec.convert(chunk.to_dict(warnings=False), type=_Piece)
        except (msgspec.ValidationError, AttributeError) as error:
            raise MalformedReplyError(f"{self._connection.place} sent a piece of another form: {error}") from error


def _completion(text: str, usage: Any, model: str | None) -> Completion:
    return Completion(text, _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"), model)


def _count(usage: Any, name: str) -> int | None:
    # What is not a count is unknown, not an error: the answer itself is sound.
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
