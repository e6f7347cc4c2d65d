"""What the metrics made of claims have in common: when there is nothing to ask about."""

from __future__ import annotations

from abc import abstractmethod

from fastrag.benchmark.estimate import Assumptions, Between
from fastrag.benchmark.judging.opinions import Missing
from fastrag.benchmark.metrics.base import QueryOutcome
from fastrag.benchmark.metrics.judged.base import JudgedMetric
from fastrag.benchmark.metrics.judged.claim_calls import calls_of_checking
from fastrag.benchmark.metrics.judged.claims import MAX_TEXT_CHARACTERS, Claims, too_long
from fastrag.benchmark.samples import EvalSample
from fastrag.document import Document

NO_CLAIMS = Missing("not_measured", "the answer makes no claims")
NO_REFERENCE_CLAIMS = Missing("not_applicable", "the reference_answer makes no claims")
NOT_IN_SOURCES = Missing("not_measured", "the sources support no claim of the reference_answer")

_ANY_OUTCOME = QueryOutcome("It rains.", [Document("weather", "It rains.")], 0.0)


class ClaimMetric(JudgedMetric):
    """A metric of the claims that an answer, or the reference answer, makes."""

    needs_sources: bool = False
    """Whether claims are checked against ``outcome.sources``."""

    def estimated_calls(self, sample: EvalSample, assumed: Assumptions) -> Between:
        """See `JudgedMetric.estimated_calls`."""
        if self.unmeasurable(sample, _ANY_OUTCOME) is not None:
            return 0, 0
        steps = self._steps(sample, assumed)
        without_answer = self.needs_answer and assumed.answer_characters[0] == 0
        without_sources = self.needs_sources and assumed.context_characters()[0] == 0
        least = 0 if without_answer or without_sources else sum(step[0] for step in steps)
        return least, sum(step[1] for step in steps)

    @abstractmethod
    def _steps(self, sample: EvalSample, assumed: Assumptions) -> list[Between]:
        """How many calls each step of an opinion takes, at least and at most."""

    def unmeasurable(self, sample: EvalSample, outcome: QueryOutcome) -> Missing | None:
        """Why there is nothing to ask the judge for; None where there is."""
        missing = super().unmeasurable(sample, outcome)
        if missing is not None:
            return missing
        if len(sample.question) > MAX_TEXT_CHARACTERS:
            return Missing("not_applicable", too_long("question", sample.question))
        if self.needs_reference_answer:
            reference = sample.reference_answer or ""
            if not reference.strip():
                return Missing("not_applicable", "the reference_answer is empty")
            if len(reference) > MAX_TEXT_CHARACTERS:
                return Missing("not_applicable", too_long("reference_answer", reference))
        if self.needs_answer and not outcome.answer.strip():
            return Missing("not_measured", "the answer is empty")
        if self.needs_sources and not any(source.text.strip() for source in outcome.sources):
            return Missing("not_measured", "no source was retrieved")
        return None

    def _calls_against_sources(self, assumed: Assumptions, *, apart: bool = False) -> Between:
        by_logprobs = self._judge.by_logprobs
        return calls_of_checking(
            assumed.claims, assumed.sources, assumed.source_characters, by_logprobs=by_logprobs, apart=apart
        )

    def _calls_against_text(self, assumed: Assumptions, characters: Between) -> Between:
        return calls_of_checking(assumed.claims, (1, 1), characters, by_logprobs=self._judge.by_logprobs)


def reference_characters(sample: EvalSample) -> Between:
    """The length of the reference answer, as an estimate wants it."""
    return (len(sample.reference_answer or ""),) * 2


def texts_of(outcome: QueryOutcome) -> list[str]:
    """The sources' texts, in the order of their numbers."""
    return [source.text for source in outcome.sources]


def notes(**texts: Claims) -> str:
    """What is to be said of a score made of the claims of several texts, by their names."""
    return "; ".join(f"{name}: {claims.note}" for name, claims in texts.items() if claims.note)
