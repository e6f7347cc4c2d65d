"""What failed questions could have changed: the p that holds for every score that they might have had, or for some.

A question that one run failed on leaves the paired test, so that failing on the right questions could turn it. Here a
run of n pairs meets k more differences, of which nothing is known but what they lie between; any number of them may
also be left out. The highest p that there can be is what may be claimed, the lowest is what may be feared.

With S and Q the sums of the differences and of their squares, t rises with S / sqrt(n Q), and S / sqrt(Q) has one
peak along each difference, at Q / S of the others.

Where S > 0 the lowest t therefore lies in a corner: some are at their low ends, and those are the lowest, the others
at their high ends, which are taken as equally high. With the number at the low end S falls, and so does S / sqrt(Q)
unless the high end is the further from 0: then Q falls, too, and S / sqrt(Q) turns once, to rise. The highest t has
all at one value, Q / S, or as near to it as each can be; the low ends are taken as equally low.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

# Ends that are no more than so many different ones are taken as they are; a power of two.
_LEVELS = 32
# Beside so large a difference all others, which are below 2, are nothing.
_BEYOND = 1e100


@dataclass(frozen=True, slots=True)
class Doubt:
    """Differences that are not known, each with the lowest and highest that it can be."""

    reaches: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, reaches: Iterable[tuple[float, float]]) -> Doubt:
        """The doubt of differences that lie within ``reaches``."""
        return cls(tuple(reaches))

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.reaches)

    @property
    def low(self) -> float:
        """The lowest that any can be; 0.0 where there are none."""
        return min((low for low, _ in self.reaches), default=0.0)

    @property
    def high(self) -> float:
        """The highest that any can be; 0.0 where there are none."""
        return max((high for _, high in self.reaches), default=0.0)

    def turned(self) -> Doubt:
        """The same with all signs turned."""
        return Doubt(tuple((-high, -low) for low, high in self.reaches))

    def shifted(self, by: float) -> Doubt:
        """The same with ``by`` added to every difference."""
        return Doubt(tuple((low + by, high + by) for low, high in self.reaches))


def highest_p(differences: Sequence[float], doubt: Doubt) -> float:
    """One-sided p of a mean above 0, no lower than any choice of the differences in doubt gives.

    1.0 where some choice has a mean of 0 or below.

    >>> known = [0.2, 0.3, 0.25, 0.3] * 5
    >>> [round(highest_p(known, Doubt.of([(-1.0, 1.0)] * count)), 4) for count in (0, 1, 4)]
    [0.0, 0.0017, 0.3009]
    """
    import numpy as np

    if not (math.isfinite(doubt.low) and math.isfinite(doubt.high)):
        return 1.0
    total, square, lows, highs = _scaled(differences, doubt)
    if total + min(0.0, float(lows[lows < 0].sum())) <= 0:
        return 1.0
    filled = np.arange(doubt.count + 1)
    high = highs.max(initial=0.0)
    found = [_upper_p(total + filled * high, square + filled * high**2, len(differences) + filled)]
    # Those at their low ends are the lowest: of each level all before it, and some of its own.
    before, low_sum, low_square = 0, 0.0, 0.0
    for low, count in _levels(lows):
        fewest = np.minimum(filled, before)
        sums = total + low_sum + (filled - fewest) * high
        squares = square + low_square + (filled - fewest) * high**2
        most = np.clip(filled - before, 0, count)
        at_low = [most]
        if high**2 > low**2:
            turn = np.clip(np.floor((2 * squares - (high + low) * sums) / (high**2 - low**2)), 0, most)
            at_low += [turn, np.minimum(turn + 1, most)]
        some = filled >= before
        found += [
            _upper_p(sums - number * (high - low), squares - number * (high**2 - low**2), len(differences) + filled)[
                some
            ]
            for number in at_low
        ]
        before, low_sum, low_square = before + count, low_sum + count * low, low_square + count * low**2
    return max(float(np.max(one)) for one in found)


def lowest_p(differences: Sequence[float], doubt: Doubt) -> float:
    """One-sided p of a mean above 0, no higher than any choice of one or more of the differences in doubt gives.

    Right below 0.5; more where no choice has a mean above 0, or nothing is in doubt.

    >>> known = [-0.1, 0.1, 0.0, 0.1] * 5
    >>> [round(lowest_p(known, Doubt.of([(0.0, 1.0)] * count)), 4) for count in (0, 1, 4)]
    [1.0, 0.0518, 0.0069]
    """
    import numpy as np

    if not doubt.count:
        return 1.0
    total, square, lows, highs = _scaled(differences, doubt)
    n = len(differences) + np.arange(1, doubt.count + 1)
    levels = [(-low, count) for low, count in _levels(-np.minimum(highs, _BEYOND))]
    ends = np.repeat([high for high, _ in levels], [count for _, count in levels])
    found = []
    shared = 0
    # The highest share one value, the others are at their high ends: of each level, between it and the next.
    for (high, count), (next_high, _) in zip(levels, [*levels[1:], (lows.min(), 0)], strict=True):
        shared += count
        sharing = np.minimum(np.arange(1, doubt.count + 1), shared)
        rest, rest_square = (
            known + np.concatenate([np.zeros(shared), np.cumsum(others)])
            for known, others in ((total, ends[shared:]), (square, ends[shared:] ** 2))
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.clip(np.where(rest > 0, rest_square / rest, high), min(next_high, high), high)
        found.append(float(np.min(_upper_p(rest + sharing * value, rest_square + sharing * value**2, n))))
    return min(found)


def _levels(values: Any) -> list[tuple[float, int]]:
    """The values in ascending order, each with how often it is there; many different ones are taken as lower.

    They are taken as multiples of a power of two, so that one more failure never brings them nearer to what they are.
    """
    import numpy as np

    levels, counts = np.unique(values, return_counts=True)
    if len(levels) > _LEVELS:
        levels, counts = np.unique(np.floor(np.asarray(values) * _LEVELS) / _LEVELS, return_counts=True)
    return list(zip(levels.tolist(), counts.tolist(), strict=True))


def _scaled(differences: Sequence[float], doubt: Doubt) -> tuple[float, float, Any, Any]:
    """Sums of the differences and of their squares, and the ends of those in doubt, in a unit near the largest.

    For t knows no unit; this one is a power of two.
    """
    import numpy as np

    ends = [end for reach in doubt.reaches for end in reach if math.isfinite(end)]
    unit = math.ldexp(0.5, math.frexp(max((abs(value) for value in (*differences, *ends)), default=0.0))[1])
    scaled = [difference / unit for difference in differences]
    reaches = np.array(doubt.reaches, dtype=np.float64).reshape(-1, 2) / unit
    return math.fsum(scaled), math.fsum(d * d for d in scaled), reaches[:, 0], reaches[:, 1]


def _upper_p(sums: Any, squares: Any, n: Any) -> Any:
    """One-sided p of a mean above 0, of arrays of sums, sums of squares and numbers of differences."""
    import numpy as np
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(np.maximum(squares - sums**2 / n, 0.0) / np.maximum(n - 1, 1) * n)
        t = np.where(spread > 0, sums / spread, np.sign(sums) * np.inf)
    return np.where((n < 2) | (sums == 0), 1.0, stdtr(np.maximum(n - 1, 1), -t))
