"""What the servers for tests share: real HTTP on this machine, requests remembered, replies that fail on demand."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from fastrag._support.checks import require_positive_int

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
        drip_s: Seconds to wait before each byte of the body (when streaming: before each piece).
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = "application/json"
    delay_s: float = 0.0
    edit: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None
    cut_after: int | None = None
    end_after: int | None = None
    drip_s: float = 0.0

    @classmethod
    def error(cls, status: int, *, retry_after_s: float | None = None) -> Fault:
        """Refuse the request: 401, 400, 429 (with ``Retry-After``), 500 and so on."""
        return cls(status, headers={} if retry_after_s is None else {"Retry-After": str(retry_after_s)})

    @classmethod
    def slow(cls, delay_s: float) -> Fault:
        """Reply properly, but late."""
        return cls(delay_s=delay_s)

    @classmethod
    def dripping(cls, drip_s: float) -> Fault:
        """Reply properly, byte by byte (when streaming: piece by piece), with this wait before each."""
        return cls(drip_s=drip_s)

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


class ModelServer(ABC):
    """A server of models on 127.0.0.1, without what makes its protocol.

    Attributes:
        requests: What arrived so far, in order.
        peak: The most requests that were being answered at one time.
    """

    def __init__(
        self,
        answer: str | Answer | None,
        *,
        api_key: str | None,
        unsupported: Collection[str],
        capacity: int | None,
        retry_after_s: float | None,
    ) -> None:
        self.answer: Answer = (lambda _: answer) if isinstance(answer, str) else answer or _last_message
        self._api_key = api_key
        self._unsupported = frozenset(unsupported)
        self._capacity = None if capacity is None else require_positive_int("capacity", capacity)
        self._retry_after_s = retry_after_s
        self._faults: deque[Fault] = deque()
        self._lock = threading.Lock()
        self._active = 0
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self.requests: list[RecordedRequest] = []
        self.peak = 0

    @abstractmethod
    def _key_of(self, request: RecordedRequest) -> str:
        """The key that came with the request."""

    @abstractmethod
    def _complaint(self, request: RecordedRequest) -> tuple[int, str] | None:
        """Status and words where the request is not what the protocol asks for."""

    @abstractmethod
    def _whole(self, request: RecordedRequest) -> dict[str, Any]:
        """The reply in one piece."""

    @abstractmethod
    def _pieces(self, request: RecordedRequest) -> list[dict[str, Any]]:
        """The reply in pieces."""

    @abstractmethod
    def _event(self, piece: dict[str, Any]) -> str:
        """A piece as it is sent."""

    @abstractmethod
    def _error(self, status: int, message: str) -> dict[str, Any]:
        """The body of a refusal."""

    _last_event = ""

    @property
    def base_url(self) -> str:
        """What to give a client as ``base_url``; only known while the server runs."""
        if self._server is None:
            raise RuntimeError("the server runs only inside `with` or `async with`")
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def fail_next(self, *faults: Fault) -> None:
        """Use up one of ``faults`` for each of the coming requests."""
        with self._lock:
            self._faults.extend(faults)

    def __enter__(self) -> Self:
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

    async def __aenter__(self) -> Self:
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
            if self._capacity is not None and self._active > self._capacity:
                fault = Fault.error(429, retry_after_s=self._retry_after_s)
            else:
                fault = self._faults.popleft() if self._faults else Fault()
        try:
            yield fault
        finally:
            with self._lock:
                self._active -= 1

    def _refusal(self, request: RecordedRequest) -> tuple[int, str] | None:
        key = self._key_of(request)
        if self._api_key is not None and key != self._api_key:
            return 401, f"Incorrect API key provided: {key}"
        complaint = self._complaint(request)
        if complaint is None and not isinstance(request.body.get("model"), str):
            return 400, "model must be a text"
        unknown = sorted(self._unsupported & request.body.keys())
        if complaint is None and unknown:
            return 400, f"unsupported parameter: {', '.join(unknown)}"
        return complaint


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that stop() waits for them and none outlives a test
    request_queue_size = 128

    def __init__(self, owner: ModelServer) -> None:
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
        # Closed before the end of a reply can be read: whoever has it whole and asks again must find the place free.
        self._answering = contextlib.ExitStack()

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name in the base class)
        """Say nothing: what arrived is in ``requests``."""

    def do_GET(self) -> None:
        self._refuse(404, f"unknown path {self.path}")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            self._refuse(400, "the body must be a JSON object")
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = RecordedRequest(self.path, headers, body)
        owner = self.server.owner
        with contextlib.ExitStack() as self._answering:
            fault = self._answering.enter_context(owner._answering(request))
            self.server.stopping.wait(fault.delay_s)
            refusal = owner._refusal(request)
            if refusal is not None:
                self._refuse(*refusal)
            elif fault.status != 200:
                self._refuse(fault.status, "this reply was told to fail", fault.headers)
            elif fault.body is not None:
                self._send(200, fault.body, fault, {"Content-Type": fault.content_type})
            elif body.get("stream"):
                self._stream(owner._pieces(request), fault)
            else:
                whole = owner._whole(request)
                self._send(200, json.dumps(fault.edit(whole) if fault.edit else whole).encode(), fault)

    def _refuse(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        self._send(status, json.dumps(self.server.owner._error(status, message)).encode(), Fault(headers=headers or {}))

    def _send(self, status: int, body: bytes, fault: Fault, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {}), **fault.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        sent = body[: fault.cut_after]
        parts = [sent] if not fault.drip_s else [bytes([byte]) for byte in sent]
        for number, part in enumerate(parts, start=1):
            self.server.stopping.wait(fault.drip_s)
            if number == len(parts):
                self._answering.close()
            self.wfile.write(part)
        if fault.cut_after is not None:
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
                self.server.stopping.wait(fault.drip_s)
                self._chunk(self.server.owner._event(edited).encode())
        if fault.end_after is None and self.server.owner._last_event:
            self._chunk(self.server.owner._last_event.encode())
        self._answering.close()
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _break(self) -> None:
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True


def _last_message(messages: list[dict[str, Any]]) -> str:
    return str(messages[-1].get("content")) if messages else ""


def word_pieces(text: str) -> list[str]:
    """``text`` cut after each space, as a model might write it."""
    words = text.split(" ")
    return [word + " " for word in words[:-1]] + words[-1:]


def word_count(*texts: object) -> int:
    """What the servers count as tokens."""
    return sum(len(str(text).split()) for text in texts)
