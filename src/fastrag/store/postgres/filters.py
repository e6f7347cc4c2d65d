"""Metadata filters as PostgreSQL answers them: what is stored beside a Document, and the condition that asks for it.

Each row has its metadata in two more columns that are made for comparing (see `facts`): ``facts``, an array of texts
under a GIN index, and ``sortable``, a JSON object of sort keys by field. All that a caller chose is bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastrag.store.facts import (
    bounded,
    contains_fact,
    equals_fact,
    exists_fact,
    facts_of,
    in_hex,
    sort_key,
)
from fastrag.store.filters import And, Contains, Eq, Exists, Filter, In, Not, Or, Range

# A GIN index takes no item above some 2,700 bytes.
_MAX_FACT = 1000


def indexed_facts_of(metadata: Mapping[str, Any]) -> list[str]:
    """What is true of ``metadata``, as texts that fit a GIN index."""
    return [bounded(fact, _MAX_FACT) for fact in facts_of(metadata)]


class Condition:
    """A filter as SQL, that is true where `matches` is and never NULL, and the values it binds.

    Attributes:
        sql: Of the columns ``facts`` and ``sortable``; ``true`` for no filter.
        values: By name; each name starts with ``filter_``.

    Args:
        filter: None is satisfied by every row.
        past_index: Says it in words that no index of facts answers: the collation POSIX compares bytes, as C does,
            but is not that of the index.

    >>> condition = Condition(And([Eq("a", 1), Exists("b")]))
    >>> condition.sql, condition.values
    ('facts @> %(filter_0)s', {'filter_0': ['61=n280000000', '62?']})
    """

    def __init__(self, filter: Filter | None, *, past_index: bool = False) -> None:
        self.values: dict[str, Any] = {}
        self._facts = 'facts COLLATE "POSIX"' if past_index else "facts"
        self.sql = "true" if filter is None else self._of(filter)

    def _of(self, filter: Filter) -> str:
        match filter:
            case Not(part):
                return f"NOT ({self._of(part)})"
            case And(parts):
                return self._joined("AND", "@>", parts)
            case Or(parts):
                return self._joined("OR", "&&", parts)
            case In(field, values):
                return self._any_of(equals_fact(field, value) for value in values)
            case Range():
                return self._within(filter)
            case Eq() | Contains() | Exists():
                return f"{self._facts} @> {self._bound([_fact(filter)])}"

    def _joined(self, operator: str, of_facts: str, parts: Sequence[Filter]) -> str:
        """The parts that each ask for one fact are asked for at once, which is one look into the index."""
        facts = [_fact(part) for part in parts if isinstance(part, Eq | Contains | Exists)]
        conditions = [f"({self._of(part)})" for part in parts if not isinstance(part, Eq | Contains | Exists)]
        if facts:
            conditions.insert(0, f"{self._facts} {of_facts} {self._bound(facts)}")
        return f" {operator} ".join(conditions) or ("true" if operator == "AND" else "false")

    def _any_of(self, facts: Iterable[str]) -> str:
        asked = [bounded(fact, _MAX_FACT) for fact in dict.fromkeys(facts)]
        return f"{self._facts} && {self._bound(asked)}" if asked else "false"

    def _within(self, bounds: Range) -> str:
        limits = [
            (sign, bound)
            for sign, bound in ((">=", bounds.gte), (">", bounds.gt), ("<=", bounds.lte), ("<", bounds.lt))
            if bound is not None
        ]
        kinds = {sort_key(bound)[0] for _, bound in limits}
        if len(kinds) > 1:
            return "false"
        # A field that is not there has an empty key, which is below those of numbers, n..., and of texts, s....
        key = f"coalesce(sortable ->> {self._bound(in_hex(bounds.field))}::text, '') COLLATE \"C\""
        if not kinds:
            return f"{key} > ''"
        kind = kinds.pop()
        conditions = [f"{key} >= '{kind}'", f"{key} < '{chr(ord(kind) + 1)}'"]
        conditions += [f"{key} {sign} {self._bound(sort_key(bound))}::text" for sign, bound in limits]
        return " AND ".join(conditions)

    def _bound(self, value: Any) -> str:
        name = f"filter_{len(self.values)}"
        self.values[name] = value
        return f"%({name})s"


def _fact(condition: Eq | Contains | Exists) -> str:
    match condition:
        case Eq(field, value):
            return bounded(equals_fact(field, value), _MAX_FACT)
        case Contains(field, value):
            return bounded(contains_fact(field, value), _MAX_FACT)
        case Exists(field):
            return bounded(exists_fact(field), _MAX_FACT)
