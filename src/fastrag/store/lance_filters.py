"""Metadata filters as LanceDB answers them: what is stored beside a Document, and the SQL that asks for it.

LanceDB's own JSON functions are no basis for filters: they turn large ints into floats and cannot tell the
item "1" of a list from 1. So each row has its metadata in two more columns that are made for comparing:

- ``facts``: a list of texts, one for each thing that Eq, In, Exists and Contains may ask;
- ``sortable``: one text of ``|field=key`` parts, from which Range takes a field's key.

A key is a text that sorts as its value does. Field names and texts are written in hexadecimal, so the SQL
made here has no character in it that a caller chose.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastrag.store.filters import (
    And,
    Contains,
    Eq,
    Exists,
    Filter,
    In,
    Not,
    Or,
    Range,
    Scalar,
    flatten,
    is_number,
)

_EXPONENT_BIAS = 1 << 31
_MAX_FACT = 200
_COMPLEMENT = str.maketrans("0123456789abcdef", "fedcba9876543210")


def facts_of(metadata: Mapping[str, Any]) -> list[str]:
    """What is true of ``metadata``, as texts that `sql_of` looks for."""
    facts = []
    for field, value in flatten(metadata).items():
        if value is None:
            continue
        facts.append(_exists(field))
        if isinstance(value, str | int | float):
            facts.append(_equals(field, value))
        elif isinstance(value, list):
            items = {_contains(field, item) for item in value if isinstance(item, str | int | float)}
            facts.extend(sorted(items))
    return facts


def sortable_of(metadata: Mapping[str, Any]) -> str:
    """The numbers and texts of ``metadata`` by field, each as its key."""
    parts = [
        f"{_hex(field)}={_key(value)}"
        for field, value in flatten(metadata).items()
        if isinstance(value, str) or is_number(value)
    ]
    return f"|{'|'.join(parts)}|"


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
            condition = _has(_equals(field, value))
        case Contains(field, value):
            condition = _has(_contains(field, value))
        case Exists(field):
            condition = _has(_exists(field))
        case In(field, values):
            condition = _has_any(_equals(field, value) for value in values)
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
    key = f"split_part(split_part(sortable, '|{_hex(bounds.field)}=', 2), '|', 1)"
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
    conditions += [f"{key} {sign} '{_key(bound)}'" for bound, sign in limits]
    return f"({' AND '.join(conditions)})"


def _exists(field: str) -> str:
    return f"{_hex(field)}?"


def _equals(field: str, value: Scalar) -> str:
    return f"{_hex(field)}={_short(_key(value))}"


def _contains(field: str, value: Scalar) -> str:
    return f"{_hex(field)}[{_short(_key(value))}"


def _hex(text: str) -> str:
    return text.encode().hex()


def _short(key: str) -> str:
    # Long texts need not be kept once more to be compared for equality.
    return key if len(key) <= _MAX_FACT else f"#{hashlib.sha256(key.encode()).hexdigest()}"


def _key(value: Scalar) -> str:
    if isinstance(value, bool):
        return f"b{value:d}"
    if isinstance(value, str):
        # UTF-8 sorts by code point, as Python does, and hexadecimal keeps that order.
        return f"s{_hex(value)}"
    return f"n{_number_key(value)}"


def _number_key(value: float) -> str:
    """A text for a number: equal for equal numbers, int or float, and sorting as they do, exactly.

    It is the sign, the power of two below the number, and the binary digits after the leading one.
    """
    numerator, denominator = value.as_integer_ratio()
    if numerator == 0:
        return "1"
    digits = abs(numerator).bit_length() - 1
    exponent = digits - (denominator.bit_length() - 1)
    fraction = abs(numerator) - (1 << digits)
    width = -(-digits // 4)
    shown = f"{fraction << (4 * width - digits):0{width}x}".rstrip("0") if fraction else ""
    magnitude = f"{exponent + _EXPONENT_BIAS:08x}{shown}"
    if numerator > 0:
        return f"2{magnitude}"
    # Below zero the larger magnitude comes first; the last letter puts a number before those it is a start
    # of.
    return f"0{magnitude.translate(_COMPLEMENT)}g"
