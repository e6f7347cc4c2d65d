"""One table with what is said above and below it: made once, then drawn on a console, as text or as HTML."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastrag.benchmark.report.tables import Column, cell, print_legend, print_line, print_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_STYLES = {"better": "green", "equivalent": "green", "worse": "red", "cannot say": "yellow"}
_WIDTH_IN_FILES = 100


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a report says, as texts in their places. Nothing in it is escaped.

    Attributes:
        headlines: The outcome, first in short.
        columns: Of the table.
        rows: A cell a column; a row that is a ``str`` heads those below it.
        legend: What the columns are, in sentences.
        warnings: What keeps something from taking part, in lines.
        notes: Reasons, and what is missing, in lines.
    """

    columns: Sequence[Column]
    rows: Sequence[str | tuple[str, ...]]
    legend: Sequence[str]
    notes: Sequence[str]
    headlines: Sequence[str] = ()
    warnings: Sequence[str] = ()


def print_sheet(sheet: Sheet, console: Console) -> None:
    """Print it; characters that the console's encoding does not have are shown as ``?``."""
    for position, line in enumerate(sheet.headlines):
        print_line(console, line, "" if position else "bold")
    if sheet.headlines:
        console.print()
    rows: list[str | tuple[Text, ...]] = []
    for row in sheet.rows:
        if isinstance(row, str):
            rows.append(row)
        else:
            texts = zip(sheet.columns, row, strict=True)
            rows.append(tuple(cell(text, console, _STYLES.get(text, "") if col.judging else "") for col, text in texts))
    print_table(console, sheet.columns, rows)
    print_legend(console, sheet.legend)
    for line in sheet.warnings:
        print_line(console, line, "yellow")
    for line in sheet.notes:
        print_line(console, line)


def plain_console(stream: io.StringIO) -> Console:
    """A console of 100 columns that writes no codes for terminals."""
    from rich.console import Console

    return Console(
        file=stream,
        width=_WIDTH_IN_FILES,
        force_terminal=False,
        force_jupyter=False,  # else, in a notebook, it would show what it is given
        color_system=None,
        soft_wrap=True,
    )


def sheet_text(sheet: Sheet) -> str:
    """What `print_sheet` prints, 100 columns wide; without an end of line at its end."""
    stream = io.StringIO()
    print_sheet(sheet, plain_console(stream))
    return stream.getvalue().rstrip("\n")
