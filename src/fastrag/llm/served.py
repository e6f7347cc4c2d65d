"""What the models behind a vendor's SDK share: pacing, identity, and asking for what not every server can do."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

import msgspec

from fastrag._support.api_key import KeySource
from fastrag._support.checks import require_number, require_positive_int, require_text
from fastrag._support.sdk_connection import SDK, SDKConnection
from fastrag.errors import ConfigurationError, MalformedReplyError, ServiceRejectedError
from fastrag.llm.base import LLM, Message, Prompt
from fastrag.llm.pacing import Pace

MAX_REPLY_BYTES = 64 * 1024 * 1024
"""The most that one reply may have, as it comes over the wire; no model writes a tenth of it."""

_T = TypeVar("_T")
_PARAMETER_REFUSED = frozenset({400, 404, 422})


class ServedLLM(LLM):
    """The common part of the clients; see them for the arguments.

    Raises:
        ConfigurationError: An argument is wrong, or a key is needed and there is none.
        MissingDependencyError: The SDK is not installed.
    """

    def __init__(
        self,
        sdk: SDK,
        kind: str,
        *,
        model: str,
        base_url: str | None,
        api_key: KeySource | None,
        temperature: float | None,
        max_tokens: int | None,
        timeout_s: float,
        max_retries: int,
        max_concurrency: int,
        options: Mapping[str, Any] | None,
    ) -> None:
        self._model = require_text("model", model)
        self._parameters: dict[str, Any] = {"model": model}
        if temperature is not None:
            self._parameters["temperature"] = require_number("temperature", temperature, at_least=0)
        if max_tokens is not None:
            self._parameters["max_tokens"] = require_positive_int("max_tokens", max_tokens)
        self._options = dict(options or {})
        try:
            parameters = json.dumps(self._parameters | self._options, sort_keys=True, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ConfigurationError(f"options must be what JSON can hold: {error}") from error
        self._connection = SDKConnection(
            sdk,
            type(self).__name__,
            base_url=base_url,
            api_key=api_key,
            timeout_s=timeout_s,
            max_retries=max_retries,
            max_reply_bytes=MAX_REPLY_BYTES,
        )
        self._id = f"{kind}:{self._connection.place}:{parameters}"
        if self._connection.key.hidden(self._id) != self._id:
            raise ConfigurationError(
                "the key stands in base_url or options, which are kept and shown: only give api_key"
            )
        self._pace = Pace(self._connection.place, max_concurrency)
        # What this server was found to take, and to refuse: a kind of thing, or only one thing of that kind.
        self._taken: set[str] = set()
        self._refused: set[str | tuple[str, str]] = set()
        self._ignores_forms = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._model!r}, base_url={self._connection.place!r})"

    @property
    def id(self) -> str:
        """See `LLM.id`."""
        return self._id

    @property
    def model(self) -> str:
        """See `LLM.model`."""
        return self._model

    @property
    def endpoint(self) -> str:
        """See `LLM.endpoint`."""
        return self._connection.place

    @property
    def pace(self) -> Pace:
        """How many requests may wait for the server at present, and how often it has asked for fewer."""
        return self._pace

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()

    @abstractmethod
    def _request(self, prompt: Prompt, extras: frozenset[str]) -> dict[str, Any]:
        """The arguments of the SDK's call; ``extras`` are those of the prompt's wishes that may go into it."""

    async def _sent(
        self, prompt: Prompt, wishes: Mapping[str, str], send: Callable[[Any, dict[str, Any]], Awaitable[_T]]
    ) -> _T:
        """What ``send`` returns, asked for as many ``wishes`` (a kind, and which of it) as the server takes.

        A server that refuses a request is asked again with one wish less, until none is left; what it takes only
        without one, it is not asked for again.
        """
        asked = [kind for kind, which in wishes.items() if self._refused.isdisjoint((kind, (kind, which)))]
        left_out = None
        while True:
            request = self._request(prompt, frozenset(asked))
            try:
                async with self._pace.turn(self._connection.timeout_s) as turn, self._connection.errors(turn):
                    reply = await send(await self._connection.client(), request)
            except ServiceRejectedError as error:
                if not asked or error.status not in _PARAMETER_REFUSED:
                    raise
                left_out = asked.pop()
                continue
            self._taken.update(asked)
            if left_out is not None:
                # A server that takes others of the kind objects to this one: to a keyword of its schema, say.
                self._refused.add((left_out, wishes[left_out]) if left_out in self._taken else left_out)
            return reply

    def _messages(self, prompt: Prompt, extras: frozenset[str]) -> list[Message]:
        """The prompt's messages, with its schema in words where the server is not held to it."""
        messages = list(prompt.messages)
        if not messages:
            raise ConfigurationError("a chat model needs a prompt with at least one message")
        if prompt.schema is None or ("schema" in extras and not self._ignores_forms):
            return messages
        form = f"Reply with JSON and nothing else. It has to fit this JSON Schema:\n{schema_text(prompt)}"
        # Many chat templates take one system message, and only at the top.
        if messages[0].role == "system":
            messages[0] = Message("system", f"{messages[0].content}\n\n{form}")
        else:
            messages.insert(0, Message("system", form))
        return messages

    def _look_at_form(self, prompt: Prompt, text: str) -> None:
        """Where a whole answer is not JSON although a schema was sent, the server ignores schemas."""
        if prompt.schema is None or self._ignores_forms:
            return
        try:
            msgspec.json.decode(text)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            self._ignores_forms = True

    async def _events(self, stream: Any, form: type[_T]) -> AsyncGenerator[_T, None]:
        """The events of the SDK's ``stream``, each waited for no longer than the time-out."""
        # The time limit is for each step: it must not run while the consumer holds a piece.
        async with stream, aclosing(aiter(stream)) as chunks:
            count = 0
            while True:
                async with self._connection.errors():
                    chunk = await anext(chunks, None)
                if chunk is None:
                    break
                count += 1
                try:
                    # The SDK builds its objects without checking them.
                    piece = chunk.to_dict(warnings=False) if hasattr(chunk, "to_dict") else chunk
                    yield msgspec.convert(piece, type=form)
                except msgspec.ValidationError as error:
                    place = self._connection.place
                    raise MalformedReplyError(f"{place} sent a piece of another form: {error}") from error
            if count == 0:
                kind = self._connection.quoted(str(stream.response.headers.get("content-type")))
                raise MalformedReplyError(f"{self._connection.place} was asked for a stream and sent none, but {kind}")

    def _broken_off(self, texts: list[str]) -> MalformedReplyError:
        return MalformedReplyError(
            f"{self._connection.place} ended the stream before the answer was complete, "
            f"after {len(''.join(texts))} characters"
        )


def schema_text(prompt: Prompt) -> str:
    """The prompt's schema as JSON.

    Raises:
        ConfigurationError: It is not what JSON can hold.
    """
    try:
        return json.dumps(prompt.schema, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"the prompt's schema must be what JSON can hold: {error}") from error


def token_count(usage: Any, name: str) -> int | None:
    """The number of tokens of that name; what is not a count is unknown, not an error: the answer itself is sound."""
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
