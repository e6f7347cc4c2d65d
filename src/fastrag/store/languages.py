"""The languages whose words the lexical indexes can reduce to their stems."""

from __future__ import annotations

from fastrag.errors import ConfigurationError

_NAMES = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}


def language_name(language: str | None) -> str | None:
    """The English name, in small letters, of a language given by its ISO 639-1 code or by that name.

    None, which means no stemming, stays None.

    Raises:
        ConfigurationError: There is no stemmer for it.

    >>> language_name("en"), language_name("German"), language_name(None)
    ('english', 'german', None)
    """
    if language is None:
        return None
    name = language.lower() if isinstance(language, str) else ""
    name = _NAMES.get(name, name)
    if name not in _NAMES.values():
        raise ConfigurationError(
            f"language must be None (no stemming) or one of {', '.join(_NAMES)} (or its English name), not {language!r}"
        )
    return name
