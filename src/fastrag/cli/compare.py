"""``fastrag compare``: what a change did to each metric, and whether it may pass."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fastrag.cli.arguments import WrongUsage, add_margin, add_min_coverage, margins, output_file, refuse_inputs
from fastrag.cli.terminal import console, say
from fastrag.errors import FastRAGError

if TYPE_CHECKING:
    from fastrag.benchmark import BenchmarkResult
    from fastrag.benchmark.comparison_records import Comparison
    from fastrag.benchmark.gate import GateReport

ABOUT = "compare results with a baseline, metric by metric, and fail where a change made one worse"

EXAMPLES = """\
fastrag compare base.json new.json
fastrag compare base.json new.json --metric ndcg@10 --metric latency_ms --fail-on worse
fastrag compare base.json new.json --metric ndcg@10 --margin 0.02 --fail-on not-equivalent
fastrag compare base.json a.json b.json --format junit -o compare.xml
fastrag compare base.json new.json --json"""

EXIT_CODES = """\
  0  passed
  3  regression: what --fail-on says
  4  coverage too low: a run measured, or was asked, less than --min-coverage, or what failed might hide a loss
  5  cannot say, with --strict only
  2  wrong usage
  1  the job failed: a file that is no result, a metric that nobody has

Of several the first in this order counts: 3, 4, 5. Where GITHUB_STEP_SUMMARY is set, the report is appended to that
file as Markdown."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("base", type=Path, metavar="BASE", help="the result to compare with")
    parser.add_argument(
        "new", nargs="+", type=Path, metavar="NEW", help="results to compare with it, or folders of them"
    )
    parser.add_argument(
        "--metric",
        action="append",
        metavar="NAME",
        help="compare this metric only; may be repeated. Fewer metrics, smaller differences that can be shown",
    )
    parser.add_argument(
        "--fail-on",
        choices=["worse", "not-equivalent", "not-better"],
        default="worse",
        help="worse: what is shown to be worse; not-equivalent: all but what is shown to be better or, within "
        "--margin, equivalent; not-better: all but what is shown to be better (default: %(default)s)",
    )
    add_margin(parser)
    add_min_coverage(parser)
    parser.add_argument("--strict", action="store_true", help="fail also where nothing can be said")
    parser.add_argument(
        "--format",
        choices=["text", "markdown", "json", "junit"],
        default="text",
        help="form of the report (default: %(default)s)",
    )
    parser.add_argument(
        "--json",
        action="store_const",
        const="json",
        dest="format",
        help="the same as --format json, as in show and best",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=output_file,
        metavar="FILE",
        help="write the report there, and the table to the terminal; one that is there is replaced, folders that are "
        "not there are made",
    )


def run(options: argparse.Namespace) -> int:
    """Compare, report, and give the exit code."""
    from fastrag.benchmark import BenchmarkResult, compare
    from fastrag.benchmark.gate import gate
    from fastrag.benchmark.report.comparison_text import print_comparison
    from fastrag.benchmark.report.markdown import comparison_markdown

    if options.fail_on == "not-equivalent" and not options.margin:
        raise WrongUsage("--fail-on not-equivalent needs --margin: how small a difference does not matter")
    if options.output is not None:
        refuse_inputs(options.output, [options.base, *options.new])
    baseline = BenchmarkResult.load(options.base)
    comparison = compare(
        baseline,
        *_candidates(options.new, baseline),
        metrics=options.metric,
        margin=margins(options, options.metric or baseline.summary),
        min_coverage=options.min_coverage,
    )
    report = gate(comparison, fail_on=options.fail_on, strict=options.strict)
    if options.output is not None:
        _write(options.output, _rendered(comparison, report, options.format))
    if options.output is not None or options.format == "text":
        print_comparison(comparison, console(), report)
    else:
        _print(_rendered(comparison, report, options.format))
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        _append(Path(summary), comparison_markdown(comparison, report))
    return report.exit_code


def _candidates(paths: Sequence[Path], baseline: BenchmarkResult) -> list[BenchmarkResult]:
    """What is compared; the baseline in a folder beside the others is not compared with itself."""
    from fastrag.benchmark.loading import load_all

    return [result for path in paths for result in load_all([path]) if not path.is_dir() or result != baseline]


def _rendered(comparison: Comparison, report: GateReport, form: str) -> str:
    if form == "markdown":
        from fastrag.benchmark.report.markdown import comparison_markdown

        return comparison_markdown(comparison, report)
    if form == "json":
        from fastrag.benchmark.report.comparison_json import comparison_dict

        return json.dumps(comparison_dict(comparison, report), indent=2, allow_nan=False) + "\n"
    if form == "junit":
        from fastrag.benchmark.report.junit import junit_xml

        return junit_xml(comparison, report)
    from fastrag.benchmark.report.comparison_text import comparison_text

    return comparison_text(comparison, report)


def _print(text: str) -> None:
    if (sys.stdout.encoding or "utf-8").lower().replace("-", "") != "utf8":
        # The XML says that it is UTF-8; references mean the same in any encoding, in Markdown too. JSON is ASCII.
        text = text.encode("ascii", "xmlcharrefreplace").decode("ascii")
    sys.stdout.write(text)


def _write(path: Path, text: str) -> None:
    from fastrag._support.files import write_atomically

    try:
        write_atomically(path, text.encode("utf-8"))
    except OSError as error:
        raise FastRAGError(f"{path}: the report could not be written: {error.strerror or error}") from error


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        # The gate's word counts for more than its echo.
        say(f"GITHUB_STEP_SUMMARY: {path} could not be written: {error.strerror or error}")
