"""Results, comparisons and rankings as HTML, with the same rows and sentences as on a terminal."""

from __future__ import annotations

from typing import Any

from fastrag.benchmark.report.notebook.rendering import render
from fastrag.benchmark.report.sheets import Sheet

_NOTES_UNFOLDED = 8
_NOTES_SHOWN = 100


def sheet_html(sheet: Sheet) -> str:
    """A table in a ``<div>`` of its own: no script, and no style for anything but itself."""
    notes = list(sheet.notes[:_NOTES_SHOWN])
    if len(sheet.notes) > _NOTES_SHOWN:
        notes.append(f"and {len(sheet.notes) - _NOTES_SHOWN} more")
    return render("sheet.html", sheet=sheet, notes=notes, folded=len(notes) > _NOTES_UNFOLDED)


def print_pretty(record: object, printer: Any) -> None:
    """Give IPython's printer the record's table; only its `repr` where it is part of something else."""
    printer.text(repr(record) if len(printer.stack) > 1 else str(record))
