"""``fastrag report``: results as one HTML file."""

from __future__ import annotations

import argparse
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fastrag.cli.arguments import add_margin, add_samples, margins, output_file, refuse_inputs
from fastrag.cli.terminal import counted, print_line
from fastrag.errors import ConfigurationError

if TYPE_CHECKING:
    from fastrag._support.progress import Show
    from fastrag.benchmark.report.html.runs import ReportedRun

ABOUT = "write results as one HTML file: open it in any browser, mail it, keep it"

EXAMPLES = """\
fastrag report results/ -o report.html
fastrag report base.json new.json -o report.html --title "New prompt"
fastrag report results/ -o report.html --samples questions.jsonl
fastrag report base.json new.json -o report.html --margin ndcg@10=0.02   (smaller differences do not matter)
fastrag report results/hybrid.json.journal -o so-far.html   (a run under way)"""

EXIT_CODES = """\
  0  written
  1  the job failed: a file that is no result, a full disk
  2  wrong usage

The first run is the baseline of the others. What lies beside a result is shown,
too: RESULT.outcomes.jsonl (texts and scores of sources) and
RESULT.judgements.jsonl (what judges said). The file asks nothing of any server."""

_LARGE = 20_000_000
"""Bytes of input from which on progress is shown."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="RESULT", help="result files, journals, or folders of them"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=output_file,
        required=True,
        metavar="FILE",
        help="the HTML file to write; one that is there is replaced, folders that are not there are made",
    )
    add_samples(parser)
    add_margin(parser)
    parser.add_argument("--title", metavar="TEXT", help="of the page (default: made of the runs' names)")


def run(options: argparse.Namespace) -> None:
    """Read, write, and say where."""
    from fastrag.benchmark import read_samples
    from fastrag.benchmark.report.html.data import ReportData
    from fastrag.benchmark.report.html.page import write_page
    from fastrag.benchmark.report.html.run_files import without_finished

    output: Path = options.output
    files = _files(options.paths)
    # Files are named once more, for a folder may hold links to others.
    refuse_inputs(output, [*options.paths, *files], options.samples)
    samples = None if options.samples is None else read_samples(options.samples)
    is_large = sum(map(_size, files)) > _LARGE
    with _progress("reading", len(files), "runs", is_large=is_large) as show:
        read = _read(files, options.paths, show)
    runs = list(without_finished(read))
    names = dict.fromkeys(name for one in runs for name in one.result.summary)
    data = ReportData(runs, samples=samples, title=options.title, margin=margins(options, names))
    parts = sum(1 for _ in data.part_names())
    with _progress("writing", parts, "parts", is_large=is_large) as show:
        write_page(data, output, on_part=_counted(show))
        show(parts, "all of them")
    print_line(f"{output}: {counted(len(runs), 'run')}, {_size(output) / 1e6:.1f} MB")


def _files(paths: Iterable[Path]) -> list[Path]:
    """Every file once, however it was named: a baseline may be given before the folder that it is in."""
    from fastrag.benchmark.report.html.run_files import run_files

    files: dict[str, Path] = {}
    for path in paths:
        try:
            found = [file for file in run_files(path) if file.is_file()] if path.is_dir() else [path]
        except OSError as error:
            raise ConfigurationError(f"{path}: cannot be read: {error.strerror or error}") from error
        if not found:
            raise ConfigurationError(f"{path}: the folder has no result files (*.json) and no journals")
        for file in found:
            files.setdefault(os.path.realpath(file), file)
    return list(files.values())


def _read(files: Sequence[Path], named: Sequence[Path], show: Show) -> dict[Path, ReportedRun]:
    from fastrag.benchmark.report.html.runs import reported_run

    runs = {}
    for done, file in enumerate(files):
        show(done, file.name)
        try:
            runs[file] = reported_run(file)
        except ConfigurationError as error:
            if file in named:
                raise
            # Refused rather than skipped, so that no result is left out unnoticed.
            raise ConfigurationError(f"{error}; move it out of the folder, or name the files one by one") from error
    return runs


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # reading it will say what is wrong


@contextmanager
def _progress(job: str, total: int, things: str, *, is_large: bool) -> Iterator[Show]:
    if not is_large:
        yield lambda done, detail: None
        return
    from fastrag._support.progress import shown

    with shown(job, total, things) as show:
        yield show


def _counted(show: Show) -> Callable[[str], object]:
    numbers = itertools.count()
    return lambda name: show(next(numbers), name)
