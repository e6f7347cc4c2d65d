"""Whatever a server does to the clients becomes the right error, or an answer without the counts it did not give."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from fastrag.errors import (
    ConfigurationError,
    MalformedReplyError,
    ServiceError,
    ServiceRejectedError,
    ServiceTimeoutError,
    ServiceUnavailableError,
)
from fastrag.llm import AnthropicLLM, Completion, Message, OpenAICompatibleLLM, Prompt, served
from fastrag.testing import AnthropicServer, Fault, OpenAICompatibleServer

KEY = "sk-a-very-secret-key"
PROMPT = Prompt((Message("system", "Be brief."), Message("user", "What is a tuple?")))
ANSWER = "An immutable sequence [1]."

Server = OpenAICompatibleServer | AnthropicServer
Model = OpenAICompatibleLLM | AnthropicLLM


@dataclass(frozen=True)
class Kind:
    """A client and its server, and the names in their protocol."""

    model: type[Model]
    server: type[Server]
    list: str
    counts: tuple[str, str]
    end: str


KINDS = {
    "openai": Kind(
        OpenAICompatibleLLM, OpenAICompatibleServer, "choices", ("prompt_tokens", "completion_tokens"), "finish_reason"
    ),
    "anthropic": Kind(AnthropicLLM, AnthropicServer, "content", ("input_tokens", "output_tokens"), "stop_reason"),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture
async def server(kind: Kind) -> AsyncIterator[Server]:
    async with kind.server(ANSWER) as server:
        yield server


def a_model(server: Server, **options: Any) -> Model:
    kind = next(kind for kind in KINDS.values() if isinstance(server, kind.server))
    return kind.model("m", **{"base_url": server.base_url, "api_key": KEY, "timeout_s": 30, **options})


async def streamed(llm: Model) -> Completion:
    deltas = [delta async for delta in llm.stream(PROMPT)]
    assert deltas[-1].completion is not None
    assert "".join(delta.text for delta in deltas) == deltas[-1].completion.text
    return deltas[-1].completion


@pytest.fixture(params=["complete", "stream"])
def ask(request: pytest.FixtureRequest) -> Callable[[Model], Awaitable[Completion]]:
    return streamed if request.param == "stream" else lambda llm: llm.complete(PROMPT)


async def test_an_answer_has_the_servers_own_counts(ask: Any, server: Server) -> None:
    assert await ask(a_model(server)) == Completion(ANSWER, 6, 4, "m")


@pytest.mark.parametrize("value", [-1, 7.0, 7.5, "7", True, None, [7], {"n": 7}])
async def test_a_count_that_is_none_is_unknown(ask: Any, kind: Kind, server: Server, value: object) -> None:
    def edit(piece: dict[str, Any]) -> dict[str, Any]:
        told = piece.get("message", piece)
        if told.get("usage"):
            told["usage"] = dict.fromkeys(kind.counts, value)
        return piece

    server.fail_next(Fault(edit=edit))
    completion = await ask(a_model(server))
    assert completion.text == ANSWER
    assert (completion.input_tokens, completion.output_tokens) == (None, None)


@pytest.mark.parametrize("usage", [None, [], "many", 5])
async def test_usage_that_is_none_is_unknown(ask: Any, server: Server, usage: object) -> None:
    def edit(piece: dict[str, Any]) -> dict[str, Any]:
        told = piece.get("message", piece)
        if "usage" in told:
            told["usage"] = usage
        return piece

    server.fail_next(Fault(edit=edit))
    completion = await ask(a_model(server))
    assert completion == Completion(ANSWER, None, None, "m")


@pytest.mark.parametrize(
    ("cached", "counted"),
    [
        ({"cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}, 126),
        ({"cache_read_input_tokens": -1}, None),
    ],
)
async def test_cached_tokens_are_input_too(ask: Any, cached: dict[str, int], counted: int | None) -> None:
    def edit(piece: dict[str, Any]) -> dict[str, Any]:
        told = piece.get("message", piece)
        if "input_tokens" in told.get("usage", {}):
            told["usage"] |= cached
        return piece

    async with AnthropicServer(ANSWER) as server:
        server.fail_next(Fault(edit=edit))
        assert (await ask(a_model(server))).input_tokens == counted


BROKEN = {
    "a web page": Fault.html(),
    "half of a JSON": Fault.garbage(),
    "nothing": Fault(body=b""),
    "null": Fault(body=b"null"),
    "a list": Fault(body=b"[]"),
    "not UTF-8": Fault(body=b'{"x": "\xff"}'),
    "deep nesting": Fault(body=b"[" * 100_000),
    "a web page that claims to be a stream": Fault(body=b"<p>Hi</p>\n\n", content_type="text/event-stream"),
    "a stream that is no JSON": Fault(body=b"event: message_start\ndata: {oops\n\n", content_type="text/event-stream"),
    "a stream that is nested deep": Fault(
        body=b"event: message_start\ndata: " + b"[" * 100_000 + b"\n\n", content_type="text/event-stream"
    ),
    "a stream of lists": Fault(body=b"event: message_start\ndata: [1]\n\n", content_type="text/event-stream"),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_what_is_not_the_protocol_is_refused(ask: Any, server: Server, name: str) -> None:
    server.fail_next(BROKEN[name])
    with pytest.raises(MalformedReplyError, match=server.base_url):
        await ask(a_model(server))
    assert (await ask(a_model(server))).text == ANSWER


@pytest.mark.parametrize("value", ["none", 5, [5], None, [None]])
async def test_a_reply_of_another_form_is_refused(kind: Kind, server: Server, value: object) -> None:
    server.fail_next(Fault.changed(**{kind.list: value}), Fault.without(kind.list), Fault.changed(model=5))
    for _ in range(3):
        with pytest.raises(MalformedReplyError):
            await a_model(server).complete(PROMPT)


async def test_no_text_at_all_is_no_answer(kind: Kind, server: Server) -> None:
    server.fail_next(
        Fault.changed(**{kind.list: [], "stop_reason": None}),
        Fault.changed(choices=[{"message": {}}], content=[{"type": "thinking", "thinking": "hm"}]),
    )
    for _ in range(2):
        with pytest.raises(MalformedReplyError, match="without"):
            await a_model(server).complete(PROMPT)


@pytest.mark.parametrize(("fault", "error"), [(Fault(cut_after=4), ServiceError), (Fault(end_after=4), ServiceError)])
async def test_half_a_stream_is_never_a_whole_answer(server: Server, fault: Fault, error: type[ServiceError]) -> None:
    server.fail_next(fault)
    with pytest.raises(error):
        await streamed(a_model(server, max_retries=0))


async def test_half_a_reply_is_asked_for_again_and_then_an_error(server: Server) -> None:
    server.fail_next(Fault(cut_after=20))
    assert (await a_model(server, max_retries=1).complete(PROMPT)).text == ANSWER
    server.fail_next(Fault(cut_after=20))
    with pytest.raises(ServiceUnavailableError, match="broke"):
        await a_model(server, max_retries=0).complete(PROMPT)


async def test_a_reply_that_only_drips_is_not_waited_for(ask: Any, server: Server) -> None:
    server.fail_next(Fault.dripping(20))
    with pytest.raises(ServiceTimeoutError, match=r"did not answer within 0\.3 s"):
        await ask(a_model(server, timeout_s=0.3, max_retries=0))


async def test_a_stream_may_take_longer_than_the_time_for_one_piece(server: Server) -> None:
    server.fail_next(Fault.dripping(0.2))
    assert (await streamed(a_model(server, timeout_s=1.5, max_retries=0))).text == ANSWER


async def test_a_reply_without_end_is_broken_off(
    ask: Any, kind: Kind, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(served, "MAX_REPLY_BYTES", 50_000)
    async with kind.server("word " * 20_000) as server:
        for fault in (Fault(), Fault(body=b"x" * 60_000)):
            server.fail_next(fault)
            with pytest.raises(MalformedReplyError, match="more than 50,000 bytes"):
                await ask(a_model(server))
        assert len(server.requests) == 2  # not asked for once more
        server.fail_next(Fault(body=b" " * 49_000 + b"{}"))
        with pytest.raises(MalformedReplyError, match=r"of another form|sent none"):
            await ask(a_model(server))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a_refusal_is_told_with_its_status(ask: Any, server: Server, status: int) -> None:
    server.fail_next(Fault.error(status))
    with pytest.raises(ServiceRejectedError, match="refused") as caught:
        await ask(a_model(server))
    assert caught.value.status == status
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [500, 502, 503, 529])
async def test_a_server_that_fails_is_asked_again(ask: Any, server: Server, status: int) -> None:
    server.fail_next(*[Fault.error(status, retry_after_s=0.01)] * 2)
    assert (await ask(a_model(server, max_retries=2))).text == ANSWER
    server.fail_next(*[Fault.error(status, retry_after_s=0.01)] * 2)
    with pytest.raises(ServiceUnavailableError) as caught:
        await ask(a_model(server, max_retries=1))
    assert caught.value.retry_after_s == 0.01


async def storm(llm: Model, ask: Any, calls: int) -> list[Any]:
    return await asyncio.wait_for(asyncio.gather(*(ask(llm) for _ in range(calls)), return_exceptions=True), 120)


@pytest.mark.parametrize("retry_after_s", [0.05, None])
async def test_a_storm_of_refusals_passes_when_fewer_ask_at_a_time(ask: Any, kind: Kind, retry_after_s: Any) -> None:
    def answer(_: object) -> str:
        while len(server.requests) < 12:  # those of the first burst are all there before the first is answered
            time.sleep(0.001)
        return ANSWER

    async with kind.server(answer, capacity=2, retry_after_s=retry_after_s) as server:
        llm = a_model(server, max_retries=8, max_concurrency=12)
        completions = await storm(llm, ask, 12)
        assert [completion for completion in completions if not isinstance(completion, Completion)] == []
        assert llm.pace.lowered > 0
        assert 1 <= llm.pace.limit < 12


async def test_a_storm_that_does_not_pass_is_an_error_for_everyone(ask: Any, server: Server) -> None:
    server.fail_next(*[Fault.error(429, retry_after_s=0.01)] * 30)
    llm = a_model(server, max_retries=2)
    for error in await storm(llm, ask, 10):
        assert isinstance(error, ServiceUnavailableError)
        assert error.retry_after_s == 0.01
    assert len(server.requests) == 30  # 3 for each: nobody but the SDK tries again
    assert (await ask(llm)).text == ANSWER


async def test_a_storm_that_outlasts_the_time_is_no_silence(ask: Any, server: Server) -> None:
    # At its end the third pause of the SDKs is under way, of 1.5 s and more, and no request.
    llm = a_model(server, max_retries=50, timeout_s=2.2)
    assert (await ask(llm)).text == ANSWER  # what is imported first takes its time
    server.fail_next(*[Fault.error(429)] * 200)
    for error in await storm(llm, ask, 4):
        assert isinstance(error, ServiceUnavailableError)
        assert "limits the rate" in str(error)


async def test_nobody_is_sent_into_a_long_pause(ask: Any, server: Server) -> None:
    server.fail_next(Fault.error(429, retry_after_s=500))
    llm = a_model(server, max_concurrency=1)
    for error in await storm(llm, ask, 5):
        assert isinstance(error, ServiceUnavailableError)
        assert error.retry_after_s is not None
        assert 400 < error.retry_after_s <= 500
    assert len(server.requests) == 1


async def test_no_more_wait_than_may(ask: Any, kind: Kind) -> None:
    lock = threading.Lock()
    active = peak = 0

    def answer(_: object) -> str:
        nonlocal active, peak
        with lock:
            active += 1
            peak = max(peak, active)
        time.sleep(0.005)  # so that others would come meanwhile
        with lock:
            active -= 1
        return ANSWER

    async with kind.server(answer) as server:
        await storm(a_model(server, max_concurrency=2), ask, 20)
    assert peak <= 2


async def test_whoever_reads_a_stream_may_ask_further(server: Server) -> None:
    llm = a_model(server, max_concurrency=1)
    texts = []
    async for delta in llm.stream(PROMPT):
        if delta.text:
            texts.append((await llm.complete(PROMPT)).text)
    assert texts == [ANSWER] * 4


async def test_the_key_is_in_nothing_that_is_shown(ask: Any, kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    body = json.dumps({"error": {"message": f"bad key {KEY}", "type": "x"}}).encode()
    async with kind.server(ANSWER, api_key="another") as server, kind.server(ANSWER) as other:
        other.fail_next(*[Fault(body=body)] * 2, Fault(cut_after=2))
        for llm in (
            a_model(server),
            a_model(other),
            a_model(other, api_key=lambda: KEY),
            a_model(other, max_retries=0),
        ):
            with pytest.raises(ServiceError) as caught:
                await ask(llm)
            assert KEY not in "".join(traceback.format_exception(caught.value)) + repr(llm) + llm.id
        assert len(other.requests) == 3
    assert KEY not in caplog.text


async def test_why_there_is_no_text_is_told_without_the_key_and_cut(kind: Kind, server: Server) -> None:
    why = f"{KEY} {'x' * 100_000}"
    thought = [{"type": "thinking", "thinking": "hm"}]
    server.fail_next(Fault.changed(choices=[{"message": {}, "finish_reason": why}], content=thought, stop_reason=why))
    with pytest.raises(MalformedReplyError, match=f"{kind.end} '") as caught:
        await a_model(server).complete(PROMPT)
    assert KEY not in str(caught.value)
    assert len(str(caught.value)) < 1_000


def test_the_key_is_refused_where_it_would_be_shown(kind: Kind) -> None:
    for options in ({"base_url": f"http://localhost:1/{KEY}"}, {"options": {"user": KEY}}):
        with pytest.raises(ConfigurationError, match="only give api_key") as caught:
            kind.model("m", **{"base_url": "http://localhost:1", "api_key": KEY} | options)
        assert KEY not in str(caught.value)


async def test_a_function_is_asked_for_the_key_before_each_request(ask: Any, kind: Kind) -> None:
    keys = iter(["sk-the-first", "sk-the-second"])
    async with kind.server(ANSWER, api_key="sk-the-second") as server:
        llm = a_model(server, api_key=lambda: next(keys))
        with pytest.raises(ServiceRejectedError, match=r"Incorrect API key provided: \*\*\*"):
            await ask(llm)
        assert (await ask(llm)).text == ANSWER


@pytest.mark.parametrize("key", ["", " ", None, 5, "two\nlines"])
async def test_a_function_that_gives_no_key(ask: Any, server: Server, key: object) -> None:
    with pytest.raises(ConfigurationError, match="key"):
        await ask(a_model(server, api_key=lambda: key))
    assert server.requests == []


async def test_a_function_that_fails(ask: Any, server: Server) -> None:
    def no_key() -> str:
        raise ValueError(KEY)

    with pytest.raises(ConfigurationError, match="raised ValueError") as caught:
        await ask(a_model(server, api_key=no_key))
    assert KEY not in str(caught.value)
