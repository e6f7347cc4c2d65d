"""A real HTTP server on this machine that speaks Anthropic's protocol and fails on demand."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from fastrag.testing.http_server import Answer, ModelServer, RecordedRequest, word_count, word_pieces


class AnthropicServer(ModelServer):
    """Serves ``/v1/messages``, streamed or not, on 127.0.0.1.

    Like `OpenAICompatibleServer`, in another protocol: see there for what it does unless told otherwise, and for
    `fail_next`.

    Attributes:
        requests: What arrived so far, in order.
        peak: The most requests that were being answered at one time.

    Args:
        answer: The text to answer, or a function from a chat's messages to it; None repeats the last message.
        api_key: If given, requests with another key are refused with 401, in words that repeat the key.
        unsupported: Parameters, such as ``output_config``, that make the server refuse a request with 400.
        capacity: The most requests it answers at one time: more are refused with 429. None for any number.
        retry_after_s: Seconds in the ``Retry-After`` of those refusals; None leaves it out.

    Example::

        async with AnthropicServer("Paris [1]") as server:
            llm = AnthropicLLM("any", base_url=server.base_url, api_key="test")
            server.fail_next(Fault.error(529))
            completion = await llm.complete(prompt)
    """

    def __init__(
        self,
        answer: str | Answer | None = None,
        *,
        api_key: str | None = None,
        unsupported: Collection[str] = (),
        capacity: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(
            answer, api_key=api_key, unsupported=unsupported, capacity=capacity, retry_after_s=retry_after_s
        )

    def _key_of(self, request: RecordedRequest) -> str:
        # The SDK's older versions send the first, its newer ones the second.
        return request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")

    def _complaint(self, request: RecordedRequest) -> tuple[int, str] | None:
        body = request.body
        if request.path != "/v1/messages":
            return 404, f"unknown path {request.path}"
        if not isinstance(body.get("max_tokens"), int):
            return 400, "max_tokens: a whole number is required"
        if not body.get("messages") or any(message.get("role") == "system" for message in body["messages"]):
            return 400, "messages: at least one is required, and none of the system's"
        return None

    def _error(self, status: int, message: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": "test", "message": message}}

    def _event(self, piece: dict[str, Any]) -> str:
        return f"event: {piece.get('type')}\ndata: {json.dumps(piece)}\n\n"

    def _whole(self, request: RecordedRequest) -> dict[str, Any]:
        body = request.body
        text = self.answer(body["messages"])
        inputs = word_count(body.get("system", ""), *(message.get("content") for message in body["messages"]))
        return _message(body) | {
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": inputs, "output_tokens": word_count(text)},
        }

    def _pieces(self, request: RecordedRequest) -> list[dict[str, Any]]:
        whole = self._whole(request)
        usage, texts = whole["usage"], word_pieces(whole["content"][0]["text"])
        begun = _message(request.body) | {"usage": usage | {"output_tokens": 1}}
        return [
            {"type": "message_start", "message": begun},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "ping"},
            *(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
                for text in texts
            ),
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                "usage": {"output_tokens": usage["output_tokens"]},
            },
            {"type": "message_stop"},
        ]


def _message(body: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_0",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }
