"""Which files of a folder are runs: finished results, and journals of those that are not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fastrag.benchmark.journal import JOURNAL_SUFFIX, is_journal, result_path

if TYPE_CHECKING:
    from fastrag.benchmark.report.html.runs import ReportedRun


def run_files(folder: Path) -> list[Path]:
    """Result files and journals directly in ``folder``, by name; hidden ones are left out.

    Raises:
        OSError: It cannot be read.
    """
    found = [path for path in folder.iterdir() if path.suffix in (".json", JOURNAL_SUFFIX) and path.name[0] != "."]
    # "hybrid" stands before "hybrid-reranked", as it does in a script that makes them; a journal after its result.
    return sorted(found, key=lambda path: (result_path(path).stem, is_journal(path), path.name))


def without_finished(runs: Mapping[Path, ReportedRun]) -> Iterable[ReportedRun]:
    """The runs without journals of those that are among them: a crash, or a moment, can leave both files."""
    for path, run in runs.items():
        finished = runs.get(result_path(path)) if is_journal(path) else None
        if finished is None or finished.result.created_at != run.result.created_at:
            yield run
