"""Tables and lines on a console. Whatever text is given comes out as that text: no markup, emoji or highlighting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fastrag.benchmark.report.texts import one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

_NARROWEST = 10
_GAP = 2


@dataclass(frozen=True, slots=True)
class Column:
    """A column of numbers, or of texts that ``folds`` and so takes what the others leave.

    What is ``optional`` gives way, the first such column first, where the console is too narrow for all of them. What
    stands in a ``judging`` column is what the others lead to.
    """

    heading: str
    folds: bool = False
    optional: bool = False
    judging: bool = False


def print_table(console: Console, columns: Sequence[Column], rows: Sequence[str | tuple[Text, ...]]) -> None:
    """Print rows of cells under their columns' headings; a row that is a ``str`` heads those below it.

    No number is folded or cut: on a console that is too narrow even without the optional columns, lines are longer.
    """
    from rich import box
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    bodies = [row for row in rows if not isinstance(row, str)]
    shown = list(range(len(columns)))
    least = [_least_width(column, [row[i] for row in bodies]) for i, column in enumerate(columns)]
    for i, column in enumerate(columns):
        if column.optional and _width(least[i] for i in shown) > console.width:
            shown.remove(i)
    width = _width(least[i] for i in shown)

    plain_head = box.Box(str(box.SIMPLE_HEAD).replace("\u2500", "-"), ascii=True)
    table = Table(
        box=plain_head if is_plain(console) else box.SIMPLE_HEAD,
        padding=(0, _GAP - 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        header_style="",
        width=width if width > console.width else None,
    )
    for column in (columns[i] for i in shown):
        justify: Literal["left", "right"] = "left" if column.folds else "right"
        table.add_column(Text(column.heading), justify=justify, overflow="fold", no_wrap=not column.folds)
    indent = 2 if len(bodies) < len(rows) else 0
    for row in rows:
        if isinstance(row, str):
            table.add_row(cell(row, console, "bold"))
        else:
            first, *others = (row[i] for i in shown)
            table.add_row(Padding(first, (0, 0, 0, indent)), *others)
    _print_folded(console, table)


def print_line(console: Console, text: str, style: str = "") -> None:
    """Print ``text`` on one line (that a terminal may wrap)."""
    console.print(cell(text, console, style, most=400))


def print_legend(console: Console, sentences: Sequence[str]) -> None:
    """Print what stands in a table, and a blank line."""
    _print_folded(console, cell(" ".join(sentences), console, "dim", most=4_000))
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


def _least_width(column: Column, cells: Iterable[Text]) -> int:
    return _NARROWEST if column.folds else max([len(column.heading), *(text.cell_len for text in cells)])


def _width(columns: Iterable[int]) -> int:
    return sum(width + _GAP for width in columns) - _GAP


def _print_folded(console: Console, what: RenderableType) -> None:
    """Print lines of the console's width, also where it would not fold any."""
    if not is_plain(console):
        console.print(what, soft_wrap=False, crop=False)
        return
    with console.capture() as drawn:
        console.print(what, soft_wrap=False, crop=False)
    # Rich fills lines up with spaces, which no file needs.
    console.out("\n".join(line.rstrip() for line in drawn.get().split("\n")), end="", highlight=False)
