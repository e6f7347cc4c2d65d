"""How many calls the steps of a metric made of claims take, at least and at most."""

from __future__ import annotations

import math

from fastrag.benchmark.estimate import Between
from fastrag.benchmark.metrics.judged.checking import ITEMS_PER_CALL, OVERLAP, PORTION_CHARACTERS
from fastrag.benchmark.metrics.judged.claims import MAX_CLAIMS, TEXT_PORTION_CHARACTERS


def calls_of_extracting(characters: Between) -> Between:
    """Of taking the claims out of a text of so many characters.

    >>> calls_of_extracting((100, 30_000))
    (1, 4)
    """
    least, most = characters
    # A piece that ends with a sentence has at least three quarters of what it may have.
    return math.ceil(least / TEXT_PORTION_CHARACTERS), math.ceil(most / (0.75 * TEXT_PORTION_CHARACTERS))


def calls_of_checking(
    items: Between, sources: Between, characters: Between, *, by_logprobs: bool, apart: bool = False
) -> Between:
    """Of checking so many items against so many sources of so many characters each.

    >>> calls_of_checking((1, 30), (1, 10), (200, 2_000), by_logprobs=False)
    (1, 2)
    """
    size = 1 if by_logprobs else ITEMS_PER_CALL
    batches = [math.ceil(min(count, MAX_CLAIMS) / size) for count in items]
    return batches[0] * _least_portions(sources[0], characters[0], apart), batches[1] * _most_portions(
        sources[1], characters[1], apart
    )


def _least_portions(sources: float, characters: float, apart: bool) -> int:
    each = math.ceil(characters / PORTION_CHARACTERS)
    return math.floor(sources) * each if apart else math.ceil(sources * characters / PORTION_CHARACTERS)


def _most_portions(sources: float, characters: float, apart: bool) -> int:
    pieces = 1 if characters <= PORTION_CHARACTERS else math.ceil(characters / (0.75 * PORTION_CHARACTERS - OVERLAP))
    together = sources * characters
    if apart or characters > PORTION_CHARACTERS:
        return math.ceil(sources) * pieces
    # Two portions that follow each other are together longer than one may be.
    return 1 if together <= PORTION_CHARACTERS else math.floor(2 * together / PORTION_CHARACTERS) + 1
