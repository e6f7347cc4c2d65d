"""Means that grow with a run: exact in whatever order scores come, and cheap to ask for after each of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class RunningMean(NamedTuple):
    """What a metric has measured so far.

    Attributes:
        n: Scores that are there.
        mean: Of them; None where there is none yet, and where their sum is beyond the range of a float.
    """

    n: int
    mean: float | None


class RunningMeans:
    """The running mean of each metric.

    >>> means = RunningMeans(["mrr", "recall@5"])
    >>> means.add({"mrr": 0.5, "recall@5": None})
    >>> means.add({"mrr": 1.0, "recall@5": None})
    >>> means.now()
    {'mrr': RunningMean(n=2, mean=0.75), 'recall@5': RunningMean(n=0, mean=None)}
    """

    def __init__(self, metrics: Iterable[str]) -> None:
        self._sums = {metric: _Sum() for metric in metrics}

    def add(self, scores: Mapping[str, float | None]) -> None:
        """Count one sample's scores; what is None, or of no metric that is known here, is left out."""
        for metric, score in scores.items():
            if score is not None and metric in self._sums:
                self._sums[metric].add(score)

    def now(self) -> dict[str, RunningMean]:
        """The means of what has been added so far; later additions do not change what this returned."""
        return {metric: RunningMean(total.n, total.mean()) for metric, total in self._sums.items()}


class _Sum:
    """An exact sum: floats that do not overlap (Shewchuk 1997), of which `math.fsum` makes the nearest float."""

    __slots__ = ("n", "parts")

    def __init__(self) -> None:
        self.n = 0
        self.parts: list[float] = []

    def add(self, value: float) -> None:
        self.n += 1
        kept = 0
        parts = self.parts
        for part in parts:
            if abs(value) < abs(part):
                value, part = part, value
            high = value + part
            low = part - (high - value)
            if low:
                parts[kept] = low
                kept += 1
            value = high
        # Beyond the range of a float nothing is left that could be added to: it would only grow.
        parts[kept if math.isfinite(value) else 0 :] = [value]

    def mean(self) -> float | None:
        if not self.n:
            return None
        try:
            mean = math.fsum(self.parts) / self.n
        except (OverflowError, ValueError):
            return None
        return mean if math.isfinite(mean) else None
