"""A comparison as a table that fits a terminal of 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastrag.benchmark.comparison_records import Comparison
from fastrag.benchmark.gate import GateReport
from fastrag.benchmark.report.comparison_rows import columns, headline, legend, notes, rows_by_metric
from fastrag.benchmark.report.texts import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_STYLES = {"better": "green", "equivalent": "green", "worse": "red", "cannot say": "yellow"}


def print_comparison(comparison: Comparison, console: Console, gate: GateReport | None = None) -> None:
    """Print the table, what its columns are, why each verdict is what it is, and what the gate says.

    Characters that the console's encoding does not have are shown as ``?``.
    """
    console.print(comparison_table(comparison, console.encoding))
    console.print(legend(comparison), style="dim", highlight=False, markup=False)
    for line in notes(comparison):
        console.print(_shown(line, console.encoding, most=400), markup=False, highlight=False)
    if gate is not None:
        style = "bold red" if gate.exit_code else "bold green"
        line = _shown(headline(comparison, gate), console.encoding, most=400)
        console.print(line, style=style, markup=False, highlight=False)


def comparison_table(comparison: Comparison, encoding: str = "utf-8") -> Table:
    """A section a metric: the baseline over the questions compared, and a row a candidate with its verdict."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    first, *middle, last = columns(comparison)
    table.add_column(first, overflow="fold", min_width=10)
    for heading in middle:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column(last, min_width=10)
    for metric, rows in rows_by_metric(comparison):
        table.add_row(Text(_shown(metric, encoding), style="bold"))
        for row in rows:
            run, *numbers, verdict = row.cells
            name = Text(f"  {_shown(run, encoding)}")
            table.add_row(name, *numbers, Text(verdict, style=_STYLES.get(verdict, "")))
    return table


def _shown(text: str, encoding: str, *, most: int = 160) -> str:
    return one_line(text, most=most).encode(encoding, "replace").decode(encoding)
