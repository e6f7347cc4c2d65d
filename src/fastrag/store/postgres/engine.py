"""Where psycopg is imported, at first use, and what its errors become."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from fastrag._support.extras import import_extra
from fastrag.embedding.base import Vector
from fastrag.errors import FastRAGError, StoreError
from fastrag.store.json_text import from_json

_REAL = 700
_REAL_ARRAY = 1021


def psycopg(module: str = "psycopg") -> Any:
    """The psycopg package, or a ``module`` of it.

    Raises:
        MissingDependencyError: It is not installed.
    """
    return import_extra(module, extra="postgres", purpose="the PostgreSQL store")


@cache
def adapters() -> Any:
    """How values travel: as psycopg has it, `Vector` as PostgreSQL's ``real[]`` in binary, and JSON by `from_json`."""
    engine = psycopg()
    # What it warns of, such as a connection that ended in mid-transaction, is raised too; who set up logging sees it.
    logging.getLogger("psycopg").addHandler(logging.NullHandler())
    dumper: Any = engine.adapt.Dumper

    class VectorDumper(dumper):  # type: ignore[misc]
        format = engine.pq.Format.BINARY
        oid = _REAL_ARRAY

        def dump(self, obj: Vector) -> bytes:
            # https://www.postgresql.org/docs/current/protocol-message-formats.html and array_recv: dimensions, nulls,
            # type of items, length and first index, then each item after its length.
            items = np.empty(obj.size, dtype=[("length", ">i4"), ("value", ">f4")])
            items["length"], items["value"] = 4, obj
            return np.array([1, 0, _REAL, obj.size, 1], dtype=">i4").tobytes() + items.tobytes()

    ours = engine.adapt.AdaptersMap(engine.adapters)
    ours.register_dumper(np.ndarray, VectorDumper)
    psycopg("psycopg.types.json").set_json_loads(from_json, ours)
    return ours


@contextlib.contextmanager
def translated(action: str, what: str, place: Callable[[], str]) -> Iterator[None]:
    """Turn psycopg's errors into StoreError: which ``place`` could not ``action`` ``what``, and why."""
    try:
        yield
    except FastRAGError:
        raise
    except psycopg().Error as error:
        raise StoreError(f"{place()} could not {action} {what}: {reason_of(error)}") from error


def reason_of(error: Any) -> str:
    """What the server, or libpq, said, in one line."""
    said = error.diag.message_primary or " ".join(str(error).split()) or type(error).__name__
    return f"{said} ({error.diag.message_hint})" if error.diag.message_hint else str(said)
