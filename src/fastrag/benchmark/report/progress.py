"""Showing how far a run has come: a bar where someone watches, a line now and then where nobody does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fastrag.benchmark.report.spending import spending_line
from fastrag.benchmark.report.texts import one_line
from fastrag.benchmark.run import RunProgress

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def run_bar(name: str, total: int) -> Iterator[Callable[[RunProgress], None]]:
    """Give the callable that a run reports to; what it shows goes to stderr."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False)
    last: RunProgress | None = None

    def remembering(show: Callable[[RunProgress], None]) -> Callable[[RunProgress], None]:
        def on_progress(state: RunProgress) -> None:
            nonlocal last
            last = state
            show(state)

        return on_progress

    if console.is_terminal:
        with _bar(console, name, total) as show:
            yield remembering(show)
    else:
        yield remembering(_lines(console, name))
    if last is not None and (line := spending_line(last.spent)):
        console.print(f"{one_line(name)}: {line}")


@contextmanager
def _bar(console: Console, name: str, total: int) -> Iterator[Callable[[RunProgress], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[trouble]}", markup=False),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(one_line(name), total=total, trouble="")
        yield lambda state: progress.update(task, completed=state.done, trouble=_trouble(state))


def _lines(console: Console, name: str) -> Callable[[RunProgress], None]:
    quarters_shown = 0

    def on_progress(state: RunProgress) -> None:
        nonlocal quarters_shown
        quarters = 4 * state.done // state.total
        if quarters > quarters_shown:
            quarters_shown = quarters
            parts = [f"{one_line(name)}: {state.done}/{state.total} questions", _trouble(state)]
            console.print(", ".join(filter(None, parts)))

    return on_progress


def _trouble(state: RunProgress) -> str:
    counts = {"errored": state.status.errored, "incomplete": state.status.incomplete}
    return ", ".join(f"{count} {status}" for status, count in counts.items() if count)
