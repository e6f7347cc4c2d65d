"""Typed conditions on a Document's metadata, the same for every store.

A filter is data: each store compiles it to its engine's language with the values bound or quoted by the engine's
own means, never pasted. `matches` says what a filter means, in plain Python; every store must agree with it.

A field is a key of ``Document.metadata``; a dot reaches into nested mappings (``"source.lang"``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Eq:
    """The field is there and equals ``value``. Text equals text, a number a number, a bool only a bool."""

    field: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class In:
    """The field is there and equals one of ``values``; no values, no match."""

    field: str
    values: Sequence[Scalar]


@dataclass(frozen=True, slots=True)
class Range:
    """The field is a number (or text, compared by code point) within the bounds given; None is no bound."""

    field: str
    gte: float | str | None = None
    gt: float | str | None = None
    lte: float | str | None = None
    lt: float | str | None = None


@dataclass(frozen=True, slots=True)
class Exists:
    """The field is there and is not None."""

    field: str


@dataclass(frozen=True, slots=True)
class Contains:
    """The field is a list that has ``value`` among its items."""

    field: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class And:
    """Every one of ``filters`` holds; true for none."""

    filters: Sequence[Filter]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one of ``filters`` holds; false for none."""

    filters: Sequence[Filter]


@dataclass(frozen=True, slots=True)
class Not:
    """``filter`` does not hold; a missing field counts as not holding, so Not is true for it."""

    filter: Filter


Filter = Eq | In | Range | Exists | Contains | And | Or | Not
