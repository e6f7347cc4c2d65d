"""A run in a log: one line now and then, with all there is to say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastrag._support.progress import LINE_EVERY_S
from fastrag.benchmark.report.progress.view import MEANS_SHOWN, View, more_metrics
from fastrag.benchmark.report.tables import cell
from fastrag.benchmark.report.texts import one_line, short

if TYPE_CHECKING:
    from rich.console import Console


class Lines:
    """One line every 30 seconds, and one at the end."""

    every_s = LINE_EVERY_S

    def __init__(self, console: Console) -> None:
        self._console = console

    def open(self, view: View) -> None:
        """Print nothing: a short run has one line."""

    def draw(self, view: View) -> None:
        """Print a line."""
        self._console.print(cell(line(view), self._console, most=2_000))

    def close(self, view: View) -> None:
        """Print the last line."""
        self.draw(view)


def line(view: View) -> str:
    """Everything that the view says, on one line."""
    count = f"{one_line(view.name)}: {view.done}/{view.total} questions"
    # "in 0:12" is said of the count, what else there is stands beside it.
    count = (" " if view.is_over else ", ").join(filter(None, [count, ", ".join(view.pace)]))
    means = [f"{short(mean.metric)} {mean.mean} (n={mean.n})" for mean in view.means[:MEANS_SHOWN]]
    means += filter(None, [more_metrics(len(view.means))])
    parts = [", ".join([count, *(one_line(text, most=400) for text in view.trouble)]), *view.spent, ", ".join(means)]
    return "; ".join(filter(None, parts))
