"""What a number may claim: intervals, thin over scipy, which is loaded only when one is asked for.

Sources: Student's t interval of a mean; Wilson's score interval of a share (Wilson 1927); the bias-corrected and
accelerated bootstrap (Efron 1987) as in scipy.stats.bootstrap; percentiles between order statistics (David and Nagaraja
2003, section 7.1). Scores that belong together (repeats of a question, questions about one document) are
averaged first, group by group, and the interval is that of the mean of these groups.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal, get_args

from fastrag._support.checks import require_choice, require_int, require_list, require_number, shown
from fastrag.benchmark.arguments import require_probability
from fastrag.errors import ConfigurationError

IntervalMethod = Literal["t", "wilson", "bootstrap"]

RESAMPLES = 9_999
_FEWEST_RESAMPLES = 100


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval, ``low`` to ``high``, at ``level`` (0.95 = 95 %)."""

    low: float
    high: float
    level: float


def mean_of(scores: Sequence[float]) -> float:
    """The mean of one or more finite scores, exact but for one rounding: no sum on the way is too large for it.

    >>> mean_of([0.1, 0.1, 0.1]), mean_of([1e308, 1e308])
    (0.1, 1e+308)
    """
    return float(scores[0] if len(scores) == 1 else statistics.mean(scores))


def sd_of(scores: Sequence[float]) -> float:
    """The sample standard deviation (divisor n-1) of two or more finite scores; infinite where no float is so large.

    >>> sd_of([1.0, 2.0, 3.0])
    1.0
    """
    try:
        return float(statistics.stdev(scores))
    except OverflowError:
        return math.inf


def mean_interval(scores: Sequence[float | None], *, level: float = 0.95) -> Interval | None:
    """Student's t interval for the mean of the scores that are there (None is left out).

    Returns:
        None where there are fewer than two scores, or an infinite one: no interval exists; and where an end would be
        beyond every float. Scores that are all equal give an interval of no width.

    >>> interval = mean_interval([0.2, 0.4, None, 0.6])
    >>> round(interval.low, 4), round(interval.high, 4)
    (-0.0968, 0.8968)
    >>> mean_interval([0.5]) is None
    True
    """
    present = _present(scores, level)
    if len(present) < 2:
        return None
    from scipy.special import stdtrit

    mean = mean_of(present)
    quantile = float(stdtrit(len(present) - 1, (1 + level) / 2))
    half = quantile / math.sqrt(len(present)) * sd_of(present)
    low, high = mean - half, mean + half
    return Interval(low, high, level) if math.isfinite(low) and math.isfinite(high) else None


def share_interval(scores: Sequence[float | None], *, level: float = 0.95) -> Interval | None:
    """Wilson's interval for the share of ones among scores that are 0 or 1 (None is left out).

    It stays within 0 and 1, and has a width where all scores are the same, which Student's t has not.

    Returns:
        None where there are fewer than two scores.

    Raises:
        ConfigurationError: A score is neither 0 nor 1.

    >>> interval = share_interval([1.0] * 10)
    >>> round(interval.low, 4), interval.high
    (0.7225, 1.0)
    """
    present = _present(scores, level)
    if others := [score for score in present if score not in (0, 1)]:
        raise ConfigurationError(f"Wilson's interval is of scores that are 0 or 1, not {others[0]!r}")
    n = len(present)
    if n < 2:
        return None
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    ones = math.fsum(present)
    share = ones / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # The ends of nothing and of all are exact, whatever rounding makes of them.
    return Interval(0.0 if ones == 0 else middle - half, 1.0 if ones == n else middle + half, level)


def bootstrap_interval(
    scores: Sequence[float | None], *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> Interval | None:
    """BCa bootstrap interval for the mean of the scores that are there (None is left out).

    For skewed scores, such as latencies, of which there are some dozens at least: of few it is too narrow. The
    same seed gives the same interval, in whatever order the scores stand.

    Returns:
        None where there are fewer than two scores. Scores that are all equal give an interval of no width.

    Raises:
        ConfigurationError: ``level`` is not between 0 and 1, ``resamples`` not at least 100, or ``seed`` below 0.

    >>> interval = bootstrap_interval([1.0, 1.1, 1.2, 1.0, 1.3, 1.1, 1.2, 5.0] * 4)
    >>> round(interval.low, 1), round(interval.high, 1)
    (1.3, 2.2)
    """
    present = sorted(_present(scores, level))
    require_int("resamples", resamples, at_least=_FEWEST_RESAMPLES)
    require_int("seed", seed, at_least=0)
    if len(present) < 2:
        return None
    if present[0] == present[-1]:
        return Interval(present[0], present[0], level)
    import numpy as np
    from scipy.stats import bootstrap

    # The method takes cubes of differences. Scaled by a power of two, which rounds nothing, they always have a float.
    exponent = math.frexp(max(abs(present[0]), abs(present[-1])))[1]
    found = bootstrap(
        (np.ldexp(present, -exponent),),
        np.mean,
        confidence_level=level,
        n_resamples=resamples,
        method="BCa",
        batch=max(1, 2**22 // len(present)),
        rng=np.random.Generator(np.random.PCG64(seed)),
    ).confidence_interval
    low, high = (math.ldexp(float(end), exponent) for end in found)
    return Interval(low, high, level)


def percentile_interval(scores: Sequence[float | None], percentile: float, *, level: float = 0.95) -> Interval | None:
    """Interval for a percentile, from one score to another, without any assumption about how scores are spread.

    Of n scores, the number below the true percentile is binomial. The interval goes from the score that has the
    percentile below it with a probability of at most (1 - level) / 2 to the one that has it above with as much, so
    that its real level is ``level`` or more.

    Args:
        scores: None is left out.
        percentile: Between 0 and 100.
        level: Between 0 and 1.

    Returns:
        None where so few scores cannot bound it: a 95 % interval of the median takes 6, of the 95th percentile 72,
        of the 99th 368.

    >>> percentile_interval(list(range(1, 101)), 50)
    Interval(low=40, high=61, level=0.95)
    >>> percentile_interval(list(range(1, 101)), 99) is None
    True
    """
    present = sorted(_present(scores, level))
    require_number("percentile", percentile, above=0, below=100)
    n = len(present)
    if not n:
        return None
    import numpy as np
    from scipy.special import bdtr

    tail = (1 - level) / 2
    # at_most[j]: probability that no more than j of the n scores lie below the percentile.
    at_most = bdtr(np.arange(n), n, percentile / 100)
    # The score of rank r lies above it if fewer than r are below, and below it if r are.
    lower = int(np.searchsorted(at_most, tail, side="right"))
    upper = int(np.searchsorted(at_most, 1 - tail, side="left")) + 1
    if lower < 1 or upper > n:
        return None
    return Interval(present[lower - 1], present[upper - 1], level)


def interval_of(
    scores: Sequence[float], *, method: IntervalMethod | None = None, level: float = 0.95, seed: int = 0
) -> Interval | None:
    """The interval of a mean by ``method``; by default Wilson's where all scores are 0 or 1, else Student's t.

    Raises:
        ConfigurationError: ``method`` is none of these, or the interval's own function refuses what it is given.
    """
    require_int("seed", seed, at_least=0)
    if method is None:
        method = "wilson" if scores and all(score in (0, 1) for score in scores) else "t"
    require_choice("method", method, get_args(IntervalMethod))
    if method == "wilson":
        return share_interval(scores, level=level)
    if method == "bootstrap":
        return bootstrap_interval(scores, level=level, seed=seed)
    return mean_interval(scores, level=level)


def _present(scores: Sequence[float | None], level: float) -> list[float]:
    """The scores that are there; none of them where one is infinite, for then no interval exists."""
    require_probability("level", level)
    listed = require_list("scores", scores, of="numbers")
    if strangers := [score for score in listed if not isinstance(score, Real | None)]:
        raise ConfigurationError(f"a score must be a number or None, not {shown(strangers[0])}")
    if any(score is not None and math.isinf(score) for score in listed):
        return []
    return [score for score in listed if score is not None and math.isfinite(score)]
