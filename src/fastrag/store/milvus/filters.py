"""Metadata filters as Milvus answers them: what is stored beside a Document, and the expressions that ask for it.

Two things are stored, both made of texts that `facts` makes:

- ``facts``, an array: one text for each thing that Eq, In, Exists and Contains may ask;
- *keys*, in Milvus' own JSON of further fields: for each field its sort key, in a field named ``k`` and the name in
  hexadecimal, for Range. Of a long sort key only the beginning is there, and a hash that tells it from others.

A milvus-lite file has no array of facts, since the engine would look through it row by row: there every condition is
one on the keys. For that, the keys of lists and mappings are there too, and what is in a list is in a field named
``c`` and the name.

A key may have a column of its own, which is indexed, and holds an empty text where there is no key.

There is no character in an expression that a caller chose.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from fastrag.store.facts import bounded, contains_fact, equals_fact, exists_fact, facts_of, in_hex, sort_key
from fastrag.store.filters import And, Contains, Eq, Exists, Filter, In, Not, Or, Range, Scalar, flatten

EVERYTHING = 'id != ""'
NOTHING = 'id == ""'

MAX_KEY = 200
"""How many characters a key has at the most."""

_COMPARED = 128  # characters of a sort key that are kept
_MAX_NAME = 200
_MAX_FACT = 400
# After every character that may follow the beginning of a cut key, which is '#'.
_LAST = "~"


def bounded_facts_of(metadata: Mapping[str, Any]) -> list[str]:
    """The facts of ``metadata``, of bounded length."""
    return [bounded(fact, _MAX_FACT) for fact in facts_of(metadata)]


def keys_of(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Name -> sort key, for the numbers, texts and bools of ``metadata``; a letter for its lists and mappings.

    >>> keys_of({"a": "", "b": True, "c": [], "d": None})
    {'k61': 's', 'k62': 'b1', 'k63': 'l'}
    """
    return {key_name(field): _kept(value) for field, value in flatten(metadata).items() if value is not None}


def items_of(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Name -> the sort keys of its items between bars, for the lists of ``metadata``.

    >>> items_of({"a": ["", True, "", []]})
    {'c61': '|b1|s|'}
    """
    items = {}
    for field, value in flatten(metadata).items():
        if isinstance(value, list):
            kept = sorted({_kept(item) for item in value if isinstance(item, str | int | float)})
            items[_items_name(field)] = f"|{'|'.join(kept)}|"
    return items


def key_name(field: str) -> str:
    """What the key of a metadata field is named."""
    return f"k{_name(field)}"


def is_key(name: str) -> bool:
    """Whether that is the name of a key, and of no other field.

    >>> is_key(key_name("facts")), is_key("facts"), is_key("k")
    (True, False, False)
    """
    return name.startswith("k") and len(name) > 1


def long_ranges(filter: Filter) -> set[Range]:
    """The conditions in ``filter`` that the kept beginnings of sort keys may leave open."""
    match filter:
        case And(parts) | Or(parts):
            return {condition for part in parts for condition in long_ranges(part)}
        case Not(part):
            return long_ranges(part)
        case Range():
            return {filter} if any(len(sort_key(bound)) > _COMPARED for bound in _bounds(filter)) else set()
        case _:
            return set()


def left_open(condition: Range) -> str:
    """What selects the Documents for which one of the `long_ranges` is left open."""
    name = key_name(condition.field)
    starts = [key[:_COMPARED] for key in map(sort_key, _bounds(condition)) if len(key) > _COMPARED]
    return _joined("or", [f'({name} > "{start}" and {name} < "{start}{_LAST}")' for start in starts])


def has_key(keys: Iterable[str]) -> str:
    """What selects the rows with these primary keys."""
    return f"id in [{', '.join(_quoted(keys))}]"


class Expressions(ABC):
    """Writes filters in Milvus' language, so that they are true where `matches` is.

    Args:
        columns: Names of keys that have a column of their own.
        settled: For every one of the `long_ranges` of the filters to come, the primary keys of those `left_open`
            Documents for which it holds.
    """

    def __init__(self, columns: Collection[str] = (), settled: Mapping[Range, Sequence[str]] | None = None) -> None:
        self._columns = columns
        self._settled = settled or {}

    def of(self, filter: Filter) -> str:
        """The expression for ``filter``."""
        return self._of(filter, negated=False)

    def _of(self, filter: Filter, *, negated: bool) -> str:
        # Not is moved down to the conditions, which know what to make of a field that is not there.
        match filter:
            case Not(part):
                return self._of(part, negated=not negated)
            case And(parts):
                return _joined("or" if negated else "and", [self._of(part, negated=negated) for part in parts])
            case Or():
                return _joined("and" if negated else "or", self._alternatives(filter, negated=negated))
            case Range():
                return self._within(filter, negated=negated)
            case Contains():
                return self._contains(filter, negated=negated)
            case Eq(field) | In(field) | Exists(field) if key_name(field) in self._columns:
                return self._column(filter, negated=negated)
            case _:
                return self._condition(filter, negated=negated)

    def _alternatives(self, filter: Or, *, negated: bool) -> list[str]:
        return [self._of(part, negated=negated) for part in filter.filters]

    @abstractmethod
    def _condition(self, filter: Eq | In | Exists, *, negated: bool) -> str: ...

    @abstractmethod
    def _contains(self, filter: Contains, *, negated: bool) -> str: ...

    @abstractmethod
    def _without_key(self, name: str) -> str: ...

    def _missing(self, name: str) -> str:
        """True where there is no key of that name."""
        return f'{name} == ""' if name in self._columns else self._without_key(name)

    def _column(self, filter: Eq | In | Exists, *, negated: bool) -> str:
        name = key_name(filter.field)
        match filter:
            case Exists():
                return f'{name} {"==" if negated else "!="} ""'
            case Eq(_, value):
                return f'{name} {"!=" if negated else "=="} "{_kept(value)}"'
            case In(_, values):
                return _listed(name, values, negated=negated)

    def _within(self, condition: Range, *, negated: bool) -> str:
        name = key_name(condition.field)
        kinds = {sort_key(bound)[0] for bound in _bounds(condition)} or {"n", "s"}
        if len(kinds) > 1 and _bounds(condition):
            return EVERYTHING if negated else NOTHING
        signed = ((">=", condition.gte), (">", condition.gt), ("<=", condition.lte), ("<", condition.lt))
        # Before all keys of the kind, and after all: the letter for the kind comes first.
        limits = [f'>= "{min(kinds)}"', f'< "{chr(ord(max(kinds)) + 1)}"']
        limits += [_limit(bound, sign) for sign, bound in signed if bound is not None]
        settled = self._settled.get(condition, ())
        if not negated:
            inside = _joined("and", [f"{name} {limit}" for limit in limits])
            return _joined("or", [inside, has_key(settled)]) if settled else inside
        # Never "not (...)": engines differ in what they make of it where there is no key.
        outside = _joined("or", [self._missing(name), *(f"{name} {_opposite(limit)}" for limit in limits)])
        return _joined("and", [outside, f"(not ({has_key(settled)}))"]) if settled else outside


class ArrayExpressions(Expressions):
    """For servers: the array of facts, and keys for Range."""

    def _condition(self, filter: Eq | In | Exists, *, negated: bool) -> str:
        return self._has(_facts(filter), negated=negated)

    def _contains(self, filter: Contains, *, negated: bool) -> str:
        return self._has(_facts(filter), negated=negated)

    def _alternatives(self, filter: Or, *, negated: bool) -> list[str]:
        # Many conditions in one: a server takes seconds to parse some hundred.
        together = [part for part in filter.filters if self._asks_facts(part)]
        facts = [fact for part in together for fact in _facts(part)]
        others = [self._of(part, negated=negated) for part in filter.filters if not self._asks_facts(part)]
        return [*([self._has(facts, negated=negated)] if together else []), *others]

    def _asks_facts(self, filter: Filter) -> bool:
        if isinstance(filter, And | Or | Not | Range):
            return False
        return isinstance(filter, Contains) or key_name(filter.field) not in self._columns

    def _has(self, facts: Sequence[str], *, negated: bool) -> str:
        asked = _quoted(dict.fromkeys(facts))
        if not asked:
            return EVERYTHING if negated else NOTHING
        has = f"array_contains_any(facts, [{', '.join(asked)}])"
        if len(asked) == 1:
            has = f"array_contains(facts, {asked[0]})"
        return f"(not {has})" if negated else has

    def _without_key(self, name: str) -> str:
        return f"(not (exists {name}))"


class KeyExpressions(Expressions):
    """For milvus-lite: keys for everything."""

    def _condition(self, filter: Eq | In | Exists, *, negated: bool) -> str:
        name = key_name(filter.field)
        match filter:
            case Exists():
                return f"{name} is {'null' if negated else 'not null'}"
            case Eq(_, value):
                condition = f'{name} {"!=" if negated else "=="} "{_kept(value)}"'
            case In(_, values):
                condition = _listed(name, values, negated=negated)
        return _joined("or", [self._without_key(name), condition]) if negated else condition

    def _contains(self, filter: Contains, *, negated: bool) -> str:
        name = _items_name(filter.field)
        has = f'{name} like "%|{_kept(filter.value)}|%"'
        return _joined("or", [self._without_key(name), f"(not ({has}))"]) if negated else has

    def _without_key(self, name: str) -> str:
        return f"{name} is null"


_OPPOSITES = {">=": "<", ">": "<=", "<=": ">", "<": ">="}


def _facts(filter: Any) -> list[str]:
    """The facts of which one has to be there."""
    match filter:
        case Eq(field, value):
            facts = [equals_fact(field, value)]
        case In(field, values):
            facts = [equals_fact(field, value) for value in values]
        case Contains(field, value):
            facts = [contains_fact(field, value)]
        case _:
            facts = [exists_fact(filter.field)]
    return [bounded(fact, _MAX_FACT) for fact in facts]


def _bounds(condition: Range) -> list[float | str]:
    return [bound for bound in (condition.gte, condition.gt, condition.lte, condition.lt) if bound is not None]


def _limit(bound: Scalar, sign: str) -> str:
    """How a kept key compares with ``bound``; not where it is `left_open`."""
    key = sort_key(bound)
    if len(key) <= _COMPARED:
        return f'{sign} "{key}"'
    start = key[:_COMPARED]
    return f'> "{start}{_LAST}"' if sign in (">=", ">") else f'<= "{start}"'


def _opposite(limit: str) -> str:
    sign, _, operand = limit.partition(" ")
    return f"{_OPPOSITES[sign]} {operand}"


def _kept(value: Any) -> str:
    if isinstance(value, str | int | float):
        key = sort_key(value)
        return key if len(key) <= _COMPARED else f"{key[:_COMPARED]}#{_hash(key)}"
    # Both come before the letters of numbers and texts, so that no Range has them.
    return "l" if isinstance(value, list) else "d"


def _listed(name: str, values: Sequence[Scalar], *, negated: bool) -> str:
    asked = _quoted(dict.fromkeys(map(_kept, values)))
    if not asked:
        return EVERYTHING if negated else NOTHING
    return f"{name} {'not in' if negated else 'in'} [{', '.join(asked)}]"


def _joined(operator: str, parts: Sequence[str]) -> str:
    """``parts`` joined in a tree of little depth: a long chain takes parsers a time that grows with its square."""
    if not parts:
        return EVERYTHING if operator == "and" else NOTHING
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return f"({_joined(operator, parts[:half])} {operator} {_joined(operator, parts[half:])})"


def _quoted(texts: Iterable[str]) -> list[str]:
    return [f'"{text}"' for text in texts]


def _items_name(field: str) -> str:
    return f"c{_name(field)}"


def _name(field: str) -> str:
    name = in_hex(field)
    # No hexadecimal text begins with an underscore.
    return name if len(name) <= _MAX_NAME else f"_{_hash(name)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
