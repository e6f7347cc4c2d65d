"""A run in a notebook: a cell's output that is updated in place, as text where HTML is not shown."""

from __future__ import annotations

import importlib
from typing import Any

from fastrag.benchmark.report.notebook.rendering import render
from fastrag.benchmark.report.progress.lines import line
from fastrag.benchmark.report.progress.view import MEANS_SHOWN, View, more_metrics


class Cell:
    """The output of the cell that is being run."""

    every_s = 0.5

    def __init__(self) -> None:
        self._handle: Any = None
        self._shown: View | None = None

    def open(self, view: View) -> None:
        """Add an output."""
        # Whoever is in a notebook has it; nobody else needs it.
        display = importlib.import_module("IPython.display").display
        self._handle = display(_bundle(view), raw=True, display_id=True)
        self._shown = view

    def draw(self, view: View) -> None:
        """Replace what the output shows, if there is something new."""
        # Every update goes to the browser, however often the run has nothing new to tell.
        if view != self._shown and self._handle is not None:
            self._handle.update(_bundle(view), raw=True)
            self._shown = view

    def close(self, view: View) -> None:
        """Leave the last state there."""
        self.draw(view)


def _bundle(view: View) -> dict[str, str]:
    html = render(
        "progress.html", view=view, means=view.means[:MEANS_SHOWN], more_metrics=more_metrics(len(view.means))
    )
    return {"text/html": html, "text/plain": line(view)}
