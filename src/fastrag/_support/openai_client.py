"""What the LLM and the embedder over the OpenAI protocol share: the SDK's client, and its errors in our
words."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from email.utils import mktime_tz, parsedate_tz
from typing import Any, TypeVar
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import msgspec

from fastrag._support.extras import import_extra
from fastrag._support.per_loop import PerLoop
from fastrag.errors import (
    ConfigurationError,
    FastRAGError,
    MalformedReplyError,
    ServiceRejectedError,
    ServiceTimeoutError,
    ServiceUnavailableError,
)

_T = TypeVar("_T")
_SHOWN = 300  # characters of a server's own words that go into an error message


class OpenAIConnection:
    """A place to send requests to, with the SDK's retries and one bound on the time of a call.

    Raises:
        ConfigurationError: An argument is wrong, or no key is given or in ``OPENAI_API_KEY`` for OpenAI's own
            URL.
        MissingDependencyError: The extra ``openai`` is not installed.
    """

    def __init__(
        self, user: str, *, base_url: str | None, api_key: str | None, timeout_s: float, max_retries: int
    ) -> None:
        self._sdk = import_extra("openai", extra="openai", purpose=user)
        # The HTTP library under the SDK (httpx or httpx2); older SDKs let its errors through when a stream
        # breaks.
        client_class = self._sdk.DefaultAsyncHttpxClient.__base__
        self._http = import_extra(client_class.__module__.partition(".")[0], extra="openai", purpose=user)
        if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or not 0 < timeout_s < math.inf:
            raise ConfigurationError(f"timeout_s must be a number of seconds above 0, not {timeout_s!r}")
        if isinstance(max_retries, bool) or not isinstance(max_retries, int) or max_retries < 0:
            raise ConfigurationError(f"max_retries must be a whole number of at least 0, not {max_retries!r}")
        self._base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        self.place = _place(self._base_url or "https://api.openai.com/v1")
        if not isinstance(api_key, str | None):
            raise ConfigurationError(f"api_key must be a text or None, not a {type(api_key).__name__}")
        key = (api_key if api_key is not None else os.environ.get("OPENAI_API_KEY", "")).strip()
        if not (key.isascii() and key.isprintable()):
            raise ConfigurationError("the API key has characters in it that no key has, such as a line break")
        if not key and self._base_url is None:
            raise ConfigurationError(
                f"{user} needs a key: set OPENAI_API_KEY, give api_key, or give base_url for a server that needs none"
            )
        self._key = key or "none"  # the SDK insists on one; servers on one's own machine rarely do
        self.timeout_s = float(timeout_s)
        self._max_retries = max_retries
        self._clients: PerLoop[Any] = PerLoop(self._new_client, lambda client: client.close())
        self._deadlines: WeakKeyDictionary[Any, float] = WeakKeyDictionary()  # by task, in the loop's time

    async def client(self) -> Any:
        """The SDK's client for the running event loop: its connections cannot be used from another loop.

        Raises:
            ConfigurationError: None can be made, because of ``base_url`` or of settings in the environment.
        """
        return await self._clients.get()

    def _new_client(self) -> Any:
        async def stay(request: Any) -> None:
            # A redirect would carry the texts to a host that nobody chose.
            if _origin(request.url) != _origin(client.base_url):
                raise ServiceRejectedError(
                    f"{self.place} redirects to another place, which was sent nothing: "
                    f"{self.quoted(str(request.url))}. If it is to be trusted, give it as base_url"
                )

        try:
            http_client = self._sdk.DefaultAsyncHttpxClient(
                event_hooks={"request": [stay], "response": [self._forgo_late_retry]}
            )
            client = self._sdk.AsyncOpenAI(
                base_url=self._base_url,
                api_key=self._key,
                timeout=self.timeout_s,
                max_retries=self._max_retries,
                http_client=http_client,
            )
        except (ValueError, ImportError, OSError, self._http.InvalidURL) as error:
            raise ConfigurationError(
                f"no client for {self.place} can be made: {error}. Look at base_url and at the environment's settings "
                "for proxies and certificates (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE, SSL_CERT_DIR)"
            ) from error
        return client

    async def _forgo_late_retry(self, response: Any) -> None:
        """Have the SDK say what was refused, where it would wait for a retry until the time is up."""
        pause_s = _retry_after_s(response.headers)
        left_s = self._deadlines[asyncio.current_task()] - asyncio.get_running_loop().time()
        if pause_s is not None and pause_s >= left_s:
            response.headers["x-should-retry"] = "false"

    async def close(self) -> None:
        """Close the running loop's connections, which otherwise end with the loop; harmless when called twice."""
        await self._clients.close()

    @asynccontextmanager
    async def errors(self) -> AsyncIterator[None]:
        """Raise the SDK's errors as `ServiceError`s, and one if what is inside takes longer than
        `timeout_s`."""
        sdk, http = self._sdk, self._http
        try:
            async with asyncio.timeout(self.timeout_s):
                self._deadlines[asyncio.current_task()] = asyncio.get_running_loop().time() + self.timeout_s
                yield
        except FastRAGError:
            raise
        except (TimeoutError, sdk.APITimeoutError, http.TimeoutException) as error:
            raise ServiceTimeoutError(f"{self.place} did not answer within {self.timeout_s:g} s") from error
        except (sdk.APIConnectionError, http.TransportError) as error:
            reason = error.__cause__ or error
            raise ServiceUnavailableError(f"no connection to {self.place}, or it broke: {reason}") from error
        except sdk.APIStatusError as error:
            passing = error.status_code == 429 or error.status_code >= 500
            kind = ServiceUnavailableError if passing else ServiceRejectedError
            did = "limits the rate of requests" if error.status_code == 429 else "refused"
            tried = f" (retries allowed: {self._max_retries})" if passing else ""
            refusal = kind(f"{self.place} {did}{tried}: {self.quoted(str(error))}")
            if isinstance(refusal, ServiceUnavailableError):
                refusal.retry_after_s = _retry_after_s(error.response.headers)
            raise refusal from self._shown(error)
        except sdk.APIError as error:  # an error event within a stream
            said = self.quoted(str(error))
            raise ServiceUnavailableError(f"{self.place} broke off with an error: {said}") from self._shown(error)
        except UnicodeEncodeError as error:
            raise ConfigurationError(f"what is to be sent to {self.place} is not valid Unicode: {error}") from error
        except ValueError as error:  # what the SDK's decoder of streams raises
            raise MalformedReplyError(f"{self.place} sent something that is not JSON: {error}") from error

    def decode(self, content: bytes, type_: type[_T]) -> _T:
        """The JSON reply ``content`` as ``type_``.

        Raises:
            MalformedReplyError: It is not JSON, or not of that form.
        """
        try:
            return msgspec.json.decode(content, type=type_)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            said = self.quoted(content.decode(errors="replace"))
            raise MalformedReplyError(
                f"{self.place} gave a reply of another form: {error}. It begins: {said}"
            ) from error

    def quoted(self, words: str) -> str:
        """What a server said, on one line, cut, and without the key."""
        line = " ".join(words.replace(self._key, "***").split())
        return line if len(line) <= _SHOWN else line[:_SHOWN] + "..."

    def _shown(self, error: Exception) -> Exception | None:
        # Some servers repeat the key in their refusal; then their own words must not be shown as the cause.
        return None if self._key in str(error) else error


def _origin(url: Any) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The seconds that a reply's headers ask to wait, None where they do not."""
    said = headers.get("retry-after", "")
    try:
        pause_s = float(said)
    except ValueError:
        when = parsedate_tz(said)
        pause_s = math.nan if when is None else max(0.0, mktime_tz(when) - time.time())
    return pause_s if 0 <= pause_s < math.inf else None


def _place(base_url: str) -> str:
    """The URL without any user name, password or query in it, for messages and identities."""
    try:
        parts = urlsplit(base_url)
        port = "" if parts.port is None else f":{parts.port}"
    except (ValueError, AttributeError, TypeError):
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(f"base_url must be an http:// or https:// URL, not {base_url!r}")
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path.rstrip('/')}"
