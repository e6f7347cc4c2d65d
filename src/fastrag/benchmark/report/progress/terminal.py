"""A run on a terminal: a line with a bar, what failed and was spent, and a few means, drawn in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastrag._support.progress import moves_stdout
from fastrag.benchmark.report.progress.view import MEANS_SHOWN, View, more_metrics
from fastrag.benchmark.report.tables import cell, is_plain
from fastrag.benchmark.report.texts import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

_BAR = 24
_SHORTEST_BAR = 6
_LONGEST_METRIC = 40
# What a frame has besides means, and a line for what the terminal itself needs.
_OTHER_LINES = 6


class Terminal:
    """A few lines at the bottom of the terminal; what is printed meanwhile scrolls by above them."""

    every_s = 0.25

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None

    def open(self, view: View) -> None:
        """Draw the first frame."""
        from rich.live import Live

        self._live = Live(
            self._frame(view),
            console=self._console,
            auto_refresh=False,
            redirect_stdout=moves_stdout(),
        )
        self._live.start(refresh=True)

    def draw(self, view: View) -> None:
        """Draw a frame over the last one."""
        if self._live is not None:
            self._live.update(self._frame(view), refresh=True)

    def close(self, view: View) -> None:
        """Leave the last frame behind."""
        if self._live is not None:
            try:
                self._live.update(self._frame(view))
            finally:
                self._live.stop()

    def _frame(self, view: View) -> Text:
        from rich.text import Text

        return Text("\n").join(frame(view, self._console))


def frame(view: View, console: Console) -> list[Text]:
    """The lines that show a run, none wider than the console and not more than it is high."""
    lines = [_bar_line(view, console)]
    if view.trouble:
        lines.append(cell(", ".join(view.trouble), console, "yellow", most=400))
    lines += [cell(part, console, "dim", most=400) for part in view.spent]
    shown = view.means[: max(0, min(MEANS_SHOWN, console.height - _OTHER_LINES))]
    if shown:
        lines += _mean_lines(view, len(shown), console)
    for line in lines:
        line.truncate(console.width, overflow="crop")
    return lines


def _bar_line(view: View, console: Console) -> Text:
    """Name, bar, count and pace; where there is not room for all, the bar gives way first, then the name."""
    from rich.text import Text

    facts = "  ".join([f"{view.done}/{view.total}", *view.pace])
    room = console.width - len(facts) - 2
    name = cell(one_line(view.name, most=max(8, room)), console)
    name.truncate(max(8, room), overflow="crop")  # characters can be two columns wide
    bar = min(_BAR, room - name.cell_len - 2)
    parts = [name, Text(facts)] if bar < _SHORTEST_BAR else [name, _bar(view, bar, console), Text(facts)]
    return Text("  ").join(parts)


def _bar(view: View, width: int, console: Console) -> Text:
    from rich.text import Text

    filled = width * view.done // view.total if view.total else width
    if is_plain(console):
        return Text("#" * filled + "." * (width - filled))
    return Text.assemble(("━" * filled, "green"), ("━" * (width - filled), "bright_black"))


def _mean_lines(view: View, count: int, console: Console) -> list[Text]:
    from rich.text import Text

    rows = [
        (cell(one_line(mean.metric, most=_LONGEST_METRIC), console), mean.mean, f"n {mean.n}")
        for mean in view.means[:count]
    ]
    widths = [max(len(row[column]) for row in rows) for column in (1, 2)]
    name_width = min(max(name.cell_len for name, _, _ in rows), max(8, console.width - sum(widths) - 6))
    lines = []
    for name, mean, n in rows:
        name.truncate(name_width, overflow="crop", pad=True)
        lines.append(Text.assemble("  ", name, "  ", mean.rjust(widths[0]), "  ", (n.rjust(widths[1]), "dim")))
    more = len(view.means) - count
    return [*lines, Text(f"  {more_metrics(len(view.means), count)}", "dim")] if more else lines
