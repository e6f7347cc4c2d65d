from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest

from fastrag.embedding import OpenAICompatibleEmbedder
from fastrag.errors import (
    ConfigurationError,
    FastRAGError,
    MalformedReplyError,
    ServiceRejectedError,
    ServiceTimeoutError,
    ServiceUnavailableError,
)
from fastrag.testing import Fault, HashEmbedder, OpenAICompatibleServer

KEY = "sk-a-very-secret-key"
TEXTS = [f"text number {i}" for i in range(10)]


@pytest.fixture
async def server() -> AsyncIterator[OpenAICompatibleServer]:
    async with OpenAICompatibleServer(dimension=32) as server:
        yield server


def an_embedder(server: OpenAICompatibleServer, **options: Any) -> OpenAICompatibleEmbedder:
    return OpenAICompatibleEmbedder("m", **{"base_url": server.base_url, "api_key": KEY, "timeout_s": 10, **options})


async def test_vectors_come_in_the_order_of_the_texts_over_many_batches(server: OpenAICompatibleServer) -> None:
    embedder = an_embedder(server, batch_size=3)
    vectors = await embedder.embed_documents(TEXTS)
    np.testing.assert_allclose(vectors, await HashEmbedder(32).embed_documents(TEXTS), atol=1e-7)
    assert vectors.dtype == np.float32
    assert sorted(len(request.body["input"]) for request in server.requests) == [1, 3, 3, 3]
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    np.testing.assert_array_equal(await embedder.embed_query(TEXTS[4]), vectors[4])
    await embedder.close()
    await embedder.close()


async def test_no_texts_make_no_request(server: OpenAICompatibleServer) -> None:
    assert len(await an_embedder(server).embed_documents([])) == 0
    assert server.requests == []


async def test_requests_at_one_time_are_bounded_over_calls(server: OpenAICompatibleServer) -> None:
    embedder = an_embedder(server, batch_size=1, concurrency=2)
    server.fail_next(*[Fault.slow(0.05)] * 12)
    await asyncio.gather(*(embedder.embed_documents(TEXTS[:3]) for _ in range(4)))
    assert server.peak == 2


def shuffled(reply: dict[str, Any]) -> dict[str, Any]:
    return reply | {"data": reply["data"][::-1]}


def as_floats(reply: dict[str, Any]) -> dict[str, Any]:
    return reply | {"data": [item | {"embedding": [float(item["index"]), 1.0]} for item in reply["data"]]}


async def test_vectors_out_of_order_are_put_in_order(server: OpenAICompatibleServer) -> None:
    server.fail_next(Fault(edit=shuffled))
    vectors = await an_embedder(server).embed_documents(TEXTS)
    np.testing.assert_allclose(vectors, await HashEmbedder(32).embed_documents(TEXTS), atol=1e-7)


async def test_a_server_that_ignores_base64_is_understood(server: OpenAICompatibleServer) -> None:
    server.fail_next(Fault(edit=as_floats))
    vectors = await an_embedder(server).embed_documents(TEXTS[:3])
    np.testing.assert_array_equal(vectors, [[0, 1], [1, 1], [2, 1]])


async def test_prefixes_and_dimensions_are_sent(server: OpenAICompatibleServer) -> None:
    embedder = an_embedder(server, query_prefix="q: ", document_prefix="d: ", dimensions=8)
    assert (await embedder.embed_documents(["a"])).shape == (1, 8)
    assert (await embedder.embed_query("a")).shape == (8,)
    assert [request.body["input"] for request in server.requests] == [["d: a"], ["q: a"]]
    assert server.requests[0].body["dimensions"] == 8


def with_embedding(value: Any) -> Fault:
    return Fault(edit=lambda reply: reply | {"data": [item | {"embedding": value} for item in reply["data"]]})


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(edit=lambda reply: reply | {"data": reply["data"][:-1]}), "was asked for 2 vectors and gave 1"),
        (Fault(edit=lambda reply: reply | {"data": reply["data"] * 2}), "was asked for 2 vectors and gave 4"),
        (Fault(edit=lambda reply: reply | {"data": [reply["data"][0]] * 2}), r"with the indices \[0, 0\]"),
        (Fault.changed(data=[]), "gave 0"),
        (Fault.without("data"), "Object missing required field `data`"),
        (Fault.html(), "It begins: <!doctype html>"),
        (Fault.garbage(), "of another form"),
        (Fault(body=b"\xff\xfe"), "of another form"),
        (with_embedding([0.0, float("nan")]), "of another form"),
        (with_embedding([0.0, 1e39]), "not finite"),
        (with_embedding("AADAfwAAAAA="), "not finite"),
        (with_embedding([]), "length"),
        (with_embedding("!"), "not base64"),
        (with_embedding("AAAA"), "not base64"),
        (with_embedding(None), "of another form"),
    ],
)
async def test_a_reply_that_is_not_the_protocol_is_refused(
    server: OpenAICompatibleServer, fault: Fault, message: str
) -> None:
    server.fail_next(fault)
    with pytest.raises(MalformedReplyError, match=message):
        await an_embedder(server).embed_documents(["a", "b"])


async def test_a_dimension_that_changes_is_refused(server: OpenAICompatibleServer) -> None:
    embedder = an_embedder(server)
    await embedder.embed_query("a")
    server.fail_next(with_embedding([1.0, 0.0]))
    with pytest.raises(MalformedReplyError, match=r"vectors of length \[2\], expected 32"):
        await embedder.embed_query("a")
    assert (await embedder.embed_query("a")).shape == (32,)


@pytest.mark.parametrize(
    ("faults", "kind"),
    [
        ([Fault.error(401)], ServiceRejectedError),
        ([Fault.error(404)], ServiceRejectedError),
        ([Fault.error(429, retry_after_s=0.01)] * 2, ServiceUnavailableError),
        ([Fault.error(503, retry_after_s=0.01)] * 2, ServiceUnavailableError),
        ([Fault(cut_after=5)] * 2, ServiceUnavailableError),
    ],
)
async def test_failures_have_their_own_errors(
    server: OpenAICompatibleServer, faults: list[Fault], kind: type[FastRAGError]
) -> None:
    embedder = an_embedder(server, max_retries=1)
    server.fail_next(*faults)
    with pytest.raises(kind, match=server.base_url):
        await embedder.embed_documents(["a"])
    assert len(await embedder.embed_documents(["a"])) == 1


async def test_what_passes_is_tried_again(server: OpenAICompatibleServer) -> None:
    server.fail_next(Fault.error(429, retry_after_s=0.01), Fault.error(500, retry_after_s=0.01))
    assert len(await an_embedder(server).embed_documents(["a"])) == 1
    assert len(server.requests) == 3


async def test_a_slow_server_is_not_waited_for(server: OpenAICompatibleServer) -> None:
    server.fail_next(Fault.slow(60))
    with pytest.raises(ServiceTimeoutError, match=r"did not answer within 0\.1 s"):
        await an_embedder(server, timeout_s=0.1).embed_query("a")


async def test_one_failed_batch_fails_the_call(server: OpenAICompatibleServer) -> None:
    server.fail_next(Fault(), Fault.error(400))
    with pytest.raises(ServiceRejectedError):
        await an_embedder(server, batch_size=1).embed_documents(TEXTS)


async def test_no_server_at_all() -> None:
    async with OpenAICompatibleServer() as server:
        url = server.base_url
    with pytest.raises(ServiceUnavailableError, match="no connection to"):
        await OpenAICompatibleEmbedder("m", base_url=url, max_retries=0).embed_query("a")


def test_one_embedder_serves_one_event_loop_after_another() -> None:
    with OpenAICompatibleServer() as server:
        embedder = an_embedder(server, batch_size=1, concurrency=2, max_retries=0)
        first, second = (asyncio.run(embedder.embed_documents(TEXTS)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_the_id_follows_what_changes_the_vectors() -> None:
    def identity(model: str = "m", base_url: str = "http://localhost:1/v1", **options: Any) -> str:
        return OpenAICompatibleEmbedder(model, base_url=base_url, **options).id

    others = [
        identity("n"),
        identity(base_url="http://localhost:2/v1"),
        identity(dimensions=8),
        identity(query_prefix="q"),
        identity(document_prefix="q"),
    ]
    assert identity() not in others
    assert len(set(others)) == len(others)
    assert identity() == identity(batch_size=1, api_key="x")
    assert "secret" not in identity(base_url="http://user:secret@localhost:1/v1?token=secret")


@pytest.mark.parametrize(
    "options",
    [
        {"model": ""},
        {"base_url": "localhost:8000"},
        {"base_url": "http://[::1"},
        {"api_key": "a\nb"},
        {"dimensions": 0},
        {"batch_size": 0},
        {"concurrency": 0},
        {"timeout_s": 0},
        {"timeout_s": float("nan")},
        {"max_retries": -1},
        {"query_prefix": None},
    ],
)
def test_refuses_wrong_arguments(options: dict[str, Any]) -> None:
    word = next(iter(options)) if "api_key" not in options else "API key"
    with pytest.raises(ConfigurationError, match=word):
        OpenAICompatibleEmbedder(**{"model": "m", "base_url": "http://localhost:1/v1", **options})


def test_a_key_is_needed_where_no_server_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ConfigurationError, match="OpenAICompatibleEmbedder needs a key: set OPENAI_API_KEY"):
        OpenAICompatibleEmbedder("m")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert "https://api.openai.com/v1" in OpenAICompatibleEmbedder("m").id
