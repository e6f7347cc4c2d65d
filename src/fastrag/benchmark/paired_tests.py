"""Tests of paired differences: Student's t, sign flips, equivalence, and Holm's adjustment for many of them.

Sources: the paired t test and its interval as in scipy.stats.ttest_rel; the sign-flip (randomisation) test of Fisher
1935 with the p of Phipson and Smyth 2010, (b+1)/(m+1); equivalence by two one-sided tests, Schuirmann 1987; the
adjustment by Holm 1979. scipy is loaded with the first test.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastrag.benchmark.statistics import Interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

SIGN_FLIPS = 9_999
# From so many equal differences on, random signs can show them at the usual level: 2 / 2**6 = 0.03.
_FLIPS_CAN_TELL = 6
# What subtracting two doubles can leave of nothing, in units of the larger one.
_ROUNDING = 8 * sys.float_info.epsilon
# Weights of the sign-flip test are whole numbers up to 2**40: their sums are exact, on every platform.
_WEIGHT_BITS = 40
_FLIPS_AT_ONCE = 1 << 11


@dataclass(frozen=True, slots=True)
class PairedTest:
    """What paired scores say about their mean difference, second minus first.

    Attributes:
        n: Pairs.
        mean: Mean difference; None without pairs.
        sd: Sample standard deviation of the differences (divisor n-1); None below n = 2.
        t: Paired t statistic; None below n = 2 and where the differences have no spread but rounding.
        p: Its two-sided p; None where there is no t, but 1.0 where no pair differs (n of at least 2).
        interval: Student's t interval of the mean difference; None below n = 2.
        d_z: ``mean / sd``; None where there is no t, but 0.0 where no pair differs (n of at least 2).
        higher: Pairs whose second score is higher.
        lower: Pairs whose second score is lower.
    """

    n: int
    mean: float | None
    sd: float | None
    t: float | None
    p: float | None
    interval: Interval | None
    d_z: float | None
    higher: int
    lower: int

    @property
    def deciding_p(self) -> float | None:
        """The p that verdicts and ranks go by: ``p``, or the exact sign-flip p of at least 6 equal differences.

        These have no t; all signs alike come up twice in 2**n. None where there is neither.
        """
        if self.p is None and self.n >= _FLIPS_CAN_TELL:
            return 2.0 ** (1 - self.n)
        return self.p


def differences_of(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """Second minus first, pair by pair; exactly 0.0 where rounding alone parts them.

    >>> differences_of([0.1 + 0.2, 0.5], [0.3, 0.75])
    [0.0, 0.25]
    """
    return [0.0 if abs(b - a) <= _ROUNDING * max(abs(a), abs(b)) else b - a for a, b in zip(first, second, strict=True)]


def paired_test(first: Sequence[float], second: Sequence[float], *, level: float = 0.95) -> PairedTest:
    """Test whether the scores ``second`` differ from ``first``, pair by pair.

    Args:
        first: Finite scores.
        second: As many.
        level: Of the interval.

    >>> test = paired_test([0.2, 0.4, 0.5, 0.1], [0.5, 0.6, 0.6, 0.3])
    >>> round(test.mean, 3), round(test.t, 3), round(test.p, 4)
    (0.2, 4.899, 0.0163)
    >>> paired_test([0.25, 0.5], [0.5, 0.75]).p is None  # no spread to test against
    True
    """
    differences = differences_of(first, second)
    n = len(differences)
    higher, lower = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    if n < 2:
        mean = differences[0] if differences else None
        return PairedTest(n, mean, None, None, None, None, None, higher, lower)
    from scipy.special import stdtrit

    mean = math.fsum(differences) / n
    # In units of the largest difference: squares of the smallest floats are 0.
    unit = max(map(abs, differences)) or 1.0
    d_mean = math.fsum(d / unit for d in differences) / n
    d_sd = math.sqrt(math.fsum((d / unit - d_mean) ** 2 for d in differences) / (n - 1))
    sd = d_sd * unit
    half = float(stdtrit(n - 1, (1 + level) / 2)) * sd / math.sqrt(n)
    interval = Interval(mean - half, mean + half, level)
    if higher == lower == 0:
        return PairedTest(n, 0.0, 0.0, None, 1.0, interval, 0.0, 0, 0)
    scale = max(max(map(abs, first)), max(map(abs, second)))
    # One large score makes the scale large: differences of both signs are never the same.
    if max(higher, lower) == n and sd <= _ROUNDING * scale:
        return PairedTest(n, mean, sd, None, None, interval, None, higher, lower)
    d_z = d_mean / d_sd
    t = d_z * math.sqrt(n)
    return PairedTest(n, mean, sd, t, two_sided_p(t, n), interval, d_z, higher, lower)


def two_sided_p(t: float, n: int) -> float:
    """Probability of a paired t at least as far from 0, of ``n`` pairs without a difference."""
    return 2 * upper_p(abs(t), n)


def upper_p(t: float, n: int) -> float:
    """Probability of a paired t of at least ``t``, of ``n`` pairs without a difference."""
    from scipy.special import stdtr

    return float(stdtr(n - 1, -t))


def equivalence_p(mean: float, sd: float, n: int, margin: float) -> float:
    """p of two one-sided t tests: small where the mean difference lies surely within -``margin`` to ``margin``.

    >>> round(equivalence_p(0.01, 0.1, 100, margin=0.05), 5)
    6e-05
    """
    error = sd / math.sqrt(n)
    return max(upper_p((mean + margin) / error, n), upper_p((margin - mean) / error, n))


@dataclass(frozen=True, slots=True)
class SignFlipTest:
    """Result of `sign_flip_test`: the two-sided ``p``, and whether all flips were tried (``is_exact``)."""

    p: float
    is_exact: bool


def sign_flip_test(differences: Sequence[float], *, flips: int = SIGN_FLIPS, seed: int = 0) -> SignFlipTest:
    """How often random signs make the sum of the differences as large as it is, either way.

    All 2**n flips of the n differences that are not 0 are tried where they are no more than ``flips``; else so many
    are drawn, and p is (b+1)/(m+1). The signs are the bits of numpy's PCG64 stream and the sums are of whole
    numbers (differences in units of 2**-40 of the largest), so that a seed gives the same p on every platform, in
    whatever order the differences stand, and with all signs turned.

    Args:
        differences: Finite; at least one.
        flips: Most to try.
        seed: At least 0.

    >>> sign_flip_test([1.0, 1.0, 1.0, 1.0, 1.0])
    SignFlipTest(p=0.0625, is_exact=True)
    """
    import numpy as np

    largest = max(map(abs, differences))
    if largest == 0:
        return SignFlipTest(1.0, is_exact=True)
    sizes = np.sort(np.abs(np.array([d for d in differences if d], dtype=np.float64)))
    weights = np.rint(sizes / largest * 2**_WEIGHT_BITS).astype(np.int64)
    total = int(weights.sum())
    signed = np.rint(np.array(differences) / largest * 2**_WEIGHT_BITS).astype(np.int64)
    # Each weight is rounded by half a unit at most: sums that are equal in truth stay within n units.
    threshold = abs(int(signed.sum())) - len(weights)
    n = len(weights)
    is_exact = n < 63 and 2**n <= flips
    count = 2**n if is_exact else flips
    source = np.random.PCG64(seed)
    words = -(-n // 64)
    # What each value of each octet of signs adds to the sum: eight signs are looked up at a time.
    padded = np.pad(weights, (0, 64 * words - n)).reshape(-1, 8)
    added = padded @ np.unpackbits(np.arange(256, dtype=np.uint8)[None, :], axis=0, bitorder="little")
    extreme = 0
    for start in range(0, count, _FLIPS_AT_ONCE):
        rows = min(_FLIPS_AT_ONCE, count - start)
        raw = np.arange(start, start + rows, dtype=np.uint64) if is_exact else source.random_raw(rows * words)
        octets = raw.astype("<u8", copy=False).view(np.uint8).reshape(rows, -1)
        sums = 2 * sum(of_value[octet] for of_value, octet in zip(added, octets.T, strict=True)) - total
        extreme += int(np.count_nonzero(np.abs(sums) >= threshold))
    return SignFlipTest(extreme / count if is_exact else (extreme + 1) / (count + 1), is_exact)


def equivalence_of(test: PairedTest, margin: float) -> float | None:
    """`equivalence_p` of a paired test; None where it has fewer than 2 pairs, or fewer than 6 without any spread."""
    if test.mean is None or test.sd is None:
        return None
    if test.t is not None and test.sd / math.sqrt(test.n) > 0:
        return equivalence_p(test.mean, test.sd, test.n, margin)
    # Differences without any spread: either all within the margin or none.
    return float(abs(test.mean) >= margin) if test.n >= _FLIPS_CAN_TELL else None


def holm(p: float, others: ArrayLike) -> float:
    """``p`` adjusted for being one of a family, beside the p of all its other members.

    >>> [holm(0.01, [0.04, 0.03]), holm(0.04, [0.01, 0.03]), holm(0.03, [0.01, 0.04])]
    [0.03, 0.06, 0.06]
    """
    import numpy as np

    every = np.asarray(others, dtype=np.float64)
    smaller = np.sort(every[every < p])
    size = every.size + 1
    steps = (size - np.arange(smaller.size)) * smaller
    return min(1.0, max(float(steps.max(initial=0.0)), (size - smaller.size) * p))
