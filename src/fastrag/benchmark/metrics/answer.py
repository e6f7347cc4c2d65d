"""Answer metrics that need no model: the answer's words against the reference's.

Both texts are first normalised as SQuAD's evaluation does (Rajpurkar et al. 2016): lower case, ASCII punctuation
deleted, the words "a", "an" and "the" left out, runs of white space made one blank. Nothing else is: no stemming,
no Unicode folding, and text without blanks between words (Chinese, Thai) is one word.
"""

from __future__ import annotations

import re
import string
from abc import abstractmethod
from collections import Counter

from fastrag.benchmark.metrics.base import QueryOutcome
from fastrag.benchmark.metrics.computed import ComputedMetric
from fastrag.benchmark.samples import EvalSample

_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def normalize_answer(text: str) -> str:
    """``text`` as SQuAD's evaluation compares it.

    >>> normalize_answer("The  Eiffel-Tower, in Paris!")
    'eiffeltower in paris'
    """
    words = _ARTICLE.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION))
    return " ".join(words.split())


class _ReferenceMetric(ComputedMetric):
    """A metric of how close the answer comes to the reference answer; None where there is no reference."""

    needs_answer = True
    needs_reference_answer = True

    def compute(self, sample: EvalSample, outcome: QueryOutcome) -> float | None:
        """The score of ``outcome.answer``; None where the sample has no reference answer."""
        if sample.reference_answer is None:
            return None
        return self._closeness(normalize_answer(outcome.answer), normalize_answer(sample.reference_answer))

    def missing_reason(self, sample: EvalSample, outcome: QueryOutcome) -> str:
        """Why the score is None."""
        return "no reference_answer"

    @abstractmethod
    def _closeness(self, answer: str, reference: str) -> float:
        """The score of one normalised text against another."""


class ExactMatch(_ReferenceMetric):
    """``exact_match``: 1.0 if answer and reference are the same once normalised, else 0.0.

    >>> sample = EvalSample("Where?", reference_answer="in Paris")
    >>> ExactMatch().compute(sample, QueryOutcome("In Paris.", [], 1.0))
    1.0
    """

    name = "exact_match"

    def _closeness(self, answer: str, reference: str) -> float:
        return float(answer == reference)


class TokenF1(_ReferenceMetric):
    """``token_f1``: the harmonic mean of the shares of shared words in the answer and in the reference.

    A word counts as often as it stands in both. Where either text has no words left, the score is 1.0 if neither
    has, else 0.0 (SQuAD 2.0).

    >>> sample = EvalSample("Where?", reference_answer="in the city of Paris")
    >>> TokenF1().compute(sample, QueryOutcome("Paris city", [], 1.0))
    0.6666666666666666
    """

    name = "token_f1"

    def _closeness(self, answer: str, reference: str) -> float:
        answer_words, reference_words = answer.split(), reference.split()
        if not answer_words or not reference_words:
            return float(answer_words == reference_words)
        shared = (Counter(answer_words) & Counter(reference_words)).total()
        return 2 * shared / (len(answer_words) + len(reference_words))
