"""Texts as sparse vectors whose inner products are BM25, for engines that know nothing of words."""

from __future__ import annotations

import hashlib
from collections import Counter

from fastrag._support.extras import import_extra
from fastrag.store.bm25 import word_analyzer

_K1 = 1.2
_B = 0.75
_AVERAGE_WORDS = 256


class WordVectors:
    """Makes the two halves of BM25: of a text, how much each of its words weighs in it; of a question, its words.

    The engine multiplies both with the inverse document frequency, of which it alone knows. The formula is that of
    Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009), with k1 = 1.2 and b = 0.75;
    but for the average length of all texts, which changes with every write, it takes 256 words.

    Words are those of `word_analyzer`. A word's place is a hash of 32 bits: in a million words some hundred pairs
    share one.

    Args:
        language: The stemmer's language, as `language_name` gives it; None for no stemming.
        extra: Named where tantivy, which takes texts apart, is not installed.

    Raises:
        MissingDependencyError: tantivy is not installed.

    >>> vectors = WordVectors("english", extra="qdrant")
    >>> places, weights = vectors.of_text("cats and the Cat")
    >>> [round(weight, 2) for weight in weights]
    [1.9, 1.67, 1.67]
    >>> vectors.of_query("a cat")[0][1] == places[0]
    True
    """

    def __init__(self, language: str | None, *, extra: str) -> None:
        self._tantivy = import_extra("tantivy", extra=extra, purpose="lexical search")
        self._language = language

    def of_text(self, text: str) -> tuple[list[int], list[float]]:
        """Places, and the weight of each; both empty for a text without words."""
        counts = self._counted(text)
        damping = _K1 * (1 - _B + _B * sum(counts.values()) / _AVERAGE_WORDS)
        return list(counts), [count * (_K1 + 1) / (count + damping) for count in counts.values()]

    def of_query(self, text: str) -> tuple[list[int], list[float]]:
        """Places, and how often each is asked for; both empty for a text without words."""
        counts = self._counted(text)
        return list(counts), [float(count) for count in counts.values()]

    def _counted(self, text: str) -> Counter[int]:
        words = Counter(word_analyzer(self._tantivy, self._language).analyze(text))
        counts: Counter[int] = Counter()
        for word, count in words.items():
            counts[_place(word)] += count
        return counts


def _place(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest())
