"""Metadata by field, so that a filter over many Documents is a few operations on arrays."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastrag.document import Document
from fastrag.store.filters import And, Contains, Eq, Exists, Filter, In, Not, Or, Range, Scalar, is_number, lookup

_MAX_COLUMNS = 64

Mask = NDArray[np.bool_]


class Columns:
    """Answers filters over a list of Documents that only ever grows; safe for threads.

    A field is read from the Documents when a filter first names it, and kept; of many fields the ones used last.

    Args:
        documents: The list, which its owner extends.

    >>> documents = [Document("a", "", metadata={"n": 1}), Document("b", "", metadata={"n": 2})]
    >>> Columns(documents).matching(Range("n", gt=1), 2)
    array([False,  True])
    """

    def __init__(self, documents: list[Document]) -> None:
        self._documents = documents
        self._columns: dict[str, _Column] = {}
        self._lock = threading.Lock()

    def matching(self, filter: Filter, rows: int) -> Mask:
        """For each of the first ``rows`` Documents, whether `matches` holds for its metadata."""
        match filter:
            case And(parts):
                every = np.ones(rows, dtype=np.bool_)
                for part in parts:
                    every &= self.matching(part, rows)
                return every
            case Or(parts):
                some = np.zeros(rows, dtype=np.bool_)
                for part in parts:
                    some |= self.matching(part, rows)
                return some
            case Not(part):
                return ~self.matching(part, rows)
            case _:
                with self._lock:
                    return self._column(filter.field, rows).matching(filter, rows)

    def _column(self, field: str, rows: int) -> _Column:
        column = self._columns.pop(field, None) or _Column()
        column.extend(lookup(document.metadata, field) for document in self._documents[column.rows : rows])
        self._columns[field] = column
        if len(self._columns) > _MAX_COLUMNS:
            del self._columns[next(iter(self._columns))]
        return column


class _Column:
    """One field: the number of its value for each row, and what is known of each distinct value.

    Number 0 stands for no value.
    """

    def __init__(self) -> None:
        self.rows = 0
        self._numbers = np.zeros(0, dtype=np.int32)
        self._number_of: dict[Hashable, int] = {None: 0}
        self._containing: dict[Hashable, list[int]] = {}
        self._new_in_order: dict[str, list[tuple[Any, int]]] = {"n": [], "s": []}
        self._in_order: dict[str, tuple[list[Any], NDArray[np.intp]]] = {
            kind: ([], np.zeros(0, dtype=np.intp)) for kind in self._new_in_order
        }

    def extend(self, values: Iterable[Any]) -> None:
        """Take in the values of the rows that come next."""
        numbers = [self._number(value) for value in values]
        rows = self.rows + len(numbers)
        if rows > len(self._numbers):
            room = np.zeros(max(rows, 2 * len(self._numbers)), dtype=np.int32)
            room[: self.rows] = self._numbers[: self.rows]
            self._numbers = room
        self._numbers[self.rows : rows] = numbers
        self.rows = rows

    def matching(self, filter: Eq | In | Range | Exists | Contains, rows: int) -> Mask:
        """For each of the first ``rows`` rows, whether ``filter`` holds."""
        numbers = self._numbers[:rows]
        match filter:
            case Eq(_, value):
                return np.asarray(numbers == self._number_of.get(_key(value), -1))
            case Exists():
                return np.asarray(numbers != 0)
            case In(_, values):
                return self._among(numbers, [self._number_of.get(_key(value), -1) for value in values])
            case Contains(_, value):
                return self._among(numbers, self._containing.get(_key(value), []))
            case Range():
                return self._among(numbers, self._within(filter))

    def _number(self, value: Any) -> int:
        key = _key(value)
        number = self._number_of.get(key)
        if number is None:
            number = self._number_of[key] = len(self._number_of)
            if isinstance(value, list):
                for item in set(key[1]):
                    self._containing.setdefault(item, []).append(number)
            elif isinstance(value, str) or is_number(value):
                self._new_in_order[key[0]].append((value, number))
        return number

    def _among(self, numbers: NDArray[np.int32], wanted: Sequence[int] | NDArray[np.intp]) -> Mask:
        # One place more at the end, which is that of -1: no value.
        is_wanted = np.zeros(len(self._number_of) + 1, dtype=np.bool_)
        is_wanted[wanted] = True
        is_wanted[-1] = False
        return np.asarray(is_wanted[numbers])

    def _within(self, bounds: Range) -> NDArray[np.intp]:
        limits = (bounds.gte, bounds.gt, bounds.lte, bounds.lt)
        kinds = {"s" if isinstance(limit, str) else "n" for limit in limits if limit is not None}
        if len(kinds) > 1:
            return np.zeros(0, dtype=np.intp)
        return np.concatenate([self._slice(kind, bounds) for kind in kinds or ("n", "s")])

    def _slice(self, kind: str, bounds: Range) -> NDArray[np.intp]:
        values, numbers = self._in_order[kind]
        if new := self._new_in_order[kind]:
            # Nearly sorted, which sorts in little time.
            pairs = sorted([*zip(values, numbers.tolist(), strict=True), *sorted(new)])
            values, numbers = [value for value, _ in pairs], np.array([number for _, number in pairs], dtype=np.intp)
            self._in_order[kind] = values, numbers
            new.clear()
        start, stop = 0, len(values)
        if bounds.gte is not None:
            start = max(start, bisect_left(values, bounds.gte))
        if bounds.gt is not None:
            start = max(start, bisect_right(values, bounds.gt))
        if bounds.lte is not None:
            stop = min(stop, bisect_right(values, bounds.lte))
        if bounds.lt is not None:
            stop = min(stop, bisect_left(values, bounds.lt))
        return numbers[start : max(start, stop)]


def _key(value: Any) -> Any:
    """Equal for values that are equal to a filter, and for no others; None for no value."""
    if value is None:
        return None
    if isinstance(value, list):
        return "l", tuple(_key(item) for item in value if isinstance(item, Scalar))
    if isinstance(value, dict):
        return "d"
    # True is 1 to Python, and not to filters.
    return "b" if isinstance(value, bool) else "s" if isinstance(value, str) else "n", value
