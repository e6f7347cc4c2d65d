"""Keeping what a run produces, as it produces it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from fastrag.benchmark.asking import Asked
from fastrag.benchmark.budget import Budget
from fastrag.benchmark.journal import Journal
from fastrag.benchmark.judging.judgement_file import JudgementFile
from fastrag.benchmark.judging.opinions import Judgement
from fastrag.benchmark.outcome_file import OutcomeFile, keeps_outcomes
from fastrag.benchmark.results import BenchmarkResult, SampleResult
from fastrag.benchmark.run_header import RunHeader
from fastrag.benchmark.samples import EvalSample
from fastrag.errors import ConfigurationError

_log = logging.getLogger(__name__)


class Recording:
    """The files of a run that is under way: its journal, its outcomes and what its judges said.

    Args:
        path: Of the result.
        header: Of this run.
        resume: See `Journal`.
        retry_errored: See `Journal`.
        keep_outcomes: Whether outcomes are kept.
        keep_judgements: Whether judgements are kept.

    Raises:
        ConfigurationError: See `Journal`, `OutcomeFile` and `JudgementFile`.
    """

    def __init__(
        self,
        path: Path,
        header: RunHeader,
        *,
        resume: bool,
        retry_errored: bool,
        keep_outcomes: bool,
        keep_judgements: bool,
    ) -> None:
        self.journal = Journal(path, header, resume=resume, retry_errored=retry_errored)
        if (
            self.journal.has_begun
            and not keep_outcomes
            and keeps_outcomes(self.journal.result_path, self.journal.header)
        ):
            self.journal.close()
            raise ConfigurationError(
                f"{self.journal.path}: this run was begun with keep_outcomes=True; go on with it, for what is answered "
                "now would be missing among the outcomes"
            )
        self.results: Sequence[SampleResult | None] = ()
        """All results that there are, by position: what the journal is made from again if someone removes it."""
        self._outcomes: OutcomeFile | None = None
        self._judgements: JudgementFile | None = None
        has_begun = self.journal.has_begun
        try:
            if keep_outcomes:
                self._outcomes = OutcomeFile(self.journal.result_path, self.journal.header, go_on=has_begun)
            if keep_judgements:
                self._judgements = JudgementFile(self.journal.result_path, self.journal.header, go_on=has_begun)
        except ConfigurationError:
            if not has_begun:
                self.journal.remove()
            self.close()
            raise

    def answered(self, position: int, sample: EvalSample, asked: Asked) -> None:
        """Keep the outcome, before a metric can touch it."""
        if self._outcomes is not None:
            self._outcomes.add(position, sample, asked)

    def judged(self, position: int, judgements: Sequence[Judgement]) -> None:
        """Keep what judges said of one outcome."""
        if self._judgements is not None:
            self._judgements.judged(position, judgements)

    def ended(self, position: int, result: SampleResult, attempts: int, budget: Budget) -> None:
        """Keep the result."""
        if self.journal.is_lost:
            self.journal.rewrite(self.results, budget)
        else:
            self.journal.add(position, result, attempts, budget)

    @property
    def created_at(self) -> datetime:
        """When the run was begun."""
        return datetime.fromisoformat(self.journal.header.created_at)

    def how_to_go_on(self) -> str:
        """One line for the person who stopped the run."""
        done = sum(result is not None for result in self.results)
        return (
            f"stopped: {done} of {len(self.results)} questions are in {self.journal.path}; "
            "run again with resume=True to go on"
        )

    def save(self, result: BenchmarkResult, *, complete: bool) -> None:
        """Save the result; the journal of one that is not complete stays, to go on from.

        Raises:
            ConfigurationError: It could not be saved; the journal stays.
        """
        if complete:
            self.journal.replace_by(result)
        elif self._may_replace(result):
            result.save(self.journal.result_path)
        else:
            _log.warning(
                "%s holds the result of an earlier run and is left as it is; this run's partial one is in %s",
                self.journal.result_path,
                self.journal.path,
            )

    def _may_replace(self, partial: BenchmarkResult) -> bool:
        """Whether nothing is there, or what is there is an earlier part of the same run."""
        if not self.journal.result_path.exists():
            return True
        try:
            there = BenchmarkResult.load(self.journal.result_path)
        except ConfigurationError:
            return False
        return (there.name, there.created_at) == (partial.name, partial.created_at)

    def close(self) -> None:
        """Leave the files as they are."""
        for file in (self._outcomes, self._judgements, self.journal):
            if file is not None:
                file.close()
