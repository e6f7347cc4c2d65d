"""What the metrics made of claims have in common: when there is nothing to ask about."""

from __future__ import annotations

from fastrag.benchmark.estimate import Assumptions, Between
from fastrag.benchmark.judging.opinions import Missing
from fastrag.benchmark.metrics.base import QueryOutcome
from fastrag.benchmark.metrics.judged.base import JudgedMetric
from fastrag.benchmark.metrics.judged.checking import calls_of_check
from fastrag.benchmark.metrics.judged.claims import MAX_TEXT_CHARACTERS, Claims
from fastrag.benchmark.samples import EvalSample

NO_CLAIMS = Missing("not_measured", "the answer makes no claims")
NO_REFERENCE_CLAIMS = Missing("not_applicable", "the reference_answer makes no claims")
NOT_IN_SOURCES = Missing("not_measured", "the sources support no claim of the reference_answer")


class ClaimMetric(JudgedMetric):
    """A metric of the claims that an answer, or the reference answer, makes."""

    needs_sources: bool = False
    """Whether claims are checked against ``outcome.sources``."""

    _texts_read = 1
    """How many texts claims are taken out of."""

    _checks: tuple[int, int] = (1, 1)
    """How many checks of claims follow, at least and at most."""

    def estimated_calls(self, sample: EvalSample, assumed: Assumptions) -> Between:
        """See `JudgedMetric.estimated_calls`."""
        calls = []
        for of in (0, 1):
            source = "x" * max(1, round(assumed.source_characters[of]))
            sources = [source] * max(1, round(assumed.sources[of])) if self.needs_sources else ["x"]
            check = calls_of_check(round(assumed.claims[of]), sources, by_logprobs=self._judge.by_logprobs)
            calls.append(self._texts_read + self._checks[of] * check)
        return calls[0], calls[1]

    def unmeasurable(self, sample: EvalSample, outcome: QueryOutcome) -> Missing | None:
        """Why there is nothing to ask the judge for; None where there is."""
        missing = super().unmeasurable(sample, outcome)
        if missing is not None:
            return missing
        if len(sample.question) > MAX_TEXT_CHARACTERS:
            return Missing("not_applicable", _too_long("question", sample.question))
        if self.needs_reference_answer:
            reference = sample.reference_answer or ""
            if not reference.strip():
                return Missing("not_applicable", "the reference_answer is empty")
            if len(reference) > MAX_TEXT_CHARACTERS:
                return Missing("not_applicable", _too_long("reference_answer", reference))
        if self.needs_answer:
            if not outcome.answer.strip():
                return Missing("not_measured", "the answer is empty")
            if len(outcome.answer) > MAX_TEXT_CHARACTERS:
                return Missing("not_measured", _too_long("answer", outcome.answer))
        if self.needs_sources and not any(source.text.strip() for source in outcome.sources):
            return Missing("not_measured", "no source was retrieved")
        return None


def texts_of(outcome: QueryOutcome) -> list[str]:
    """The sources' texts, in the order of their numbers."""
    return [source.text for source in outcome.sources]


def notes(**texts: Claims) -> str:
    """What is to be said of a score made of the claims of several texts, by their names."""
    return "; ".join(f"{name}: {claims.note}" for name, claims in texts.items() if claims.note)


def _too_long(name: str, text: str) -> str:
    return f"the {name} has {len(text):,} characters, more than the {MAX_TEXT_CHARACTERS:,} that are judged"
