"""``fastrag show``: saved results, with what failed and why."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fastrag.cli.terminal import console, counted, print_json, print_line, say

if TYPE_CHECKING:
    from fastrag.benchmark import BenchmarkResult

ABOUT = "show saved results as a table, with what failed and why"

EXAMPLES = """\
fastrag show results/hybrid.json
fastrag show results/
fastrag show results/hybrid.json.journal   (a run under way, or broken off)
fastrag show results/ --json"""

EXIT_CODES = """\
  0  shown
  1  the job failed: a file that is no result
  2  wrong usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="RESULT", help="result files, folders of them, or journals"
    )
    parser.add_argument("--json", action="store_true", help="the same and more for programs; it has a schema_version")


def run(options: argparse.Namespace) -> None:
    """Load and show."""
    from fastrag.benchmark.journal import is_journal
    from fastrag.benchmark.loading import load_all, open_journals
    from fastrag.benchmark.report.results_json import results_dict
    from fastrag.benchmark.report.terminal import print_results

    results: list[BenchmarkResult] = []
    partial: dict[int, tuple[int, int]] = {}
    notes = []
    left_out: list[Path] = []
    for path in options.paths:
        if not is_journal(path):
            found = load_all([path])
            results += found
            if path.is_dir():
                left_out += open_journals(path, found)
            continue
        result, ended, total = _partial(path)
        partial[len(results)] = ended, total
        results.append(result)
        notes.append(f"{result.name}: {ended} of {total} questions have ended, as {path} says")
    not_shown = _not_shown([journal for journal in left_out if journal not in options.paths])
    if options.json:
        for note in not_shown:
            say(note)
        print_json(results_dict(results, partial=partial))
        return
    print_results(results, console())
    for note in notes + not_shown:
        print_line(note)


def _not_shown(journals: Sequence[Path]) -> list[str]:
    from fastrag.benchmark.report.texts import listed

    if not journals:
        return []
    has, them = ("has", "it") if len(journals) == 1 else ("have", "them")
    runs = f"{counted(len(journals), 'run')} that {has} not ended ({listed(file.name for file in journals)})"
    return [f"not shown: {runs}; fastrag report shows {them}, too"]


def _partial(path: Path) -> tuple[BenchmarkResult, int, int]:
    from fastrag.benchmark.journal import partial_result, read_journal

    journal = read_journal(path)
    result = partial_result(journal)
    result.name += " (partial)"
    return result, len(journal.ended), journal.total
