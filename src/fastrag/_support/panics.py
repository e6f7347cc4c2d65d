"""Panics of libraries written in Rust."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fastrag.errors import FastRAGError


@contextmanager
def panics_as(kind: type[FastRAGError], problem: str) -> Iterator[None]:
    """Raise ``kind`` saying ``problem`` where a Rust library called inside panics.

    A panic is a bug of that library. It reaches Python as ``pyo3_runtime.PanicException``, which is no
    `Exception`, so it would end programs that handle every `Exception`; it cannot be imported, hence the name.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise kind(f"{problem}: a bug in the library that does it: {error}") from error
