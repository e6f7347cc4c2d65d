"""The checks of texts and prefixes that every embedder makes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fastrag._support.checks import require_text
from fastrag.errors import ConfigurationError


def require_texts(texts: Sequence[str], prefix: str = "") -> list[str]:
    """Return ``texts`` as a list, each with ``prefix`` put before it.

    Raises:
        ConfigurationError: It is no iterable or one str (which is a sequence of its characters), or an item is not a
            str or cannot be written as UTF-8 (a lone surrogate).
    """
    if isinstance(texts, str):
        raise ConfigurationError("texts must be a list of texts, not one text")
    if not isinstance(texts, Iterable):
        raise ConfigurationError(f"texts must be a list of texts, not {texts!r}")
    checked = list(texts)  # a generator could be gone through once only
    for position, text in enumerate(checked):
        if not isinstance(text, str):
            raise ConfigurationError(f"texts[{position}] must be a text, not {text!r}")
        _require_unicode(f"texts[{position}]", text)
    return [prefix + text for text in checked]


def require_question(text: str, prefix: str = "") -> str:
    """Return ``text`` with ``prefix`` put before it.

    Raises:
        ConfigurationError: It is not a str, is empty, or cannot be written as UTF-8.
    """
    _require_unicode("text", require_text("text", text))
    return prefix + text


def require_prefix(name: str, prefix: str) -> str:
    """Return ``prefix`` if it is a str, which may be empty.

    Raises:
        ConfigurationError: It is something else.
    """
    if not isinstance(prefix, str):
        raise ConfigurationError(f"{name} must be a text, not {prefix!r}")
    return prefix


def _require_unicode(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigurationError(
            f"{name} has a lone surrogate at character {error.start}, which no model can read: it was decoded with "
            "errors='surrogateescape'; use errors='replace'"
        ) from error
