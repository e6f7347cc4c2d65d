"""The server by itself, spoken to with nothing but the standard library; the clients' tests use it in anger."""

from __future__ import annotations

import http.client
import json
import threading
import urllib.error
import urllib.request
from typing import Any

import pytest

from fastrag.testing import Fault, OpenAICompatibleServer

CHAT = {"model": "m", "messages": [{"role": "user", "content": "two words"}]}


def post(server: OpenAICompatibleServer, path: str, body: Any, key: str = "k") -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(server.base_url + path, data, {"Authorization": f"Bearer {key}"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as reply:
        return bytes(reply.read())


def test_answers_by_text_by_function_or_by_repeating() -> None:
    for answer, expected in ((None, "two words"), ("yes", "yes"), (lambda chat: f"{len(chat)} message", "1 message")):
        with OpenAICompatibleServer(answer) as server:
            reply = json.loads(post(server, "/chat/completions", CHAT))
        assert reply["choices"][0]["message"] == {"role": "assistant", "content": expected}
        assert reply["usage"]["prompt_tokens"] == 2


def test_a_stream_tells_usage_only_when_asked() -> None:
    with OpenAICompatibleServer() as server:
        plain = post(server, "/chat/completions", CHAT | {"stream": True})
        counted = post(server, "/chat/completions", CHAT | {"stream": True, "stream_options": {"include_usage": True}})
    assert b"usage" not in plain
    assert b'"completion_tokens": 2' in counted
    assert plain.endswith(b"data: [DONE]\n\n")


def test_embeddings_are_floats_unless_base64_is_asked_for() -> None:
    with OpenAICompatibleServer(dimension=4) as server:
        reply = json.loads(post(server, "/embeddings", {"model": "m", "input": "a b"}))
        encoded = json.loads(post(server, "/embeddings", {"model": "m", "input": ["a"], "encoding_format": "base64"}))
    assert len(reply["data"][0]["embedding"]) == 4
    assert isinstance(encoded["data"][0]["embedding"], str)


@pytest.mark.parametrize(
    ("path", "body", "key", "status"),
    [
        ("/chat/completions", CHAT, "wrong", 401),
        ("/nowhere", CHAT, "k", 404),
        ("/chat/completions", {"messages": []}, "k", 400),
        ("/chat/completions", b"{", "k", 400),
        ("/chat/completions", b"[]", "k", 400),
    ],
)
def test_wrong_requests_are_refused(path: str, body: Any, key: str, status: int) -> None:
    with OpenAICompatibleServer(api_key="k") as server:
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(server, path, body, key)
        with caught.value as refusal:
            assert refusal.code == status
            assert json.loads(refusal.read())["error"]["code"] == str(status)


def test_faults_are_used_up_in_order() -> None:
    with OpenAICompatibleServer() as server:
        server.fail_next(Fault.html(), Fault.error(429, retry_after_s=3))
        assert post(server, "/chat/completions", CHAT).startswith(b"<!doctype html>")
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(server, "/chat/completions", CHAT)
        with caught.value as refusal:
            assert (refusal.code, refusal.headers["Retry-After"]) == (429, "3")
        assert b"two words" in post(server, "/chat/completions", CHAT)
        assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 3


def test_pieces_may_be_changed_or_left_out() -> None:
    with OpenAICompatibleServer() as server:
        server.fail_next(Fault(edit=lambda piece: None if piece["choices"][0]["finish_reason"] else piece))
        stream = post(server, "/chat/completions", CHAT | {"stream": True})
    assert b'"stop"' not in stream
    assert b"two " in stream


def test_stopping_breaks_off_a_slow_reply_and_leaves_no_thread() -> None:
    before = set(threading.enumerate())
    errors: list[Exception] = []

    def ask(server: OpenAICompatibleServer) -> None:
        try:
            post(server, "/chat/completions", CHAT)
        except (OSError, http.client.HTTPException) as error:
            errors.append(error)

    with OpenAICompatibleServer() as server:
        server.fail_next(Fault.slow(600))
        client = threading.Thread(target=ask, args=(server,))
        client.start()
        while not server.requests:
            pass
    client.join()
    assert set(threading.enumerate()) <= before


def test_has_an_address_only_while_it_runs() -> None:
    server = OpenAICompatibleServer()
    with pytest.raises(RuntimeError, match="only inside"):
        _ = server.base_url


def test_more_than_its_capacity_is_refused() -> None:
    def answer(_: Any) -> str:
        answering.set()
        assert refused.wait(10)
        return "late"

    answering, refused = threading.Event(), threading.Event()
    with OpenAICompatibleServer(answer, capacity=1, retry_after_s=7) as server:
        first = threading.Thread(target=post, args=(server, "/chat/completions", CHAT))
        first.start()
        assert answering.wait(10)
        with pytest.raises(urllib.error.HTTPError, match="429") as caught:
            post(server, "/chat/completions", CHAT)
        refused.set()
        first.join()
        assert json.loads(post(server, "/chat/completions", CHAT))["choices"]
    assert caught.value.headers["Retry-After"] == "7"


def test_an_unsupported_parameter_is_refused() -> None:
    with OpenAICompatibleServer(unsupported=["response_format"]) as server:
        with pytest.raises(urllib.error.HTTPError, match="400"):
            post(server, "/chat/completions", CHAT | {"response_format": {}})
        assert post(server, "/chat/completions", CHAT)


def test_log_probabilities_are_told_to_whom_asks_and_as_many_as_asked_for() -> None:
    with OpenAICompatibleServer("Yes", first_token={"No": -2.0, "Yes": -0.2, "So": -9.0}) as server:
        plain = json.loads(post(server, "/chat/completions", CHAT))
        told = json.loads(post(server, "/chat/completions", CHAT | {"logprobs": True, "top_logprobs": 2}))
    assert "logprobs" not in plain["choices"][0]
    first = told["choices"][0]["logprobs"]["content"][0]
    assert [alternative["token"] for alternative in first["top_logprobs"]] == ["Yes", "No"]


def test_a_reply_may_drip() -> None:
    with OpenAICompatibleServer("two words") as server:
        server.fail_next(Fault.dripping(0.0001), Fault.dripping(0.0001))
        assert json.loads(post(server, "/chat/completions", CHAT))["choices"]
        assert post(server, "/chat/completions", CHAT | {"stream": True}).endswith(b"data: [DONE]\n\n")
