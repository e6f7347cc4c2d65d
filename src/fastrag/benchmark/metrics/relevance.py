"""What is known about the right documents for one query, checked and made ready for finding them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import compress
from typing import Any, TypeAlias

from fastrag.errors import ConfigurationError

RelevantIds: TypeAlias = Mapping[Any, float] | Collection[Any]
"""Ids of relevant documents, or a mapping id -> gain; gains of 0 and below are not relevant."""

_LARGEST_SUM = 1e300


@dataclass(slots=True)
class Relevance:
    """Relevant ids made ready by `prepare_relevance`. Not to be changed.

    Attributes:
        ids: The relevant documents, those with a gain above 0.
        ideal: Their gains, falling. Its length is R.
        gains: The gain of every relevant document; ids that are not relevant may be in it with a gain of 0.
        judged: Whether anything was said about any document, be it that it is not relevant.
    """

    ids: frozenset[str]
    ideal: list[float]
    gains: Mapping[str, float]
    judged: bool


def prepare_relevance(relevant: RelevantIds) -> Relevance:
    """Check relevant ids and make them ready for finding. They must not be changed as long as the result is in use.

    Raises:
        ConfigurationError: ``relevant`` is neither ids nor a mapping, contains None, has two keys that are the same as
            text, or a gain that is not a finite number.

    >>> prepare_relevance({"a": 1, "b": 2, "x": 0}).ideal
    [2, 1]
    """
    gains, falling = _usual(relevant) or _checked(relevant)
    if not falling or falling[-1] > 0:
        return Relevance(frozenset(gains), falling, gains, bool(gains))
    positive = frozenset(compress(gains, gains.values()))  # no gain is below 0 any more
    return Relevance(positive, falling[: len(positive)], gains, True)


def _usual(relevant: RelevantIds) -> tuple[dict[str, float], list[float]] | None:
    # A few passes in C recognise what is usual; None for anything else, mistakes included.
    try:
        if type(relevant) is list:
            "".join(relevant)
            gains = dict.fromkeys(relevant, 1.0)
            return gains, list(gains.values())
        if type(relevant) is dict and relevant:
            "".join(relevant)
            falling = sorted(relevant.values(), reverse=True)
            # With NaN among them a sum is NaN; without, and none below 0, each is as finite as their sum.
            total = sum(falling)
            if falling[-1] >= 0 and total < _LARGEST_SUM and type(total) in (float, int):
                return relevant, falling
    except (TypeError, OverflowError):
        pass
    return None


def _checked(relevant: RelevantIds) -> tuple[dict[str, float], list[float]]:
    if isinstance(relevant, str | bytes) or not isinstance(relevant, Collection):
        raise ConfigurationError(f"relevant ids must be a list or a mapping id -> gain, not {relevant!r}")
    if not isinstance(relevant, Mapping):
        gains = dict.fromkeys(map(_text_of, relevant), 1.0)
    else:
        gains = {_text_of(doc_id): _gain_of(doc_id, gain) for doc_id, gain in relevant.items()}
        if len(gains) < len(relevant):
            raise ConfigurationError(f"two relevant ids are the same as text: {sorted(map(str, relevant))}")
    return gains, sorted(gains.values(), reverse=True)


def _text_of(doc_id: object) -> str:
    if doc_id is None:
        raise ConfigurationError("a relevant id must not be None")
    return str(doc_id)


def _gain_of(doc_id: object, gain: object) -> float:
    if isinstance(gain, numbers.Real):
        try:
            number = float(gain)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return max(0.0, number)
    raise ConfigurationError(f"the gain of {doc_id!r} must be a finite number, not {gain!r}")
