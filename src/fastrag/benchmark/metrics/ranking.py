"""What a ranked list of ids is worth: find its hits once, then compute any metric from them.

The definitions are trec_eval's; every value lies in [0, 1].

* A document is relevant if its gain is above 0. R is the number of relevant documents, retrieved or not.
* Nothing relevant (R = 0): every metric is None. Nothing retrieved although R > 0: every metric is 0.
* A document ranked twice counts where it stands first; later it takes up its rank and earns nothing.
* Ids are compared as ``str(id)``, code point by code point: no trimming, folding or normalising.
* The order of the list is the ranking; there are no scores and no ties. Where there are only scores, sort
  stably by falling score: ``sorted(scores, key=scores.get, reverse=True)``.
"""

from __future__ import annotations

import math
import numbers
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, islice
from operator import mul, truediv
from typing import Any, Literal, TypeAlias

from fastrag._support.checks import require_positive_int
from fastrag.errors import ConfigurationError

Relevant: TypeAlias = Mapping[Any, float] | Collection[Any]
"""Ids of relevant documents, or a mapping id -> gain; gains of 0 and below are not relevant."""

Gain: TypeAlias = Literal["linear", "exponential"]

# Sums of gains between these can neither overflow nor lose digits to underflow.
_SMALLEST_SUM, _LARGEST_SUM = 1e-290, 1e300


@dataclass(slots=True)
class Hits:
    """The relevant documents in one ranking: all that the metrics need to know.

    Attributes:
        ids: The relevant documents found, in order of their ranks, each once.
        ranks: Their ranks, from 1, rising.
        gains: Every relevant document, retrieved or not, and its gain, above 0. Not to be changed.
        judged: Whether anything was said about any document, be it that it is not relevant.
        repeats: How many more times the documents found stood in the ranking, earning nothing.
    """

    ids: list[str]
    ranks: list[int]
    gains: Mapping[str, float]
    judged: bool
    repeats: int


def find_hits(ranked_ids: Iterable[Any], relevant: Relevant) -> Hits:
    """Find the relevant documents in a ranking. Neither argument is changed.

    Args:
        ranked_ids: Ids, best first. None stands for a result without an id: it takes up its rank and matches
            nothing.
        relevant: Ids of the relevant documents, or a mapping id -> gain.

    Raises:
        ConfigurationError: ``ranked_ids`` is no list of ids (a text, a mapping, a set), or ``relevant`` is
            neither ids nor a mapping, contains None, has two keys that are the same as text, or has a gain
            that is not a finite number.

    >>> hits = find_hits(["a", "x", "b", "a"], {"a": 2, "b": 1, "c": 1, "x": 0})
    >>> hits.ids, hits.ranks, hits.repeats
    (['a', 'b'], [1, 3], 1)
    >>> precision(hits, 4), recall(hits, 4), reciprocal_rank(hits), round(ndcg(hits), 4)
    (0.5, 0.6666666666666666, 1.0, 0.7985)
    """
    gains = _positive_gains(relevant)
    ids = ranked_ids if type(ranked_ids) is list else _as_list(ranked_ids)
    try:
        "".join(ids)  # the quickest way to learn that all of them are texts
    except TypeError:
        ids = [None if doc_id is None else str(doc_id) for doc_id in ids]
    found = list(filter(frozenset(gains).__contains__, ids))
    hit_ids = list(dict.fromkeys(found)) if len(found) > 1 else found
    ranks = []
    rank = 0
    for hit_id in hit_ids:
        rank = ids.index(hit_id, rank) + 1
        ranks.append(rank)
    return Hits(hit_ids, ranks, gains, len(relevant) > 0, len(found) - len(hit_ids))


def precision(hits: Hits, k: int) -> float | None:
    """Hits in the top ``k``, divided by ``k``, also where fewer than ``k`` came back.

    Raises:
        ConfigurationError: ``k`` is not a whole number of at least 1; so in all functions below.
    """
    within = _count_within(hits, k)
    return within / k if hits.gains else None


def recall(hits: Hits, k: int) -> float | None:
    """Hits in the top ``k``, divided by R (not by the smaller of R and ``k``)."""
    within = _count_within(hits, k)
    return within / len(hits.gains) if hits.gains else None


def hit_rate(hits: Hits, k: int) -> float | None:
    """1.0 if there is a hit in the top ``k``, else 0.0."""
    within = _count_within(hits, k)
    return float(within > 0) if hits.gains else None


def f1(hits: Hits, k: int) -> float | None:
    """The harmonic mean of precision and recall in the top ``k``; 0.0 where both are."""
    # 2PR/(P+R) with P = within/k and R = within/relevant, but with one rounding instead of four.
    within = _count_within(hits, k)
    return 2 * within / (k + len(hits.gains)) if hits.gains else None


def reciprocal_rank(hits: Hits, k: int | None = None) -> float | None:
    """1 / rank of the first hit; 0.0 where there is none, or none in the top ``k``."""
    within = _count_within(hits, k)
    if not hits.gains:
        return None
    return 1 / hits.ranks[0] if within else 0.0


def average_precision(hits: Hits, k: int | None = None) -> float | None:
    """The sum, over the hits in the top ``k``, of the precision at their ranks, divided by R.

    The divisor is R, not the number of hits: a relevant document that is missed costs its share.
    """
    within = _count_within(hits, k)
    if not hits.gains:
        return None
    precisions: Iterable[float] = map(truediv, count(1), hits.ranks[:within])
    return sum(precisions) / len(hits.gains)


def ndcg(hits: Hits, k: int | None = None, *, gain: Gain = "linear") -> float | None:
    """Discounted cumulative gain of the top ``k``, divided by the largest that any ranking could have.

    The document at rank i adds gain / log2(i + 1). The largest sum is that of all relevant documents,
    retrieved or not, sorted by falling gain and cut at ``k``. A ranking that attains it has exactly 1.0.

    Args:
        hits: What `find_hits` found.
        k: How many ranks count; None means all.
        gain: "linear" counts a gain g as it is (trec_eval; Järvelin and Kekäläinen 2002), "exponential" as
            2**g - 1 (Burges 2005). For gains of 0 and 1 the two agree.

    Raises:
        ConfigurationError: ``k`` is not a whole number of at least 1, or ``gain`` is neither of the two.
    """
    within = _count_within(hits, k)
    gains = hits.gains if gain == "linear" else _exponential(hits.gains, gain)
    if not gains:
        return None
    if not within:
        return 0.0
    ideal = sorted(gains.values(), reverse=True)[:k]
    if not _SMALLEST_SUM < sum(ideal) < _LARGEST_SUM:
        gains = {doc_id: value / ideal[0] for doc_id, value in gains.items()}
        ideal = sorted(gains.values(), reverse=True)[:k]
    ranks = hits.ranks[:within]
    discounts = _discounts(max(ranks[-1], len(ideal)))
    # Both sums go through the same operations in the same order, so that an ideal ranking has exactly 1.
    attained: float = sum(map(mul, map(gains.__getitem__, hits.ids), map(discounts.__getitem__, ranks)))
    attainable: float = sum(map(mul, ideal, islice(discounts, 1, None)))
    return min(1.0, attained / attainable)


def r_precision(hits: Hits) -> float | None:
    """Hits in the top R, divided by R."""
    relevant = len(hits.gains)
    return bisect_right(hits.ranks, relevant) / relevant if relevant else None


def _count_within(hits: Hits, k: int | None) -> int:
    if k is None:
        return len(hits.ranks)
    if type(k) is not int or k < 1:
        require_positive_int("k", k)
    return bisect_right(hits.ranks, k)


def _discounts(ranks: int) -> tuple[float, ...]:
    return _DISCOUNTS if ranks < len(_DISCOUNTS) else _make_discounts(1 << ranks.bit_length())


@lru_cache(maxsize=4)
def _make_discounts(length: int) -> tuple[float, ...]:
    # Indexed by rank; there is no rank 0.
    return (0.0, *(1 / math.log2(rank + 1) for rank in range(1, length)))


_DISCOUNTS = _make_discounts(1024)


def _exponential(gains: Mapping[str, float], gain: str) -> dict[str, float]:
    if gain != "exponential":
        raise ConfigurationError(f"gain must be 'linear' or 'exponential', not {gain!r}")
    top = max(gains.values(), default=0.0)
    if top < 1000:
        return {doc_id: math.expm1(value * math.log(2)) for doc_id, value in gains.items()}
    # Only the ratios matter: over 2**top all stay within a double's range, and the 1 no longer counts.
    return {doc_id: 2.0 ** (value - top) for doc_id, value in gains.items()}


def _as_list(ranked_ids: Iterable[Any]) -> list[Any]:
    if isinstance(ranked_ids, str | bytes) or not isinstance(ranked_ids, Iterable):
        raise ConfigurationError(f"a ranking must be a list of ids, best first, not {ranked_ids!r}")
    if isinstance(ranked_ids, Mapping | Set):
        raise ConfigurationError(
            f"a ranking must be a list of ids, best first; a {type(ranked_ids).__name__} has no order. "
            "Scores are ranked by sorted(scores, key=scores.get, reverse=True)"
        )
    return list(ranked_ids)


def _positive_gains(relevant: Relevant) -> Mapping[str, float]:
    # A few passes in C recognise what is usual; anything else, mistakes included, goes the slow way.
    try:
        if type(relevant) is list:
            "".join(relevant)
            return dict.fromkeys(relevant, 1.0)
        if type(relevant) is dict and relevant:
            "".join(relevant)
            total = sum(relevant.values())
            if type(total) in (int, float) and -_LARGEST_SUM < total < _LARGEST_SUM:
                if min(relevant.values()) > 0:
                    return relevant
                return {doc_id: gain for doc_id, gain in relevant.items() if gain > 0}
    except (TypeError, OverflowError):
        pass
    return _checked_gains(relevant)


def _checked_gains(relevant: Relevant) -> dict[str, float]:
    if isinstance(relevant, str | bytes) or not isinstance(relevant, Collection):
        raise ConfigurationError(f"relevant ids must be a list or a mapping id -> gain, not {relevant!r}")
    if not isinstance(relevant, Mapping):
        return dict.fromkeys(map(_text_of, relevant), 1.0)
    gains = {_text_of(doc_id): _finite(doc_id, gain) for doc_id, gain in relevant.items()}
    if len(gains) < len(relevant):
        raise ConfigurationError(f"two relevant ids are the same as text: {sorted(map(str, relevant))}")
    return {doc_id: gain for doc_id, gain in gains.items() if gain > 0}


def _text_of(doc_id: object) -> str:
    if doc_id is None:
        raise ConfigurationError("a relevant id must not be None")
    return str(doc_id)


def _finite(doc_id: object, gain: object) -> float:
    if isinstance(gain, numbers.Real):
        try:
            number = float(gain)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise ConfigurationError(f"the gain of {doc_id!r} must be a finite number, not {gain!r}")
