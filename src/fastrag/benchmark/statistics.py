"""What a number may claim: intervals, thin over scipy, which is loaded only when one is asked for."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval, ``low`` to ``high``, at ``level`` (0.95 = 95 %)."""

    low: float
    high: float
    level: float


def mean_interval(scores: Sequence[float | None], *, level: float = 0.95) -> Interval | None:
    """Student's t interval for the mean of the scores that are there (None is left out).

    Returns:
        None where there are fewer than two scores, or an infinite one: no interval exists. Scores that are all
        equal give an interval of no width.

    >>> interval = mean_interval([0.2, 0.4, None, 0.6])
    >>> round(interval.low, 4), round(interval.high, 4)
    (-0.0968, 0.8968)
    >>> mean_interval([0.5]) is None
    True
    """
    present = [score for score in scores if score is not None and math.isfinite(score)]
    infinite = any(score is not None and math.isinf(score) for score in scores)
    if len(present) < 2 or infinite:
        return None
    from scipy.special import stdtrit

    mean = statistics.mean(present)
    quantile = float(stdtrit(len(present) - 1, (1 + level) / 2))
    half = quantile * statistics.stdev(present) / math.sqrt(len(present))
    return Interval(mean - half, mean + half, level)
