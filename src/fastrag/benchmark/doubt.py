"""What failed questions could have changed: the p that holds for every score that they might have had, or for some.

A question that one run failed on leaves the paired test, so that failing on the right questions could turn it. Here a
run of n pairs meets k more differences, of which nothing is known but what they lie between; any number of them may
also be left out. The highest p that there can be is what may be claimed, the lowest is what may be feared.

With S and Q the sums of the differences and of their squares, t rises with S / sqrt(n Q). Where S > 0 this is
quasi-concave in the differences, so that the lowest t lies in a corner of what is possible: some of the k at the low
end, the others at the high end. Of f differences, a at the low end, S falls with a, and so does S / sqrt(Q) unless the
high end is the further from 0: then Q falls, too, and S / sqrt(Q) turns once, to rise. Where S < 0 t is quasi-convex,
and the lowest t has all of them at one value, Q / S of the known differences, or the nearest possible.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Doubt:
    """``count`` differences that are not known, each from ``low`` to ``high``."""

    count: int
    low: float
    high: float

    @classmethod
    def of(cls, reaches: Iterable[tuple[float, float]]) -> Doubt:
        """The doubt of differences that lie within ``reaches``, taken as all equally wide."""
        listed = list(reaches)
        return cls(
            len(listed), min((low for low, _ in listed), default=0.0), max((high for _, high in listed), default=0.0)
        )

    def turned(self) -> Doubt:
        """The same with all signs turned."""
        return Doubt(self.count, -self.high, -self.low)

    def shifted(self, by: float) -> Doubt:
        """The same with ``by`` added to every difference."""
        return Doubt(self.count, self.low + by, self.high + by)


def highest_p(differences: Sequence[float], doubt: Doubt) -> float:
    """One-sided p of a mean above 0, the highest that any choice of the differences in doubt gives.

    1.0 where some choice has a mean of 0 or below.

    >>> known = [0.2, 0.3, 0.25, 0.3] * 5
    >>> [round(highest_p(known, Doubt(count, -1.0, 1.0)), 4) for count in (0, 1, 4)]
    [0.0, 0.0017, 0.3009]
    """
    import numpy as np

    if doubt.count and not (math.isfinite(doubt.low) and math.isfinite(doubt.high)):
        return 1.0
    total, square, doubt = _sums(differences, doubt)
    if total <= 0 or total + doubt.count * doubt.low <= 0:
        return 1.0
    low, high = doubt.low, doubt.high
    filled = np.arange(doubt.count + 1)
    sums, squares = total + filled * high, square + filled * high**2
    at_low = [filled]
    if high**2 > low**2:
        turn = np.clip(np.floor((2 * squares - (high + low) * sums) / (high**2 - low**2)), 0, filled)
        at_low += [turn, np.minimum(turn + 1, filled)]
    found = [
        _upper_p(sums - count * (high - low), squares - count * (high**2 - low**2), len(differences) + filled)
        for count in at_low
    ]
    return float(np.max(found))


def lowest_p(differences: Sequence[float], doubt: Doubt) -> float:
    """One-sided p of a mean above 0, the lowest that any choice of one or more of the differences in doubt gives.

    Right below 0.5; more where no choice has a mean above 0, or nothing is in doubt.

    >>> known = [-0.1, 0.1, 0.0, 0.1] * 5
    >>> [round(lowest_p(known, Doubt(count, 0.0, 1.0)), 4) for count in (0, 1, 4)]
    [1.0, 0.0518, 0.0069]
    """
    import numpy as np

    if not doubt.count:
        return 1.0
    total, square, doubt = _sums(differences, doubt)
    value = min(max(square / total, doubt.low), doubt.high) if total > 0 else doubt.high
    if math.isinf(value):
        # Beside it the known differences are nothing, and t knows no unit.
        total, square, value = 0.0, 0.0, math.copysign(1.0, value)
    filled = np.arange(1, doubt.count + 1)
    return float(np.min(_upper_p(total + filled * value, square + filled * value**2, len(differences) + filled)))


def _sums(differences: Sequence[float], doubt: Doubt) -> tuple[float, float, Doubt]:
    """Sums of the differences and of their squares, and the doubt, all in units of the largest: t knows no unit."""
    ends = (end for end in (doubt.low, doubt.high) if math.isfinite(end))
    unit = max((abs(value) for value in (*differences, *ends)), default=0.0) or 1.0
    scaled = [difference / unit for difference in differences]
    return math.fsum(scaled), math.fsum(d * d for d in scaled), Doubt(doubt.count, doubt.low / unit, doubt.high / unit)


def _upper_p(sums: Any, squares: Any, n: Any) -> Any:
    """One-sided p of a mean above 0, of arrays of sums, sums of squares and numbers of differences."""
    import numpy as np
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(np.maximum(squares - sums**2 / n, 0.0) / np.maximum(n - 1, 1) * n)
        t = np.where(spread > 0, sums / spread, np.sign(sums) * np.inf)
    return np.where((n < 2) | (sums == 0), 1.0, stdtr(np.maximum(n - 1, 1), -t))
