"""Texts and questions as the words that PostgreSQL ranks by."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fastrag._support.extras import import_extra
from fastrag.store.bm25 import word_analyzer

# A tsvector, into which every text is taken apart, has at most 1 MB of words and their places.
_MAX_BYTES = 1_000_000
_MAX_PLACES = 255
_CERTAINLY_SHORT = 60_000
_MAX_ASKED = 1000


class WordTexts:
    """Makes plain texts of words, one space between two, that PostgreSQL's ``simple`` configuration only splits again.

    Words are those of `word_analyzer`: the same in every store, with no query syntax in them.

    Args:
        language: The stemmer's language, as `language_name` gives it; None for no stemming.

    Raises:
        MissingDependencyError: tantivy is not installed.
    """

    def __init__(self, language: str | None) -> None:
        self._tantivy = import_extra("tantivy", extra="postgres", purpose="the PostgreSQL store")
        self._language = language

    def of_text(self, text: str) -> str:
        """The words of ``text``; of a very long one those at its beginning, as many as PostgreSQL can index."""
        words = self._words(text)
        # Every word has a character and its place.
        return " ".join(words if len(text) < _CERTAINLY_SHORT else words[: _indexable(words)])

    def of_query(self, text: str) -> str:
        """The words of a question; the first 1,000 different ones of a very long one. Empty where there is none."""
        words = self._words(text)
        if len(words) > _MAX_ASKED:
            asked = set(list(dict.fromkeys(words))[:_MAX_ASKED])
            words = [word for word in words if word in asked]
        return " ".join(words)

    def _words(self, text: str) -> list[str]:
        analyzer: Any = word_analyzer(self._tantivy, self._language)
        return [word for word in analyzer.analyze(text) if word]


def _indexable(words: list[str]) -> int:
    """How many of ``words``, from the first on, fit a tsvector."""
    seen: Counter[str] = Counter()
    size = 0
    for position, word in enumerate(words):
        if not seen[word]:
            # The word, evened, and how many places follow.
            size += len(word.encode()) + 3
        if seen[word] < _MAX_PLACES:
            size += 2
        if size > _MAX_BYTES:
            return position
        seen[word] += 1
    return len(words)
