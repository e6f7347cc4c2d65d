"""What a ranking says: data only, to be rendered or read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastrag.benchmark.comparison_records import Bounds, Coverage
from fastrag.benchmark.results import BenchmarkResult
from fastrag.benchmark.statistics import Interval
from fastrag.errors import ConfigurationError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from fastrag.benchmark.report.sheets import Sheet


@dataclass(frozen=True, slots=True)
class RankedResult:
    """One result's place.

    Attributes:
        result: The result itself.
        rank: 1 + the number of results that are better than this one: those that `best` prefers and that are shown to
            be better, or could have been, had this one not failed. Results of one rank are tied. None where the result
            does not qualify.
        mean: Over the questions that all qualifying results measured in full, at every occurrence; None where there is
            none, or the result does not qualify.
        interval: Of that mean, as `describe` has it; None below two questions.
        coverage: Of the whole run.
        bounds: Mean of the whole run with what is missing at its worst and best; None where something is missing and
            the metric's range is not known.
        beaten_by: Names of the results that are better in this sense, in alphabetical order.
        reason: Why it does not qualify; None where it does.
    """

    result: BenchmarkResult
    rank: int | None
    mean: float | None
    interval: Interval | None
    coverage: Coverage
    bounds: Bounds | None
    beaten_by: tuple[str, ...]
    reason: str | None


@dataclass(frozen=True, slots=True)
class Ranking:
    """What `rank` found. As text and in a notebook it is the table that ``fastrag best`` prints.

    Attributes:
        metric: What by.
        higher_is_better: Its direction.
        entries: The qualifying results by rank and, in it, as `best` prefers them; then those that do not qualify, by
            name.
        questions: How many all qualifying results measured in full; None where one has no samples: means are then
            those of the summaries, all results are tied at rank 1, and there are no tests.
        min_coverage: The share of the measurable questions that qualifies.
        alpha: The probability of parting any two results where there is no difference.
    """

    metric: str
    higher_is_better: bool
    entries: tuple[RankedResult, ...]
    questions: int | None
    min_coverage: float
    alpha: float

    @property
    def groups(self) -> tuple[tuple[RankedResult, ...], ...]:
        """The qualifying entries, those of one rank together, in their order."""
        ranks = sorted({entry.rank for entry in self.entries if entry.rank is not None})
        return tuple(tuple(entry for entry in self.entries if entry.rank == rank) for rank in ranks)

    @property
    def winner(self) -> BenchmarkResult:
        """The first of the qualifying entries.

        Raises:
            ConfigurationError: No result qualifies; says why, result by result.
        """
        first = self.entries[0]
        if first.rank is None:
            reasons = [f"{entry.result.name}: {entry.reason}" for entry in self.entries]
            raise ConfigurationError(
                f"no result can be called best by {self.metric}: none measured at least {self.min_coverage:.0%} of the "
                "questions:\n- " + "\n- ".join(reasons)
            )
        return first.result

    def __repr__(self) -> str:
        # Without the results: they would fill a page.
        ranks = [(entry.result.name, entry.rank) for entry in self.entries]
        return f"Ranking(metric={self.metric!r}, ranks={ranks!r}, questions={self.questions!r}, alpha={self.alpha!r})"

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
        from fastrag.benchmark.report.ranking_text import ranking_sheet

        return ranking_sheet(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas frame with one row an entry, in their order.

        Columns: ``metric``, ``higher_is_better``, ``run`` (the result's name), ``created_at`` (in UTC), ``rank``,
        ``mean``, ``interval_low``, ``interval_high``, ``coverage_measured``, ``coverage_measurable``,
        ``coverage_asked``, ``coverage_share``, ``bounds_worst``, ``bounds_best``, ``beaten_by`` (a list), ``reason``.
        What is None is null: NaN in columns of numbers, which are ``float64``.

        Raises:
            MissingDependencyError: There is no pandas; the extra ``pandas`` brings it.

        >>> from datetime import UTC, datetime
        >>> from fastrag.benchmark import DistributionSummary, SampleResult, StatusCounts, rank
        >>> def result(name, scores):
        ...     samples = [SampleResult(f"q{i}", "successful", {"mrr": score}) for i, score in enumerate(scores)]
        ...     summary = {"mrr": DistributionSummary.of(scores)}
        ...     status = StatusCounts(len(scores), 0, 0)
        ...     return BenchmarkResult(name, datetime.now(UTC), status, summary, samples, 1.0, {"mrr": True})
        >>> ranking = rank([result("old", [0.2, 0.5, 0.3, 0.25]), result("new", [0.5, 0.75, 0.5, 0.5])], "mrr")
        >>> ranking.to_pandas()["run"].tolist()
        ['new', 'old']
        >>> ranking.to_polars().select("rank", "beaten_by").rows()
        [(1, []), (2, ['new'])]
        >>> ranking.to_arrow().column("mean").to_pylist()
        [0.5625, 0.3125]
        """
        from fastrag.benchmark.report.frames import ranking_columns, to_pandas

        return to_pandas(ranking_columns(self))

    def to_polars(self) -> polars.DataFrame:
        """The same as a polars frame; None is null.

        Raises:
            MissingDependencyError: There is no polars; the extra ``polars`` brings it.
        """
        from fastrag.benchmark.report.frames import ranking_columns, to_polars

        return to_polars(ranking_columns(self))

    def to_arrow(self) -> pyarrow.Table:
        """The same as an Arrow table; None is null.

        Raises:
            MissingDependencyError: There is no pyarrow; the extra ``arrow`` brings it.
        """
        from fastrag.benchmark.report.frames import ranking_columns, to_arrow

        return to_arrow(ranking_columns(self))
