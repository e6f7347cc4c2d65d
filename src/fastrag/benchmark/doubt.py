"""What failed questions could have changed: tests that hold for every score that they might have had.

A question that one run failed on leaves the paired test, so that failing on the right questions could turn it. Here a
run of n pairs meets k more differences, of which nothing is known but what they lie between; any number of them may
also be left out. A result is certain if it holds for every such choice, and possible if it holds for one.

With S and Q the sums of the differences and of their squares, t rises with S / sqrt(n Q). Where S > 0 this is
quasi-concave in the differences, so that the lowest t lies in a corner of what is possible: some of the k at the low
end, the others at the high end. Where S < 0 it is quasi-convex, and the lowest t has all of them at one value, Q / S of
the known differences, or the nearest possible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Far enough away to stand for an infinite difference, near enough for sums of squares.
_FAR = 1e6


@dataclass(frozen=True, slots=True)
class Doubt:
    """``count`` differences that are not known, each from ``low`` to ``high``."""

    count: int
    low: float
    high: float

    @classmethod
    def of(cls, reaches: Sequence[tuple[float, float]]) -> Doubt:
        """The doubt of differences that lie within ``reaches``, taken as all equally wide."""
        lows, highs = [low for low, _ in reaches], [high for _, high in reaches]
        return cls(len(reaches), min(lows, default=0.0), max(highs, default=0.0))

    def turned(self) -> Doubt:
        """The same with all signs turned."""
        return Doubt(self.count, -self.high, -self.low)


def is_certainly_above(differences: Sequence[float], doubt: Doubt, p: float) -> bool:
    """Whether the mean is above 0 with a one-sided p of at most ``p``, whatever the differences in doubt are.

    >>> is_certainly_above([0.2, 0.3, 0.25, 0.3] * 5, Doubt(1, -1.0, 1.0), 0.025)
    True
    >>> is_certainly_above([0.2, 0.3, 0.25, 0.3] * 5, Doubt(4, -1.0, 1.0), 0.025)
    False
    """
    import numpy as np

    if doubt.count and not (math.isfinite(doubt.low) and math.isfinite(doubt.high)):
        return False
    filled, at_high = np.tril_indices(doubt.count + 1)
    at_low = filled - at_high
    known = np.asarray(differences, dtype=np.float64)
    sums = known.sum() + at_low * doubt.low + at_high * doubt.high
    squares = np.square(known).sum() + at_low * doubt.low**2 + at_high * doubt.high**2
    return bool(np.all(_upper_p(sums, squares, len(known) + filled) <= p))


def could_be_below(differences: Sequence[float], doubt: Doubt, p: float) -> bool:
    """Whether some choice of one or more of the differences in doubt puts the mean below 0 with that one-sided p.

    >>> could_be_below([0.1, -0.1, 0.0, -0.1] * 5, Doubt(1, -1.0, 0.0), 0.025)
    False
    >>> could_be_below([0.1, -0.1, 0.0, -0.1] * 5, Doubt(4, -1.0, 0.0), 0.025)
    True
    """
    import numpy as np

    if not doubt.count:
        return False
    known = np.asarray(differences, dtype=np.float64)
    total, square = float(known.sum()), float(np.square(known).sum())
    far = _FAR * max(1.0, math.sqrt(square))
    low, high = max(doubt.low, -far), min(doubt.high, far)
    value = min(max(square / total, low), high) if total < 0 else low
    filled = np.arange(1, doubt.count + 1)
    return bool(np.any(_upper_p(-(total + filled * value), square + filled * value**2, len(known) + filled) <= p))


def _upper_p(sums: Any, squares: Any, n: Any) -> Any:
    """One-sided p of a mean above 0, of arrays of sums, sums of squares and numbers of differences."""
    import numpy as np
    from scipy.special import stdtr

    spread = np.sqrt(np.maximum(squares - sums**2 / n, 0.0) / np.maximum(n - 1, 1) * n)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(spread > 0, sums / spread, np.sign(sums) * np.inf)
    return np.where((n < 2) | (sums == 0), 1.0, stdtr(np.maximum(n - 1, 1), -t))
