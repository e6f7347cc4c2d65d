"""What not every server takes is asked for where it can be, done without where not, and not asked for twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from fastrag.errors import ConfigurationError, ServiceRejectedError, ServiceUnavailableError
from fastrag.llm import AnthropicLLM, Message, OpenAICompatibleLLM, Prompt
from fastrag.testing import AnthropicServer, Fault, OpenAICompatibleServer

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
PROMPT = Prompt((Message("system", "Be brief."), Message("user", "What is a tuple?")), schema=SCHEMA)
OTHER = replace(PROMPT, schema={"type": "object", "properties": {}, "additionalProperties": False})
ONE_WORD = Prompt((Message("user", "Yes or no?"),), top_logprobs=3)
JSON = '{"answer": "An immutable sequence."}'
LIKELY = {"Yes": -0.1, " yes": -2.5, "No": -4.0, "Maybe": -9.0}

Server = OpenAICompatibleServer | AnthropicServer
Model = OpenAICompatibleLLM | AnthropicLLM
KINDS: list[tuple[type[Server], type[Model], str]] = [
    (OpenAICompatibleServer, OpenAICompatibleLLM, "response_format"),
    (AnthropicServer, AnthropicLLM, "output_config"),
]


@pytest.fixture(params=KINDS, ids=["openai", "anthropic"])
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=[True, False], ids=["streamed", "whole"])
def ask(request: pytest.FixtureRequest) -> Any:
    async def streamed(llm: Model, prompt: Prompt) -> Any:
        return [delta async for delta in llm.stream(prompt)][-1].completion

    return streamed if request.param else lambda llm, prompt: llm.complete(prompt)


@pytest.fixture
async def server() -> AsyncIterator[OpenAICompatibleServer]:
    async with OpenAICompatibleServer("Yes", first_token=LIKELY) as server:
        yield server


def told(body: dict[str, Any]) -> str:
    """What the system says in a request."""
    system = [message["content"] for message in body["messages"] if message["role"] == "system"]
    return "".join([*system, body.get("system", "")])


async def test_a_schema_goes_to_the_server_as_its_protocol_has_it(ask: Any, kind: Any) -> None:
    serve, model, parameter = kind
    async with serve(JSON) as server:
        assert (await ask(model("m", base_url=server.base_url), PROMPT)).text == JSON
    body = server.requests[0].body
    form = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA}}
    assert body[parameter] == (
        form if serve is OpenAICompatibleServer else {"format": {"type": "json_schema", "schema": SCHEMA}}
    )
    assert told(body) == "Be brief."


async def test_a_server_that_refuses_schemas_is_told_in_words_and_refuses_once(ask: Any, kind: Any) -> None:
    serve, model, parameter = kind
    async with serve(JSON, unsupported=[parameter]) as server:
        llm = model("m", base_url=server.base_url)
        for prompt in (PROMPT, OTHER, PROMPT):
            assert (await ask(llm, prompt)).text == JSON
    assert [parameter in request.body for request in server.requests] == [True, False, False, False]
    for request in server.requests[1:]:
        assert told(request.body).startswith("Be brief.\n\nReply with JSON and nothing else.")
        assert '"additionalProperties": false' in told(request.body)


@pytest.mark.parametrize("status", [400, 404, 422])
async def test_a_server_that_takes_schemas_may_refuse_one(ask: Any, kind: Any, status: int) -> None:
    serve, model, parameter = kind
    async with serve(JSON) as server:
        llm = model("m", base_url=server.base_url)
        await ask(llm, PROMPT)
        server.fail_next(Fault.error(status))
        for prompt in (OTHER, OTHER, PROMPT):
            await ask(llm, prompt)
    assert [parameter in request.body for request in server.requests] == [True, True, False, False, True]


async def test_a_request_that_is_wrong_by_itself_is_an_error_and_teaches_nothing(ask: Any, kind: Any) -> None:
    serve, model, parameter = kind
    async with serve(JSON) as server:
        llm = model("m", base_url=server.base_url)
        server.fail_next(Fault.error(400), Fault.error(400))
        with pytest.raises(ServiceRejectedError):
            await ask(llm, PROMPT)
        await ask(llm, PROMPT)
    assert [parameter in request.body for request in server.requests] == [True, False, True]


@pytest.mark.parametrize("status", [401, 403, 500])
async def test_other_failures_are_not_asked_about_twice(ask: Any, kind: Any, status: int) -> None:
    serve, model, _ = kind
    async with serve(JSON) as server:
        server.fail_next(Fault.error(status))
        with pytest.raises((ServiceRejectedError, ServiceUnavailableError)):
            await ask(model("m", base_url=server.base_url, max_retries=0), PROMPT)
    assert len(server.requests) == 1


async def test_a_server_that_ignores_schemas_is_told_in_words_from_then_on(kind: Any) -> None:
    serve, model, parameter = kind
    answers = iter(["A tuple is a sequence.", JSON, JSON])
    async with serve(lambda _: next(answers)) as server:
        llm = model("m", base_url=server.base_url)
        for _ in range(3):
            await llm.complete(PROMPT)
    assert [parameter in request.body for request in server.requests] == [True] * 3
    assert ["JSON Schema" in told(request.body) for request in server.requests] == [False, True, True]


async def test_an_answer_that_was_cut_is_no_sign_of_that(kind: Any) -> None:
    serve, model, _ = kind

    def cut(reply: dict[str, Any]) -> dict[str, Any]:
        if "choices" in reply:
            reply["choices"][0]["finish_reason"] = "length"
        return reply | {"stop_reason": "max_tokens"}

    async with serve('{"answ') as server:
        llm = model("m", base_url=server.base_url)
        server.fail_next(Fault(edit=cut), Fault(edit=cut))
        for _ in range(2):
            await llm.complete(PROMPT)
    assert told(server.requests[1].body) == "Be brief."


async def test_without_a_system_message_the_words_are_one(kind: Any) -> None:
    serve, model, parameter = kind
    async with serve(JSON, unsupported=[parameter]) as server:
        await model("m", base_url=server.base_url).complete(replace(PROMPT, messages=PROMPT.messages[1:]))
    assert told(server.requests[-1].body).startswith("Reply with JSON")
    assert server.requests[-1].body["messages"][-1] == {"role": "user", "content": "What is a tuple?"}


async def test_a_schema_that_is_no_json_is_refused(ask: Any, kind: Any) -> None:
    serve, model, _ = kind
    async with serve(JSON) as server:
        with pytest.raises(ConfigurationError, match="schema"):
            await ask(model("m", base_url=server.base_url), replace(PROMPT, schema={"type": object()}))
    assert server.requests == []


async def test_anthropics_other_output_options_stay() -> None:
    async with AnthropicServer(JSON) as server:
        llm = AnthropicLLM("m", base_url=server.base_url, options={"output_config": {"effort": "low"}}, temperature=0.5)
        await llm.complete(PROMPT)
        await llm.complete(replace(PROMPT, schema=None))
    first, second = (request.body for request in server.requests)
    assert (first["output_config"]["effort"], set(first["output_config"])) == ("low", {"effort", "format"})
    assert second["output_config"] == {"effort": "low"}
    assert second["temperature"] == 0.5


async def test_a_schema_that_the_sdk_cannot_rewrite_is_told_in_words() -> None:
    async with AnthropicServer(JSON) as server:
        await AnthropicLLM("m", base_url=server.base_url).complete(replace(PROMPT, schema={"minimum": 1}))
    assert "output_config" not in server.requests[0].body
    assert '{"minimum": 1}' in told(server.requests[0].body)


async def test_only_the_systems_messages_are_no_prompt_for_anthropic(ask: Any) -> None:
    async with AnthropicServer() as server:
        with pytest.raises(ConfigurationError, match="not the system's"):
            await ask(AnthropicLLM("m", base_url=server.base_url), Prompt((Message("system", "Hi."),)))


async def test_log_probabilities_of_the_first_token(server: OpenAICompatibleServer) -> None:
    llm = OpenAICompatibleLLM("m", base_url=server.base_url)
    completion = await llm.complete(ONE_WORD)
    assert completion.first_token == {"Yes": -0.1, " yes": -2.5, "No": -4.0}
    assert (await llm.complete(replace(ONE_WORD, top_logprobs=0))).first_token == {}
    first, second = (request.body for request in server.requests)
    assert (first["logprobs"], first["top_logprobs"]) == (True, 3)
    assert second.keys() & {"logprobs", "top_logprobs"} == set()


async def test_a_server_that_ignores_log_probabilities_tells_none() -> None:
    async with OpenAICompatibleServer("Yes") as server:
        assert (await OpenAICompatibleLLM("m", base_url=server.base_url).complete(ONE_WORD)).first_token == {}
    assert len(server.requests) == 1


async def test_a_server_that_refuses_log_probabilities_refuses_once() -> None:
    async with OpenAICompatibleServer("Yes", unsupported=["logprobs"], first_token=LIKELY) as server:
        llm = OpenAICompatibleLLM("m", base_url=server.base_url)
        for _ in range(3):
            completion = await llm.complete(ONE_WORD)
            assert (completion.text, completion.first_token) == ("Yes", {})
        await llm.complete(replace(ONE_WORD, schema=SCHEMA))
    assert ["logprobs" in request.body for request in server.requests] == [True, False, False, False, False]
    assert "response_format" in server.requests[-1].body


@pytest.mark.parametrize(
    ("unsupported", "sent"),
    [
        (["logprobs"], ["logprobs response_format", "response_format"]),
        (["response_format"], ["logprobs response_format", "response_format", "", "logprobs"]),
        (["logprobs", "response_format"], ["logprobs response_format", "response_format", "", "logprobs", ""]),
    ],
)
async def test_what_was_refused_is_not_mistaken(unsupported: list[str], sent: list[str]) -> None:
    both = replace(ONE_WORD, schema=SCHEMA)
    async with OpenAICompatibleServer(JSON, unsupported=unsupported) as server:
        llm = OpenAICompatibleLLM("m", base_url=server.base_url)
        for _ in range(2):
            assert (await llm.complete(both)).text == JSON
        asked = [" ".join(sorted(request.body.keys() & {"logprobs", "response_format"})) for request in server.requests]
        assert asked[: len(sent)] == sent
        before = len(server.requests)
        await llm.complete(both)
        assert len(server.requests) == before + 1


def likely(*alternatives: Any) -> Fault:
    content = [{"token": "Yes", "logprob": -0.1, "top_logprobs": list(alternatives)}]

    def edit(reply: dict[str, Any]) -> dict[str, Any]:
        reply["choices"][0]["logprobs"] = {"content": content}
        return reply

    return Fault(edit=edit)


@pytest.mark.parametrize(
    ("alternatives", "expected"),
    [
        ([{"token": "Yes", "logprob": 1e-7}, {"token": "No", "logprob": -9999.0}], {"Yes": 0.0, "No": -9999.0}),
        ([{"token": "�", "logprob": -3}, {"token": "�", "logprob": -1}], {"�": -1.0}),
        ([{"token": "Yes", "logprob": 0.9}, {"token": "No", "logprob": -1}], {}),
        ([{"token": "Yes", "logprob": "-0.1"}], {}),
        ([{"token": "Yes", "logprob": True}], {}),
        ([{"token": 5, "logprob": -0.1}], {}),
        ([{"token": "Yes"}], {}),
        (["Yes"], {}),
        ([None], {}),
        ([], {}),
    ],
)
async def test_alternatives_that_are_none_are_not_told(
    server: OpenAICompatibleServer, alternatives: Any, expected: dict[str, float]
) -> None:
    server.fail_next(likely(*alternatives))
    completion = await OpenAICompatibleLLM("m", base_url=server.base_url).complete(ONE_WORD)
    assert (completion.text, completion.first_token) == ("Yes", expected)


@pytest.mark.parametrize("logprobs", [None, "none", [], {}, {"content": None}, {"content": []}, {"content": [{}]}])
async def test_log_probabilities_of_another_form_are_none(server: OpenAICompatibleServer, logprobs: Any) -> None:
    def edit(reply: dict[str, Any]) -> dict[str, Any]:
        reply["choices"][0]["logprobs"] = logprobs
        return reply

    server.fail_next(Fault(edit=edit))
    completion = await OpenAICompatibleLLM("m", base_url=server.base_url).complete(ONE_WORD)
    assert (completion.text, completion.first_token) == ("Yes", {})


def test_an_id_covers_what_an_answer_depends_on() -> None:
    different = [
        model(name, base_url=f"http://localhost:{port}", **options).id
        for model in (OpenAICompatibleLLM, AnthropicLLM)
        for name in ("m", "n")
        for port in (1, 2)
        for options in ({}, {"temperature": 0.5}, {"max_tokens": 9}, {"options": {"seed": 1}})
    ]
    assert len(set(different)) == len(different)
    same = [
        OpenAICompatibleLLM("m", base_url=url, api_key=key, **options).id  # type: ignore[arg-type]
        for url in ("http://localhost:1/v1", "http://user:password@localhost:1/v1/")
        for key in ("a", "b", lambda: "c")
        for options in ({"timeout_s": 5}, {"max_retries": 0}, {"max_concurrency": 3})
    ]
    assert len(set(same)) == 1


@pytest.mark.parametrize("options", [{"seed": object()}, {"top_p": float("nan")}])
def test_options_that_are_no_json_are_refused(options: dict[str, Any]) -> None:
    for model in (OpenAICompatibleLLM, AnthropicLLM):
        with pytest.raises(ConfigurationError, match="options"):
            model("m", base_url="http://localhost:1", options=options)
