"""A real HTTP server on this machine that speaks the OpenAI protocol and fails on demand."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Mapping
from typing import Any

from fastrag._support.checks import require_positive_int
from fastrag.testing.embedder import hash_vector
from fastrag.testing.http_server import Answer, ModelServer, RecordedRequest, word_count, word_pieces


class OpenAICompatibleServer(ModelServer):
    """Serves ``/v1/chat/completions`` (streamed or not) and ``/v1/embeddings`` (floats or base64) on 127.0.0.1.

    Without being told otherwise it behaves: a chat is answered by ``answer``, texts are embedded as `HashEmbedder`
    does, and tokens are counted as words. `fail_next` makes the coming replies go wrong, one each, in order, and after
    them it behaves again. It is a real server: the client under test runs its own code down to the socket.

    Attributes:
        requests: What arrived so far, in order.
        peak: The most requests that were being answered at one time.

    Args:
        answer: The text to answer, or a function from a chat's messages to it; None repeats the last message.
        dimension: Length of the embeddings, where the request does not say.
        api_key: If given, requests with another key are refused with 401, in words that repeat the key, as some real
            servers do.
        first_token: Alternatives of an answer's first token with their log-probabilities, told to whom asks for
            ``logprobs``; None tells nobody, as many servers do.
        unsupported: Parameters, such as ``response_format``, that make the server refuse a request with 400.
        capacity: The most requests it answers at one time: more are refused with 429. None for any number.
        retry_after_s: Seconds in the ``Retry-After`` of those refusals; None leaves it out.

    Example::

        async with OpenAICompatibleServer("Paris [1]") as server:  # or `with`, in code that is not async
            llm = OpenAICompatibleLLM("any", base_url=server.base_url, api_key="test")
            server.fail_next(Fault.error(500), Fault.slow(2.0))
            completion = await llm.complete(prompt)
    """

    _last_event = "data: [DONE]\n\n"

    def __init__(
        self,
        answer: str | Answer | None = None,
        *,
        dimension: int = 64,
        api_key: str | None = None,
        first_token: Mapping[str, float] | None = None,
        unsupported: Collection[str] = (),
        capacity: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(
            answer, api_key=api_key, unsupported=unsupported, capacity=capacity, retry_after_s=retry_after_s
        )
        self._dimension = require_positive_int("dimension", dimension)
        self._first_token = first_token

    @property
    def base_url(self) -> str:
        """What to give a client as ``base_url``; only known while the server runs."""
        return f"{super().base_url}/v1"

    def _key_of(self, request: RecordedRequest) -> str:
        return request.headers.get("authorization", "").removeprefix("Bearer ")

    def _complaint(self, request: RecordedRequest) -> tuple[int, str] | None:
        known = request.path in ("/v1/chat/completions", "/v1/embeddings")
        return None if known else (404, f"unknown path {request.path}")

    def _error(self, status: int, message: str) -> dict[str, Any]:
        return {"error": {"message": message, "type": "test", "code": str(status)}}

    def _event(self, piece: dict[str, Any]) -> str:
        return f"data: {json.dumps(piece)}\n\n"

    def _whole(self, request: RecordedRequest) -> dict[str, Any]:
        return (self._embeddings if request.path == "/v1/embeddings" else self._chat)(request.body)

    def _chat(self, body: dict[str, Any]) -> dict[str, Any]:
        messages = body.get("messages") or []
        text = self.answer(messages)
        usage = _usage(word_count(*(message.get("content") for message in messages)), word_count(text))
        message = {"role": "assistant", "content": text}
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop"}
        if body.get("logprobs") and self._first_token:
            choice["logprobs"] = {"content": [_token(self._first_token, body.get("top_logprobs") or 0)]}
        return _envelope("chat.completion", body) | {"choices": [choice], "usage": usage}

    def _pieces(self, request: RecordedRequest) -> list[dict[str, Any]]:
        body = request.body
        whole = self._chat(body)
        texts = word_pieces(whole["choices"][0]["message"]["content"])
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, *({"content": text} for text in texts)]
        choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
        envelope = _envelope("chat.completion.chunk", body)
        pieces: list[dict[str, Any]] = [envelope | {"choices": [choice]} for choice in choices]
        if (body.get("stream_options") or {}).get("include_usage"):
            pieces.append({**envelope, "choices": [], "usage": whole["usage"]})
        return pieces

    def _embeddings(self, body: dict[str, Any]) -> dict[str, Any]:
        texts = [body["input"]] if isinstance(body.get("input"), str) else body.get("input") or []
        data = []
        for index, text in enumerate(texts):
            vector = hash_vector(str(text), body.get("dimensions") or self._dimension)
            as_base64 = body.get("encoding_format") == "base64"
            embedding = base64.b64encode(vector.astype("<f4").tobytes()).decode() if as_base64 else vector.tolist()
            data.append({"object": "embedding", "index": index, "embedding": embedding})
        return {"object": "list", "model": body["model"], "data": data, "usage": _usage(word_count(*texts), 0)}


def _token(alternatives: Mapping[str, float], most: int) -> dict[str, Any]:
    ranked = sorted(alternatives.items(), key=lambda item: -item[1])
    told = [{"token": token, "logprob": logprob, "bytes": list(token.encode())} for token, logprob in ranked]
    return told[0] | {"top_logprobs": told[:most]}


def _envelope(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    return {"id": "chatcmpl-0", "object": kind, "created": 0, "model": body["model"]}


def _usage(inputs: int, outputs: int) -> dict[str, int]:
    return {"prompt_tokens": inputs, "completion_tokens": outputs, "total_tokens": inputs + outputs}
