"""Argument checks that several rooms share, so that the same mistake gets the same message."""

from __future__ import annotations

from fastrag.errors import ConfigurationError


def require_positive_int(name: str, value: object) -> int:
    """Return ``value`` if it is an int of at least 1.

    Raises:
        ConfigurationError: It is something else (a bool included).
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"{name} must be a whole number of at least 1, not {value!r}")
    return value


def require_text(name: str, value: object) -> str:
    """Return ``value`` if it is a str with something in it besides white space.

    Raises:
        ConfigurationError: It is something else, or cannot be written as UTF-8.
    """
    if not isinstance(value, str) or not value.strip():
        raise ConfigurationError(f"{name} must be a text that is not empty, not {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ConfigurationError(
            f"{name} must be valid Unicode, and has a lone surrogate at character {error.start}"
        ) from error
    return value
