"""``fastrag demo``: four pipelines over Python's own language reference."""

from __future__ import annotations

import argparse
from pathlib import Path

from fastrag.cli.arguments import add_model_dir
from fastrag.cli.running import run_async
from fastrag.cli.terminal import console

ABOUT = "benchmark four pipelines over Python's own language reference"

EXAMPLES = """\
fastrag demo
fastrag demo --folder /tmp/demo --model-dir ./all-MiniLM-L6-v2"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("fastrag-demo"),
        metavar="DIR",
        help="where the index and the results go; an index found there is reused (default: %(default)s)",
    )
    add_model_dir(parser)


def run(options: argparse.Namespace) -> None:
    """Run the demonstration."""
    from fastrag.demo.run import run_demo

    run_async(run_demo(options.folder, model_dir=options.model_dir, console=console()))
