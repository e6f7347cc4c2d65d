"""Finding the relevant documents in a ranked list of ids, and what every retrieval metric is made of.

* A document is relevant if its gain is above 0.
* A document ranked twice counts where it stands first; later it takes up its rank and earns nothing.
* Ids are compared as ``str(id)``, code point by code point: no trimming, folding or normalising.
* The order of the list is the ranking; there are no scores and no ties. Where there are only scores, sort stably by
  falling score: ``sorted(scores, key=scores.get, reverse=True)``.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from operator import mul, truediv
from typing import Any, Literal, Protocol, TypeAlias

from fastrag.benchmark.metrics.relevance import Relevance
from fastrag.errors import ConfigurationError

Gain: TypeAlias = Literal["linear", "exponential"]

# Between these, no sum of gains overflows and no product loses its digits.
SMALLEST_GAIN, LARGEST_GAIN = 1e-290, 1e290
# From here on, 2**gain - 1 and 2**gain are the same, and only their ratios fit into a double.
HUGE_EXPONENT = 1000


class HitView(Protocol):
    """What a retrieval metric reads: the hits of one ranking (numbers), or of many (arrays, one value a ranking).

    Something is relevant in each. ``k`` is the number of ranks that count; None means all.
    """

    @property
    def relevant(self) -> Any:
        """R, the number of relevant documents, retrieved or not."""

    def found(self, k: Any) -> Any:
        """Hits in the top ``k``."""

    def reciprocal_rank(self, k: int | None) -> Any:
        """1 / rank of the first hit; 0 where the top ``k`` have none."""

    def precision_sum(self, k: int | None) -> Any:
        """The sum, over the hits in the top ``k``, of the precision at their ranks."""

    def ndcg(self, k: int | None, gain: Gain) -> Any:
        """The discounted gains in the top ``k`` over the largest there could be; exactly 1 where they attain it."""


@dataclass(slots=True)
class Hits:
    """The relevant documents in one ranking, where at least one is to be found. A `HitView` of numbers.

    Attributes:
        ids: The relevant documents found, in order of their ranks, each once.
        ranks: Their ranks, from 1, rising.
        relevance: What they were found by.
        repeats: How many more times these documents stood in the ranking, earning nothing.
    """

    ids: list[str]
    ranks: list[int]
    relevance: Relevance
    repeats: int = 0

    @property
    def relevant(self) -> int:
        """R, the number of relevant documents, retrieved or not."""
        return len(self.relevance.ideal)

    def found(self, k: int) -> int:
        """Hits in the top ``k``."""
        return bisect_right(self.ranks, k)

    def reciprocal_rank(self, k: int | None) -> float:
        """1 / rank of the first hit; 0.0 where the top ``k`` have none."""
        ranks = self.ranks
        return 1 / ranks[0] if ranks and (k is None or ranks[0] <= k) else 0.0

    def precision_sum(self, k: int | None) -> float:
        """The sum, over the hits in the top ``k``, of the precision at their ranks."""
        ranks = self.ranks if k is None else self.ranks[: bisect_right(self.ranks, k)]
        return sum(map(truediv, count(1), ranks), 0.0)

    def ndcg(self, k: int | None, gain: Gain) -> float:
        """The discounted gains in the top ``k`` over the largest there could be; exactly 1.0 where they attain it."""
        ranks = self.ranks if k is None else self.ranks[: bisect_right(self.ranks, k)]
        if not ranks:
            return 0.0
        gains = list(map(self.relevance.gains.__getitem__, self.ids[: len(ranks)]))
        ideal = self.relevance.ideal[:k]
        if gain == "exponential":
            gains, ideal = _exponential(gains, ideal[0]), _exponential(ideal, ideal[0])
        top = ideal[0]
        if not SMALLEST_GAIN < top < LARGEST_GAIN:
            gains, ideal = [value / top for value in gains], [value / top for value in ideal]
        discounts = discounts_to(max(ranks[-1], len(ideal)))
        # Both sums go through the same operations in the same order, so that an ideal ranking has exactly 1.
        attained: float = sum(map(mul, gains, [discounts[rank - 1] for rank in ranks]))
        attainable: float = sum(map(mul, ideal, discounts))
        return min(1.0, attained / attainable)


def find_hits(ranked_ids: Iterable[Any], relevance: Relevance) -> Hits:
    """Find the relevant documents in a ranking.

    Args:
        ranked_ids: Ids, best first. None stands for a result without an id: it takes up its rank and matches nothing.
        relevance: Made by `prepare_relevance`.

    Raises:
        ConfigurationError: ``ranked_ids`` is no list of ids, but a text, a mapping or a set, say.

    >>> from fastrag.benchmark.metrics.relevance import prepare_relevance
    >>> hits = find_hits(["a", "x", "b", "a"], prepare_relevance({"a": 1, "b": 2, "c": 1, "x": 0}))
    >>> hits.ids, hits.ranks, hits.repeats, hits.relevant
    (['a', 'b'], [1, 3], 1, 3)
    """
    ids, ranks, repeats = locate(ranked_ids, relevance)
    return Hits(ids, ranks, relevance, repeats)


def locate(ranked_ids: Iterable[Any], relevance: Relevance) -> tuple[list[str], list[int], int]:
    """The ids, ranks and repeats of `find_hits`, without the object around them."""
    ids = ranked_ids if type(ranked_ids) is list else _as_list(ranked_ids)
    is_relevant = relevance.ids.__contains__
    try:
        found = list(filter(is_relevant, ids))
        "".join(ids)  # the quickest way to learn whether all of them are texts
    except TypeError:
        ids = [None if doc_id is None else str(doc_id) for doc_id in ids]
        found = list(filter(is_relevant, ids))
    distinct = found if len(set(found)) == len(found) else list(dict.fromkeys(found))
    ranks = []
    rank = 0
    for doc_id in distinct:
        rank = ids.index(doc_id, rank) + 1
        ranks.append(rank)
    return distinct, ranks, len(found) - len(distinct)


def discounts_to(ranks: int) -> tuple[float, ...]:
    """1 / log2(rank + 1) for the ranks 1, 2, ... up to at least ``ranks``.

    >>> discounts_to(3)[:3]
    (1.0, 0.6309297535714575, 0.5)
    """
    return _DISCOUNTS if ranks <= len(_DISCOUNTS) else _make_discounts(1 << ranks.bit_length())


@lru_cache(maxsize=4)
def _make_discounts(ranks: int) -> tuple[float, ...]:
    return tuple(1 / math.log2(rank + 1) for rank in range(1, ranks + 1))


_DISCOUNTS = _make_discounts(1000)


def _exponential(gains: list[float], top: float) -> list[float]:
    if top < HUGE_EXPONENT:
        return [math.expm1(value * math.log(2)) for value in gains]
    return [2.0 ** (value - top) for value in gains]


def _as_list(ranked_ids: Iterable[Any]) -> list[Any]:
    if isinstance(ranked_ids, str | bytes) or not isinstance(ranked_ids, Iterable):
        raise ConfigurationError(f"a ranking must be a list of ids, best first, not {ranked_ids!r}")
    if isinstance(ranked_ids, Mapping | Set):
        raise ConfigurationError(
            f"a ranking must be a list of ids, best first; a {type(ranked_ids).__name__} has no order. "
            "Scores are ranked by sorted(scores, key=scores.get, reverse=True)"
        )
    return list(ranked_ids)
