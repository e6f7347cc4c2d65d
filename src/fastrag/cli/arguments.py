"""Arguments that several commands have, and the types of their values."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from fastrag.cli.stores import store_url

if TYPE_CHECKING:
    from fastrag.embedding import Embedder


class WrongUsage(Exception):  # noqa: N818 - no error of the job: it ends with the exit code 2
    """Arguments that argparse finds right one by one, but that do not go together."""


def add_index(parser: argparse.ArgumentParser) -> None:
    """``--index``."""
    parser.add_argument(
        "--index",
        type=store_url,
        required=True,
        metavar="DIR",
        help="the folder of the index, or the URL of a store (see: fastrag copy --help)",
    )


def add_model_dir(parser: argparse.ArgumentParser) -> None:
    """``--model-dir``."""
    parser.add_argument(
        "--model-dir",
        type=Path,
        metavar="DIR",
        help="folder of a local embedding model (default: FASTRAG_MODEL_DIR, else the cache that "
        "scripts/fetch_model.py fills)",
    )


def add_embedding(parser: argparse.ArgumentParser) -> None:
    """The arguments that `embedder` reads."""
    add_model_dir(parser)
    parser.add_argument(
        "--embedding-model", metavar="NAME", help="a fastembed model to download, or the endpoint's model"
    )
    parser.add_argument("--embedding-url", metavar="URL", help="an OpenAI-compatible /v1 endpoint for embeddings")


def embedder(options: argparse.Namespace) -> Embedder:
    """The embedder that was asked for.

    Raises:
        WrongUsage: An endpoint without a model.
    """
    from fastrag.embedding import LocalEmbedder, OpenAICompatibleEmbedder

    if options.embedding_url:
        return OpenAICompatibleEmbedder(options.embedding_model, base_url=options.embedding_url)
    return LocalEmbedder(options.embedding_model, model_dir=options.model_dir)


def check_embedding(options: argparse.Namespace) -> None:
    """Refuse an endpoint without a model.

    Raises:
        WrongUsage: It is one.
    """
    if options.embedding_url and not options.embedding_model:
        raise WrongUsage("--embedding-url needs --embedding-model: which of its models to use")


def add_min_coverage(parser: argparse.ArgumentParser) -> None:
    """``--min-coverage``."""
    parser.add_argument(
        "--min-coverage",
        type=_share,
        default=0.9,
        metavar="SHARE",
        help="coverage that each result must have: the share of the measurable questions that it measured "
        "(default: %(default)s)",
    )


def add_samples(parser: argparse.ArgumentParser) -> None:
    """``--samples``, of commands that show single questions."""
    parser.add_argument(
        "--samples",
        type=Path,
        metavar="FILE",
        help="the questions that were asked (JSON lines, or a JSON list): reference answers, relevant ids and slices "
        "by metadata are shown as well",
    )


def refuse_inputs(output: Path, results: Iterable[Path], samples: Path | None = None) -> None:
    """Refuse to write over what is read, or into a folder of results what would be taken for one of them.

    Args:
        output: The file to write.
        results: Files of results and folders of them; what lies beside a file is read, too.
        samples: The sample set, if there is one.

    Raises:
        WrongUsage: ``output`` is such a file.
    """
    from fastrag.benchmark.journal import result_path
    from fastrag.benchmark.judging.judgement_file import judgements_path
    from fastrag.benchmark.outcome_file import outcomes_path

    read = [] if samples is None else [samples]
    folders = []
    for path in results:
        if path.is_dir():
            folders.append(os.path.realpath(path))
        else:
            read += [path, outcomes_path(result_path(path)), judgements_path(result_path(path))]
    is_among_results = output.suffix in (".json", ".journal", ".jsonl") and os.path.realpath(output.parent) in folders
    if is_among_results or os.path.realpath(output) in map(os.path.realpath, read):
        raise WrongUsage(f"-o {output} is one of the files to read; give what is written another name")


def add_margin(parser: argparse.ArgumentParser) -> None:
    """``--margin``, which `margins` reads."""
    parser.add_argument(
        "--margin",
        action="append",
        type=_margin,
        metavar="[NAME=]X",
        help="differences smaller than X do not matter: in the metric's unit, for one metric or for all; may be "
        "repeated",
    )


def margins(options: argparse.Namespace, metrics: Iterable[str]) -> dict[str, float] | None:
    """The margin of each metric that was given one, by itself or among all ``metrics``; None where none was."""
    if not options.margin:
        return None
    for_all = {metric: margin for name, margin in options.margin if name is None for metric in metrics}
    return for_all | {name: margin for name, margin in options.margin if name is not None}


def output_file(text: str) -> Path:
    """A file to write, where the standard output is none."""
    if text == "-":
        raise argparse.ArgumentTypeError("this is written to a file: give its name (./- if it is to be called -)")
    return Path(text)


def count(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


def number(text: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is no number")
    return value


def _share(text: str) -> float:
    value = number(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 1, not {text!r}")
    return value


def _margin(text: str) -> tuple[str | None, float]:
    name, equals, value = text.rpartition("=")
    margin = number(value)
    if margin <= 0 or (equals and not name):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number above 0 nor METRIC=NUMBER")
    return name or None, margin
