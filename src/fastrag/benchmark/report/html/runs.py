"""What a report is made of: results and journals, with what lies beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeVar

from fastrag.benchmark.journal import JournalContents, is_journal, partial_result, read_journal, result_path
from fastrag.benchmark.judging.judgement_file import judgements_path
from fastrag.benchmark.judging.opinions import Judgements, read_judgements
from fastrag.benchmark.outcome_file import outcomes_path
from fastrag.benchmark.outcomes import Outcome, Outcomes, read_outcomes
from fastrag.benchmark.results import BenchmarkResult
from fastrag.benchmark.spending import Spending, Tally
from fastrag.errors import ConfigurationError

_LONGEST_REASON = 300


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """One run of a report.

    Attributes:
        result: What it measured.
        partial: (samples that have ended, samples of the whole run) of a run that has not come to its end; else None.
        spent: What pipeline and judges took; None where that is not known.
        outcomes: What the pipeline returned, by position in ``result.samples``; None where it was not kept.
        judgements: What judges said, by position in ``result.samples``; None where it was not kept.
        warnings: Sentences about what could not be read.
    """

    result: BenchmarkResult
    partial: tuple[int, int] | None = None
    spent: Spending | None = None
    outcomes: Outcomes | None = None
    judgements: Judgements | None = None
    warnings: tuple[str, ...] = ()


def reported_run(path: Path) -> ReportedRun:
    """Read a result file, or the journal (``.journal``) of a run that has not ended, and what lies beside it.

    Kept outcomes and judgements that are damaged, or of another run, are left out, and a warning says so.

    Raises:
        ConfigurationError: ``path`` is neither.
    """
    # A run follows links before it writes anything beside its result.
    path = path.resolve()
    if is_journal(path):
        return _from_journal(path)
    result = BenchmarkResult.load(path)
    run = _Identity(result.name, result.created_at, len(result.samples))
    # Without samples there is nothing that texts and judgements could be shown with.
    if not result.samples:
        return ReportedRun(result)
    outcomes, judgements, warnings = _beside(path, run)
    return ReportedRun(result, outcomes=outcomes, judgements=judgements, warnings=warnings)


def _from_journal(path: Path) -> ReportedRun:
    journal = read_journal(path)
    result = partial_result(journal)
    run = _Identity(result.name, result.created_at, journal.total)
    outcomes, judgements, warnings = _beside(result_path(path), run)
    # Kept by position in the finished result; what a report shows are the positions among those that have ended.
    place = {position: index for index, position in enumerate(sorted(journal.ended))}
    if outcomes is not None:
        outcomes = replace(outcomes, by_position=_moved(outcomes.by_position, place))
    if judgements is not None:
        judgements = replace(judgements, by_position=_moved(judgements.by_position, place))
    partial = len(journal.ended), journal.total
    return ReportedRun(result, partial, _spending(journal), outcomes, judgements, warnings)


@dataclass(frozen=True, slots=True)
class _Identity:
    """Which run a file beside a result has to be of."""

    name: str
    created_at: datetime
    total: int

    def has(self, kept: _Kept) -> bool:
        """Whether this is the run that ``kept`` is of."""
        return (kept.name, kept.created_at, kept.samples * kept.repeats) == (self.name, self.created_at, self.total)


class _Kept(Protocol):
    """What `Outcomes` and `Judgements` have in common."""

    name: str
    created_at: datetime
    samples: int
    repeats: int


_AnyKept = TypeVar("_AnyKept", bound=_Kept)
_Item = TypeVar("_Item")


def _beside(path: Path, run: _Identity) -> tuple[Outcomes | None, Judgements | None, tuple[str, ...]]:
    """What is kept beside the result at ``path``, and sentences about what could not be read."""
    warnings: list[str] = []
    outcomes = _read(outcomes_path(path), read_outcomes, run, warnings)
    if outcomes is not None:
        _share_texts(outcomes.by_position)
    judgements = _read(judgements_path(path), read_judgements, run, warnings)
    return outcomes, judgements, tuple(warnings)


def _read(path: Path, reader: Callable[[Path], _AnyKept], run: _Identity, warnings: list[str]) -> _AnyKept | None:
    if not path.exists():
        return None
    if not path.is_file():
        # Reading a pipe or a device would wait for ever, or never end.
        warnings.append(f"Left out: {path.name} is no regular file")
        return None
    try:
        kept = reader(path)
    except ConfigurationError as error:
        # A report is passed on: where its reader keeps files is nobody else's business.
        reason = str(error).replace(str(path), path.name)
        warnings.append(f"Left out, for it cannot be read: {reason[:_LONGEST_REASON]}")
        return None
    if run.has(kept):
        return kept
    warnings.append(f"Left out: {path.name} belongs to another run than the result beside it")
    return None


def _share_texts(outcomes: Mapping[int, Outcome]) -> None:
    """Hold a text that many questions retrieved once."""
    texts: dict[str, str] = {}
    for outcome in outcomes.values():
        for source in outcome.sources:
            source.text = texts.setdefault(source.text, source.text)


def _moved(by_position: Mapping[int, _Item], place: Mapping[int, int]) -> dict[int, _Item]:
    # Files are read one after the other while the run goes on: what is in one may not be in the journal yet.
    return {place[position]: item for position, item in by_position.items() if position in place}


def _spending(journal: JournalContents) -> Spending | None:
    if journal.target is None and journal.judges is None:
        return None
    return Spending((journal.target or Tally()).usage(), (journal.judges or Tally()).usage())
