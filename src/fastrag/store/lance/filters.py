"""Metadata filters as LanceDB answers them: what is stored beside a Document, and the SQL that asks for it.

Each row has its metadata in two more columns that are made for comparing (see `facts`): ``facts``, and ``sortable``,
one text of ``|field=sort key`` parts. The SQL made here has no character in it that a caller chose.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastrag.store.facts import contains_fact, equals_fact, exists_fact, in_hex, sort_key, sort_keys_of
from fastrag.store.filters import And, Contains, Eq, Exists, Filter, In, Not, Or, Range


def sortable_of(metadata: Mapping[str, Any]) -> str:
    """The sort keys of ``metadata``'s numbers and texts, by field."""
    return f"|{'|'.join(f'{field}={key}' for field, key in sort_keys_of(metadata).items())}|"


def sql_of(filter: Filter) -> str:
    """A condition on the columns ``facts`` and ``sortable`` that is true where `matches` is, and never NULL.

    >>> sql_of(Not(And([Exists("a"), Not(Exists("b"))])))
    "NOT array_has(facts, '61?') OR array_has(facts, '62?')"
    """
    return _sql(filter, negated=False)[1]


def _sql(filter: Filter, *, negated: bool) -> tuple[str, str]:
    # Not is moved down to the conditions, and And in And needs no brackets: SQL parsers limit how deep those
    # nest.
    match filter:
        case Not(part):
            return _sql(part, negated=not negated)
        case And(parts):
            return _joined("OR" if negated else "AND", parts, negated=negated)
        case Or(parts):
            return _joined("AND" if negated else "OR", parts, negated=negated)
        case Eq(field, value):
            condition = _has(equals_fact(field, value))
        case Contains(field, value):
            condition = _has(contains_fact(field, value))
        case Exists(field):
            condition = _has(exists_fact(field))
        case In(field, values):
            condition = _has_any(equals_fact(field, value) for value in values)
        case Range():
            condition = _within(filter)
    return "", f"NOT {condition}" if negated else condition


def _joined(operator: str, parts: Sequence[Filter], *, negated: bool) -> tuple[str, str]:
    if not parts:
        return "", "true" if operator == "AND" else "false"
    if len(parts) == 1:
        return _sql(parts[0], negated=negated)
    conditions = []
    for part in parts:
        inner, condition = _sql(part, negated=negated)
        conditions.append(condition if inner in ("", operator) else f"({condition})")
    return operator, f" {operator} ".join(conditions)


def _has(fact: str) -> str:
    return f"array_has(facts, '{fact}')"


def _has_any(facts: Iterable[str]) -> str:
    asked = ", ".join(f"'{fact}'" for fact in dict.fromkeys(facts))
    return f"array_has_any(facts, make_array({asked}))" if asked else "false"


def _within(bounds: Range) -> str:
    # The key of a field that is not there is an empty text, which starts with neither kind's letter.
    key = f"split_part(split_part(sortable, '|{in_hex(bounds.field)}=', 2), '|', 1)"
    limits = [
        (bound, sign)
        for bound, sign in ((bounds.gte, ">="), (bounds.gt, ">"), (bounds.lte, "<="), (bounds.lt, "<"))
        if bound is not None
    ]
    kinds = {"s" if isinstance(bound, str) else "n" for bound, _ in limits}
    if len(kinds) > 1:
        return "false"
    if not kinds:
        return f"(starts_with({key}, 'n') OR starts_with({key}, 's'))"
    conditions = [f"starts_with({key}, '{kinds.pop()}')"]
    conditions += [f"{key} {sign} '{sort_key(bound)}'" for bound, sign in limits]
    return f"({' AND '.join(conditions)})"
