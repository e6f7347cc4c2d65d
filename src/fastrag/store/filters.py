"""Typed conditions on a Document's metadata, the same for every store.

A filter is data: each store compiles it to its engine's language with the values bound or quoted by the
engine's own means, never pasted. `matches` says what a filter means, in plain Python; every store must agree
with it.

A field is a key of ``Document.metadata``; a dot reaches into nested mappings (``"source.lang"``). A key of
the metadata itself that is spelt with a dot wins over the nested mapping of the same spelling.

Values are equal as JSON has them: 1 equals 1.0, True equals neither 1 nor "true", and None equals nothing.
Numbers are compared exactly, however large; texts by code point, without any folding.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from fastrag.errors import ConfigurationError

Scalar = str | int | float | bool

MAX_DEPTH = 16
"""How deep And, Or and Not may be nested; deeper trees are refused, as engines' parsers would."""

MAX_CONDITIONS = 1000
"""How many conditions a filter may have; larger ones are refused. An In is one, whatever its number of
values."""


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
    """The field is a number (or text, compared by code point) within the bounds given; None is no bound.

    A number is never within a text bound, nor a text within a number bound, and a bool is neither; so bounds
    of both kinds match nothing, and no bounds at all match every number and every text.
    """

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


def matches(filter: Filter, metadata: Mapping[str, Any]) -> bool:
    """Whether ``metadata`` satisfies ``filter``: what a filter means, for every store.

    Raises:
        ConfigurationError: ``filter`` is not a Filter. (Its values are taken as they are; see
            `check_filter`.)

    >>> matches(Eq("year", 2024), {"year": 2024.0}), matches(Eq("year", 1), {"year": True})
    (True, False)
    >>> matches(Range("source.page", gte=2, lt=4), {"source": {"page": 3}})
    True
    >>> matches(Not(Exists("lang")), {"lang": None})
    True
    """
    match filter:
        case Eq(field, value):
            return _equal(lookup(metadata, field), value)
        case In(field, values):
            found = lookup(metadata, field)
            return any(_equal(found, value) for value in values)
        case Range(field):
            return _in_range(lookup(metadata, field), filter)
        case Exists(field):
            return lookup(metadata, field) is not None
        case Contains(field, value):
            found = lookup(metadata, field)
            return isinstance(found, list | tuple) and any(_equal(item, value) for item in found)
        case And(filters):
            return all(matches(part, metadata) for part in filters)
        case Or(filters):
            return any(matches(part, metadata) for part in filters)
        case Not(part):
            return not matches(part, metadata)
        case _:
            raise ConfigurationError(_not_a_filter(filter))


def lookup(metadata: Mapping[str, Any], field: str) -> Any:
    """The value that ``field`` names in ``metadata``, or None where it names nothing.

    >>> lookup({"a": {"b": 1}, "c.d": 2}, "a.b"), lookup({"a": {"b": 1}, "c.d": 2}, "c.d"), lookup({}, "a")
    (1, 2, None)
    """
    if field in metadata:
        return metadata[field]
    found: Any = metadata
    for part in field.split("."):
        if not isinstance(found, Mapping) or part not in found:
            return None
        found = found[part]
    return found


def flatten(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Every field of ``metadata`` that a filter can name, with its value; nested mappings too.

    ``flatten(m).get(f)`` is ``lookup(m, f)`` for every field ``f``: it is for engines that want the fields
    listed.

    >>> flatten({"lang": "en", "source": {"page": 3}})
    {'lang': 'en', 'source': {'page': 3}, 'source.page': 3}
    """
    fields: dict[str, Any] = {}
    _flatten(metadata, "", fields)
    # Last, so that a key spelt with a dot wins over the nested mapping of the same spelling, as in `lookup`.
    fields.update(metadata)
    return fields


def check_filter(filter: Filter | None) -> None:
    """Refuse what no store could answer, before any store is asked; None is no filter.

    Raises:
        ConfigurationError: Something in the tree is not a Filter, a field name is empty, a value is not a
            text, a finite number or a bool, or the tree is deeper or larger than the limits above.

    >>> check_filter(Eq("tags", ["a"]))
    Traceback (most recent call last):
    fastrag.errors.ConfigurationError: a filter on 'tags' needs a text, a finite number or a bool, not ['a']
    """
    if filter is not None:
        conditions = _check(filter, depth=1)
        if conditions > MAX_CONDITIONS:
            raise ConfigurationError(
                f"a filter may have {MAX_CONDITIONS} conditions, and this one has {conditions}: use In for many values"
            )


def join(*filters: Filter | None) -> Filter | None:
    """Those of ``filters`` that are given, joined by And; None where none is.

    >>> join(None, Exists("lang")), join(None, None)
    (Exists(field='lang'), None)
    """
    given = [part for part in filters if part is not None]
    if len(given) > 1:
        return And(given)
    return given[0] if given else None


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether ``value`` is a number as filters see it: an int or a float, not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(found: object, value: object) -> bool:
    if isinstance(found, bool) or isinstance(value, bool):
        return isinstance(found, bool) and isinstance(value, bool) and found == value
    if isinstance(found, str | int | float) and isinstance(value, str | int | float):
        return found == value
    return False


def _in_range(found: object, bounds: Range) -> bool:
    if not isinstance(found, str) and not is_number(found):
        return False
    limits = (
        (bounds.gte, operator.ge),
        (bounds.gt, operator.gt),
        (bounds.lte, operator.le),
        (bounds.lt, operator.lt),
    )
    return all(
        isinstance(bound, str) == isinstance(found, str) and holds(found, bound)
        for bound, holds in limits
        if bound is not None
    )


def _flatten(mapping: Mapping[str, Any], prefix: str, fields: dict[str, Any]) -> None:
    for key, value in mapping.items():
        # A dot in a nested key cannot be told from a level, so `lookup` does not reach it.
        if "." in key:
            continue
        fields[prefix + key] = value
        if isinstance(value, Mapping):
            _flatten(value, f"{prefix}{key}.", fields)


def _check(filter: object, depth: int) -> int:
    """Check the tree below ``filter`` and count its conditions."""
    if depth > MAX_DEPTH:
        raise ConfigurationError(f"a filter may be nested {MAX_DEPTH} deep, and this one is deeper")
    match filter:
        case And(filters) | Or(filters):
            if not isinstance(filters, Sequence):
                raise ConfigurationError(f"And and Or take a list of filters, not {filters!r}")
            return sum(_check(part, depth + 1) for part in filters)
        case Not(part):
            return _check(part, depth + 1)
        case Exists(field):
            _check_field(field)
        case Eq(field, value) | Contains(field, value):
            _check_field(field)
            _check_value(field, value)
        case In(field, values):
            _check_field(field)
            if isinstance(values, str) or not isinstance(values, Sequence):
                raise ConfigurationError(f"In({field!r}, ...) takes a list of values, not {values!r}")
            for value in values:
                _check_value(field, value)
        case Range(field, gte, gt, lte, lt):
            _check_field(field)
            for bound in (gte, gt, lte, lt):
                if isinstance(bound, bool):
                    raise ConfigurationError(f"a Range on {field!r} needs numbers or texts, not {bound!r}")
                if bound is not None:
                    _check_value(field, bound)
        case _:
            raise ConfigurationError(_not_a_filter(filter))
    return 1


def _check_field(field: object) -> None:
    if not isinstance(field, str) or not field:
        raise ConfigurationError(f"a filter needs the name of a metadata field, not {field!r}")
    _check_utf8("a filter's field name", field)


def _check_value(field: str, value: object) -> None:
    if not isinstance(value, str | int | float) or (isinstance(value, float) and not math.isfinite(value)):
        raise ConfigurationError(f"a filter on {field!r} needs a text, a finite number or a bool, not {value!r}")
    if isinstance(value, str):
        _check_utf8(f"a filter's value for {field!r}", value)


def _check_utf8(what: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigurationError(f"{what} must be valid Unicode, and {text!r} has a lone surrogate") from error


def _not_a_filter(filter: object) -> str:
    kinds = "Eq, In, Range, Exists, Contains, And, Or and Not"
    return f"a filter is one of {kinds} (fastrag.store.filters), not {filter!r}"
