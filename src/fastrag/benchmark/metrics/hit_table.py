"""The hits of many rankings in columns, so that a metric is computed for all of them by a few array operations."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastrag.benchmark.metrics.ranking import HUGE_EXPONENT, LARGEST_GAIN, SMALLEST_GAIN, Gain, discounts_to, locate
from fastrag.benchmark.metrics.relevance import Relevance

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


class HitTable:
    """The relevant documents in many rankings, at least one to be found in each. A `HitView` of arrays.

    Each array that its methods give has one value a ranking, in the order given.

    Args:
        rankings: Ranked ids and their relevance, as `find_hits` takes them.

    Raises:
        ConfigurationError: A ranking is no list of ids.

    Attributes:
        repeats: How many more times the documents found stood in the same ranking, earning nothing.
        relevant: R of each ranking.

    >>> from fastrag.benchmark.metrics.relevance import prepare_relevance
    >>> HitTable([(["a", "x"], prepare_relevance(["a"])), (["x"], prepare_relevance(["b", "c"]))]).found(2).tolist()
    [1, 0]
    """

    def __init__(self, rankings: Iterable[tuple[Iterable[Any], Relevance]]) -> None:
        all_ranks: list[int] = []
        all_gains: list[float] = []
        all_ideal: list[float] = []
        found: list[int] = []
        relevant: list[int] = []
        self.repeats = 0
        for ranked_ids, relevance in rankings:
            ids, ranks, repeats = locate(ranked_ids, relevance)
            all_ranks += ranks
            all_gains += map(relevance.gains.__getitem__, ids)
            all_ideal += relevance.ideal
            found.append(len(ids))
            relevant.append(len(relevance.ideal))
            self.repeats += repeats
        self._rank, self._gain = _ints(all_ranks), _floats(all_gains)
        self._ranking, self._number = _places(_ints(found))
        self.relevant = _ints(relevant)
        self._ideal_gain = _floats(all_ideal)
        self._ideal_ranking, self._ideal_rank = _places(self.relevant)
        self._top = self._ideal_gain[self._ideal_rank == 1]

    def found(self, k: int | _Ints) -> _Ints:
        """Hits in the top ``k`` of each, where ``k`` may differ."""
        limit = k if isinstance(k, int) else k[self._ranking]
        return np.bincount(self._ranking[self._rank <= limit], minlength=len(self.relevant))

    def reciprocal_rank(self, k: int | None) -> _Floats:
        """1 / rank of the first hit; 0.0 where the top ``k`` have none."""
        first = (self._number == 1) & _within(self._rank, k)
        result = np.zeros(len(self.relevant))
        result[self._ranking[first]] = 1 / self._rank[first]
        return result

    def precision_sum(self, k: int | None) -> _Floats:
        """The sum, over the hits in the top ``k``, of the precision at their ranks."""
        within = _within(self._rank, k)
        return self._sum(self._ranking[within], self._number[within] / self._rank[within])

    def ndcg(self, k: int | None, gain: Gain) -> _Floats:
        """The discounted gains in the top ``k`` over the largest there could be; exactly 1.0 where they attain it."""
        # Both sums go through the same operations in the same order, so that an ideal ranking has exactly 1.
        attained = self._discounted_sum(self._ranking, self._rank, self._gain, k, gain)
        attainable = self._discounted_sum(self._ideal_ranking, self._ideal_rank, self._ideal_gain, k, gain)
        return np.minimum(1.0, attained / attainable)

    def _discounted_sum(self, ranking: _Ints, rank: _Ints, gains: _Floats, k: int | None, gain: Gain) -> _Floats:
        within = _within(rank, k)
        ranking, rank, gains = ranking[within], rank[within], gains[within]
        gains = _transform(gains, self._top[ranking], gain)
        discounts = np.array(discounts_to(int(rank.max(initial=1))))
        return self._sum(ranking, gains * discounts[rank - 1])

    def _sum(self, ranking: _Ints, values: _Floats) -> _Floats:
        return np.bincount(ranking, values, len(self.relevant)).astype(np.float64, copy=False)


def _ints(values: list[int]) -> _Ints:
    return np.fromiter(values, np.int64, len(values))


def _floats(values: list[float]) -> _Floats:
    return np.fromiter(values, np.float64, len(values))


def _places(lengths: _Ints) -> tuple[_Ints, _Ints]:
    """For things in rows of these lengths, one after the other: which row each is in, and its number there, from 1."""
    row = np.repeat(np.arange(len(lengths)), lengths)
    starts = np.cumsum(lengths) - lengths
    return row, np.arange(1, len(row) + 1) - starts[row]


def _within(ranks: _Ints, k: int | None) -> NDArray[np.bool_]:
    return np.full(ranks.shape, True) if k is None else ranks <= k


def _transform(gains: _Floats, top: _Floats, gain: Gain) -> _Floats:
    # As `Hits.ndcg` does it, for gains whose ranking has ``top`` as its largest gain.
    if gain == "exponential":
        gains, top = _exponential(gains, top), _exponential(top, top)
    return gains / np.where((top > SMALLEST_GAIN) & (top < LARGEST_GAIN), 1.0, top)


def _exponential(gains: _Floats, top: _Floats) -> _Floats:
    huge = top >= HUGE_EXPONENT
    return np.where(huge, np.exp2(gains - top), np.expm1(np.where(huge, 0.0, gains) * math.log(2)))
