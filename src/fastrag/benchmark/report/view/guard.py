"""What the server does not answer, and what it says with every answer.

A page on another site must not read what is served here. It could make a browser ask, under a name that its owner lets
point to this machine (DNS rebinding) or from a script of its own: so the Host has to be a name that was allowed, and
what the browser says of where the request comes from has to be this page.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_DEFAULT_PORTS = (80, 443)


def host_headers(names: Iterable[str], port: int) -> frozenset[str]:
    """The Host headers that stand for these names, each with a port of its own ("name:port") or with ``port``.

    >>> sorted(host_headers(["localhost", "Box:80"], 8711))
    ['box', 'box:80', 'localhost:8711']
    """
    headers = set()
    for name in names:
        host, own_port = split_port(name.lower())
        shown = port if own_port is None else own_port
        headers.add(f"{host}:{shown}")
        if shown in _DEFAULT_PORTS:
            headers.add(host)
    return frozenset(headers)


def split_port(name: str) -> tuple[str, int | None]:
    """A host and its port; None where there is none.

    >>> split_port("box:80"), split_port("[::1]"), split_port("[::1]:80")
    (('box', 80), ('[::1]', None), ('[::1]', 80))
    """
    host, colon, port = name.rpartition(":")
    return (host, int(port)) if colon and port.isdecimal() and port.isascii() else (name, None)


class Guard:
    """An ASGI application that lets another one answer what it may.

    Args:
        app: The other one.
        hosts: Host headers to answer to, in small letters.
        headers: Said with every answer.
    """

    def __init__(self, app: App, *, hosts: frozenset[str], headers: Mapping[str, str]) -> None:
        self._app = app
        self._hosts = hosts
        self._headers = [(name.lower().encode("ascii"), value.encode("ascii")) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self._headers]
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send_with_headers)
            return
        status, reason = refusal
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        if status == 405:
            headers.append((b"allow", b"GET, HEAD"))
        await send_with_headers({"type": "http.response.start", "status": status, "headers": headers})
        body = b"" if scope["method"] == "HEAD" else f"{reason}\n".encode()
        await send_with_headers({"type": "http.response.body", "body": body})

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        sent: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            sent.setdefault(name.lower(), []).append(value.decode("latin-1").lower())
        host = sent.get(b"host", [])
        if len(host) != 1 or host[0] not in self._hosts:
            return 403, "This server does not answer to that name: use the address it printed, or --allow-host."
        own_origins = (f"http://{host[0]}", f"https://{host[0]}")
        if any(origin not in own_origins for origin in sent.get(b"origin", [])) or any(
            site not in ("same-origin", "none") for site in sent.get(b"sec-fetch-site", [])
        ):
            return 403, "Other sites may not ask this server: open its address in the browser itself."
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "This server only shows: GET and HEAD."
        return None
