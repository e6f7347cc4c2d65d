"""Result files by their names or their folders, and what else of runs lies there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fastrag.benchmark.journal import is_journal, read_journal, result_path
from fastrag.benchmark.report.texts import listed
from fastrag.benchmark.result_file import load
from fastrag.benchmark.results import BenchmarkResult
from fastrag.errors import ConfigurationError


def load_all(paths: Sequence[Path]) -> list[BenchmarkResult]:
    """Load result files; a folder stands for every ``.json`` file directly in it, in the order of their names.

    Raises:
        ConfigurationError: A path does not exist, a folder has no result files, or a file is not one; a stranger
            among them is refused rather than skipped, so that no result is left out unnoticed.
    """
    results = []
    for path in paths:
        try:
            found = _visible_files(path)
        except NotADirectoryError:
            results.append(load(path))
            continue
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"{path}: cannot be read: {error}") from error
        files = [file for file in found if file.suffix == ".json"]
        if not files:
            raise ConfigurationError(f"{path}: the folder has no result files (*.json){_but_journals(found)}")
        for file in files:
            try:
                results.append(load(file))
            except ConfigurationError as error:
                raise ConfigurationError(
                    f"{error}; move it out of the folder, or name the result files one by one"
                ) from error
    return results


def open_journals(folder: Path, results: Sequence[BenchmarkResult]) -> list[Path]:
    """The journals directly in ``folder`` of runs that are not among its ``results``.

    A crash, or a moment, can leave a finished run's journal beside its result.

    Raises:
        OSError: The folder cannot be read.
    """
    finished = {(result.name, result.created_at.isoformat()) for result in results}
    return [
        journal
        for journal in filter(is_journal, _visible_files(folder))
        if not result_path(journal).exists() or _run_of(journal) not in finished
    ]


def _visible_files(folder: Path) -> list[Path]:
    # By stem: "hybrid" stands before "hybrid-reranked", as it does in a script that makes them.
    found = sorted(folder.iterdir(), key=lambda file: (result_path(file).stem, file.name))
    return [file for file in found if file.name[0] != "." and file.is_file()]


def _but_journals(found: Sequence[Path]) -> str:
    journals = [file for file in found if is_journal(file)]
    if not journals:
        return ""
    what = "the journal of a run that has" if len(journals) == 1 else "journals of runs that have"
    names = listed(file.name for file in journals)
    return (
        f", but {what} not ended: {names}. fastrag show {journals[0]} and fastrag report read them; "
        "run again with resume=True to end what was broken off"
    )


def _run_of(journal: Path) -> tuple[str, str] | None:
    try:
        header = read_journal(journal).header
    except ConfigurationError:
        return None
    return header.name, header.created_at
