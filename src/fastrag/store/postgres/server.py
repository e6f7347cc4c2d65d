"""The PostgreSQL server that a store is in: how it is reached, and the settings of its connections."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from fastrag.errors import ConfigurationError, StoreError
from fastrag.store.postgres.engine import adapters, psycopg, translated
from fastrag.store.postgres.pool import ConnectionPool

Conninfo = str | Callable[[], str | Awaitable[str]]

_SHOWN = ("service", "host", "hostaddr", "port", "dbname")
# So that a server which vanished without a word is noticed; conninfo may say otherwise.
_KEEPALIVE = {
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
_SETTINGS = {
    "jit": "off",
    # pg_textsearch tells scores only where its index is used, which the planner thinks too dear for small tables.
    "enable_seqscan": "off",
    # An index scan goes on until a filter has let enough pass; rows are sorted once more by whoever asks.
    "hnsw.iterative_scan": "relaxed_order",
}


class PostgresServer:
    """Opens connections when they are needed, and says of errors what failed and where, without any secret.

    Args:
        conninfo: See `PgVectorStore`.
        pool_size: How many connections at once, in each event loop.
        timeout_s: Seconds until connecting is given up.
        settings: For each connection, beside those that all need.
    """

    def __init__(self, conninfo: Conninfo, *, pool_size: int, timeout_s: float, settings: dict[str, str]) -> None:
        self._conninfo = conninfo
        self._timeout_s = timeout_s
        self._settings = {**_SETTINGS, **settings}
        self._pool = ConnectionPool(self._connect, pool_size)
        self._place = "PostgreSQL"

    @contextlib.asynccontextmanager
    async def connection(self, action: str, what: str) -> AsyncIterator[Any]:
        """One of the pool's connections, to ``action`` ``what`` on it.

        Raises:
            StoreError: There is no connection, or what was done with it failed.
        """
        with translated(action, what, self.place):
            async with self._pool.connection() as connection:
                yield connection

    @contextlib.asynccontextmanager
    async def extra_connection(self, action: str, what: str) -> AsyncIterator[Any]:
        """The same, beyond the pool's bound."""
        with translated(action, what, self.place):
            async with self._pool.extra_connection() as connection:
                yield connection

    async def close(self) -> None:
        """Close the connections of this event loop; a later call opens others."""
        await self._pool.close()

    def place(self) -> str:
        """Where the server is, as far as that is known."""
        return self._place

    async def _connect(self) -> Any:
        parameters = await self._parameters()
        shown = ", ".join(f"{key}={parameters[key]}" for key in _SHOWN if key in parameters)
        self._place = f"PostgreSQL ({shown or 'by the environment'})"
        try:
            async with asyncio.timeout(self._timeout_s):
                connection = await psycopg().AsyncConnection.connect(**parameters, autocommit=True, context=adapters())
        except TimeoutError as error:
            raise StoreError(f"{self._place} did not answer within {self._timeout_s} s") from error
        try:
            calls = ", ".join(["set_config(%s, %s, false)"] * len(self._settings))
            await connection.execute(f"SELECT {calls}", [text for pair in self._settings.items() for text in pair])
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _parameters(self) -> dict[str, Any]:
        conninfo = self._conninfo() if callable(self._conninfo) else self._conninfo
        if inspect.isawaitable(conninfo):
            conninfo = await conninfo
        if not isinstance(conninfo, str):
            raise ConfigurationError(f"the function conninfo must return a text, not a {type(conninfo).__name__}")
        try:
            given = None if _is_misleading(conninfo) else psycopg("psycopg.conninfo").conninfo_to_dict(conninfo)
        except psycopg().Error:
            given = None
        if given is None:
            # Not within the except clause: its error repeats what was given, and so may repeat a password.
            raise ConfigurationError(
                "the connection string is malformed: give postgresql://user:password@host:5432/database, with what is "
                "special in it percent-encoded (%40 for @), or host=... port=... dbname=..."
            )
        timeout = {"connect_timeout": str(max(2, math.ceil(self._timeout_s)))}
        return {"fallback_application_name": "fastrag", **timeout, **_KEEPALIVE, **given, "client_encoding": "utf8"}


def _is_misleading(conninfo: str) -> bool:
    """Whether libpq takes the rest of a password with an unescaped '@', '/' or '?' for a host or database, to be shown.

    To libpq a name and a password end at the first '@', and there are none where a '/' comes before it.
    """
    scheme, _, rest = conninfo.partition("://")
    credentials, at, place = rest.partition("@")
    if "/" in credentials:
        credentials, place = "", rest
    is_stray = "?" in credentials or "@" in place.partition("?")[0]
    return scheme in ("postgresql", "postgres") and bool(at) and is_stray
