"""Does the answer say what the reference answer says?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from fastrag._support.concurrency import run_together
from fastrag.benchmark.estimate import Assumptions, Between
from fastrag.benchmark.judging.judge import Asking, Judge
from fastrag.benchmark.judging.opinions import JudgedClaim, Opinion
from fastrag.benchmark.metrics.base import QueryOutcome
from fastrag.benchmark.metrics.judged.claim_calls import calls_of_extracting
from fastrag.benchmark.metrics.judged.claim_metric import (
    NO_CLAIMS,
    NO_REFERENCE_CLAIMS,
    ClaimMetric,
    notes,
    reference_characters,
)
from fastrag.benchmark.metrics.judged.claims import check_claims, extract_claims, share
from fastrag.benchmark.samples import EvalSample
from fastrag.errors import ConfigurationError
from fastrag.llm import LLM

Part = Literal["f1", "precision", "recall"]

_NAMES: Mapping[str, str] = {
    "f1": "answer_correctness",
    "precision": "answer_correctness_precision",
    "recall": "answer_correctness_recall",
}
_ANSWERS = {"supported": "correct", "contradicted": "contradicted", "not_found": "not_in_reference"}
_REFERENCES = {"supported": "covered", "contradicted": "denied", "not_found": "missing"}


class AnswerCorrectness(ClaimMetric):
    """``answer_correctness``: how far the answer's claims and the reference answer's are the same.

        precision = claims of the answer that the reference supports / claims of the answer
        recall    = claims of the reference that the answer supports / claims of the reference
        F1        = 2 * precision * recall / (precision + recall), and 0 where recall is 0

    after RAGChecker's overall metrics (Ru et al. 2024, arXiv:2408.08067). Precision is strict: a true statement
    that the reference does not make counts against it, so references want to be full. Prompts are those of
    `Faithfulness`, with the other text as the only source; the three parts ask the same calls, so that a cache pays
    for them once. In ``Opinion.claims`` a claim of the answer is *correct*, *contradicted* (by the reference) or
    *not_in_reference*; one of the reference is *covered*, *denied* (by the answer) or *missing*.

    An answer that says something but makes no claims, a refusal say, has recall 0 and F1 0 where the judge finds none
    of the reference in it, and no precision. None where the answer is empty (not measured), and where the sample has
    no reference answer or one without claims (not applicable).

    Args:
        judge: See `JudgedMetric`.
        part: ``"f1"``, ``"precision"`` (``answer_correctness_precision``) or ``"recall"``
            (``answer_correctness_recall``).

    Raises:
        ConfigurationError: ``part`` is another.

    >>> import asyncio
    >>> from fastrag.testing import ScriptedLLM
    >>> claims = '{"claims": ["The Nile is 6,650 km long."]}'
    >>> found = '{"findings": [{"number": 1, "reason": "Stated.", "verdict": "supported", "sources": [1]}]}'
    >>> metric = AnswerCorrectness(ScriptedLLM([claims, claims, found, found]))
    >>> sample = EvalSample("How long is the Nile?", reference_answer="6,650 km.")
    >>> asyncio.run(metric.score(sample, QueryOutcome("It has 6,650 km.", [], 1.0)))
    1.0
    """

    needs_reference_answer = True

    def __init__(self, judge: Judge | LLM | Sequence[LLM], part: Part = "f1") -> None:
        super().__init__(judge)
        if part not in _NAMES:
            raise ConfigurationError(f"part must be one of {', '.join(map(repr, _NAMES))}, not {part!r}")
        self._part = part

    @property
    def name(self) -> str:
        """``answer_correctness``, with ``_precision`` or ``_recall`` after it where it is that."""
        return _NAMES[self._part]

    def _steps(self, sample: EvalSample, assumed: Assumptions) -> list[Between]:
        answer, reference = assumed.answer_characters, reference_characters(sample)
        checks = {
            "precision": self._calls_against_text(assumed, reference),
            "recall": self._calls_against_text(assumed, answer),
        }
        taken = [calls for part, calls in checks.items() if self._part in (part, "f1")]
        return [calls_of_extracting(answer), calls_of_extracting(reference), *taken]

    async def opinion(self, asking: Asking, sample: EvalSample, outcome: QueryOutcome) -> Opinion:
        """See `JudgedMetric.opinion`."""
        reference = sample.reference_answer or ""
        said, right = await run_together(
            extract_claims(asking, sample.question, outcome.answer),
            extract_claims(asking, sample.question, reference),
        )
        if not right.texts:
            return Opinion(None, NO_REFERENCE_CLAIMS)
        if self._part == "precision" and not said.texts:
            return Opinion(None, NO_CLAIMS)
        answers, references = await run_together(
            check_claims(asking, () if self._part == "recall" else said.texts, [reference]),
            check_claims(asking, () if self._part == "precision" else right.texts, [outcome.answer]),
        )
        judged = (*_renamed(answers, _ANSWERS), *_renamed(references, _REFERENCES))
        score = self._score(answers, references)
        return Opinion(score, NO_CLAIMS if score is None else None, judged, notes(answer=said, reference=right))

    def _score(self, answers: Sequence[JudgedClaim], references: Sequence[JudgedClaim]) -> float | None:
        if self._part == "precision":
            return share(answers, "supported")
        recall = share(references, "supported")
        if self._part == "recall":
            return recall
        return f1(share(answers, "supported") if answers else None, recall)


def f1(precision: float | None, recall: float) -> float | None:
    """The harmonic mean; 0 where recall is 0, whatever precision is or whether there is any, else None without one.

    >>> f1(0.5, 1.0), f1(None, 0.0), f1(None, 0.5)
    (0.6666666666666666, 0.0, None)
    """
    if recall == 0.0:
        return 0.0
    return None if precision is None else 2 * precision * recall / (precision + recall)


def _renamed(claims: Sequence[JudgedClaim], verdicts: Mapping[str, str]) -> list[JudgedClaim]:
    # Source numbers are of the outcome's sources, and these were checked against another text.
    return [JudgedClaim(claim.text, verdicts[claim.verdict], (), claim.reason) for claim in claims]
