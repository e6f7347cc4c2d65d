"""The Metric contract, its input, and how scores aggregate."""

from __future__ import annotations

import math
import numbers
import statistics
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from fastrag.benchmark.samples import EvalSample
from fastrag.document import Document
from fastrag.errors import ConfigurationError

PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99)


@dataclass(slots=True)
class QueryOutcome:
    """What the pipeline produced for one sample: a metric's whole input.

    ``answer`` is ``""`` and ``input_tokens`` / ``output_tokens`` are ``None`` when ``run()`` targets a bare
    Retriever rather than a QueryEngine. ``sources`` are best first; each one's score and rank, where it has
    them, are in its ``metadata``. ``latency_ms`` is the time of the pipeline's call alone.
    """

    answer: str
    sources: list[Document]
    latency_ms: float
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(slots=True)
class DistributionSummary:
    """A run's scores for one metric, never collapsed to a single mean.

    ``missing`` counts the scores that are None or NaN; they are dropped before anything else is computed
    over what is left (``count`` of them). ``std`` is the population's (divisor n). ``percentiles`` has
    the keys ``p1 p5 p10 p25 p50 p75 p90 p95 p99``, by linear interpolation between closest ranks (h =
    (n-1)p/100; Hyndman and Fan 1996, definition 7). Without any score, ``count`` is 0 and everything else
    is 0.0.

    Every value is computed exactly and rounded once to the nearest double. An infinite score is a score:
    means and percentiles take the limit, NaN where there is none.
    """

    count: int
    missing: int
    mean: float
    median: float
    std: float
    min: float
    max: float
    percentiles: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, scores: Sequence[float | None]) -> DistributionSummary:
        """Build a DistributionSummary from raw per-sample scores.

        Raises:
            ConfigurationError: A score is neither None nor a real number.

        >>> summary = DistributionSummary.of([0.25, None, 0.75])
        >>> summary.count, summary.missing, summary.mean, summary.std
        (2, 1, 0.5, 0.25)
        """
        scores = list(scores)
        present = [value for value in map(_as_number, scores) if value is not None and value == value]
        missing = len(scores) - len(present)
        if not present:
            return cls(0, missing, 0.0, 0.0, 0.0, 0.0, 0.0, {f"p{p}": 0.0 for p in PERCENTILES})
        present.sort()
        try:
            low, high = float(present[0]), float(present[-1])
        except OverflowError as error:
            raise ConfigurationError(f"a score is beyond the range of a float: {error}") from error
        mean, std = _mean_and_std(present)
        percentiles = {f"p{p}": _percentile(present, p) for p in PERCENTILES}
        return cls(len(present), missing, mean, percentiles["p50"], std, low, high, percentiles)


class Metric(ABC):
    """One measurement, computed per sample and aggregated over a run.

    A metric carries its own dependencies as class attributes, so Benchmark can refuse an unsatisfiable
    request at construction rather than silently returning a number that means nothing. One object scores
    many samples at once: keep no per-sample state in it.

    >>> class AnswerLength(Metric):
    ...     needs_answer = True
    ...     name = "answer_length"
    ...     async def score(self, sample, outcome):
    ...         return float(len(outcome.answer))
    >>> AnswerLength().aggregate([3.0, 5.0]).mean
    4.0
    """

    needs_relevant_ids: bool = False
    """True when score() reads sample.relevant_ids."""

    needs_answer: bool = False
    """True when score() reads outcome.answer; never satisfied by a bare Retriever."""

    higher_is_better: bool = True
    """Which direction improves. False for latency_ms, total_tokens, and cost_usd."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Key this metric occupies in BenchmarkResult.summary."""

    @abstractmethod
    async def score(self, sample: EvalSample, outcome: QueryOutcome) -> float | None:
        """This sample's score, or None when it is not measurable."""

    def aggregate(self, scores: Sequence[float | None]) -> DistributionSummary:
        """Aggregate this metric's per-sample scores. Override to change how."""
        return DistributionSummary.of(scores)


def _as_number(value: object) -> float | None:
    # Ints stay ints until the end: beyond 2**53 a float would already be rounded.
    if value is None or type(value) is float or type(value) is int:
        return value
    if isinstance(value, numbers.Integral):  # bools, numpy's integers
        return int(value)
    if isinstance(value, numbers.Real):  # Fractions, numpy's floats
        return float(value)
    raise ConfigurationError(f"a score must be a real number or None, not {value!r}")


def _mean_and_std(values: list[float]) -> tuple[float, float]:
    # Sorted values: an infinity, if any, stands at one of the ends.
    low, high = values[0], values[-1]
    if math.isinf(low) or math.isinf(high):
        return low + high, math.nan
    # The statistics module works in exact rationals and rounds once; numpy's mean of three 0.1 is not 0.1.
    return float(statistics.mean(values)), statistics.pstdev(values)


def _percentile(values: list[float], p: int) -> float:
    position, remainder = divmod((len(values) - 1) * p, 100)
    below = values[position]
    if remainder == 0:
        return float(below)
    above = values[position + 1]
    if below == above:
        return float(below)
    if math.isinf(below) or math.isinf(above):
        return below + above
    return float(Fraction(below) + (Fraction(above) - Fraction(below)) * Fraction(remainder, 100))
