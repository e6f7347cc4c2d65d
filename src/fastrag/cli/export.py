"""``fastrag export``: results in the forms that other programs read."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fastrag.cli.arguments import WrongUsage, refuse_inputs
from fastrag.cli.terminal import counted, harmless, print_line, say

if TYPE_CHECKING:
    from fastrag.benchmark import BenchmarkResult, EvalSample
    from fastrag.benchmark.metrics.retrieval import Match

ABOUT = "write results as Markdown, CSV, Parquet, JUnit XML or a TREC run file"

EXAMPLES = """\
fastrag export results/ --format markdown   (the table of fastrag show)
fastrag export results/ -o samples.csv      (a row a question: spreadsheets)
fastrag export results/ -o samples.parquet  (the same, exact, for data frames)
fastrag export results/hybrid.json -o hybrid.xml     (a test case a question)
fastrag export results/hybrid.json -o hybrid.run --samples questions.jsonl
fastrag export hybrid.json -o x.run --samples q.jsonl --match parent_id
fastrag export --samples questions.jsonl -o questions.qrels
trec_eval -c -m ndcg_cut.10 questions.qrels hybrid.run"""

EXIT_CODES = """\
  0  written
  1  the job failed: a file that is no result, questions of another run,
     a full disk
  2  wrong usage

A file is there whole or not at all. docs/exports.md says what is in each form."""

_SUFFIXES = {
    ".md": "markdown",
    ".csv": "csv",
    ".parquet": "parquet",
    ".xml": "junit",
    ".run": "trec",
    ".trec": "trec",
    ".qrels": "qrels",
}
_FORMATS = list(dict.fromkeys(_SUFFIXES.values()))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("paths", nargs="*", type=Path, metavar="RESULT", help="result files, or folders of them")
    parser.add_argument(
        "--format",
        choices=_FORMATS,
        help=f"the form (default: what the name of the file says: {', '.join(_SUFFIXES)})",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the file to write; one that is there is replaced, folders that are not there are made (default, and "
        "where it is -: the standard output)",
    )
    parser.add_argument(
        "--samples",
        type=Path,
        metavar="FILE",
        help="the questions that were asked: their ids for trec, their relevant ids for qrels",
    )
    parser.add_argument(
        "--match",
        choices=["id", "parent_id", "uri"],
        help="what of a source is written for trec: what the relevant ids are, as of the metrics' match; parent_id, "
        "of chunks of whole documents, needs kept outcomes (default: id)",
    )


def run(options: argparse.Namespace) -> None:
    """Check what was asked for, read, write."""
    output = None if options.output in (None, "-") else Path(options.output)
    form: str | None = options.format or (_SUFFIXES.get(output.suffix.lower()) if output else None)
    if form is None:
        raise WrongUsage(f"say the form with --format: one of {', '.join(_FORMATS)}")
    _check(form, options.paths, output, options.samples, options.match)
    if output is not None:
        refuse_inputs(output, options.paths, options.samples)
    if form == "trec":
        _export_run(options.paths[0], output, options.samples, options.match or "id")
    elif form == "qrels":
        _export_qrels(output, options.samples)
    else:
        _export_results(form, options.paths, output)


def _check(form: str, paths: Sequence[Path], output: Path | None, samples: Path | None, match: str | None) -> None:
    if match is not None and form != "trec":
        raise WrongUsage(f"--match is for trec; {form} has no use for it")
    if form == "qrels":
        if paths or samples is None:
            raise WrongUsage("qrels are made of --samples FILE, and of no result")
        return
    if not paths:
        raise WrongUsage("there is no RESULT to export")
    if form == "trec" and (len(paths) > 1 or paths[0].is_dir()):
        raise WrongUsage("a TREC run file is of one run: name one result file")
    if samples is not None and form != "trec":
        raise WrongUsage(f"--samples is for trec and qrels; {form} holds nothing of it")
    if form == "parquet" and output is None:
        raise WrongUsage("Parquet is no text: give a file with -o")


def _export_results(form: str, paths: Sequence[Path], output: Path | None) -> None:
    from fastrag.benchmark import write_csv, write_junit, write_markdown, write_parquet
    from fastrag.benchmark.loading import load_all

    results = load_all(paths)
    if output is None:
        _print(_pieces(form, results))
        return
    write = {"csv": write_csv, "junit": write_junit, "markdown": write_markdown, "parquet": write_parquet}[form]
    write(results, output)
    print_line(
        f"{output}: {counted(len(results), 'run')}, {counted(sum(len(one.samples) for one in results), 'sample')}"
    )


def _pieces(form: str, results: Sequence[BenchmarkResult]) -> Iterable[str]:
    from fastrag.benchmark.report.exports.csv_file import csv_pieces
    from fastrag.benchmark.report.exports.junit_file import junit_text
    from fastrag.benchmark.report.exports.markdown_file import markdown_text

    if form == "csv":
        return csv_pieces(results)
    return [junit_text(results) if form == "junit" else markdown_text(results)]


def _export_run(path: Path, output: Path | None, samples_path: Path | None, match: Match) -> None:
    from fastrag.benchmark.report.exports.trec_files import trec_run
    from fastrag.benchmark.report.exports.writing import write_text
    from fastrag.benchmark.report.html.runs import reported_run

    reported = reported_run(path)
    for warning in reported.warnings:
        say(warning)
    samples = _samples(samples_path)
    found = trec_run(reported.result, samples=samples, outcomes=reported.outcomes, match=match)
    if output is None:
        _print(found.lines)
    else:
        write_text(output, found.lines)
        print_line(f"{output}: {counted(found.questions, 'question')}, {counted(len(found.lines), 'line')}")
    for count, why in ((found.errored, "errored"), (found.without_sources, "found nothing")):
        if count:
            say(f"no lines of {counted(count, 'question')} that {why}: trec_eval -c counts these as 0")
    if found.again:
        say(
            f"{counted(found.again, 'source')} whose document stood in the same ranking before are left out: what is "
            "below moves up, so that trec_eval may score it higher than fastrag does"
        )
    if found.without_uri:
        say(f"sources without a uri are left out, and what is below moves up: {found.without_uri}")
    relevant = {str(id) for sample in samples or [] for id in sample.relevant_ids}
    if relevant and found.documents and relevant.isdisjoint(found.documents):
        say(
            f"none of the ids in the run, for example {min(found.documents)!r}, is among the relevant_ids of the "
            f"samples, for example {min(relevant)!r}: see --match"
        )
    if found.repeats:
        say(f"of questions that were asked several times the first answer is taken: {found.repeats} are left out")


def _export_qrels(output: Path | None, samples_path: Path) -> None:
    from fastrag.benchmark.report.exports.trec_files import trec_qrels, write_trec_qrels

    samples = _samples(samples_path) or []
    if output is None:
        _print(trec_qrels(samples))
        return
    write_trec_qrels(samples, output)
    print_line(f"{output}: {counted(len(samples), 'sample')}")


def _samples(path: Path | None) -> list[EvalSample] | None:
    from fastrag.benchmark import read_samples

    return None if path is None else read_samples(path)


def _print(pieces: Iterable[str]) -> None:
    """Write UTF-8 to the standard output, with the ends of lines that the pieces have, whatever the locale is.

    A terminal would obey what it is sent: there, what cannot be seen is written as its escape.
    """
    is_terminal = sys.stdout.isatty()
    sys.stdout.flush()
    for piece in pieces:
        text = harmless(piece) if is_terminal else piece
        sys.stdout.buffer.write(text.encode("utf-8"))
    sys.stdout.buffer.flush()
