from __future__ import annotations

import asyncio
import gc
import logging
import traceback
import warnings
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fastrag.errors import (
    ConfigurationError,
    FastRAGError,
    MalformedReplyError,
    ServiceError,
    ServiceRejectedError,
    ServiceTimeoutError,
    ServiceUnavailableError,
)
from fastrag.llm import LLM, Completion, CompletionDelta, Message, OpenAICompatibleLLM, Prompt
from fastrag.testing import Fault, OpenAICompatibleServer

KEY = "sk-a-very-secret-key"
PROMPT = Prompt((Message("system", "Be brief."), Message("user", "What is a tuple?")))


@pytest.fixture
async def server() -> AsyncIterator[OpenAICompatibleServer]:
    async with OpenAICompatibleServer("An immutable sequence [1].") as server:
        yield server


def a_model(server: OpenAICompatibleServer, **options: Any) -> OpenAICompatibleLLM:
    return OpenAICompatibleLLM("m", **{"base_url": server.base_url, "api_key": KEY, "timeout_s": 10, **options})


async def streamed(llm: LLM, prompt: Prompt = PROMPT) -> Completion:
    """The completion at the end of the stream, after checking that the pieces add up to it."""
    deltas = [delta async for delta in llm.stream(prompt)]
    completion = deltas[-1].completion
    assert completion is not None
    assert all(delta.completion is None for delta in deltas[:-1])
    assert "".join(delta.text for delta in deltas) == completion.text
    return completion


@pytest.fixture(params=["complete", "stream"])
def ask(request: pytest.FixtureRequest) -> Any:
    """Asks in one piece and, in a second run of the test, by streaming."""
    if request.param == "stream":
        return streamed
    return lambda llm, prompt=PROMPT: llm.complete(prompt)


async def test_the_answer_comes_with_the_servers_own_token_counts(ask: Any, server: OpenAICompatibleServer) -> None:
    assert await ask(a_model(server)) == Completion("An immutable sequence [1].", 6, 4, "m")


async def test_what_is_sent(server: OpenAICompatibleServer) -> None:
    llm = a_model(server, temperature=0.5, max_tokens=9, options={"seed": 1})
    await llm.complete(PROMPT)
    await streamed(llm)
    await a_model(server, temperature=None).complete(PROMPT)
    whole, stream, bare = (request.body for request in server.requests)
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is a tuple?"}]
    assert whole == {"model": "m", "messages": messages, "temperature": 0.5, "max_tokens": 9, "seed": 1}
    assert stream == whole | {"stream": True, "stream_options": {"include_usage": True}}
    assert bare == {"model": "m", "messages": messages}
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_pieces_arrive_as_they_come(server: OpenAICompatibleServer) -> None:
    texts = [delta.text async for delta in a_model(server).stream(PROMPT)]
    assert texts == ["An ", "immutable ", "sequence ", "[1].", ""]


async def test_an_empty_answer_is_an_answer(ask: Any) -> None:
    async with OpenAICompatibleServer("") as server:
        assert (await ask(a_model(server))).text == ""


async def test_a_large_answer_arrives_whole(ask: Any) -> None:
    answer = "word " * 3_000
    async with OpenAICompatibleServer(lambda _: answer) as server:
        assert (await ask(a_model(server))).text == answer


def usage(**values: Any) -> Fault:
    return Fault(edit=lambda reply: reply | {"usage": values} if reply.get("usage") else reply)


@pytest.mark.parametrize(
    ("fault", "counts"),
    [
        (Fault.without("usage"), (None, None)),
        (usage(prompt_tokens=3), (3, None)),
        (usage(prompt_tokens=-1, completion_tokens="7"), (None, None)),
        (usage(prompt_tokens=True, completion_tokens=None), (None, None)),
        (usage(prompt_tokens=0, completion_tokens=2), (0, 2)),
    ],
)
async def test_a_count_that_the_server_does_not_give_is_unknown_never_0(
    ask: Any, server: OpenAICompatibleServer, fault: Fault, counts: tuple[int | None, int | None]
) -> None:
    server.fail_next(fault)
    completion = await ask(a_model(server))
    assert (completion.input_tokens, completion.output_tokens) == counts


async def test_a_refusal_is_the_answer(ask: Any, server: OpenAICompatibleServer) -> None:
    said = {"content": None, "refusal": "I cannot say."}
    choice = {"index": 0, "message": said, "delta": said, "finish_reason": "stop"}
    server.fail_next(Fault(edit=lambda reply: reply | {"choices": [choice] if reply["choices"] else []}))
    # In a stream every piece is edited, so it says so several times.
    assert (await ask(a_model(server))).text.startswith("I cannot say.")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault.html(), "It begins: <!doctype html>|sent none, but text/html"),
        (Fault.garbage(), "of another form|sent none, but application/json"),
        (Fault.changed(choices=[]), "without choices|before the answer was complete"),
        (Fault.without("choices"), "missing required field `choices`|before the answer was complete"),
        (Fault.changed(choices="none"), "of another form"),
        (Fault.changed(choices=[{"message": {"content": ["a"]}, "delta": {"content": ["a"]}}]), "of another form"),
        (Fault.changed(choices=[{"message": {"content": None}}]), "without text|before the answer was complete"),
    ],
)
async def test_a_reply_that_is_not_the_protocol_is_refused(
    ask: Any, server: OpenAICompatibleServer, fault: Fault, message: str
) -> None:
    server.fail_next(fault)
    with pytest.raises(MalformedReplyError, match=message):
        await ask(a_model(server))


@pytest.mark.parametrize(
    ("faults", "kind"),
    [
        ([Fault.error(401)], ServiceRejectedError),
        ([Fault.error(400)], ServiceRejectedError),
        ([Fault.error(404)], ServiceRejectedError),
        ([Fault.error(429, retry_after_s=0.01)] * 2, ServiceUnavailableError),
        ([Fault.error(500, retry_after_s=0.01)] * 2, ServiceUnavailableError),
    ],
)
async def test_failures_have_their_own_errors(
    ask: Any, server: OpenAICompatibleServer, faults: list[Fault], kind: type[FastRAGError]
) -> None:
    llm = a_model(server, max_retries=1)
    server.fail_next(*faults)
    with pytest.raises(kind, match=server.base_url):
        await ask(llm)
    assert len(server.requests) == len(faults)
    assert (await ask(llm)).text == "An immutable sequence [1]."


async def test_what_passes_is_tried_again(ask: Any, server: OpenAICompatibleServer) -> None:
    server.fail_next(Fault.error(429, retry_after_s=0.01), Fault.error(502, retry_after_s=0.01))
    assert (await ask(a_model(server))).text == "An immutable sequence [1]."


async def test_a_slow_server_is_not_waited_for(ask: Any, server: OpenAICompatibleServer) -> None:
    server.fail_next(Fault.slow(60))
    with pytest.raises(ServiceTimeoutError, match=r"did not answer within 0\.1 s"):
        await ask(a_model(server, timeout_s=0.1))


async def test_no_server_at_all(ask: Any) -> None:
    async with OpenAICompatibleServer() as server:
        llm = a_model(server, max_retries=0)
    with pytest.raises(ServiceUnavailableError, match="no connection to"):
        await ask(llm)


@pytest.mark.parametrize(
    ("fault", "kind"), [(Fault(cut_after=3), ServiceUnavailableError), (Fault(end_after=3), MalformedReplyError)]
)
async def test_half_a_stream_is_never_a_whole_answer(
    server: OpenAICompatibleServer, fault: Fault, kind: type[ServiceError]
) -> None:
    server.fail_next(fault)
    deltas: list[CompletionDelta] = []

    async def read() -> None:
        async for delta in a_model(server).stream(PROMPT):
            deltas.append(delta)

    with pytest.raises(kind):
        await read()
    assert deltas == [CompletionDelta("An "), CompletionDelta("immutable ")]


async def test_an_error_inside_a_stream_is_an_error(server: OpenAICompatibleServer) -> None:
    server.fail_next(Fault.changed(error={"message": "out of memory"}))
    with pytest.raises(ServiceUnavailableError, match="broke off with an error: out of memory"):
        await streamed(a_model(server))


async def test_leaving_a_stream_early_leaves_the_client_usable(server: OpenAICompatibleServer) -> None:
    llm = a_model(server)
    async for _ in llm.stream(PROMPT):
        break
    assert (await llm.complete(PROMPT)).text == "An immutable sequence [1]."


async def test_a_cancelled_call_is_cancelled(ask: Any, server: OpenAICompatibleServer) -> None:
    server.fail_next(Fault.slow(60))
    llm = a_model(server)
    task = asyncio.create_task(ask(llm))
    while not server.requests:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await llm.complete(PROMPT)).text == "An immutable sequence [1]."


async def test_the_key_is_in_no_message_repr_or_log(ask: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with OpenAICompatibleServer(api_key="another") as server:
        llm = a_model(server)
        with pytest.raises(ServiceRejectedError, match=r"Incorrect API key provided: \*\*\*") as caught:
            await ask(llm)
    shown = "".join(traceback.format_exception(caught.value))
    assert KEY not in shown
    assert KEY not in repr(llm) + str(vars(llm)) + caplog.text
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_key_at_the_end_of_what_is_shown_is_not_shown_in_part(server: OpenAICompatibleServer) -> None:
    for start in (270, 280, 290):
        server.fail_next(Fault(body=b'{"x":"' + b"y" * start + KEY.encode() + b'"}'))
        with pytest.raises(MalformedReplyError) as caught:
            await a_model(server).complete(PROMPT)
        assert KEY[:6] not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"HTTP_PROXY": "foo://proxy"}, "Unknown scheme for proxy URL"),
        ({"SSL_CERT_FILE": "/not/there.pem"}, "No such file"),
        ({"base_url": "http://\N{SNOWMAN}.invalid/v1"}, "Invalid IDNA hostname"),
    ],
)
async def test_settings_no_client_can_be_made_from(
    ask: Any, server: OpenAICompatibleServer, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], said: str
) -> None:
    options = {name: value for name, value in settings.items() if name == "base_url"}
    for name in settings.keys() - options:
        monkeypatch.setenv(name, settings[name])
    with pytest.raises(ConfigurationError, match=f"{said}.*base_url and at .*HTTP_PROXY"):
        await ask(a_model(server, **options))


async def test_a_text_that_cannot_be_sent(ask: Any, server: OpenAICompatibleServer) -> None:
    with pytest.raises(ConfigurationError, match="not valid Unicode"):
        await ask(a_model(server), Prompt((Message("user", "lone \ud800"),)))


def test_each_loop_closes_its_connections(ask: Any, caplog: pytest.LogCaptureFixture) -> None:
    with OpenAICompatibleServer("x") as server, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        llm = a_model(server)
        for _ in range(5):
            assert asyncio.run(ask(llm)).text == "x"
        gc.collect()
    assert [warning for warning in caught if issubclass(warning.category, ResourceWarning)] == []
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_wait_that_a_server_asks_for_is_told(ask: Any, server: OpenAICompatibleServer) -> None:
    server.fail_next(Fault.error(503, retry_after_s=7))
    with pytest.raises(ServiceUnavailableError) as caught:
        await ask(a_model(server, max_retries=0))
    assert caught.value.retry_after_s == 7
    server.fail_next(Fault.error(500))
    with pytest.raises(ServiceUnavailableError) as caught:
        await ask(a_model(server, max_retries=0))
    assert caught.value.retry_after_s is None
    server.fail_next(Fault(429, headers={"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}))
    with pytest.raises(ServiceUnavailableError) as caught:
        await ask(a_model(server))
    assert caught.value.retry_after_s > 1e9


async def test_a_wait_longer_than_the_time_left_is_not_begun(ask: Any, server: OpenAICompatibleServer) -> None:
    server.fail_next(Fault.error(429, retry_after_s=0.01), Fault.error(429, retry_after_s=30))
    with pytest.raises(ServiceUnavailableError, match="limits the rate of requests") as caught:
        await asyncio.wait_for(ask(a_model(server, timeout_s=30, max_retries=5)), 20)
    assert caught.value.retry_after_s == 30
    assert len(server.requests) == 2


async def test_a_redirect_to_another_host_is_not_followed(ask: Any, server: OpenAICompatibleServer) -> None:
    async with OpenAICompatibleServer("stolen") as other:
        server.fail_next(Fault(307, headers={"Location": f"{other.base_url}/chat/completions"}))
        with pytest.raises(ServiceRejectedError, match=f"redirects to another place.*{other.base_url}"):
            await ask(a_model(server))
        assert other.requests == []
    server.fail_next(Fault(307, headers={"Location": "/v1/chat/completions"}))
    assert (await ask(a_model(server))).text == "An immutable sequence [1]."


async def test_a_prompt_without_messages_is_refused(ask: Any, server: OpenAICompatibleServer) -> None:
    with pytest.raises(ConfigurationError, match="at least one message"):
        await ask(a_model(server), Prompt(()))
    assert server.requests == []


@pytest.mark.parametrize(
    "options",
    [
        {"model": " "},
        {"temperature": -1},
        {"temperature": "0"},
        {"temperature": float("inf")},
        {"max_tokens": 0},
        {"timeout_s": -1},
        {"max_retries": 1.5},
        {"base_url": "ftp://localhost"},
        {"api_key": 5},
    ],
)
def test_refuses_wrong_arguments(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        OpenAICompatibleLLM(**{"model": "m", "base_url": "http://localhost:1/v1", **options})
