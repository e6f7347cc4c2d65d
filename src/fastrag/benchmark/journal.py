"""What a run leaves behind while it goes on, and going on from there.

``<result path>.journal`` holds JSON lines (`fastrag.benchmark.line_file`): first a header that says which run it is,
then a line for each sample that ended, in the order in which they ended. The finished result replaces it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from time import perf_counter

import msgspec

from fastrag.benchmark.assembly import count_statuses
from fastrag.benchmark.budget import Budget
from fastrag.benchmark.json_form import decode, encode
from fastrag.benchmark.line_file import LineFile, read_lines
from fastrag.benchmark.metrics.base import DistributionSummary
from fastrag.benchmark.result_file import SampleRecord, to_sample
from fastrag.benchmark.results import BenchmarkResult, SampleResult
from fastrag.benchmark.run_header import START as HEADER_START
from fastrag.benchmark.run_header import RunHeader, read_header
from fastrag.benchmark.spending import Tally
from fastrag.errors import ConfigurationError

JOURNAL_SUFFIX = ".journal"

_LONGEST_HEADER = 1 << 20

_log = logging.getLogger(__name__)


class _Tally(msgspec.Struct, forbid_unknown_fields=True, gc=False, omit_defaults=True):
    """A `Tally`."""

    calls: int = 0
    cached_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    without_input: int = 0
    without_output: int = 0
    without_cost: int = 0


class _Entry(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    position: int
    elapsed_s: float
    attempts: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    sample: SampleRecord
    target: _Tally | None = None
    """None in journals of versions that kept only the sum."""
    judges: _Tally | None = None


@dataclass(slots=True)
class JournalContents:
    """What a journal says."""

    header: RunHeader
    ended: dict[int, SampleResult] = field(default_factory=dict)
    """Results by their position in the finished result."""
    elapsed_s: float = 0.0
    """How long the run had been going when the last of them ended, pauses between its parts left out."""
    spent: tuple[int, int, float] = (0, 0, 0.0)
    """Input tokens, output tokens and US dollars, of pipeline and judges together."""
    target: Tally | None = None
    """The pipeline's part of it; None where it was not kept."""
    judges: Tally | None = None
    """The judges' part of it; None where it was not kept."""
    size: int = 0
    """Bytes up to the end of the last whole line."""

    @property
    def total(self) -> int:
        """How many results the finished run has."""
        return self.header.samples * self.header.repeats


def journal_path(path: Path) -> Path:
    """Where the journal of the result at ``path`` is."""
    return path.with_name(path.name + JOURNAL_SUFFIX)


def is_journal(path: Path) -> bool:
    """Whether the file is named as journals are."""
    return path.suffix == JOURNAL_SUFFIX


def result_path(path: Path) -> Path:
    """Of the result that the file is, or is the journal of."""
    return path.with_suffix("") if is_journal(path) else path


def read_partial(path: str | Path) -> BenchmarkResult:
    """The result, as far as it goes, of a run that is under way or was broken off, from its journal.

    Its samples are those that ended, in the order of the run's samples; those still open are left out.

    Raises:
        ConfigurationError: ``path`` is not a journal, or is damaged; the message says in which line.
    """
    return partial_result(read_journal(Path(path)))


def partial_result(contents: JournalContents) -> BenchmarkResult:
    """The result of the samples that ended; see `read_partial`."""
    samples = [contents.ended[position] for position in sorted(contents.ended)]
    header = contents.header
    return BenchmarkResult(
        name=header.name,
        created_at=datetime.fromisoformat(header.created_at),
        status=count_statuses(samples),
        summary={name: DistributionSummary.of([s.scores.get(name) for s in samples]) for name in header.metrics},
        samples=samples,
        duration_s=contents.elapsed_s,
        higher_is_better=dict(header.metrics),
    )


def read_journal(path: Path) -> JournalContents:
    """Everything in a journal; a last line that was cut short by a crash is left out.

    Raises:
        ConfigurationError: It cannot be read, is not a journal, or is damaged.
    """
    contents: JournalContents | None = None

    def take(number: int, line: bytes) -> None:
        nonlocal contents
        try:
            if contents is None:
                contents = JournalContents(read_header(line, "fastrag journal"))
            else:
                _take_entry(contents, decode(line, _Entry))
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"{path}, line {number}: not a line of a journal: {error}") from error

    size = read_lines(path, take)
    if contents is None:
        raise ConfigurationError(f"{path}: not a journal: it has no header")
    contents.size = size
    return contents


def _take_entry(contents: JournalContents, entry: _Entry) -> None:
    contents.header.require_position(entry.position)
    before = contents.ended.get(entry.position)
    if before is not None and before.status != "errored":
        raise ValueError(f"position {entry.position} ended before")
    contents.ended[entry.position] = to_sample(entry.sample)
    contents.elapsed_s = max(contents.elapsed_s, entry.elapsed_s)
    contents.spent = entry.input_tokens, entry.output_tokens, entry.cost_usd
    contents.target, contents.judges = _tally(entry.target), _tally(entry.judges)


def _kept(tally: Tally) -> _Tally:
    return _Tally(*(getattr(tally, name) for name in _Tally.__struct_fields__))


def _tally(kept: _Tally | None) -> Tally | None:
    return None if kept is None else Tally(*msgspec.structs.astuple(kept))


class Journal:
    """The journal of a run that is under way.

    Args:
        path: Of the result.
        header: Of this run.
        resume: Go on with the journal that is there, if one is.
        retry_errored: Let what is errored in it count as not asked yet.

    Raises:
        ConfigurationError: There is a journal and ``resume`` was not asked for; or its run is another one; or the
            result is there already; or another run is writing it; or it cannot be written.
    """

    def __init__(self, path: Path, header: RunHeader, *, resume: bool = False, retry_errored: bool = False) -> None:
        try:
            self.result_path = Path(os.path.realpath(path, strict=False))
        except ValueError as error:
            raise ConfigurationError(f"{path!r} is no path: {error}") from error
        self.path = journal_path(self.result_path)
        self.header = header
        self.done: dict[int, SampleResult] = {}
        """What need not be asked again, by position."""
        self.spent: tuple[tuple[int, int, float], Tally | None, Tally | None] = ((0, 0, 0.0), None, None)
        """`JournalContents.spent`, ``target`` and ``judges``."""
        self.earlier_s = 0.0
        """How long earlier parts of the run took."""
        self._started = perf_counter()
        self._ended = 0
        self._file = self._open()
        try:
            self._start(resume, retry_errored)
        except BaseException:
            if self.path.stat().st_size == 0:
                self.remove()
            self._file.close()
            raise

    def add(self, position: int, result: SampleResult, attempts: int, budget: Budget) -> None:
        """Keep a sample's result.

        Raises:
            ConfigurationError: It could not be written; the run has to stop, for what comes now would be lost.
        """
        start = b'{"position":%d,"elapsed_s":%r,"attempts":%d,"input_tokens":%d,"output_tokens":%d,"cost_usd":%r' % (
            position,
            self.elapsed_s,
            attempts,
            budget.input_tokens,
            budget.output_tokens,
            budget.cost_usd,
        )
        target, judges = encode(_kept(budget.target)), encode(_kept(budget.judges))
        self._append(b'%b,"sample":%b,"target":%b,"judges":%b}' % (start, encode(result), target, judges))
        self._ended += 1

    @property
    def elapsed_s(self) -> float:
        """How long the run has been going, pauses between its parts left out."""
        return self.earlier_s + perf_counter() - self._started

    @property
    def is_lost(self) -> bool:
        """Whether someone removed the journal under the run."""
        return self._file.was_lost

    def rewrite(self, results: Sequence[SampleResult | None], budget: Budget) -> None:
        """Make the journal anew, with all results that there are, after someone removed it.

        Raises:
            ConfigurationError: It cannot be written, or belongs to another run by now.
        """
        _log.warning("%s was removed while the run goes on; it is written anew", self.path)
        self._file.close()
        self._file = self._open()
        if self.path.stat().st_size:
            raise ConfigurationError(f"{self.path} was replaced by the journal of another run; this one stops")
        self._ended = 0
        self._append(encode(self.header))
        for position, result in enumerate(results):
            if result is not None:
                self.add(position, result, 1, budget)

    @property
    def has_begun(self) -> bool:
        """Whether any sample is in it."""
        return self._ended > 0

    def remove(self) -> None:
        """Delete the journal, unless it is not there any more."""
        self._file.remove()

    def replace_by(self, result: BenchmarkResult) -> None:
        """Save the finished result in the place of the journal.

        Raises:
            ConfigurationError: The result could not be saved; the journal stays.
        """
        try:
            result.save(self.result_path)
        except ConfigurationError as error:
            error.add_note(
                f"Everything is in {self.path}: run again with resume=True, and only the saving is repeated."
            )
            raise
        self.remove()

    def close(self) -> None:
        """Leave the journal as it is, for `resume`."""
        self._file.close()

    def _open(self) -> LineFile:
        if self.result_path.exists() and not self.result_path.is_file():
            kind = "a folder" if self.result_path.is_dir() else "no regular file"
            raise ConfigurationError(f"{self.result_path} is {kind}; path must name the result file")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return LineFile(self.path)
        except BlockingIOError as error:
            raise ConfigurationError(
                f"{self.path}: another run is writing it; wait until that has ended, or give another path"
            ) from error
        except OSError as error:
            raise ConfigurationError(
                f"{self.path}: the journal cannot be written: {error.strerror or error}"
            ) from error

    def _start(self, resume: bool, retry_errored: bool) -> None:
        found = self._found()
        if found is not None:
            if not resume:
                raise ConfigurationError(
                    f"{self.path}: {len(found.ended)} of {found.total} questions of the run {found.header.name!r} are "
                    f"done; pass resume=True to go on with it, or delete {self.path} to begin anew"
                )
            if differences := found.header.differences(self.header):
                raise ConfigurationError(
                    f"{self.path} cannot be resumed, for it belongs to another run: {'; '.join(differences)}. "
                    "Ask for the same again, or delete it, or give another path"
                )
            self._file.cut(found.size)
            self.header = found.header
            self.earlier_s, self._ended = found.elapsed_s, len(found.ended)
            self.spent = found.spent, found.target, found.judges
            self.done = {
                position: result
                for position, result in found.ended.items()
                if not (retry_errored and result.status == "errored")
            }
        else:
            if resume and self.result_path.exists():
                raise ConfigurationError(
                    f"{self.result_path} is there, and no journal beside it: that run is finished. Read it with "
                    "BenchmarkResult.load, or leave out resume=True to run again and replace it"
                )
            self._file.cut(0)
            self._append(encode(self.header))

    def _found(self) -> JournalContents | None:
        """What an earlier run left here; None where it did not come as far as a whole header."""
        try:
            return read_journal(self.path)
        except ConfigurationError:
            with self.path.open("rb") as file:
                start = file.read(_LONGEST_HEADER)
            begun = start.startswith(HEADER_START) or HEADER_START.startswith(start.rstrip(b"\0"))
            if begun and b"\n" not in start and len(start) < _LONGEST_HEADER:
                return None
            raise

    def _append(self, line: bytes) -> None:
        try:
            self._file.append(line)
        except OSError as error:
            raise ConfigurationError(
                f"{self.path}: the journal could not be written: {error.strerror or error}. The run was stopped; "
                f"{self._ended} of {self.header.samples * self.header.repeats} questions are in the journal: make it "
                "writable again and run with resume=True"
            ) from error
