"""Anthropic's models, and others behind a server that speaks Anthropic's ``/v1/messages``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, Literal

import msgspec

from fastrag._support.api_key import KeySource
from fastrag._support.extras import import_extra
from fastrag._support.sdk_connection import ANTHROPIC
from fastrag.errors import ConfigurationError, MalformedReplyError
from fastrag.llm.base import Completion, CompletionDelta, Prompt
from fastrag.llm.served import ServedLLM, schema_text, token_count

_CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")


class _Block(msgspec.Struct):
    type: str
    text: str = ""


class _Reply(msgspec.Struct):
    type: Literal["message"]
    content: list[_Block]
    stop_reason: str | None = None
    model: str | None = None
    usage: Any = None


class _Begun(msgspec.Struct):
    model: str | None = None
    usage: Any = None


class _Delta(msgspec.Struct):
    type: str | None = None
    text: str = ""
    stop_reason: str | None = None


class _Event(msgspec.Struct):
    type: str
    message: _Begun | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: Any = None


class AnthropicLLM(ServedLLM):
    """Asks one of Anthropic's models to answer; needs the extra ``anthropic``.

    Token counts are the server's own, from the reply's ``usage``; those read from or written to its prompt cache are
    part of ``input_tokens``. What it does not tell is None. A reply of more than 64 MiB is refused.

    A prompt's ``schema`` goes to the server as its ``output_config.format``, rewritten by the SDK to what structured
    output supports. A server or model that refuses such a request is asked again without (with a time-out of its own),
    and not asked for it again by this object; it is then told the schema in words, as is one that takes it and
    answers otherwise. The protocol has no log-probabilities: ``first_token`` is empty.

    All calls of one object share a `Pace`: see ``pace`` for how many may wait for the server at present.

    Args:
        model: The model's name, such as ``claude-haiku-4-5``.
        base_url: Without ``/v1``, such as ``http://localhost:8000``; None: ``ANTHROPIC_BASE_URL``, or Anthropic itself.
        api_key: The key, or a function that returns it, asked (in a thread) before each request; None:
            ``ANTHROPIC_API_KEY``. May be missing where ``base_url`` is given.
        temperature: None leaves it to the server: the newest models take none.
        max_tokens: The longest answer in tokens, which this protocol has to be told. A longer answer is cut.
        timeout_s: Seconds for one answer, the retries and the waits between them included, but not the wait for the
            first place in line. When streaming: seconds for the first piece, and for each further one.
        max_retries: How often the SDK tries again after 429, 5xx or a broken connection; it honours ``Retry-After``.
            A stream that breaks in the middle is not tried again.
        max_concurrency: The most requests that wait for a reply at one time; fewer while the server asks for fewer.
        options: Further parameters of the request, as the server knows them: ``{"top_p": 0.9}``.

    Raises:
        ConfigurationError: An argument is wrong, or a key is needed and there is none.
        MissingDependencyError: The extra ``anthropic`` is not installed.

    Example::

        llm = AnthropicLLM("claude-haiku-4-5", api_key=lambda: Path("/run/secrets/anthropic").read_text())
        completion = await llm.complete(Prompt((Message("user", "Say hello."),)))
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: KeySource | None = None,
        temperature: float | None = None,
        max_tokens: int = 4096,
        timeout_s: float = 60.0,
        max_retries: int = 2,
        max_concurrency: int = 64,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if max_tokens is None:
            raise ConfigurationError("max_tokens must be a whole number of at least 1: the protocol has to be told")
        super().__init__(
            ANTHROPIC,
            "anthropic",
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
        self._sdk = import_extra("anthropic", extra="anthropic", purpose="AnthropicLLM")

    async def complete(self, prompt: Prompt) -> Completion:
        """Answer ``prompt`` in one piece.

        Raises:
            ConfigurationError: ``prompt`` has no messages but the system's.
            ServiceError: The endpoint failed (see `fastrag.errors`).
        """

        async def send(client: Any, request: dict[str, Any]) -> bytes:
            reply = await client.messages.with_raw_response.create(**request)
            content: bytes = await reply.read()
            return content

        reply = self._connection.decode(await self._sent(prompt, self._wishes(prompt), send), _Reply)
        texts = [block.text for block in reply.content if block.type == "text"]
        if reply.stop_reason is None or (reply.content and not texts):
            place = self._connection.place
            said = self._connection.quoted(f"stop_reason {reply.stop_reason!r}")
            raise MalformedReplyError(f"{place} gave a reply without text ({said})")
        text = "".join(texts)
        if reply.stop_reason == "end_turn":
            self._look_at_form(prompt, text)
        return _completion(text, reply.usage, reply.model)

    async def stream(self, prompt: Prompt) -> AsyncIterator[CompletionDelta]:
        """Answer ``prompt`` piece by piece; leaving the loop early closes the connection.

        Raises:
            ConfigurationError: ``prompt`` has no messages but the system's.
            ServiceError: The endpoint failed, at the start or in the middle.
        """

        async def send(client: Any, request: dict[str, Any]) -> Any:
            # Not by `messages.create`, whose objects have made numbers of what the server said: of "7" or true.
            body = {name: value for name, value in request.items() if name != "extra_body"}
            body |= request["extra_body"] | {"stream": True}
            return await client.post(
                "/v1/messages", body=body, cast_to=object, stream=True, stream_cls=self._sdk.AsyncStream[object]
            )

        stream = await self._sent(prompt, self._wishes(prompt), send)
        texts: list[str] = []
        usage: dict[str, Any] = {}
        model = stop_reason = None
        async with aclosing(self._events(stream, _Event)) as events:
            async for event in events:
                if event.message is not None:
                    model = event.message.model
                # The counts at the end are of the whole answer, and replace those told at its beginning.
                for told in (event.message and event.message.usage, event.usage):
                    if isinstance(told, dict):
                        usage |= {name: value for name, value in told.items() if value is not None}
                text = event.content_block.text if event.content_block and event.content_block.type == "text" else ""
                if event.delta is not None:
                    stop_reason = event.delta.stop_reason or stop_reason
                    text += event.delta.text if event.delta.type == "text_delta" else ""
                if text:
                    texts.append(text)
                    yield CompletionDelta(text)
        # A connection that is closed in an orderly way looks like an end; only this tells a whole answer from a part.
        if stop_reason is None:
            raise self._broken_off(texts)
        yield CompletionDelta("", _completion("".join(texts), usage, model))

    def _wishes(self, prompt: Prompt) -> dict[str, str]:
        return {} if self._format(prompt) is None else {"schema": schema_text(prompt)}

    def _format(self, prompt: Prompt) -> dict[str, Any] | None:
        """The prompt's schema as structured output takes it; None where there is none, or it cannot be rewritten."""
        if prompt.schema is None:
            return None
        try:
            return {"type": "json_schema", "schema": self._sdk.transform_schema(dict(prompt.schema))}
        except (ValueError, TypeError, AttributeError, AssertionError):
            return None

    def _request(self, prompt: Prompt, extras: frozenset[str]) -> dict[str, Any]:
        messages = self._messages(prompt, extras)
        system = "\n\n".join(message.content for message in messages if message.role == "system")
        chat = [{"role": message.role, "content": message.content} for message in messages if message.role != "system"]
        if not chat:
            raise ConfigurationError("this model needs a prompt with at least one message that is not the system's")
        # In the extra body, as the SDK's own parameters change: its newest version has no temperature any more.
        more = {name: value for name, value in self._parameters.items() if name not in ("model", "max_tokens")}
        more |= self._options
        if "schema" in extras:
            more["output_config"] = {**(more.get("output_config") or {}), "format": self._format(prompt)}
        request = {"model": self._model, "max_tokens": self._parameters["max_tokens"], "messages": chat}
        return request | ({"system": system} if system else {}) | {"extra_body": more}


def _completion(text: str, usage: Any, model: str | None) -> Completion:
    return Completion(text, _input_tokens(usage), token_count(usage, "output_tokens"), model)


def _input_tokens(usage: Any) -> int | None:
    # What was cached is not among the input_tokens of this protocol.
    if not isinstance(usage, dict):
        return None
    parts = [
        token_count(usage, name)
        for name in ("input_tokens", *(name for name in _CACHED if usage.get(name) is not None))
    ]
    counted = [part for part in parts if part is not None]
    return sum(counted) if len(counted) == len(parts) else None
