"""Tables and lines on a console. Whatever text is given comes out as that text: no markup, emoji or highlighting."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastrag.benchmark.report.texts import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_NARROWEST = 10
_LEGEND_WIDTH = 79


@dataclass(frozen=True, slots=True)
class Column:
    """How a column is laid out; one that ``folds`` takes what the others leave, and holds texts, not numbers."""

    heading: str
    folds: bool = False


def print_table(
    console: Console, columns: Sequence[Column], rows: Sequence[str | tuple[Text, ...]], *, indent: int = 2
) -> None:
    """Print rows of cells under their columns' headings; a row that is a ``str`` heads those below it.

    Rich's own table has no cell across columns, and fills every line up with spaces.
    """
    from rich.text import Text

    bodies = [row for row in rows if not isinstance(row, str)]
    widths, gap = _widths(console.width, columns, bodies, indent)
    headings = tuple(Text(column.heading) for column in columns)
    for line in _laid_out(console, columns, headings, widths, gap, indent=0):
        console.print(line)
    rule = "-" if is_plain(console) else "\u2500"
    console.print(Text(rule * min(console.width, sum(widths) + gap * (len(widths) - 1))))
    for row in rows:
        if isinstance(row, str):
            for line in cell(row, console, "bold").wrap(console, console.width, overflow="fold"):
                console.print(line)
        else:
            for line in _laid_out(console, columns, row, widths, gap, indent=indent):
                console.print(line)


def print_line(console: Console, text: str, style: str = "") -> None:
    """Print ``text`` on one line (that a terminal may wrap)."""
    console.print(cell(text, console, style, most=400))


def print_legend(console: Console, sentences: Sequence[str]) -> None:
    """Print what stands in a table, in short lines, and a blank one."""
    for line in textwrap.wrap(" ".join(sentences), min(_LEGEND_WIDTH, console.width), break_on_hyphens=False):
        console.print(cell(line, console, "dim"))
    console.print()


def cell(text: str, console: Console, style: str = "", *, most: int = 160) -> Text:
    """``text`` on one line, as far as the console's encoding has its characters; ``?`` stands for others."""
    from rich.text import Text

    encoding = console.encoding
    return Text(one_line(text, most=most).encode(encoding, "replace").decode(encoding), style=style)


def is_plain(console: Console) -> bool:
    """Whether nothing but ASCII is to be drawn: for files and pipes, poor terminals, and who asks for no colours."""
    return (
        not console.is_terminal
        or console.no_color
        or console.color_system is None
        or console.is_dumb_terminal
        or not console.encoding.lower().startswith("utf")
    )


def _widths(
    most: int, columns: Sequence[Column], rows: Sequence[tuple[Text, ...]], indent: int
) -> tuple[list[int], int]:
    """The width of each column, and of the space between two."""
    widths = []
    for index, column in enumerate(columns):
        indents = [indent if index == 0 else 0] * len(rows)
        cells = [row[index].cell_len + more for row, more in zip(rows, indents, strict=True)]
        widths.append(max([len(column.heading), *cells]))
    for gap in (2, 1):
        over = sum(widths) + gap * (len(widths) - 1) - most
        if over <= 0:
            break
    # The widest text gives way first.
    while over > 0:
        index = max((i for i, column in enumerate(columns) if column.folds), key=lambda i: widths[i])
        if widths[index] <= _NARROWEST:
            break
        widths[index] -= 1
        over -= 1
    return widths, gap


def _laid_out(
    console: Console,
    columns: Sequence[Column],
    cells: Sequence[Text],
    widths: Sequence[int],
    gap: int,
    *,
    indent: int,
) -> list[Text]:
    from rich.text import Text

    folded = [
        list(text.wrap(console, width - (indent if index == 0 else 0), overflow="fold")) if column.folds else [text]
        for index, (column, text, width) in enumerate(zip(columns, cells, widths, strict=True))
    ]
    lines = []
    for number in range(max(map(len, folded))):
        line = Text(" " * indent)
        start = 0
        for column, parts, width in zip(columns, folded, widths, strict=True):
            part = parts[number] if number < len(parts) else Text("")
            room = start + width - part.cell_len if not column.folds else max(start, line.cell_len)
            line.append(" " * (room - line.cell_len))
            line.append_text(part)
            start += width + gap
        line.rstrip()
        lines.append(line)
    return lines
