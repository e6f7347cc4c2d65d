"""A Document as a row of a PostgreSQL table, and back."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastrag.document import Document
from fastrag.embedding.base import Matrix, Vector
from fastrag.errors import ConfigurationError
from fastrag.store.facts import sort_keys_of
from fastrag.store.json_text import to_json
from fastrag.store.postgres.filters import indexed_facts_of
from fastrag.store.postgres.table import Names, Table, check_unchanged
from fastrag.store.postgres.words import WordTexts

DOCUMENT_COLUMNS = "id, text, uri, metadata"
_COPIED_COLUMNS = "written, id, text, uri, metadata, facts, sortable, words, vector"
# Of what `to_rows` makes of each column. What is bytes already goes as bytea, which is copied as it is.
_COPIED_TYPES = ["int8", "text", "text", "text", "text", "text[]", "bytea", "text", "bytea"]
# ``written`` is the number of the batch times this, and the position in it.
_POSITIONS = 1 << 24

# A key of a B-tree has at most 2,704 bytes.
_MAX_ID_BYTES = 2600
_ESCAPE = "\x1a"
_ESCAPED = re.compile("\x1a(.)")


def check_ids(ids: Sequence[str]) -> None:
    """Refuse ids that are too long to be keys in PostgreSQL.

    Raises:
        ConfigurationError: One has more than 2,600 bytes in UTF-8.
    """
    for each in ids:
        if len(to_column(each).encode()) > _MAX_ID_BYTES:
            raise ConfigurationError(
                f"an id may have {_MAX_ID_BYTES} bytes in PostgreSQL, and {each[:40]!r}... has more"
            )


def to_rows(documents: Sequence[Document], embeddings: Matrix | None, words: WordTexts) -> list[list[Any]]:
    """The Documents as rows for `write_rows`, in order of their ids, each with its position first.

    In one order, two writers of the same ids wait for each other instead of each for the other.
    """
    vectors = _vectors(embeddings, len(documents))
    rows: list[list[Any]] = [
        [
            position,
            to_column(document.id),
            to_column(document.text),
            None if document.uri is None else to_column(document.uri),
            to_json(document.metadata),
            indexed_facts_of(document.metadata),
            b"\x01" + to_json(sort_keys_of(document.metadata)).encode(),  # jsonb begins with its version
            words.of_text(document.text),
            vectors[position],
        ]
        for position, document in enumerate(documents)
    ]
    rows.sort(key=lambda row: row[1])
    return rows


async def write_rows(connection: Any, names: Names, table: Table, rows: Sequence[Sequence[Any]]) -> None:
    """Put ``rows`` in the place of those of the same ids; within a transaction.

    Raises:
        TableChangedError: The table is another than ``table``.
    """
    cursor = await connection.execute(
        f"WITH gone AS (DELETE FROM {names.table} WHERE id = ANY(%s))"
        " SELECT nextval(%s::regclass), obj_description(to_regclass(%s), 'pg_class')",
        [[row[1] for row in rows], names.sequence, names.table],
    )
    batch, comment = await cursor.fetchone()
    # The lock that deleting took keeps the table as it is now.
    check_unchanged(comment, table, names)
    first = batch * _POSITIONS
    async with connection.cursor().copy(f"COPY {names.table} ({_COPIED_COLUMNS}) FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(_COPIED_TYPES)
        for position, *columns in rows:
            await copy.write_row([first + position, *columns])


def to_document(row: Sequence[Any]) -> Document:
    """The Document of a row that starts with `DOCUMENT_COLUMNS`."""
    id, text, uri, metadata = row[:4]
    return Document(from_column(id), from_column(text), None if uri is None else from_column(uri), metadata)


def to_column(text: str) -> str:
    """``text`` as PostgreSQL can hold it, which is everything but NUL.

    >>> to_column("nul\\x00 sub\\x1a") == "nul\\x1a0 sub\\x1a1", from_column(to_column("nul\\x00 sub\\x1a0"))
    (True, 'nul\\x00 sub\\x1a0')
    """
    if "\0" in text or _ESCAPE in text:
        return text.replace(_ESCAPE, f"{_ESCAPE}1").replace("\0", f"{_ESCAPE}0")
    return text


def from_column(text: str) -> str:
    """What `to_column` was given."""
    return _ESCAPED.sub(lambda found: "\0" if found[1] == "0" else _ESCAPE, text) if _ESCAPE in text else text


def to_vector(sent: bytes) -> Vector:
    """The vector that pgvector's ``vector_send`` sent."""
    return np.frombuffer(sent, dtype=">f4", offset=4).astype(np.float32)


def _vectors(embeddings: Matrix | None, count: int) -> list[bytes | None]:
    """pgvector's binary form (vector_recv): dimension, two bytes unused, float32s; None where there is no direction."""
    if embeddings is None:
        return [None] * count
    head = struct.pack(">HH", embeddings.shape[1], 0)
    return [head + row.tobytes() if row.any() else None for row in embeddings.astype(">f4")]
