"""What a folder of results holds at a time. Only regular files directly in it are read, and only when they changed."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fastrag.benchmark.journal import is_journal, result_path
from fastrag.benchmark.judging.judgement_file import judgements_path
from fastrag.benchmark.outcome_file import outcomes_path
from fastrag.benchmark.report.html.run_files import run_files, without_finished
from fastrag.benchmark.report.texts import one_line
from fastrag.errors import FastRAGError

if TYPE_CHECKING:
    from fastrag.benchmark.report.html.runs import ReportedRun

Fingerprint = tuple[tuple[int, int, int] | None, ...]
"""Inode, size and time of change of a run's file and of those that lie beside it; None of what is not there."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What could be read, and why the rest is not."""

    runs: dict[Path, Fingerprint]
    warnings: list[str] = field(default_factory=list)

    @property
    def token(self) -> str:
        """Names this listing: two are the same where their tokens are."""
        text = repr((sorted(self.runs.items()), self.warnings))
        return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


class ResultsFolder:
    """A folder whose results come and grow.

    Args:
        path: It need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: dict[Path, tuple[Fingerprint, ReportedRun | str]] = {}

    def look(self) -> Listing:
        """What is there now; nothing is opened."""
        try:
            files = run_files(self._path)
        except FileNotFoundError:
            return Listing({}, [f"There is no folder {self._shown} yet: its results will be shown when there are any."])
        except OSError as error:
            return Listing({}, [f"The folder {self._shown} cannot be read: {error.strerror or error}."])
        root = Path(os.path.realpath(self._path))
        runs: dict[Path, Fingerprint] = {}
        warnings = []
        for file in files:
            try:
                # What lies beside a link's file is read, not what lies beside the link.
                real = _target(file)
                result = result_path(real)
                # Of what will be read, whatever the name in the folder leads to by then.
                own = _fingerprint(real, root, file.name)
                # What is gone was there a moment ago; an empty journal has not begun.
                if own is not None and (own[1] > 0 or not is_journal(file)):
                    runs[real] = (own, *_beside(result, root))
            except _Refused as refused:
                warnings.append(f"{one_line(file.name)} is left out: {refused}.")
        if not runs:
            warnings.append(f"There are no results in {self._shown} yet: they will be shown when there are any.")
        return Listing(runs, warnings)

    def read(self, listing: Listing) -> tuple[list[ReportedRun], list[str]]:
        """The runs of a listing, and all that has to be said of it; what did not change is not read again.

        Only one thread at a time may be in here.
        """
        self._read = {path: self._run(path, fingerprint) for path, fingerprint in listing.runs.items()}
        runs, warnings = {}, list(listing.warnings)
        for path, (_, run) in self._read.items():
            if not isinstance(run, str):
                runs[path] = run
            elif path.exists():
                warnings.append(f"{one_line(path.name)} is left out: {run}")
        return list(without_finished(runs)), warnings

    @property
    def _shown(self) -> str:
        return one_line(str(self._path))

    def _run(self, path: Path, fingerprint: Fingerprint) -> tuple[Fingerprint, ReportedRun | str]:
        from fastrag.benchmark.report.html.runs import reported_run

        known = self._read.get(path)
        if known is not None and known[0] == fingerprint:
            return known
        try:
            # Who can write to the folder could put a link or a pipe there after it was looked at.
            self._refuse_other(path, fingerprint)
            run = reported_run(path)
            self._refuse_other(path, fingerprint)
        except _Refused as refused:
            return fingerprint, f"{refused}."
        except (FastRAGError, OSError) as error:
            return fingerprint, str(error).removeprefix(f"{path}: ")
        return fingerprint, run

    def _refuse_other(self, path: Path, fingerprint: Fingerprint) -> None:
        """Raise where a file is not the one that was looked at; it may have grown, or gone as a journal does."""
        root = Path(os.path.realpath(self._path))
        now = (_fingerprint(path, root), *_beside(result_path(path), root))
        if any(old and new and old[0] != new[0] for old, new in zip(fingerprint, now, strict=True)):
            raise _Refused("it was replaced while it was read")


class _Refused(Exception):  # noqa: N818 - caught where it is raised
    """Why a file is not read."""


def _target(file: Path) -> Path:
    try:
        return Path(os.path.realpath(file))
    except OSError as error:
        # A link that is replaced by a file while it is followed is no link to follow.
        raise _Refused(f"{one_line(file.name)} cannot be read: {error.strerror or error}") from error


def _beside(result: Path, root: Path) -> tuple[tuple[int, int, int] | None, ...]:
    return tuple(_fingerprint(path(result), root) for path in (outcomes_path, judgements_path))


def _fingerprint(path: Path, root: Path, name: str = "") -> tuple[int, int, int] | None:
    name = one_line(name or path.name)
    try:
        if Path(os.path.realpath(path)).parent != root:
            raise _Refused(f"{name} is a link that leads out of the folder")
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _Refused(f"{name} cannot be read: {error.strerror or error}") from error
    if not stat.S_ISREG(found.st_mode):
        # Reading a pipe or a device would wait for ever, or never end.
        raise _Refused(f"{name} is no regular file")
    return found.st_ino, found.st_size, found.st_mtime_ns
