"""Showing how far an ingest has come: a bar where someone watches, a line now and then where nobody does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fastrag.ingest.report import IngestProgress

if TYPE_CHECKING:
    from rich.console import Console

ProgressCallback = Callable[[IngestProgress], object]

_LINE_EVERY_S = 10.0


@contextmanager
def shown_progress(total: int | None) -> Iterator[ProgressCallback]:
    """Give the callable that an ingest reports to; what it shows goes to stderr."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    if console.is_terminal:
        with _bar(console, total) as on_progress:
            yield on_progress
    else:
        yield _lines(console)


@contextmanager
def _bar(console: Console, total: int | None) -> Iterator[ProgressCallback]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("ingest"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[chunks]} chunks"),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("ingest", total=total, chunks=0)
        yield lambda state: progress.update(task, completed=state.done, chunks=state.chunks_written)


def _lines(console: Console) -> ProgressCallback:
    due = time.monotonic() + _LINE_EVERY_S

    def on_progress(state: IngestProgress) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due or state.done == state.total:
            due = now + _LINE_EVERY_S
            of = f"/{state.total}" if state.total is not None else ""
            console.print(f"ingest: {state.done}{of} documents, {state.chunks_written} chunks", markup=False)

    return on_progress
