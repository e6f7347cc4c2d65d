"""Asking a Qdrant server, with its client's many kinds of errors in our words and without the key in any of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import re
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from fastrag._support.checks import require_number
from fastrag._support.extras import import_extra
from fastrag._support.per_loop import PerLoop
from fastrag.errors import ConfigurationError, StoreError
from fastrag.store.replies import quoted, shown_cause
from fastrag.store.urls import without_secrets

_PORT = 6333
_CONNECT_S = 5.0
_CONNECTIONS = 64
# The server itself closes a connection after five seconds of silence; a request must not meet that moment.
_KEEP_ALIVE_S = 2.0


class NoCollectionError(StoreError):
    """There is no collection of that name."""


class _Link:
    """A client of one event loop, and whether a request of it is under way."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.idle = asyncio.Event()
        self.idle.set()
        self._users = 0

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """While this lasts, the link is not idle."""
        self._users += 1
        self.idle.clear()
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self.idle.set()


class QdrantServer:
    """A server, or a cluster behind one address, over HTTP.

    Attributes:
        place: Its URL, for messages.

    Args:
        url: ``http://`` or ``https://``, with a path where the server is behind a proxy; the port is 6333 unless
            given.
        api_key: None takes it from the environment's ``QDRANT_API_KEY``, where that is set.
        timeout_s: Seconds until an unanswered request fails; a connection is given up after five at the most.

    Raises:
        ConfigurationError: An argument is wrong.
    """

    def __init__(self, url: str, *, api_key: str | None, timeout_s: float) -> None:
        self._url = _checked_url(url)
        self.place = without_secrets(self._url)
        if not isinstance(api_key, str | None):
            raise ConfigurationError(f"api_key must be a text or None, not a {type(api_key).__name__}")
        self._api_key = (api_key if api_key is not None else os.environ.get("QDRANT_API_KEY", "")).strip()
        if not (self._api_key.isascii() and self._api_key.isprintable()):
            raise ConfigurationError("the API key has characters in it that no key has, such as a line break")
        self._timeout_s = require_number("timeout_s", timeout_s, above=0)
        self._links: PerLoop[_Link] = PerLoop(lambda: _Link(self._new_client()), self._end)

    async def models(self) -> Any:
        """The module of the client's records.

        Raises:
            MissingDependencyError: The extra ``qdrant`` is not installed.
        """
        if "qdrant_client" not in sys.modules:
            # The first import takes seconds.
            await asyncio.to_thread(_imported, "qdrant_client")
        return _imported("qdrant_client.models")

    async def ask(self, action: str, method: str, **arguments: Any) -> Any:
        """Call ``method`` of the client.

        Args:
            action: What it is for, after "could not".
            method: A name of ``AsyncQdrantClient``.
            **arguments: For the method.

        Raises:
            NoCollectionError: There is no collection of that name.
            StoreError: There is no connection, the server refused, or it answered something else than Qdrant does.
        """
        await self.models()
        link = await self._links.get()
        failed = f"Qdrant at {self.place} could not {action}"
        exceptions, rest = (
            _imported("qdrant_client.common.client_exceptions"),
            _imported("qdrant_client.http.exceptions"),
        )
        try:
            with link.used():
                async with asyncio.timeout(self._timeout_s):
                    return await getattr(link.client, method)(**arguments)
        except TimeoutError as error:
            raise StoreError(f"{failed}: no answer within {self._timeout_s:g} s") from error
        except rest.UnexpectedResponse as error:
            raise self._refusal(failed, error) from shown_cause(error, self._api_key)
        except exceptions.ResourceExhaustedResponse as error:
            raise StoreError(f"{failed}: it limits the rate of requests") from shown_cause(error, self._api_key)
        except rest.ResponseHandlingException as error:
            raise self._broken(failed, error.source) from shown_cause(error, self._api_key)
        except (ValueError, AssertionError) as error:
            # What the client raises where a reply is no JSON, or has no result in it.
            raise self._broken(failed, error) from shown_cause(error, self._api_key)

    async def close(self) -> None:
        """Close the running loop's connections once its requests under way have ended; the next opens others."""
        await self._links.close()

    async def _end(self, link: _Link) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._timeout_s):
                await link.idle.wait()
        await link.client.close()

    def _new_client(self) -> Any:
        http = _imported("httpx")

        async def give_up_soon(request: Any) -> None:
            request.extensions["timeout"]["connect"] = min(self._timeout_s, _CONNECT_S)

        try:
            return _imported("qdrant_client").AsyncQdrantClient(
                url=self._url,
                port=_PORT,
                # Not as api_key, for that warns at every http:// URL.
                headers={"api-key": self._api_key} if self._api_key else None,
                timeout=math.ceil(self._timeout_s),
                check_compatibility=False,  # it asks the server in a thread, and warns
                limits=http.Limits(max_connections=_CONNECTIONS, keepalive_expiry=_KEEP_ALIVE_S),
                event_hooks={"request": [give_up_soon]},
            )
        except (ValueError, ImportError, OSError, http.InvalidURL) as error:
            raise ConfigurationError(
                f"no client for {self.place} can be made: {error}. Look at the environment's settings for proxies and "
                "certificates (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE, SSL_CERT_DIR)"
            ) from error

    def _refusal(self, failed: str, error: Any) -> StoreError:
        said = _said(error)
        if error.status_code == 404 and re.search("collection", said, re.IGNORECASE):
            return NoCollectionError(f"{failed}: {quoted(said, self._api_key)}")
        advice = ": is the API key right?" if error.status_code in (401, 403) else ""
        return StoreError(f"{failed}: it answered {error.status_code}, {quoted(said, self._api_key)}{advice}")

    def _broken(self, failed: str, reason: Exception) -> StoreError:
        http = _imported("httpx")
        if isinstance(reason, http.TimeoutException):
            return StoreError(f"{failed}: no connection, or no answer in time ({type(reason).__name__})")
        if isinstance(reason, http.TransportError):
            return StoreError(
                f"{failed}: no connection, or it broke: {quoted(str(reason) or repr(reason), self._api_key)}"
            )
        return StoreError(
            f"{failed}: the answer is not one of Qdrant's; is the URL right? {quoted(str(reason), self._api_key)}"
        )


def _imported(module: str) -> Any:
    return import_extra(module, extra="qdrant", purpose="QdrantStore")


def _said(error: Any) -> str:
    """The server's own words in a refusal."""
    text: str = error.content.decode(errors="replace")
    try:
        said = json.loads(text)["status"]["error"]
    except (ValueError, KeyError, TypeError):
        return text
    return said if isinstance(said, str) else text


def _checked_url(url: object) -> str:
    if not isinstance(url, str):
        raise ConfigurationError(f"url must be a text such as http://localhost:6333, not a {type(url).__name__}")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        bare = not (parts.query or parts.fragment or "@" in parts.netloc) and url.isprintable()
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(f"url must be a URL like http://localhost:6333, not {without_secrets(url)!r}")
    if not bare:
        raise ConfigurationError(
            f"the URL {without_secrets(url)!r} has more in it than scheme, host, port and path: the key is api_key"
        )
    return url.rstrip("/")
