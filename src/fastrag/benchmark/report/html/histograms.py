"""Bins that the scores of all runs are counted in, so that the runs can be laid one above the other."""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import NDArray

from fastrag.benchmark.metric_ranges import Range

_BINS_OF_RANGE = 20
_BINS = 24
_MOST_WHOLE_NUMBERS = 30
_LARGEST_WHOLE_NUMBER = 1e9
_HEAVY_TAIL = 20
"""Positive scores whose largest is so many times their median are counted in bins that grow by a factor."""


def bin_ends(scores: NDArray[np.float64], score_range: Range | None) -> list[float]:
    """The ends of the bins for finite ``scores``, rising, one more than there are bins; none without scores.

    A range with two limits is cut into 20 equal bins, the smallest and largest scores there can be at its ends. A few
    whole numbers have a bin each. Where the tail is heavy (latencies) each bin is by one factor wider than the one
    before; everything else is in bins of one width.

    >>> bin_ends(np.array([1.0, 3.0]), None)
    [0.5, 1.5, 2.5, 3.5]
    """
    if not scores.size:
        return []
    if score_range is not None and all(map(math.isfinite, score_range)):
        return _linear(*score_range, _BINS_OF_RANGE)
    low, high = float(scores.min()), float(scores.max())
    if _are_few_whole_numbers(scores, low, high):
        return [low - 0.5 + i for i in range(round(high - low) + 2)]
    if low == high:
        width = max(abs(low) * 0.01, 1e-12)
        return [max(low - width, -sys.float_info.max), min(low + width, sys.float_info.max)]
    if low > 0 and high > _HEAVY_TAIL * _lower_median(scores):
        logs = np.linspace(math.log(low), math.log(high), _BINS + 1)[1:-1]
        return _rising(low, np.exp(logs), high)
    return _linear(low, high, _BINS)


def histogram(scores: NDArray[np.float64], ends: list[float]) -> list[int]:
    """How many scores are in each bin; a bin has its lower end, the last its upper end, too."""
    counts: list[int] = np.histogram(scores, ends)[0].tolist() if ends else []
    return counts


def _lower_median(scores: NDArray[np.float64]) -> float:
    """The median, of an even number the lower of the two in the middle: their mean may be larger than every float."""
    middle = (scores.size - 1) // 2
    return float(np.partition(scores, middle)[middle])


def _are_few_whole_numbers(scores: NDArray[np.float64], low: float, high: float) -> bool:
    if max(abs(low), abs(high)) > _LARGEST_WHOLE_NUMBER or high - low > _MOST_WHOLE_NUMBERS:
        return False
    return bool(np.all(scores == np.rint(scores)))


def _linear(low: float, high: float, bins: int) -> list[float]:
    shares = np.linspace(0.0, 1.0, bins + 1)[1:-1]
    # Not as low + share * (high - low): that difference may be larger than every float.
    return _rising(low, low * (1 - shares) + high * shares, high)


def _rising(low: float, between: NDArray[np.float64], high: float) -> list[float]:
    """The ends without repeats: between neighbouring floats there is room for few."""
    ends: list[float] = np.unique(between[(between > low) & (between < high)]).tolist()
    return [low, *ends, high]
