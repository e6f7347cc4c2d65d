"""Metadata filters as Qdrant answers them: what is stored beside a Document, and the conditions that ask for it.

Qdrant compares texts for equality only, and numbers as 64-bit floats. So a point has the facts of its metadata as
keywords, and of the sort keys of its numbers and texts (see `facts`) the first 96 characters as up to eight whole
numbers of twelve characters each, which are compared one after the other: the metadata ``{"year": 2024}`` is stored
as ``{"sort": {"n79656172": {"c0": ...}}}``, where the first letter is the kind and the rest the field's name.

A `Bound` with a longer key is told apart by that from all but the points whose key begins as its own does. For which
of those it holds must be found out beforehand, from their metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastrag.store.facts import contains_fact, equals_fact, exists_fact, in_hex, sort_key, sort_keys_of
from fastrag.store.filters import And, Contains, Eq, Exists, Filter, In, Not, Or, Range, matches

FACTS = "facts"
SORT = "sort"

_WIDTH = 12
_MOST_COLUMNS = 8
_DIGITS = {character: digit for digit, character in enumerate("0123456789abcdefg", start=1)}
# 18 ** 12 is less than 2 ** 53, so a float holds every column exactly.
_PLACES = [18**power for power in reversed(range(_WIDTH))]


@dataclass(frozen=True, slots=True)
class Bound:
    """What a field is compared with: is it more than ``value``, or is it ``or_equal``?"""

    field: str
    value: float | str
    or_equal: bool

    def holds(self, metadata: Mapping[str, Any]) -> bool:
        """Whether it is so in ``metadata``."""
        limits = {"gte" if self.or_equal else "gt": self.value}
        return matches(Range(self.field, **limits), metadata)

    @property
    def path(self) -> str:
        """Where the columns that it is compared with are."""
        return _path("s" if isinstance(self.value, str) else "n", self.field)

    @property
    def key(self) -> str:
        """Its sort key, without the letter for the kind."""
        return sort_key(self.value)[1:]

    @property
    def is_long(self) -> bool:
        """Whether there may be points that their columns do not tell from it."""
        return len(self.key) > _WIDTH * _MOST_COLUMNS


def columns_of(metadata: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """The sort keys of ``metadata``'s numbers and texts as whole numbers, by kind and field.

    >>> columns_of({"a": ""})
    {'s61': {'c0': 0}}
    """
    return {
        f"{key[0]}{field}": {f"c{number}": value for number, value in enumerate(_columns(key[1:]))}
        for field, key in sort_keys_of(metadata).items()
    }


def range_paths(field: str) -> list[str]:
    """Where the numbers are that a Range on ``field`` looks at first: for its numbers, and for its texts."""
    return [f"{_path(kind, field)}.c0" for kind in "ns"]


def long_bounds(filter: Filter) -> set[Bound]:
    """The bounds in ``filter`` that `Conditions` must be told about."""
    match filter:
        case And(parts) | Or(parts):
            return {bound for part in parts for bound in long_bounds(part)}
        case Not(part):
            return long_bounds(part)
        case Range():
            return {bound for bound, _ in _bounds(filter) if bound.is_long}
        case _:
            return set()


class Conditions:
    """Writes filters in Qdrant's terms.

    Args:
        models: The module ``qdrant_client.models``.
        beyond: For every one of the `long_bounds` of the filters to come, the ids of those `alike` points for which it
            holds.
    """

    def __init__(self, models: Any, beyond: Mapping[Bound, Sequence[str]]) -> None:
        self._models = models
        self._beyond = beyond

    def of(self, filter: Filter) -> Any:
        """What selects the points for whose metadata `matches` is true, as a ``models.Filter``."""
        return self._all([self._condition(filter)])

    def alike(self, bound: Bound) -> Any:
        """What selects the points whose columns do not tell whether ``bound`` holds, as a ``models.Filter``."""
        columns = enumerate(_columns(bound.key))
        return self._all([self._equal(bound.path, number, value) for number, value in columns])

    def _condition(self, filter: Filter) -> Any:
        match filter:
            case And(parts):
                return self._all([self._condition(part) for part in parts])
            case Or(parts):
                return self._any([self._condition(part) for part in parts])
            case Not(part):
                return self._not(self._condition(part))
            case Eq(field, value):
                return self._has([equals_fact(field, value)])
            case Contains(field, value):
                return self._has([contains_fact(field, value)])
            case Exists(field):
                return self._has([exists_fact(field)])
            case In(field, values):
                return self._has(list(dict.fromkeys(equals_fact(field, value) for value in values)))
            case Range():
                return self._within(filter)

    def _within(self, within: Range) -> Any:
        bounds = list(_bounds(within))
        paths = {bound.path for bound, _ in bounds} or {_path(kind, within.field) for kind in "ns"}
        if bounds and len(paths) > 1:
            return self._never()
        conditions = [self._any([self._number(path, 0, gte=0) for path in sorted(paths)])]
        for bound, wanted in bounds:
            beyond = self._is_beyond(bound)
            conditions.append(beyond if wanted else self._not(beyond))
        return self._all(conditions)

    def _is_beyond(self, bound: Bound) -> Any:
        path, columns = bound.path, _columns(bound.key)[:_MOST_COLUMNS]
        last = len(columns) - 1
        if bound.is_long:
            condition = self._number(path, last, gt=columns[last])
            if ids := list(self._beyond[bound]):
                condition = self._any([condition, self._models.HasIdCondition(has_id=ids)])
        elif bound.or_equal:
            condition = self._number(path, last, gte=columns[last])
        else:
            # Of two that are equal so far, the one with more columns is the longer one.
            longer = self._all([self._equal(path, last, columns[last]), self._number(path, last + 1, gte=0)])
            condition = self._any([self._number(path, last, gt=columns[last]), longer])
        for number in reversed(range(last)):
            equal_so_far = self._all([self._equal(path, number, columns[number]), condition])
            condition = self._any([self._number(path, number, gt=columns[number]), equal_so_far])
        return condition

    def _equal(self, path: str, number: int, value: int) -> Any:
        return self._number(path, number, gte=value, lte=value)

    def _number(self, path: str, number: int, **limits: int) -> Any:
        return self._models.FieldCondition(key=f"{path}.c{number}", range=self._models.Range(**limits))

    def _has(self, facts: list[str]) -> Any:
        if not facts:
            return self._never()
        match = self._models.MatchValue(value=facts[0]) if len(facts) == 1 else self._models.MatchAny(any=facts)
        return self._models.FieldCondition(key=FACTS, match=match)

    def _all(self, conditions: list[Any]) -> Any:
        return self._models.Filter(must=conditions) if conditions else self._not(self._never())

    def _any(self, conditions: list[Any]) -> Any:
        return self._models.Filter(should=conditions) if conditions else self._never()

    def _not(self, condition: Any) -> Any:
        return self._models.Filter(must_not=[condition])

    def _never(self) -> Any:
        return self._has(["no fact is spelt like this"])


def _path(kind: str, field: str) -> str:
    return f"{SORT}.{kind}{in_hex(field)}"


def _bounds(within: Range) -> Iterator[tuple[Bound, bool]]:
    """The bounds of ``within``, and whether they must hold or must not."""
    for value, or_equal, wanted in (
        (within.gte, True, True),
        (within.gt, False, True),
        (within.lte, False, False),
        (within.lt, True, False),
    ):
        if value is not None:
            yield Bound(within.field, value, or_equal), wanted


def _columns(key: str) -> list[int]:
    """``key`` as whole numbers that are ordered as it is; one more than the most where it was cut."""
    parts = [key[start : start + _WIDTH] for start in range(0, len(key), _WIDTH)] or [""]
    columns = [
        sum(_DIGITS[character] * place for character, place in zip(part, _PLACES, strict=False))
        for part in parts[:_MOST_COLUMNS]
    ]
    return columns if len(parts) <= _MOST_COLUMNS else [*columns, 1]
