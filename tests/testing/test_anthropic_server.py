"""The server by itself, spoken to with nothing but the standard library; the client's tests use it in anger."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from fastrag.testing import AnthropicServer, Fault

CHAT = {"model": "m", "max_tokens": 9, "system": "Be brief.", "messages": [{"role": "user", "content": "two words"}]}


def post(server: AnthropicServer, path: str, body: Any, key: str = "k") -> bytes:
    request = urllib.request.Request(server.base_url + path, json.dumps(body).encode(), {"X-Api-Key": key})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as reply:
        return bytes(reply.read())


def test_answers_in_one_piece() -> None:
    with AnthropicServer() as server:
        reply = json.loads(post(server, "/v1/messages", CHAT))
    assert reply["content"] == [{"type": "text", "text": "two words"}]
    assert (reply["type"], reply["stop_reason"]) == ("message", "end_turn")
    assert reply["usage"] == {"input_tokens": 4, "output_tokens": 2}


def test_a_stream_has_the_protocols_events_in_their_order() -> None:
    with AnthropicServer() as server:
        lines = post(server, "/v1/messages", CHAT | {"stream": True}).decode().splitlines()
    names = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    assert names == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    pieces = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert "".join(piece["delta"]["text"] for piece in pieces if piece["type"] == "content_block_delta") == "two words"
    assert [piece["type"] for piece in pieces] == names


@pytest.mark.parametrize(
    ("path", "change", "key", "status"),
    [
        ("/v1/messages", {}, "wrong", 401),
        ("/v1/chat/completions", {}, "k", 404),
        ("/v1/messages", {"max_tokens": None}, "k", 400),
        ("/v1/messages", {"messages": []}, "k", 400),
        ("/v1/messages", {"messages": [{"role": "system", "content": "x"}]}, "k", 400),
        ("/v1/messages", {"model": None}, "k", 400),
        ("/v1/messages", {"output_config": {}}, "k", 400),
    ],
)
def test_refuses_what_the_protocol_does(path: str, change: dict[str, Any], key: str, status: int) -> None:
    with AnthropicServer(api_key="k", unsupported=["output_config"]) as server:
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(server, path, CHAT | change, key)
        assert caught.value.code == status
        assert json.loads(caught.value.read())["type"] == "error"


def test_fails_as_told_and_then_behaves() -> None:
    with AnthropicServer("fine") as server:
        server.fail_next(Fault.error(529, retry_after_s=3))
        with pytest.raises(urllib.error.HTTPError, match="529") as caught:
            post(server, "/v1/messages", CHAT)
        assert caught.value.headers["Retry-After"] == "3"
        assert b"fine" in post(server, "/v1/messages", CHAT)
