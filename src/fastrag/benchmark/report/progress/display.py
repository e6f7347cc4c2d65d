"""Showing a run while it goes on: in place where someone watches, a line now and then where nobody does.

What is shown is drawn at intervals, not as questions end: however fast they do, that costs the run nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from fastrag._support.progress import is_notebook, is_watched
from fastrag.benchmark.report.progress.pace import Pace
from fastrag.benchmark.report.progress.view import View, view_of
from fastrag.benchmark.run import RunProgress

_log = logging.getLogger(__name__)


class Surface(Protocol):
    """Where a run is shown."""

    every_s: float
    """How often it is drawn."""

    def open(self, view: View) -> None:
        """Begin."""
        ...

    def draw(self, view: View) -> None:
        """Show this instead of what was shown."""
        ...

    def close(self, view: View) -> None:
        """Show this, and leave it there."""
        ...


@contextmanager
def run_display(name: str, total: int, *, earlier: int = 0) -> Iterator[Callable[[RunProgress], None]]:
    """Give the callable that a run reports to, and show what it is told.

    Args:
        name: Of the run.
        total: Of its questions.
        earlier: How many of them had ended in an earlier part of the run.
    """
    display = RunDisplay(surface, name, total, earlier=earlier)
    display.open()
    try:
        yield display.update
    finally:
        display.close()


def surface() -> Surface:
    """A notebook's cell, the terminal, or lines on stderr."""
    if is_notebook():
        from fastrag.benchmark.report.progress.notebook import Cell

        return Cell()
    from rich.console import Console

    from fastrag.benchmark.report.progress.lines import Lines
    from fastrag.benchmark.report.progress.terminal import Terminal

    console = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
    return Terminal(console) if is_watched(console) else Lines(console)


class RunDisplay:
    """Shows the last that a run told, at intervals; whatever goes wrong in that costs the run nothing.

    Args:
        surface: Makes that on which it is shown.
        name: Of the run.
        total: Of its questions.
        earlier: How many of them had ended before.
        clock: Gives seconds, and never goes back.
    """

    def __init__(
        self,
        surface: Callable[[], Surface],
        name: str,
        total: int,
        *,
        earlier: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make_surface = surface
        self._surface: Surface | None = None
        self._name = name
        self._total = total
        self._earlier = earlier
        self._clock = clock
        self._started_s = clock()
        self._pace = Pace(earlier, self._started_s)
        self._state: RunProgress | None = None
        self._timer: asyncio.TimerHandle | None = None

    def open(self) -> None:
        """Begin to show the run."""
        with self._or_no_display():
            self._surface = self._make_surface()
            self._surface.open(self._view())
        self._draw_later()

    def update(self, state: RunProgress) -> None:
        """Take what the run has to tell; it is shown at the next interval."""
        self._state = state

    def tick(self) -> None:
        """Show how far the run has come by now."""
        if self._surface is not None:
            with self._or_no_display():
                self._surface.draw(self._view())
        self._draw_later()

    def close(self) -> None:
        """Show what the run told last, and stop."""
        if self._timer is not None:
            self._timer.cancel()
        if self._surface is not None:
            with self._or_no_display():
                self._surface.close(self._view(is_over=True))

    def _view(self, *, is_over: bool = False) -> View:
        done, now_s = self._earlier if self._state is None else self._state.done, self._clock()
        if not is_over:
            rate = self._pace.at(done, now_s)
        elif now_s > self._started_s:
            rate = (done - self._earlier) / (now_s - self._started_s)
        else:
            rate = None
        return view_of(self._name, self._total, self._earlier, self._state, rate, is_over=is_over)

    def _draw_later(self) -> None:
        if self._surface is None:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # used outside of a run: only the end is shown
        self._timer = loop.call_later(self._surface.every_s, self.tick)

    @contextmanager
    def _or_no_display(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - a terminal that is gone, a notebook that is closed
            self._surface = None
            # Where stderr is closed, logging cannot say it either, and its own report of that raises.
            with suppress(Exception):
                _log.warning("the run goes on, but is no longer shown: %s: %s", type(error).__name__, error)
