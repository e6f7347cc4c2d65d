"""What is true of a Document's metadata, as plain texts that any engine can store, index and compare.

Engines differ in what they make of JSON: large ints become floats, the item "1" of a list is taken for 1, texts are
compared by a locale. Two forms of text avoid all that:

- *facts*: a list of texts, one for each thing that Eq, In, Exists and Contains may ask;
- *sort keys*: a text for each number or text, that sorts by code point as the value does, for Range.

Field names and texts are written in hexadecimal, so there is no character in them that a caller chose.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from fastrag.store.filters import Scalar, flatten, is_number

_EXPONENT_BIAS = 1 << 31
# A long text need not be kept once more to be compared for equality: a hash does.
_MAX_KEY = 200
_COMPLEMENT = str.maketrans("0123456789abcdef", "fedcba9876543210")


def facts_of(metadata: Mapping[str, Any]) -> list[str]:
    """What is true of ``metadata``, as texts that a filter looks for."""
    facts = []
    for field, value in flatten(metadata).items():
        if value is None:
            continue
        facts.append(exists_fact(field))
        if isinstance(value, str | int | float):
            facts.append(equals_fact(field, value))
        elif isinstance(value, list):
            items = {contains_fact(field, item) for item in value if isinstance(item, str | int | float)}
            facts.extend(sorted(items))
    return facts


def sort_keys_of(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Field (in hexadecimal) -> sort key, for the numbers and texts of ``metadata``."""
    return {
        in_hex(field): sort_key(value)
        for field, value in flatten(metadata).items()
        if isinstance(value, str) or is_number(value)
    }


def exists_fact(field: str) -> str:
    """The fact that `Exists` asks for."""
    return f"{in_hex(field)}?"


def equals_fact(field: str, value: Scalar) -> str:
    """The fact that `Eq` asks for."""
    return f"{in_hex(field)}={bounded(sort_key(value), _MAX_KEY)}"


def contains_fact(field: str, value: Scalar) -> str:
    """The fact that `Contains` asks for."""
    return f"{in_hex(field)}[{bounded(sort_key(value), _MAX_KEY)}"


def in_hex(text: str) -> str:
    """UTF-8 in hexadecimal: 0-9 and a-f only, and the order of code points."""
    return text.encode().hex()


def bounded(text: str, most: int) -> str:
    """``text``, or a hash in its place where it has more than ``most`` characters: enough to tell equal ones.

    >>> bounded("6e?", 200), len(bounded("6e" * 200, 200))
    ('6e?', 65)
    """
    return text if len(text) <= most else f"#{hashlib.sha256(text.encode()).hexdigest()}"


def sort_key(value: Scalar) -> str:
    """A text that is equal, and sorts, as values of its kind do; ``b``, ``n`` or ``s`` first, for the kind."""
    if isinstance(value, bool):
        return f"b{value:d}"
    if isinstance(value, str):
        # UTF-8 sorts by code point, as Python does, and hexadecimal keeps that order.
        return f"s{in_hex(value)}"
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
