"""Showing how far a long job has come: a bar where someone watches, a line now and then where nobody does."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

Show = Callable[[int, str], object]
"""Called with how many are done, and a few words on what came of them."""

LINE_EVERY_S = 30.0


@contextmanager
def shown(job: str, total: int | None, things: str) -> Iterator[Show]:
    """Give the callable that the job reports to; what it shows goes to stderr.

    Args:
        job: What is going on, in a word.
        total: How many there are to be done; None while that is not known.
        things: What they are, in the plural.
    """
    from rich.console import Console

    console = Console(stderr=True, highlight=False, soft_wrap=True, force_jupyter=False)
    if is_watched(console):
        with _bar(console, job, total) as show:
            yield show
    else:
        yield _lines(console, job, total, things)


def is_watched(console: Console) -> bool:
    """Whether somebody sees what is drawn in place.

    Logs of CI are read later, even where they come through something that calls itself a terminal; so does what a cell
    of a notebook prints, which does not understand all that a terminal does.
    """
    if is_notebook() or os.environ.get("CI", "").lower() not in ("", "0", "false"):
        return False
    # Rich takes FORCE_COLOR for a terminal; a file that is to have colours is still a file.
    return console.is_interactive and console.file.isatty()


def is_notebook() -> bool:
    """Whether this is a kernel of Jupyter, or of what is made like it; IPython in a terminal is none."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    # By name, for ipykernel itself need not be imported; Colab's own is a subclass.
    return any(kind.__name__ == "ZMQInteractiveShell" for kind in type(shell).__mro__)


def moves_stdout() -> bool:
    """Whether what is printed to stdout is to go above what is drawn; whoever sends it to a file wants it there."""
    return sys.stdout is not None and sys.stdout.isatty()


@contextmanager
def _bar(console: Console, job: str, total: int | None) -> Iterator[Show]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(job),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[detail]}"),
    )
    with Progress(*columns, console=console, redirect_stdout=moves_stdout()) as progress:
        task = progress.add_task(job, total=total, detail="")
        yield lambda done, detail: progress.update(task, completed=done, detail=detail)


def _lines(console: Console, job: str, total: int | None, things: str) -> Show:
    due = time.monotonic() + LINE_EVERY_S

    def show(done: int, detail: str) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due or done == total:
            due = now + LINE_EVERY_S
            of = f"/{total}" if total is not None else ""
            console.print(f"{job}: {done}{of} {things}, {detail}", markup=False)

    return show
