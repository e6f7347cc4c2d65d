"""The table of a namespace: its columns and indexes, and what it says of itself."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from fastrag.errors import ConfigurationError, StoreError
from fastrag.store.base import Binding
from fastrag.store.checks import check_format
from fastrag.store.postgres.engine import psycopg, reason_of

Ranking = Literal["bm25", "tsvector"]

_FORMAT = "1"
_PREFIX = "fastrag_"
_MAKING = 7_270_418_511  # of no meaning; the advisory lock of those who make or drop tables
_PGVECTOR = (0, 8)
_LONGEST_LIMIT_MS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Table:
    """What a namespace's table says of itself, in its comment.

    Attributes:
        format: The version of the columns and their meaning.
        language: The stemmer's language of its words; None for no stemming.
        ranking: ``bm25`` where pg_textsearch ranks, else ``tsvector``.
        embedder_id: Where its vectors come from; None while that is not known.
        dimension: How long its vectors are; None while there are none.
    """

    format: str
    language: str | None
    ranking: Ranking
    embedder_id: str | None = None
    dimension: int | None = None

    @property
    def binding(self) -> Binding | None:
        """Which embedder the vectors come from; None while the dimension is not known."""
        return None if self.dimension is None else Binding(self.embedder_id, self.dimension)


class TableChangedError(StoreError):
    """The table is another than it was known to be."""

    def __init__(self, names: Names) -> None:
        super().__init__(f"the table {names.table} was dropped or made anew by others meanwhile")


class Names:
    """What belongs to a namespace, by name. Indexes have a prefix of their own: they share one space with tables."""

    def __init__(self, namespace: str) -> None:
        self.table = f"{_PREFIX}{namespace}"
        self.sequence = f"fastragix_turn_{namespace}"
        self.key = f"fastragix_pkey_{namespace}"
        self.facts = f"fastragix_fact_{namespace}"
        self.words = f"fastragix_word_{namespace}"
        self.vectors = f"fastragix_hnsw_{namespace}"
        self.run = f"fastragix_run_{namespace}"


async def read_table(connection: Any, names: Names) -> Table | None:
    """What the table says of itself; None where there is no table.

    Raises:
        ConfigurationError: A table of that name was not made by fastrag, or by a newer one.
    """
    cursor = await connection.execute(
        "SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE oid = to_regclass(%s)", [names.table]
    )
    row = await cursor.fetchone()
    return None if row is None else _told(row[0], names.table)


async def make_table(connection: Any, names: Names, language: str | None) -> Table:
    """The table, made where it is not there.

    Raises:
        ConfigurationError: It is another's, or the server cannot hold one.
    """
    async with connection.transaction():
        await lock_making(connection)
        table = await read_table(connection, names)
        if table is None:
            await _check_server(connection)
            table = Table(_FORMAT, language, await _ranking(connection))
            for statement in _statements(names, table.ranking):
                await connection.execute(statement)
            await _write_comment(connection, names, table)
    return table


async def bind_table(connection: Any, names: Names, binding: Binding) -> Table:
    """Write ``binding`` into the table's comment, where what is there allows it, and tell what is there then.

    A binding without an embedder only asks for the dimension. Whoever called must compare.
    """
    async with connection.transaction():
        # Held against others who bind; neither readers nor writers wait for it.
        await connection.execute(f"LOCK TABLE {names.table} IN SHARE UPDATE EXCLUSIVE MODE")
        table = await read_table(connection, names)
        if table is None:
            raise TableChangedError(names)
        known = table.binding
        if known is None or (known == Binding(None, binding.dimension) and binding.embedder_id is not None):
            table = replace(table, embedder_id=binding.embedder_id, dimension=binding.dimension)
            await _write_comment(connection, names, table)
    return table


def check_unchanged(comment: str | None, table: Table, names: Names) -> None:
    """Refuse to go on with a table whose ``comment`` says something else than ``table``, its embedder apart.

    Raises:
        TableChangedError: It does.
    """
    if replace(_told(comment, names.table), embedder_id=table.embedder_id) != table:
        raise TableChangedError(names)


async def drop_table(connection: Any, names: Names, timeout_s: float) -> None:
    """Drop the table and what belongs to it, where it is there.

    Raises:
        ConfigurationError: It is another's.
    """
    async with connection.transaction():
        # Who scans it keeps it. The caller may be who scans, so nobody would wait for anybody without a limit.
        limit_ms = math.ceil(min(timeout_s * 1000, _LONGEST_LIMIT_MS))
        await connection.execute("SELECT set_config('lock_timeout', %s, true)", [f"{limit_ms}ms"])
        await lock_making(connection)
        if await read_table(connection, names) is not None:
            await connection.execute(f"DROP TABLE {names.table}")
            await connection.execute(f"DROP TABLE IF EXISTS {names.run}")


async def lock_making(connection: Any) -> None:
    """Wait until nobody else makes or drops a table; within a transaction, until whose end others wait."""
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", [_MAKING])


async def is_there(connection: Any, name: str) -> bool:
    """Whether there is a table, index or sequence of that name."""
    cursor = await connection.execute("SELECT to_regclass(%s) IS NOT NULL", [name])
    (there,) = await cursor.fetchone()
    return bool(there)


async def list_namespaces(connection: Any) -> list[str]:
    """The namespaces whose tables this connection sees, in order."""
    cursor = await connection.execute(
        "SELECT relname, obj_description(oid, 'pg_class') FROM pg_class "
        "WHERE relkind = 'r' AND starts_with(relname, %s) AND pg_table_is_visible(oid)",
        [_PREFIX],
    )
    return sorted(name.removeprefix(_PREFIX) for name, comment in await cursor.fetchall() if _marked(comment))


def _statements(names: Names, ranking: Ranking) -> list[str]:
    statements = [
        f"""CREATE TABLE {names.table} (
            written bigint NOT NULL,
            id text COLLATE "C" NOT NULL CONSTRAINT {names.key} PRIMARY KEY,
            text text NOT NULL,
            uri text,
            metadata json NOT NULL,
            facts text[] COLLATE "C" NOT NULL,
            sortable jsonb NOT NULL,
            words text NOT NULL,
            vector vector
        )""",
        # Beside the text, which moves out; a vector out of its row is three times as slow to compare.
        f"ALTER TABLE {names.table} ALTER vector SET STORAGE MAIN",
        f"CREATE SEQUENCE {names.sequence} OWNED BY {names.table}.written",
        f"CREATE INDEX {names.facts} ON {names.table} USING gin (facts)",
    ]
    if ranking == "tsvector":
        statements += [
            f"""ALTER TABLE {names.table}
                ADD lexemes tsvector NOT NULL GENERATED ALWAYS AS (to_tsvector('pg_catalog.simple', words)) STORED,
                ADD length integer NOT NULL
                    GENERATED ALWAYS AS (length(words) - length(replace(words, ' ', '')) + 1) STORED""",
            f"CREATE INDEX {names.words} ON {names.table} USING gin (lexemes)",
        ]
    return statements


async def _check_server(connection: Any) -> None:
    """Install pgvector, if need be, and refuse a server that cannot hold a store.

    Raises:
        ConfigurationError: The encoding is not UTF-8, or pgvector is older than 0.8 or not to be had.
    """
    cursor = await connection.execute("SHOW server_encoding")
    (encoding,) = await cursor.fetchone()
    if encoding != "UTF8":
        raise ConfigurationError(f"the database's encoding is {encoding}, which does not hold every text: use UTF8")
    try:
        async with connection.transaction():
            await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except psycopg().Error as error:
        raise ConfigurationError(
            f"the database has no pgvector, and PostgreSQL would not install it: {reason_of(error)}. Install pgvector "
            "0.8 or newer on the server, and let a superuser run CREATE EXTENSION vector"
        ) from error
    cursor = await connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    (version,) = await cursor.fetchone()
    if tuple(int(part) for part in version.split(".")[:2]) < _PGVECTOR:
        raise ConfigurationError(
            f"the database has pgvector {version}, and filtered search needs 0.8 or newer: update it on the server, "
            "and run ALTER EXTENSION vector UPDATE"
        )


async def _ranking(connection: Any) -> Ranking:
    cursor = await connection.execute("SELECT FROM pg_available_extensions WHERE name = 'pg_textsearch'")
    if await cursor.fetchone() is not None:
        try:
            async with connection.transaction():
                await connection.execute("CREATE EXTENSION IF NOT EXISTS pg_textsearch")
        except psycopg().Error:
            # Not preloaded, or not allowed to this user.
            return "tsvector"
        return "bm25"
    return "tsvector"


async def _write_comment(connection: Any, names: Names, table: Table) -> None:
    sql = psycopg("psycopg.sql")
    comment = sql.Literal(json.dumps({"fastrag": asdict(table)}))
    await connection.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(sql.Identifier(names.table), comment))


def _marked(comment: str | None) -> dict[str, Any] | None:
    """What fastrag wrote into ``comment``; None where it is another's."""
    try:
        marks = json.loads(comment or "null")["fastrag"]
    except (ValueError, TypeError, KeyError):
        return None
    return marks if isinstance(marks, dict) else None


def _told(comment: str | None, name: str) -> Table:
    marks = _marked(comment)
    if marks is None:
        raise ConfigurationError(f"the table {name} was not made by fastrag: give another namespace or database")
    check_format(f"the table {name}", marks.get("format"), _FORMAT)
    try:
        return Table(**marks)
    except TypeError as error:
        raise ConfigurationError(f"the comment of the table {name} is not what fastrag wrote: {error}") from error
