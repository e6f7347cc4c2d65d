"""What was paid for once, kept in an SQLite file that several processes may use: bytes by key, checked when read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fastrag.errors import ConfigurationError

if TYPE_CHECKING:
    import sqlite3

_WAIT_FOR_OTHERS_S = 60.0
_CHECKSUM_BYTES = 8  # behind every value: what is damaged is as if it were not there
_FORMAT = 1


class KeptRows:
    """Values by key in one table of an SQLite file. Its methods block; each opens a connection of its own.

    Args:
        path: The file, made if absent, with its folder; where fastrag makes it, only its owner may read it.
        what: The words for it in messages: "the embedding cache".
        table: The table's name.
        column: The name of its values.

    Raises:
        ConfigurationError: The file cannot be made, read or written, or is not a cache (also from every method).
    """

    def __init__(self, path: str | os.PathLike[str], *, what: str, table: str, column: str) -> None:
        self.path = Path(path).expanduser().absolute()
        self._what = what
        self._schema = (
            f"CREATE TABLE IF NOT EXISTS {table} (key BLOB PRIMARY KEY, {column} BLOB NOT NULL) WITHOUT ROWID"
        )
        self._select = f"SELECT key, {column} FROM {table} WHERE key IN "  # noqa: S608 - names of ours
        self._insert = f"INSERT OR REPLACE INTO {table} VALUES (?, ?)"  # noqa: S608
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(f"cannot make the folder of {what} {self.path}: {error}") from error
        # What SQLite cannot open either, it says better.
        with suppress(OSError):
            self.path.touch(mode=0o600)
        with self._connection() as connection:
            # Write-ahead logging: readers do not wait for a writer. The mode stays with the file.
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(self._schema)
            # Writes even where it was so before: a full disk or a read-only file is found now, not in mid-run.
            connection.execute(f"PRAGMA user_version={_FORMAT}")
            connection.commit()

    def read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values of those ``keys`` that are there and undamaged; at most some hundreds at once."""
        marks = ",".join("?" * len(keys))
        with self._connection() as connection:
            found = connection.execute(f"{self._select}({marks})", keys)
            return {key: value for key, kept in found if (value := _unsealed(key, kept)) is not None}

    def write(self, rows: Mapping[bytes, bytes]) -> None:
        """Keep ``rows``, all or none."""
        with self._connection() as connection:
            connection.execute(self._schema)  # somebody may have deleted the file meanwhile
            connection.executemany(self._insert, [(key, _sealed(key, value)) for key, value in rows.items()])
            connection.commit()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        import sqlite3  # some builds of Python have none; they can use the rest of fastrag

        # A new one each time: connections must cross neither threads nor forks, and opening one takes microseconds.
        try:
            with closing(sqlite3.connect(self.path, timeout=_WAIT_FOR_OTHERS_S)) as connection:
                # With a write-ahead log this risks the newest rows when the power fails, and never the file.
                connection.execute("PRAGMA synchronous=NORMAL")
                yield connection
        except sqlite3.Error as error:
            raise ConfigurationError(
                f"{self._what} {self.path} cannot be used: {error}. If it is damaged or not a cache, delete it "
                "or name another file"
            ) from error


def _sealed(key: bytes, value: bytes) -> bytes:
    return value + hashlib.blake2b(value, key=key, digest_size=_CHECKSUM_BYTES).digest()


def _unsealed(key: bytes, kept: object) -> bytes | None:
    """The value, or None where it is not as it was when it was kept."""
    if not isinstance(kept, bytes):
        return None
    value = kept[:-_CHECKSUM_BYTES]
    return value if _sealed(key, value) == kept else None
