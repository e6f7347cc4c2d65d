"""Asking Milvus, with its client's many kinds of errors in our words and without the token in any of them."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastrag._support.checks import require_number
from fastrag.errors import ConfigurationError, FastRAGError, StoreError
from fastrag.store.milvus.engine import imported, is_forked, pymilvus, refuse_after_fork
from fastrag.store.milvus.local import leave, serve
from fastrag.store.milvus.session import Session
from fastrag.store.replies import quoted, shown_cause
from fastrag.store.urls import without_secrets

SLOW_S = 600.0
"""Seconds that the engine may take to build an index or load a collection."""

_CONNECT_S = 5.0
_GONE = 100
_BM25_SINCE = (2, 5)
_NEVER_MS = 2**31 - 1
_TOO_LARGE = re.compile("message larger than max|exceed the limit size|maxOutputSize", re.IGNORECASE)


class CollectionGoneError(StoreError):
    """There is no collection of that name."""


class TooMuchError(StoreError):
    """What was asked for is more than the engine answers at once."""


class MilvusServer:
    """A server, a cluster behind one address, or a ``.db`` file of milvus-lite, which is opened at the first call.

    Attributes:
        place: Its URL or path, for messages.
        is_local: Whether it is a file.

    Args:
        uri: ``http://`` or ``https://``, host, port (19530 unless given, 443 for https), and after a slash the
            database; or a path that ends in ``.db``.
        token: ``user:password`` or an API key; a function is asked for it at each connection. None takes it from
            ``MILVUS_TOKEN``, where that is set.
        timeout_s: Seconds until an unanswered call fails.

    Raises:
        ConfigurationError: An argument is wrong.
    """

    def __init__(self, uri: str | os.PathLike[str], *, token: str | Callable[[], str] | None, timeout_s: float) -> None:
        self._path, self._uri = _checked_uri(uri)
        self.is_local = self._path is not None
        self.place = str(self._path) if self._path is not None else without_secrets(self._uri)
        if not (token is None or isinstance(token, str) or callable(token)):
            raise ConfigurationError(f"token must be a text, a function or None, not a {type(token).__name__}")
        self._token = token
        self._secret = ""
        self._timeout_s = require_number("timeout_s", timeout_s, above=0)
        self._guard = threading.Lock()
        self._session: Session | None = None
        self._version: str | None = None

    async def module(self) -> Any:
        """pymilvus.

        Raises:
            MissingDependencyError: The extra ``milvus`` is not installed.
        """
        if "pymilvus" not in sys.modules:
            # The first import takes seconds.
            await asyncio.to_thread(pymilvus)
        return pymilvus()

    async def version(self) -> str:
        """The server's, in its own words."""
        if self._version is None:
            self._version = str(await self.ask("tell its version", "get_server_version"))
        return self._version

    async def has_bm25(self) -> bool:
        """Whether the server has the BM25 function."""
        if self.is_local:
            return True
        number = re.match(r"v?(\d+)\.(\d+)", await self.version())
        # A server that is built from source tells no number.
        return number is None or (int(number[1]), int(number[2])) >= _BM25_SINCE

    async def is_there(self) -> bool:
        """Whether there is anything to open: a file may not be there yet."""
        return self._path is None or await asyncio.to_thread(self._path.exists)

    async def ask(
        self, action: str, method: str, *arguments: Any, timeout_s: float | None = None, **options: Any
    ) -> Any:
        """Call ``method`` of the client.

        Args:
            action: What it is for, after "could not".
            method: A name of ``AsyncMilvusClient``.
            *arguments: For the method.
            timeout_s: Where it may take longer than other calls.
            **options: For the method.

        Raises:
            CollectionGoneError: There is no collection of that name.
            StoreError: There is no connection, the server refused, or it did not answer in time.
            TooMuchError: The answer would be too large.
        """
        seconds = max(timeout_s or 0.0, self._timeout_s)
        async with self._open() as session:
            with self._errors(action, seconds):
                async with asyncio.timeout(seconds):
                    client = await session.client()
                    # Not told of the time: the client would make a task of each call to end it.
                    return await getattr(client, method)(*arguments, **options)

    async def ask_in_thread(self, action: str, method: str, *arguments: Any, **options: Any) -> Any:
        """The same with a method of ``MilvusClient``, in a thread: there are some that the other client has not, and
        making messages out of rows takes it long.

        A call that is cancelled, or not answered in time, may still be carried out.
        """
        async with self._open() as session:

            def call() -> Any:
                with session.used():
                    return getattr(session.writer(), method)(*arguments, timeout=self._timeout_s, **options)

            with self._errors(action, self._timeout_s):
                async with asyncio.timeout(self._timeout_s):
                    return await asyncio.to_thread(call)

    async def close(self) -> None:
        """Close connections and file when the calls under way have ended; the next call opens others."""
        with self._guard:
            session, self._session = self._session, None
        if session is not None and not is_forked():
            await session.close(patience_s=self._timeout_s)

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[Session, None]:
        refuse_after_fork()
        while True:
            session = self._session
            if session is None:
                await self.module()
                session = await asyncio.to_thread(self._begun)
            with session.used():
                if not session.is_closing:
                    yield session
                    return

    def _begun(self) -> Session:
        with self._guard:
            if self._session is None:
                path = self._path
                if path is None:
                    self._session = Session(self._uri, self._client, lambda: None)
                else:
                    self._session = Session(serve(path), self._client, lambda: leave(path))
            return self._session

    def _client(self, kind: str, address: str) -> Any:
        token = self._token() if callable(self._token) else self._token
        token = os.environ.get("MILVUS_TOKEN", "") if token is None else token
        if not (isinstance(token, str) and token.isprintable()):
            raise ConfigurationError("the token has characters in it that no token has, such as a line break")
        self._secret = "" if self.is_local else token
        # A file's server is in this process; it would close the connection of a client that asks if it is alive.
        options = {"grpc.keepalive_time_ms": _NEVER_MS} if self.is_local else {}
        return getattr(pymilvus(), kind)(
            address,
            token=self._secret,
            timeout=min(self._timeout_s, _CONNECT_S),
            dedicated=True,  # the others are kept open when a client is closed
            grpc_options=options,
        )

    @contextmanager
    def _errors(self, action: str, seconds: float) -> Iterator[None]:
        failed = f"Milvus at {self.place} could not {action}"
        exceptions, grpc = imported("pymilvus.exceptions"), imported("grpc")
        try:
            yield
        except FastRAGError:
            raise
        except TimeoutError as error:
            raise StoreError(f"{failed}: no answer within {seconds:g} s") from error
        except exceptions.MilvusException as error:
            raise self._refusal(failed, error) from shown_cause(error, self._secret)
        except grpc.RpcError as error:
            raise self._broken(failed, error) from shown_cause(error, self._secret)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise StoreError(f"{failed}: the store was closed meanwhile") from error
        except (ValueError, TypeError, RuntimeError, OSError) as error:
            raise StoreError(f"{failed}: {quoted(str(error), self._secret)}") from shown_cause(error, self._secret)

    def _refusal(self, failed: str, error: Any) -> StoreError:
        said = str(error.message)
        broken = _broken_call(error)
        if broken is not None:
            said = f"{said}: {broken.details()}"
        if error.code == _GONE:
            return CollectionGoneError(f"{failed}: {quoted(said, self._secret)}")
        return (TooMuchError if _TOO_LARGE.search(said) else StoreError)(f"{failed}: {quoted(said, self._secret)}")

    def _broken(self, failed: str, error: Any) -> StoreError:
        said = f"{error.code().name.lower().replace('_', ' ')}: {error.details()}"
        advice = "; is the token right?" if error.code().name in ("UNAUTHENTICATED", "PERMISSION_DENIED") else ""
        return (TooMuchError if _TOO_LARGE.search(said) else StoreError)(
            f"{failed}: {quoted(said, self._secret)}{advice}"
        )


def _broken_call(error: BaseException) -> Any:
    """gRPC's own error behind ``error``, None where there is none."""
    seen: set[int] = set()
    found: BaseException | None = error
    # pymilvus raises errors from themselves, which leaves the original one as their context only.
    while found is not None and id(found) not in seen:
        if isinstance(found, imported("grpc").RpcError) and hasattr(found, "details"):
            return found
        seen.add(id(found))
        found = found.__context__ if found.__cause__ in (None, found) else found.__cause__
    return None


def _checked_uri(uri: object) -> tuple[Path | None, str]:
    """The path of a file, or None; and the address of a server, or an empty text."""
    text = os.fspath(uri) if isinstance(uri, str | os.PathLike) else None
    wanted = "uri must be the URL of a server such as http://localhost:19530, or a path that ends in .db"
    if not isinstance(text, str) or not text.isprintable():
        raise ConfigurationError(f"{wanted}, not {uri!r}")
    if "://" not in text:
        if not text.endswith(".db"):
            raise ConfigurationError(f"{wanted}, not {text!r}")
        try:
            return Path(text).expanduser().absolute(), ""
        except RuntimeError as error:
            raise ConfigurationError(f"the path {text!r} cannot be told: {error}") from error
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        bare = not (parts.query or parts.fragment or "@" in parts.netloc) and parts.path.strip("/").count("/") == 0
    except ValueError:
        usable = bare = False
    if not usable:
        raise ConfigurationError(f"{wanted}, not {without_secrets(text)!r}")
    if not bare:
        raise ConfigurationError(
            f"the URL {without_secrets(text)!r} has more in it than scheme, host, port and database: give user and "
            "password as token='user:password'"
        )
    return None, text
