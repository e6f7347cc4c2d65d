"""The server behind `fastrag view`: the page, and its parts out of snapshots. No name in a request becomes a path."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fastrag._support.extras import import_extra
from fastrag.benchmark.report.html.page import Shell
from fastrag.benchmark.report.texts import one_line
from fastrag.benchmark.report.view.guard import App, Guard
from fastrag.benchmark.report.view.snapshots import Snapshots
from fastrag.errors import ConfigurationError, FastRAGError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_LONGEST_PROBLEM = 1000
_MOST_AT_ONCE = 200
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    # Results are nobody's business but that of whoever looks at them: browsers must not keep them on the disk.
    "Cache-Control": "no-store",
}


def listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections; port 0 is any free one.

    Raises:
        ConfigurationError: ``host`` is no address of this machine, or the port cannot be had.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=128)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConfigurationError(
                f"port {port} of {host} is taken, perhaps by another fastrag view: choose another with --port, or any "
                "free one with --port 0"
            ) from error
        raise ConfigurationError(f"cannot listen at port {port} of {host}: {error.strerror or error}") from error


def make_app(snapshots: Snapshots, shell: Shell, hosts: frozenset[str]) -> App:
    """The ASGI application.

    Raises:
        MissingDependencyError: Starlette is not installed.
    """
    import_extra("starlette", extra="view", purpose="fastrag view")
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse, PlainTextResponse, Response
    from starlette.routing import Route

    def problem(text: str, status: int) -> Response:
        return PlainTextResponse(one_line(text, most=_LONGEST_PROBLEM) + "\n", status)

    def json(part: bytes) -> Response:
        return Response(part, media_type="application/json")

    async def page(request: Request) -> Response:
        return HTMLResponse(shell.html)

    async def icon(request: Request) -> Response:
        return Response(status_code=204)

    async def overview(request: Request) -> Response:
        return json((await snapshots.newest()).overview)

    async def part(request: Request) -> Response:
        snapshot = snapshots.find(request.path_params["snapshot"])
        if snapshot is None:
            return problem("This reading of the results is not kept any more: load the page again.", 410)
        try:
            return json(await snapshot.part(request.path_params["part"]))
        except KeyError:
            return nothing()

    def nothing() -> Response:
        return problem("There is nothing of that name here.", 404)

    async def not_found(request: Request, error: Exception) -> Response:
        return nothing()

    async def failed(request: Request, error: Exception) -> Response:
        return problem(str(error), 500)

    app = Starlette(
        routes=[
            Route("/", page),
            Route("/favicon.ico", icon),
            Route("/data/overview.json", overview),
            Route("/data/{snapshot}/{part}.json", part),
        ],
        exception_handlers={404: not_found, FastRAGError: failed},
    )
    # It would send browsers to addresses made of what they sent.
    app.router.redirect_slashes = False
    return Guard(app, hosts=hosts, headers={**_HEADERS, "Content-Security-Policy": shell.policy})


async def serve(app: App, listening: socket.socket) -> None:
    """Answer until cancelled.

    Raises:
        MissingDependencyError: Uvicorn is not installed.
    """
    uvicorn: Any = import_extra("uvicorn", extra="view", purpose="fastrag view")

    class Server(uvicorn.Server):  # type: ignore[misc]
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            # Ctrl-C ends this command as it ends the others: at once, and by whoever runs the coroutine.
            yield

    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_MOST_AT_ONCE,
    )
    await Server(config).serve(sockets=[listening])
