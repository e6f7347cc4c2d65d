"""Argument checks that several rooms share, so that the same mistake gets the same message."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

from fastrag.errors import ConfigurationError

_MOST_SHOWN = 200


def require_int(name: str, value: object, *, at_least: int, at_most: int | None = None) -> int:
    """Return ``value`` if it is an int within the limits.

    Raises:
        ConfigurationError: It is something else (a bool included).
    """
    most = math.inf if at_most is None else at_most
    if isinstance(value, bool) or not isinstance(value, int) or not at_least <= value <= most:
        limits = f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
        raise ConfigurationError(f"{name} must be a whole number {limits}, not {shown(value)}")
    return value


def require_positive_int(name: str, value: object) -> int:
    """Return ``value`` if it is an int of at least 1.

    Raises:
        ConfigurationError: It is something else (a bool included).
    """
    return require_int(name, value, at_least=1)


def require_number(
    name: str,
    value: object,
    *,
    above: float = -math.inf,
    below: float = math.inf,
    at_least: float | None = None,
    at_most: float | None = None,
) -> float:
    """Return ``value`` as a float if it is a real number (numpy's included), finite and within the limits.

    Args:
        name: What the message calls it.
        value: What was given.
        above: It has to be more.
        below: It has to be less.
        at_least: It may be as little; takes the place of ``above``.
        at_most: It may be as much; takes the place of ``below``.

    Raises:
        ConfigurationError: It is something else (a bool or a text included).
    """
    number = as_number(value)
    is_high_enough = number > above if at_least is None else number >= at_least
    is_low_enough = number < below if at_most is None else number <= at_most
    if not (math.isfinite(number) and is_high_enough and is_low_enough):
        if at_least is not None and at_most is not None:
            within = f" from {at_least:g} to {at_most:g}"
        else:
            limits = (("above", above), ("of at least", at_least), ("below", below), ("of at most", at_most))
            named = [f"{which} {end:g}" for which, end in limits if end is not None and math.isfinite(end)]
            within = f" {' and '.join(named)}" if named else ""
        raise ConfigurationError(f"{name} must be a finite number{within}, not {shown(value)}")
    return number


def as_number(value: object) -> float:
    """``value`` as a float: NaN where it is no real number (a bool, a text), infinite where no float is so large."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def require_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """Return ``value`` if it is one of ``choices``.

    Raises:
        ConfigurationError: It is something else.
    """
    if not isinstance(value, str) or value not in choices:
        raise ConfigurationError(f"{name} must be one of {', '.join(choices)}, not {shown(value)}")
    return value


def require_text(name: str, value: object) -> str:
    """Return ``value`` if it is a str with something in it besides white space.

    Raises:
        ConfigurationError: It is something else, or cannot be written as UTF-8.
    """
    if not isinstance(value, str) or not value.strip():
        raise ConfigurationError(f"{name} must be a text that is not empty, not {shown(value)}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ConfigurationError(
            f"{name} must be valid Unicode, and has a lone surrogate at character {error.start}"
        ) from error
    return value


def require_list(name: str, values: object, *, of: str) -> list[Any]:
    """Return what ``values`` has in it, as a list.

    Args:
        name: What the message calls it.
        values: What was given.
        of: What should be in it, for the message.

    Raises:
        ConfigurationError: It is nothing with an order of its own: no iterable, or a text, a mapping or a set.
    """
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping | set | frozenset):
        raise ConfigurationError(f"{name} must be a list of {of}, not {shown(values)}")
    return list(values)


def shown(value: object) -> str:
    """``repr(value)`` for a message: cut where it is long, its type where it has none."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a stranger's code; an int of very many digits has none, too
        return f"a {type(value).__name__}"
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
