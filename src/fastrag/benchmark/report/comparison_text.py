"""A comparison as a table that fits a terminal of 80 columns."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from fastrag.benchmark.comparison_records import Comparison
from fastrag.benchmark.gate import GateReport
from fastrag.benchmark.report.comparison_rows import columns, headline, legend, notes, rows_by_metric
from fastrag.benchmark.report.sheets import Sheet, plain_console, print_sheet
from fastrag.benchmark.report.tables import Column, print_line

if TYPE_CHECKING:
    from rich.console import Console


def print_comparison(comparison: Comparison, console: Console, gate: GateReport | None = None) -> None:
    """Print the table, what its columns are, why each verdict is what it is, and what the gate says.

    Characters that the console's encoding does not have are shown as ``?``.
    """
    print_sheet(comparison_sheet(comparison), console)
    if gate is not None:
        print_line(console, headline(comparison, gate), "bold red" if gate.exit_code else "bold green")


def comparison_text(comparison: Comparison, gate: GateReport | None = None) -> str:
    """What `print_comparison` prints, without any codes for terminals, 100 columns wide."""
    stream = io.StringIO()
    print_comparison(comparison, plain_console(stream), gate)
    return stream.getvalue()


def comparison_sheet(comparison: Comparison) -> Sheet:
    """The table, what its columns are, and why each verdict is what it is."""
    rows: list[str | tuple[str, ...]] = []
    for metric, rows_of_metric in rows_by_metric(comparison):
        rows += [metric, *(row.cells for row in rows_of_metric)]
    headings = [
        Column(
            name,
            folds=name in ("run", "verdict"),
            # The reasons have p, and how many questions were better, the same and worse.
            optional=name in ("p", "n"),
            judging=name == "verdict",
        )
        for name in columns(comparison)
    ]
    return Sheet(columns=headings, rows=rows, legend=legend(comparison), notes=notes(comparison))
