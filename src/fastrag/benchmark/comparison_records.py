"""What a comparison says: data only, to be rendered, gated or read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fastrag.benchmark.statistics import Interval
from fastrag.errors import ConfigurationError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from fastrag.benchmark.report.sheets import Sheet

Verdict = Literal["better", "worse", "equivalent", "no difference shown", "cannot say"]
"""Of a candidate against its baseline, in the direction in which the metric is better."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a number would be if every score that is missing had been the worst, or the best, that there is."""

    worst: float
    best: float


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of what could be measured was.

    Attributes:
        measured: Samples with a score.
        measurable: Samples that could have one: all but those whose sample lacks what the metric needs.
        asked: All samples of the run.
        reasons: Kind of reason -> number of samples without a score: ``"errored"`` (the pipeline failed),
            ``"not_attempted"``, or a kind of `fastrag.benchmark.reasons`; ``"unknown"`` where none was recorded.
    """

    measured: int
    measurable: int
    asked: int
    reasons: Mapping[str, int]

    @property
    def share(self) -> float | None:
        """``measured / measurable``, from 0 to 1; None where nothing could be measured."""
        return self.measured / self.measurable if self.measurable else None


@dataclass(frozen=True, slots=True)
class Pairing:
    """How the samples of a candidate met those of the baseline: by question, and by occurrence where one repeats.

    Attributes:
        candidate: The candidate's name.
        pairs: Samples that met.
        only_in_baseline: The baseline's samples without a partner, named by question (and occurrence, from the 2nd).
        only_in_candidate: The candidate's.
    """

    candidate: str
    pairs: int
    only_in_baseline: tuple[str, ...]
    only_in_candidate: tuple[str, ...]

    @property
    def share(self) -> float:
        """Share of the baseline's samples that the candidate was asked, too; 1.0 where the baseline has none."""
        asked = self.pairs + len(self.only_in_baseline)
        return self.pairs / asked if asked else 1.0

    @property
    def unpaired(self) -> int:
        """Samples without a partner, on both sides."""
        return len(self.only_in_baseline) + len(self.only_in_candidate)


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """One candidate against the baseline on one metric.

    All statistics are over the ``n`` questions that both measured in full. Differences are candidate minus baseline,
    in the metric's unit, whatever direction is better; ``wins`` and the verdict know the direction. A question asked
    several times counts once, with the mean of its scores.

    Attributes:
        metric: Its name.
        baseline: The baseline's name.
        candidate: The candidate's name.
        higher_is_better: The metric's direction.
        n: Questions compared.
        baseline_mean: Over these questions; None where n is 0. So are the next two.
        candidate_mean: Over these questions.
        mean_difference: Of these questions.
        interval: Student's t interval of the mean difference; None below n = 2.
        sd_difference: Sample standard deviation of the differences (divisor n-1); None below n = 2.
        t: Paired t statistic; None below n = 2 and where the differences have no spread.
        p_t: Its two-sided p; None where there is no t, but 1.0 where no question differs.
        p_permutation: Two-sided p of the sign-flip test: (b+1)/(m+1) of m random flips, or of all 2**n where that
            is less work; None where n is 0.
        permutation_is_exact: Whether all flips were tried.
        p_holm: The p that decides, adjusted over all metrics and candidates compared (Holm); None where it is
            missing. That p is ``p_t``; of at least 6 equal differences, which have no t, the exact one of all sign
            flips, 2**(1-n). The others count with the highest p that what failed in them leaves possible, those
            without a p with 1.
        d_z: Mean difference in standard deviations of the differences; None where these have no spread (0.0 where no
            question differs).
        wins: Questions on which the candidate is better.
        ties: On which both score the same, up to rounding.
        losses: On which the baseline is better.
        smallest_detectable: The difference that n questions with this spread would show with a probability of 80 %
            at the level left for one of the family; None below n = 2 and without a spread.
        margin: Differences smaller than this do not matter; None where no margin was given.
        p_equivalence: p of the hypothesis that the difference reaches the margin (TOST), adjusted as p_holm is; None
            without a margin, below n = 2 and without a spread.
        baseline_coverage: Of the baseline's whole run.
        candidate_coverage: Of the candidate's whole run.
        lost: Questions that the baseline measured in full and the candidate failed on at least once.
        gained: Questions that the candidate measured in full and the baseline failed on at least once.
        difference_bounds: The mean difference with ``lost`` and ``gained`` at the candidate's worst and best; None
            where the metric's range is not known.
        could_be_worse: Whether the candidate is shown to be worse, or could have been, had there been no failures.
            Where the verdict is *cannot say*, this keeps the gate shut.
        verdict: What may be claimed.
        reason: Why, in one sentence.
    """

    metric: str
    baseline: str
    candidate: str
    higher_is_better: bool
    n: int
    baseline_mean: float | None
    candidate_mean: float | None
    mean_difference: float | None
    interval: Interval | None
    sd_difference: float | None
    t: float | None
    p_t: float | None
    p_permutation: float | None
    permutation_is_exact: bool
    p_holm: float | None
    d_z: float | None
    wins: int
    ties: int
    losses: int
    smallest_detectable: float | None
    margin: float | None
    p_equivalence: float | None
    baseline_coverage: Coverage
    candidate_coverage: Coverage
    lost: tuple[str, ...]
    gained: tuple[str, ...]
    difference_bounds: Bounds | None
    could_be_worse: bool
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What `compare` found. As text and in a notebook it is the table that ``fastrag compare`` prints.

    Attributes:
        baseline: The baseline's name.
        candidates: The candidates' names, as given.
        metrics: What was compared, in the baseline's order.
        comparisons: One a metric and candidate that has it, metric by metric.
        pairings: One a candidate.
        not_compared: (candidate's name, metric) that only one of the two results has.
        alpha: The probability of calling any difference of this comparison better or worse where there is none.
        level: Of the intervals, which are each for itself: 1 - alpha.
        family_size: How many p are adjusted for: all comparisons, whether they came to a p or not.
        min_coverage: Below this share of the measurable samples, on either side, the verdict is *cannot say*.
        permutations: Random sign flips a test.
        seed: Of these.
    """

    baseline: str
    candidates: tuple[str, ...]
    metrics: tuple[str, ...]
    comparisons: tuple[MetricComparison, ...]
    pairings: tuple[Pairing, ...]
    not_compared: tuple[tuple[str, str], ...]
    alpha: float
    level: float
    family_size: int
    min_coverage: float
    permutations: int
    seed: int

    def __repr__(self) -> str:
        # Without what is in the table: it would fill a page.
        return (
            f"Comparison(baseline={self.baseline!r}, candidates={self.candidates!r}, metrics={self.metrics!r}, "
            f"comparisons=<{len(self.comparisons)} comparisons>, alpha={self.alpha!r})"
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
        from fastrag.benchmark.report.comparison_text import comparison_sheet

        return comparison_sheet(self)

    def of(self, metric: str, candidate: str | None = None) -> MetricComparison:
        """The comparison of one metric with one candidate (which can be left out where there is only one).

        Raises:
            ConfigurationError: There is none, or more than one.
        """
        found = [one for one in self.comparisons if one.metric == metric and candidate in (None, one.candidate)]
        if len(found) == 1:
            return found[0]
        there = ", ".join(f"{one.metric} of {one.candidate}" for one in self.comparisons)
        which = metric if candidate is None else f"{metric} of {candidate}"
        raise ConfigurationError(
            f"{'no' if not found else 'more than one'} comparison is of {which}; there are: {there}"
        )

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas frame with one row a `MetricComparison`, in the order of ``comparisons``.

        Its columns are the fields, under their names; of those that have parts each part: ``interval_low`` and
        ``interval_high``, ``baseline_coverage_measured``, ``_measurable``, ``_asked`` and ``_share`` (so for the
        candidate), ``difference_bounds_worst`` and ``_best``. ``lost`` and ``gained`` are lists. What is None is null:
        NaN in columns of numbers, which are ``float64``.

        Raises:
            MissingDependencyError: There is no pandas; the extra ``pandas`` brings it.

        >>> from datetime import UTC, datetime
        >>> from fastrag.benchmark import BenchmarkResult, DistributionSummary, SampleResult, StatusCounts, compare
        >>> def result(name, scores):
        ...     samples = [SampleResult(f"q{i}", "successful", {"mrr": score}) for i, score in enumerate(scores)]
        ...     summary = {"mrr": DistributionSummary.of(scores)}
        ...     status = StatusCounts(len(scores), 0, 0)
        ...     return BenchmarkResult(name, datetime.now(UTC), status, summary, samples, 1.0, {"mrr": True})
        >>> comparison = compare(result("old", [0.2, 0.5, 0.3, 0.25]), result("new", [0.5, 0.75, 0.5, 0.5]))
        >>> comparison.to_pandas()[["metric", "candidate", "verdict"]].iloc[0].tolist()
        ['mrr', 'new', 'better']
        >>> comparison.to_polars().select("interval_low", "interval_high").width
        2
        >>> comparison.to_arrow().column("wins").to_pylist()
        [4]
        """
        from fastrag.benchmark.report.frames import comparison_columns, to_pandas

        return to_pandas(comparison_columns(self))

    def to_polars(self) -> polars.DataFrame:
        """The same as a polars frame; None is null.

        Raises:
            MissingDependencyError: There is no polars; the extra ``polars`` brings it.
        """
        from fastrag.benchmark.report.frames import comparison_columns, to_polars

        return to_polars(comparison_columns(self))

    def to_arrow(self) -> pyarrow.Table:
        """The same as an Arrow table; None is null.

        Raises:
            MissingDependencyError: There is no pyarrow; the extra ``arrow`` brings it.
        """
        from fastrag.benchmark.report.frames import comparison_columns, to_arrow

        return to_arrow(comparison_columns(self))
