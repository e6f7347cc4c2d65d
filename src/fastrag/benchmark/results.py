"""What one benchmark run produced, and how it is saved and reloaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fastrag.benchmark.metrics.base import DistributionSummary

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from fastrag.benchmark.report.sheets import Sheet


@dataclass(slots=True)
class StatusCounts:
    """How a run's samples broke down, never collapsed into one pass/fail count.

    A question that errored is never scored as zero: it is tallied in ``errored``, not folded into ``incomplete``
    or ``successful``. In a result made by ``run()`` the three add up to the number of samples.
    """

    successful: int
    """Ran, and every metric produced a score."""

    errored: int
    """The pipeline raised."""

    incomplete: int
    """Ran, but at least one metric returned None."""


@dataclass(slots=True)
class SampleResult:
    """One sample's outcome: its scores, and enough detail to diagnose them.

    Attributes:
        question: As it was asked.
        status: ``"successful"``: every metric has a score; ``"errored"``: the pipeline raised or ran out of time,
            every score is None; ``"incomplete"``: it answered, but at least one metric could not be measured.
        scores: Metric name -> score, None where it was not measured.
        answer: What the pipeline answered; None where it errored or is a bare Retriever.
        retrieved_ids: Ids of the sources, best first.
        retrieved_uris: Their uris, in the same order; ``""`` for a source that has none.
        latency_ms: Time of the pipeline's call alone; of an errored sample, the time until it failed.
        error: None for a successful sample. Of an errored one the exception's type and message, or "not attempted: "
            and why the run was stopped before it; of an incomplete one each unmeasured metric with its reason
            (`fastrag.benchmark.reasons`).
    """

    question: str
    status: Literal["successful", "errored", "incomplete"]
    scores: dict[str, float | None]
    answer: str | None = None
    retrieved_ids: list[str] = field(default_factory=list)
    retrieved_uris: list[str] = field(default_factory=list)
    latency_ms: float = 0.0
    error: str | None = None


@dataclass(slots=True)
class BenchmarkResult:
    """The outcome of one run().

    ``name`` is the only identity a result carries: deliberately no serialized pipeline configuration, since the
    benchmark script is already the readable, version-controlled record of what was run. Keep the script and its
    ``results/`` folder together, and name results after their configuration.

    ``samples`` stand in the order in which they were given, whatever finished first. ``created_at`` is when the
    run started, with its UTC offset.

    As text (``print(result)``) and in a notebook it is the table that ``fastrag show`` prints.
    """

    name: str
    created_at: datetime
    status: StatusCounts
    summary: dict[str, DistributionSummary]
    samples: list[SampleResult]
    duration_s: float
    higher_is_better: dict[str, bool] = field(default_factory=dict)
    """Per metric name, whether a higher score is better. Read by best(), which is the only place a result file's
    meaning, not just its numbers, is needed after the Metric objects that ran are gone."""

    def __repr__(self) -> str:
        # Without the samples: they would fill a notebook's page, and asyncio.run makes this text of whatever a run
        # returns (its signal handler names its task, and the task its result).
        return (
            f"BenchmarkResult(name={self.name!r}, created_at={self.created_at!r}, status={self.status!r}, "
            f"summary={self.summary!r}, samples=<{len(self.samples)} samples>, duration_s={self.duration_s!r}, "
            f"higher_is_better={self.higher_is_better!r})"
        )

    def __str__(self) -> str:
        from fastrag.benchmark.report.sheets import sheet_text

        return sheet_text(self._sheet())

    def _repr_html_(self) -> str:
        from fastrag.benchmark.report.notebook.tables import sheet_html

        return sheet_html(self._sheet())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        from fastrag.benchmark.report.notebook.tables import print_pretty

        print_pretty(self, printer)

    def _sheet(self) -> Sheet:
        from fastrag.benchmark.report.terminal import results_sheet

        return results_sheet([self])

    def to_pandas(self) -> pandas.DataFrame:
        """The samples as a pandas frame, one row each, in their order.

        Columns: ``run`` (the name) and ``created_at`` (in UTC), so that frames of several runs can be put together;
        ``position`` from 0, ``question``, ``status``; a ``score.<metric>`` for each metric; ``latency_ms``,
        ``answer``, ``error``; ``retrieved_ids`` and ``retrieved_uris``, which are lists. What is None is null: NaN in
        columns of numbers, which are ``float64``.

        Raises:
            MissingDependencyError: There is no pandas; the extra ``pandas`` brings it.

        >>> from datetime import UTC
        >>> samples = [SampleResult("q1", "successful", {"mrr": 0.5}), SampleResult("q2", "incomplete", {"mrr": None})]
        >>> summary = {"mrr": DistributionSummary.of([0.5, None])}
        >>> result = BenchmarkResult("run", datetime.now(UTC), StatusCounts(1, 0, 1), summary, samples, 1.0)
        >>> frame = result.to_pandas()
        >>> frame["score.mrr"].tolist(), frame["score.mrr"].isna().sum().item()
        ([0.5, nan], 1)
        """
        from fastrag.benchmark.report.frames import result_columns, to_pandas

        return to_pandas(result_columns(self))

    def to_polars(self) -> polars.DataFrame:
        """The samples as a polars frame, with the columns of `to_pandas`; None is null.

        Raises:
            MissingDependencyError: There is no polars; the extra ``polars`` brings it.

        >>> from datetime import UTC
        >>> samples = [SampleResult("q1", "successful", {"mrr": 0.5}, retrieved_ids=["a", "b"])]
        >>> summary = {"mrr": DistributionSummary.of([0.5])}
        >>> result = BenchmarkResult("run", datetime.now(UTC), StatusCounts(1, 0, 0), summary, samples, 1.0)
        >>> result.to_polars().select("question", "score.mrr", "retrieved_ids").row(0)
        ('q1', 0.5, ['a', 'b'])
        """
        from fastrag.benchmark.report.frames import result_columns, to_polars

        return to_polars(result_columns(self))

    def to_arrow(self) -> pyarrow.Table:
        """The samples as an Arrow table, with the columns of `to_pandas`; None is null.

        Raises:
            MissingDependencyError: There is no pyarrow; the extra ``arrow`` brings it.

        >>> from datetime import UTC
        >>> samples = [SampleResult("q1", "errored", {"mrr": None}, error="ValueError: no")]
        >>> summary = {"mrr": DistributionSummary.of([None])}
        >>> result = BenchmarkResult("run", datetime.now(UTC), StatusCounts(0, 1, 0), summary, samples, 1.0)
        >>> result.to_arrow().select(["status", "score.mrr", "error"]).to_pylist()
        [{'status': 'errored', 'score.mrr': None, 'error': 'ValueError: no'}]
        """
        from fastrag.benchmark.report.frames import result_columns, to_arrow

        return to_arrow(result_columns(self))

    def save(self, path: str | Path) -> None:
        """Write this result as JSON, with ``created_at`` as ISO-8601.

        The file is replaced atomically: a reader, or a crash in the middle, sees the old file or the new one.
        Floats come back exactly as they were.

        Raises:
            ConfigurationError: A number is not finite (JSON has no NaN), a value is of a type the field does not
                have, or ``path`` cannot be written. An older file at ``path`` is left as it was.
        """
        from fastrag.benchmark import (
            result_file,
        )  # decoding by msgspec is paid for only when a file is touched

        result_file.save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> BenchmarkResult:
        """Read a result written by save().

        Raises:
            ConfigurationError: ``path`` is not a result file this version of the package can read: absent, cut
                short, altered by hand into something else, or written by a newer version. The message names the
                file, the place in it and the reason.
        """
        from fastrag.benchmark import result_file

        return result_file.load(Path(path))
