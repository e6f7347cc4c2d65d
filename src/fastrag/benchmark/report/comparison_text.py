"""A comparison as a table that fits a terminal of 80 columns."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from fastrag.benchmark.comparison_records import Comparison
from fastrag.benchmark.gate import GateReport
from fastrag.benchmark.report.comparison_rows import columns, headline, legend, notes, rows_by_metric
from fastrag.benchmark.report.tables import Column, cell, print_legend, print_line, print_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_STYLES = {"better": "green", "equivalent": "green", "worse": "red", "cannot say": "yellow"}
_WIDTH_IN_FILES = 100


def print_comparison(comparison: Comparison, console: Console, gate: GateReport | None = None) -> None:
    """Print the table, what its columns are, why each verdict is what it is, and what the gate says.

    Characters that the console's encoding does not have are shown as ``?``.
    """
    rows: list[str | tuple[Text, ...]] = []
    for metric, rows_of_metric in rows_by_metric(comparison):
        rows.append(metric)
        for row in rows_of_metric:
            *cells, verdict = (cell(text, console) for text in row.cells)
            verdict.style = _STYLES.get(row.verdict, "")
            rows.append((*cells, verdict))
    # The reasons have p, and how many questions were better, the same and worse.
    headings = [
        Column(name, folds=name in ("run", "verdict"), optional=name in ("p", "n")) for name in columns(comparison)
    ]
    print_table(console, headings, rows)
    print_legend(console, legend(comparison))
    for line in notes(comparison):
        print_line(console, line)
    if gate is not None:
        print_line(console, headline(comparison, gate), "bold red" if gate.exit_code else "bold green")


def comparison_text(comparison: Comparison, gate: GateReport | None = None) -> str:
    """What `print_comparison` prints, without any codes for terminals, 100 columns wide."""
    from rich.console import Console

    stream = io.StringIO()
    console = Console(file=stream, width=_WIDTH_IN_FILES, force_terminal=False, color_system=None, soft_wrap=True)
    print_comparison(comparison, console, gate)
    return stream.getvalue()
