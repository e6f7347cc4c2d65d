"""What has to be done for the index of pg_textsearch, beside asking it."""

from __future__ import annotations

from typing import Any

from fastrag.store.postgres.table import Names, is_there, lock_making

# From this version on, all of the index is in its pages, and these are in the write-ahead log
# (https://github.com/timescale/pg_textsearch/pull/375).
_OUTLIVES_RESTARTS = (1, 3)


async def index_words(connection: Any, names: Names) -> None:
    """Make the index of words where there is none. Writers wait, readers do not."""
    async with connection.transaction():
        await lock_making(connection)
        await connection.execute(
            f"CREATE INDEX IF NOT EXISTS {names.words} ON {names.table} USING bm25 (words)"
            " WITH (text_config = 'pg_catalog.simple')"
        )


async def rebuild_after_restart(connection: Any, names: Names) -> None:
    """Rebuild the index of words if the server was started, or crashed, since that was done last.

    Prereleases of pg_textsearch keep a part of the index in memory. After a restart, even a clean one, they find
    nothing, and after a crash writers may wait for ever. A table says for which run of the server the index is good; it
    is unlogged, as such tables are empty after a crash.
    """
    cursor = await connection.execute(
        "SELECT extversion, pg_is_in_recovery() FROM pg_extension WHERE extname = 'pg_textsearch'"
    )
    version, is_replica = await cursor.fetchone()
    if is_replica or tuple(int(part) for part in version.split(".")[:2]) >= _OUTLIVES_RESTARTS:
        return
    if await _is_good(connection, names):
        return
    async with connection.transaction():
        await lock_making(connection)
        await connection.execute(f"CREATE UNLOGGED TABLE IF NOT EXISTS {names.run} (started timestamptz NOT NULL)")
        if not await _is_good(connection, names):
            if await is_there(connection, names.words):
                await connection.execute(f"REINDEX INDEX {names.words}")
            await connection.execute(f"DELETE FROM {names.run}")
            await connection.execute(f"INSERT INTO {names.run} VALUES (pg_postmaster_start_time())")


async def _is_good(connection: Any, names: Names) -> bool:
    if not await is_there(connection, names.run):
        return False
    cursor = await connection.execute(f"SELECT FROM {names.run} WHERE started = pg_postmaster_start_time()")
    return await cursor.fetchone() is not None
