"""The file that keeps what judges said: JSON lines (`fastrag.benchmark.line_file`).

A header says which run it is; then comes a line for each judgement, in the order in which the scorings ended. A
question that was asked again, after a crash or an error, has more than one of a metric; the last counts.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from fastrag.benchmark.json_form import decode, encode
from fastrag.benchmark.judging.opinions import Judgement, Judgements
from fastrag.benchmark.reasons import describe_error
from fastrag.benchmark.run_header import RunHeader
from fastrag.benchmark.side_file import SideFile, read_side_file
from fastrag.errors import ConfigurationError

_log = logging.getLogger(__name__)


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    position: int
    judgement: Judgement


def judgements_path(path: Path) -> Path:
    """Where the judgements of the result at ``path`` are."""
    return path.with_name(path.name + ".judgements.jsonl")


def read(path: Path) -> Judgements:
    """See `fastrag.benchmark.read_judgements`."""
    by_position: dict[int, dict[str, Judgement]] = {}

    def take(header: RunHeader, data: bytes) -> None:
        line = decode(data, _Line)
        header.require_position(line.position)
        by_position.setdefault(line.position, {})[line.judgement.metric] = line.judgement

    header, _ = read_side_file(path, "judgements", take)
    created_at = datetime.fromisoformat(header.created_at)
    return Judgements(header.name, created_at, header.samples, header.repeats, by_position)


class JudgementFile:
    """The judgements of a run that is under way.

    They belong to the result and are replaced with it: those of an earlier run at the same place are moved aside, to
    the same name with ``.old`` behind it.

    Args:
        path: Of the result, links followed.
        header: Of the run's journal.
        go_on: The run has results already, and their judgements should be here.

    Raises:
        ConfigurationError: The file cannot be written.
    """

    def __init__(self, path: Path, header: RunHeader, *, go_on: bool) -> None:
        self._path = judgements_path(path)
        self._file = SideFile(self._path, header, "judgements")
        try:
            if not self._goes_on():
                if go_on:
                    _log.warning("%s does not hold what judges said before; it begins here", self._path)
                if not self._file.is_empty():
                    self._file.close()
                    self._move_aside()
                    self._file = SideFile(self._path, header, "judgements")
                self._file.begin()
        except BaseException:
            self._file.close()
            raise

    def judged(self, position: int, judgements: Sequence[Judgement]) -> None:
        """Keep the judgements of one scoring.

        Raises:
            ConfigurationError: It could not be written.
        """
        for judgement in judgements:
            try:
                line = encode(_Line(position, judgement))
                decode(line, _Line)
            except (TypeError, ValueError, OverflowError, RecursionError) as error:
                # A metric of somebody else's put into it what is none: the score is paid for and stays.
                _log.warning("a judgement of %s could not be kept: %s", judgement.metric, describe_error(error))
            else:
                self._file.append(line)

    def close(self) -> None:
        """Everything that was added is in the file."""
        self._file.close()

    def _goes_on(self) -> bool:
        try:
            return not self._file.is_empty() and self._file.go_on()
        except ConfigurationError:
            return False

    def _move_aside(self) -> None:
        old = self._path.with_name(self._path.name + ".old")
        try:
            self._path.replace(old)
        except OSError as error:
            raise ConfigurationError(
                f"{self._path}: the judgements of an earlier run could not be moved aside: {error.strerror or error}"
            ) from error
