"""Showing how far an ingest has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fastrag._support.progress import shown
from fastrag.ingest.report import IngestProgress

ProgressCallback = Callable[[IngestProgress], object]


@contextmanager
def shown_progress(total: int | None) -> Iterator[ProgressCallback]:
    """Give the callable that an ingest reports to; what it shows goes to stderr."""
    with shown("ingest", total, "documents") as show:
        yield lambda state: show(state.done, f"{state.chunks_written} chunks")
