"""``fastrag best``: several results in their order, and how sure that is."""

from __future__ import annotations

import argparse
from pathlib import Path

from fastrag.cli.arguments import add_min_coverage
from fastrag.cli.terminal import console, print_json
from fastrag.errors import FastRAGError

ABOUT = "rank results by a metric over the questions that all measured, and name the best"

EXAMPLES = """\
fastrag best results --metric ndcg@10
fastrag best a.json b.json --metric latency_ms --min-coverage 0.95
fastrag best results --metric ndcg@10 --json"""

EXIT_CODES = """\
  0  there is a best one; others may be tied with it
  1  the job failed: no result qualifies, or a file is no result
  2  wrong usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="RESULT", help="result files, or folders of them")
    parser.add_argument("--metric", required=True, metavar="NAME", help="for example ndcg@10")
    add_min_coverage(parser)
    parser.add_argument("--json", action="store_true", help="the same for programs; it has a schema_version")


def run(options: argparse.Namespace) -> None:
    """Rank and show; fails where no result qualifies."""
    from fastrag.benchmark import rank
    from fastrag.benchmark.loading import load_all
    from fastrag.benchmark.report.ranking_json import ranking_dict
    from fastrag.benchmark.report.ranking_text import print_ranking

    results = load_all(options.paths)
    ranking = rank(results, options.metric, min_coverage=options.min_coverage)
    without_metric = [result for result in results if options.metric not in result.summary]
    if options.json:
        print_json(ranking_dict(ranking, without_metric))
    else:
        print_ranking(ranking, console(), without_metric)
    if not ranking.groups:
        raise FastRAGError(f"no result can be called best by {options.metric}: none qualifies")
