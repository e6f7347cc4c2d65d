"""Chat models behind any server that speaks OpenAI's ``/v1/chat/completions``."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

import msgspec

from fastrag._support.api_key import KeySource
from fastrag._support.sdk_connection import OPENAI
from fastrag.errors import MalformedReplyError
from fastrag.llm.base import Completion, CompletionDelta, Prompt
from fastrag.llm.served import ServedLLM, schema_text, token_count

_ROUNDING = 1e-3  # a probability of 1 has the logarithm 0, and some servers' arithmetic a little more


class _Said(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None

    @property
    def text(self) -> str | None:
        return self.refusal if self.content is None else self.content


class _Choice(msgspec.Struct):
    message: _Said
    finish_reason: str | None = None
    logprobs: Any = None


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


class _Alternative(msgspec.Struct):
    token: str
    logprob: float


class _Token(msgspec.Struct):
    top_logprobs: list[_Alternative] = []


class _Logprobs(msgspec.Struct):
    content: list[_Token]


class OpenAICompatibleLLM(ServedLLM):
    """Asks an OpenAI-compatible server to answer; needs the extra ``openai``.

    Token counts are the server's own, from the reply's ``usage``; where it gives none they are None. A reply of more
    than 64 MiB is refused.

    A prompt's ``schema`` goes to the server as a strict ``response_format``, and its ``top_logprobs`` as the protocol
    has them. A server that refuses such a request is asked again without (with a time-out of its own), and not asked
    for it again by this object; it is then told the schema in words, as is one that takes it and answers otherwise.
    Not by the protocol's ``json_object``, which holds a server to JSON but not to the form: whoever asked checks that
    anyway. A streamed answer has no ``first_token``.

    All calls of one object share a `Pace`: see ``pace`` for how many may wait for the server at present.

    Args:
        model: The model's name, as the server knows it.
        base_url: Such as ``http://localhost:8000/v1``; None: ``OPENAI_BASE_URL``, or OpenAI itself.
        api_key: The key, or a function that returns it, asked (in a thread) before each request; None:
            ``OPENAI_API_KEY``. May be missing where ``base_url`` is given.
        temperature: 0 for the likeliest answer; None leaves it to the server, for models that take no other.
        max_tokens: The longest answer in tokens; None leaves it to the server. A longer answer is cut.
        timeout_s: Seconds for one answer, the retries and the waits between them included, but not the wait for the
            first place in line. When streaming: seconds for the first piece, and for each further one.
        max_retries: How often the SDK tries again after 429, 5xx or a broken connection; it honours ``Retry-After``.
            A stream that breaks in the middle is not tried again.
        max_concurrency: The most requests that wait for a reply at one time; fewer while the server asks for fewer.
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
        api_key: KeySource | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = None,
        timeout_s: float = 60.0,
        max_retries: int = 2,
        max_concurrency: int = 64,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            OPENAI,
            "openai-compatible",
            model=model,
            base_url=base_url,
            api_key=api_key,
            temperature=temperature,
            max_tokens=max_tokens,
            timeout_s=timeout_s,
            max_retries=max_retries,
            max_concurrency=max_concurrency,
            options=options,
        )

    async def complete(self, prompt: Prompt) -> Completion:
        """Answer ``prompt`` in one piece.

        Raises:
            ConfigurationError: ``prompt`` has no messages.
            ServiceError: The endpoint failed (see `fastrag.errors`).
        """

        async def send(client: Any, request: dict[str, Any]) -> bytes:
            reply = await client.chat.completions.with_raw_response.create(**request)
            content: bytes = reply.content
            return content

        wishes = _wishes(prompt) | ({"logprobs": ""} if prompt.top_logprobs else {})
        decoded = self._connection.decode(await self._sent(prompt, wishes, send), _Reply)
        place = self._connection.place
        if not decoded.choices:
            raise MalformedReplyError(f"{place} gave a reply without choices")
        choice = decoded.choices[0]
        if choice.message.text is None:
            said = self._connection.quoted(f"finish_reason {choice.finish_reason!r}")
            raise MalformedReplyError(f"{place} gave a reply without text ({said})")
        if choice.finish_reason == "stop":
            self._look_at_form(prompt, choice.message.text)
        first_token = _first_token(choice.logprobs) if prompt.top_logprobs else {}
        return _completion(choice.message.text, decoded.usage, decoded.model, first_token)

    async def stream(self, prompt: Prompt) -> AsyncIterator[CompletionDelta]:
        """Answer ``prompt`` piece by piece; leaving the loop early closes the connection.

        Raises:
            ConfigurationError: ``prompt`` has no messages.
            ServiceError: The endpoint failed, at the start or in the middle.
        """

        async def send(client: Any, request: dict[str, Any]) -> Any:
            return await client.chat.completions.create(**request, stream=True, stream_options={"include_usage": True})

        stream = await self._sent(prompt, _wishes(prompt), send)
        texts: list[str] = []
        usage = model = finish_reason = None
        async with aclosing(self._events(stream, _Piece)) as pieces:
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
            raise self._broken_off(texts)
        yield CompletionDelta("", _completion("".join(texts), usage, model))

    def _request(self, prompt: Prompt, extras: frozenset[str]) -> dict[str, Any]:
        messages = [{"role": message.role, "content": message.content} for message in self._messages(prompt, extras)]
        request: dict[str, Any] = self._parameters | {"messages": messages, "extra_body": self._options}
        if "schema" in extras:
            form = {"name": "reply", "strict": True, "schema": prompt.schema}
            request["response_format"] = {"type": "json_schema", "json_schema": form}
        if "logprobs" in extras:
            request |= {"logprobs": True, "top_logprobs": prompt.top_logprobs}
        return request


def _wishes(prompt: Prompt) -> dict[str, str]:
    return {} if prompt.schema is None else {"schema": schema_text(prompt)}


def _first_token(logprobs: Any) -> dict[str, float]:
    """The alternatives of the first token, likeliest first; none where they are not what the protocol says."""
    try:
        tokens = msgspec.convert(logprobs, _Logprobs).content
    except msgspec.ValidationError:
        return {}
    alternatives = tokens[0].top_logprobs if tokens else []
    if any(not -math.inf < alternative.logprob <= _ROUNDING for alternative in alternatives):
        return {}
    found: dict[str, float] = {}
    for alternative in sorted(alternatives, key=lambda alternative: -alternative.logprob):
        # Two tokens may read alike, such as two halves of a character.
        found.setdefault(alternative.token, min(alternative.logprob, 0.0))
    return found


def _completion(text: str, usage: Any, model: str | None, first_token: Mapping[str, float] | None = None) -> Completion:
    inputs, outputs = token_count(usage, "prompt_tokens"), token_count(usage, "completion_tokens")
    return Completion(text, inputs, outputs, model, first_token or {})
