"""A real HTTP server on this machine that speaks the OpenAI protocol and fails on demand."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fastrag._support.checks import require_positive_int
from fastrag.testing.embedder import hash_vector

Answer = Callable[[list[dict[str, Any]]], str]
"""The messages of a chat in, the answer out."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one reply; the class methods make the usual ones.

    Attributes:
        status: HTTP status in place of 200, with the protocol's error body.
        headers: Further headers.
        body: Sent in place of the proper body, as it is.
        content_type: What ``body`` claims to be.
        delay_s: Seconds to wait before replying.
        edit: Gets the reply's JSON (when streaming: of each piece) and returns what to send in its place; None
            leaves the piece out.
        cut_after: Break the connection after this many bytes of the body (when streaming: pieces).
        end_after: End a stream properly after this many pieces, without the ones that say it is complete.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = "application/json"
    delay_s: float = 0.0
    edit: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None
    cut_after: int | None = None
    end_after: int | None = None

    @classmethod
    def error(cls, status: int, *, retry_after_s: float | None = None) -> Fault:
        """Refuse the request: 401, 400, 429 (with ``Retry-After``), 500 and so on."""
        return cls(status, headers={} if retry_after_s is None else {"Retry-After": str(retry_after_s)})

    @classmethod
    def slow(cls, delay_s: float) -> Fault:
        """Reply properly, but late."""
        return cls(delay_s=delay_s)

    @classmethod
    def html(cls) -> Fault:
        """Reply with a web page and status 200, as proxies and wrong URLs do."""
        return cls(body=b"<!doctype html><title>Welcome</title>", content_type="text/html")

    @classmethod
    def garbage(cls) -> Fault:
        """Reply with something that claims to be JSON and is not."""
        return cls(body=b'{"choices": [{"mess')

    @classmethod
    def without(cls, key: str) -> Fault:
        """Leave ``key`` (``usage``, ``choices``, ``data``) out of the reply."""
        return cls(edit=lambda reply: {name: value for name, value in reply.items() if name != key})

    @classmethod
    def changed(cls, **values: Any) -> Fault:
        """Put ``values`` into the reply in place of its own: ``changed(choices=[])``."""
        return cls(edit=lambda reply: reply | values)


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as it arrived: its path, its headers (names in lower case) and its JSON body."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class OpenAICompatibleServer:
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

    Example::

        async with OpenAICompatibleServer("Paris [1]") as server:  # or `with`, in code that is not async
            llm = OpenAICompatibleLLM("any", base_url=server.base_url, api_key="test")
            server.fail_next(Fault.error(500), Fault.slow(2.0))
            completion = await llm.complete(prompt)
    """

    def __init__(self, answer: str | Answer | None = None, *, dimension: int = 64, api_key: str | None = None) -> None:
        self._answer: Answer = (lambda _: answer) if isinstance(answer, str) else answer or _last_message
        self._dimension = require_positive_int("dimension", dimension)
        self._api_key = api_key
        self._faults: deque[Fault] = deque()
        self._lock = threading.Lock()
        self._active = 0
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self.requests: list[RecordedRequest] = []
        self.peak = 0

    @property
    def base_url(self) -> str:
        """What to give a client as ``base_url``; only known while the server runs."""
        if self._server is None:
            raise RuntimeError("the server runs only inside `with` or `async with`")
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def fail_next(self, *faults: Fault) -> None:
        """Use up one of ``faults`` for each of the coming requests."""
        with self._lock:
            self._faults.extend(faults)

    def __enter__(self) -> OpenAICompatibleServer:
        """Start on a free port."""
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, breaking off whatever is still being answered."""
        if self._server is not None and self._thread is not None:
            self._server.stop()
            self._thread.join()
            self._server = self._thread = None

    async def __aenter__(self) -> OpenAICompatibleServer:
        """Start on a free port."""
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        """Stop, breaking off whatever is still being answered."""
        await asyncio.to_thread(self.__exit__)

    @contextlib.contextmanager
    def _answering(self, request: RecordedRequest) -> Iterator[Fault]:
        with self._lock:
            self.requests.append(request)
            self._active += 1
            self.peak = max(self.peak, self._active)
            fault = self._faults.popleft() if self._faults else Fault()
        try:
            yield fault
        finally:
            with self._lock:
                self._active -= 1

    def _refusal(self, request: RecordedRequest) -> tuple[int, str] | None:
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self._api_key is not None and key != self._api_key:
            return 401, f"Incorrect API key provided: {key}"
        if request.path not in ("/v1/chat/completions", "/v1/embeddings"):
            return 404, f"unknown path {request.path}"
        if not isinstance(request.body.get("model"), str):
            return 400, "model must be a text"
        return None

    def _chat(self, body: dict[str, Any]) -> dict[str, Any]:
        messages = body.get("messages") or []
        text = self._answer(messages)
        usage = _usage(" ".join(str(message.get("content")) for message in messages), text)
        message = {"role": "assistant", "content": text}
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop"}
        return _envelope("chat.completion", body) | {"choices": [choice], "usage": usage}

    def _pieces(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        whole = self._chat(body)
        words = whole["choices"][0]["message"]["content"].split(" ")
        texts = [word + " " for word in words[:-1]] + words[-1:]
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
        usage = _usage(" ".join(map(str, texts)), "")
        return {"object": "list", "model": body["model"], "data": data, "usage": usage}


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that stop() waits for them and none outlives a test
    request_queue_size = 128

    def __init__(self, owner: OpenAICompatibleServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner
        self.stopping = threading.Event()
        self.connections: set[socket.socket] = set()

    def stop(self) -> None:
        self.stopping.set()
        self.shutdown()
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that goes away while it is answered is what tests of timeouts do; nothing else is expected.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name in the base class)
        """Say nothing: what arrived is in ``requests``."""

    def do_GET(self) -> None:
        self._send(404, _error_body(404, f"unknown path {self.path}"), {})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            self._send(400, _error_body(400, "the body must be a JSON object"), {})
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = RecordedRequest(self.path, headers, body)
        owner = self.server.owner
        with owner._answering(request) as fault:
            self.server.stopping.wait(fault.delay_s)
            refusal = owner._refusal(request)
            if refusal is not None:
                self._send(refusal[0], _error_body(*refusal), {})
            elif fault.status != 200:
                self._send(fault.status, _error_body(fault.status, "this reply was told to fail"), fault.headers)
            elif fault.body is not None:
                self._send(200, fault.body, {"Content-Type": fault.content_type, **fault.headers}, fault.cut_after)
            elif self.path == "/v1/embeddings":
                self._send_json(owner._embeddings(body), fault)
            elif body.get("stream"):
                self._stream(owner._pieces(body), fault)
            else:
                self._send_json(owner._chat(body), fault)

    def _send_json(self, reply: dict[str, Any], fault: Fault) -> None:
        edited = fault.edit(reply) if fault.edit else reply
        self._send(200, json.dumps(edited).encode(), fault.headers, fault.cut_after)

    def _send(self, status: int, body: bytes, headers: Mapping[str, str], cut_after: int | None = None) -> None:
        self.send_response(status)
        for name, value in ({"Content-Type": "application/json"} | dict(headers)).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:cut_after])
        if cut_after is not None:
            self._break()

    def _stream(self, pieces: Sequence[dict[str, Any]], fault: Fault) -> None:
        self.send_response(200)
        for name, value in ({"Content-Type": "text/event-stream"} | dict(fault.headers)).items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, piece in enumerate(pieces):
            if number == fault.cut_after:
                self._break()
                return
            if number == fault.end_after:
                break
            edited = fault.edit(piece) if fault.edit else piece
            if edited is not None:
                self._chunk(f"data: {json.dumps(edited)}\n\n".encode())
        if fault.end_after is None:
            self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _break(self) -> None:
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True


def _last_message(messages: list[dict[str, Any]]) -> str:
    return str(messages[-1].get("content")) if messages else ""


def _envelope(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    return {"id": "chatcmpl-0", "object": kind, "created": 0, "model": body["model"]}


def _usage(prompt: str, completion: str) -> dict[str, int]:
    inputs, outputs = len(prompt.split()), len(completion.split())
    return {"prompt_tokens": inputs, "completion_tokens": outputs, "total_tokens": inputs + outputs}


def _error_body(status: int, message: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": "test", "code": str(status)}}).encode()
