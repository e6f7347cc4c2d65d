"""What the answer makes of its sources: what it uses of the right, what it takes over of the wrong, what it adds.

All after RAGChecker's metrics of the generator (Ru et al. 2024, arXiv:2408.08067), in its sense of the words: a claim
of the answer is *right* if the reference answer supports it, else wrong, also where it is true and the reference does
not say it; a source is *relevant* if it supports at least one claim of the reference answer, whatever
``relevant_ids`` say. Every claim of an answer is then one of these, which is its verdict in ``Opinion.claims``:

=================== ==================================================================================
verdict             the claim is
=================== ==================================================================================
right_from_sources  right, and supported by a source
self_knowledge      right, and supported by none
noise               wrong, and supported by a source; where sources are told apart:
noise_of_relevant   wrong, and supported by a relevant source, whether or not by others too
noise_of_irrelevant wrong, and supported by irrelevant sources only
hallucination       wrong, and supported by none
=================== ==================================================================================

so that faithfulness = right_from_sources + noise, precision = right_from_sources + self_knowledge, and all together
are 1.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
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
    NOT_IN_SOURCES,
    ClaimMetric,
    notes,
    reference_characters,
    texts_of,
)
from fastrag.benchmark.metrics.judged.claims import check_claims, extract_claims, share
from fastrag.benchmark.samples import EvalSample
from fastrag.errors import ConfigurationError
from fastrag.llm import LLM

Noise = Literal["all", "relevant", "irrelevant"]

_NOISE = {"all": "noise", "relevant": "noise_of_relevant", "irrelevant": "noise_of_irrelevant"}


class ContextUtilization(ClaimMetric):
    """``context_utilization``: of what the sources hold of the right answer, the share that the answer uses.

        context_utilization = claims of the reference that sources and answer support
                              / claims of the reference that the sources support

    (Ru et al. 2024, arXiv:2408.08067.) A claim is *used*, *not_used*, or *not_in_sources*, for which the answer is not
    to blame. Prompts are those of `ContextRecall` and of the recall of `AnswerCorrectness`.

    None where the answer is empty, nothing was retrieved, or the sources hold none of the reference (not measured),
    and where the sample has no reference answer or one without claims (not applicable).

    >>> import asyncio
    >>> from fastrag.document import Document
    >>> from fastrag.testing import ScriptedLLM
    >>> finding = '{{"number": {}, "reason": "", "verdict": "{}", "sources": [1]}}'
    >>> judge = ScriptedLLM(
    ...     [
    ...         '{"claims": ["The Nile is 6,650 km long.", "The Nile flows north."]}',
    ...         f'{{"findings": [{finding.format(1, "supported")}, {finding.format(2, "supported")}]}}',
    ...         f'{{"findings": [{finding.format(1, "supported")}, {finding.format(2, "not_found")}]}}',
    ...     ]
    ... )
    >>> sample = EvalSample("What of the Nile?", reference_answer="It flows north for 6,650 km.")
    >>> sources = [Document("a", "The Nile flows north, 6,650 km.")]
    >>> asyncio.run(ContextUtilization(judge).score(sample, QueryOutcome("It has 6,650 km.", sources, 1.0)))
    0.5
    """

    name = "context_utilization"
    needs_reference_answer = True
    needs_sources = True

    def _steps(self, sample: EvalSample, assumed: Assumptions) -> list[Between]:
        used = self._calls_against_text(assumed, assumed.answer_characters)
        return [
            calls_of_extracting(reference_characters(sample)),
            self._calls_against_sources(assumed),
            (0, used[1]),  # not where the sources hold nothing of the reference
        ]

    async def opinion(self, asking: Asking, sample: EvalSample, outcome: QueryOutcome) -> Opinion:
        """See `JudgedMetric.opinion`."""
        claims = await extract_claims(asking, sample.question, sample.reference_answer or "")
        if not claims.texts:
            return Opinion(None, NO_REFERENCE_CLAIMS)
        found = await check_claims(asking, claims.texts, texts_of(outcome))
        if not any(claim.verdict == "supported" for claim in found):
            missed = (JudgedClaim(claim.text, "not_in_sources", (), claim.reason) for claim in found)
            return Opinion(None, NOT_IN_SOURCES, tuple(missed), claims.note)
        # All claims, also those not found: the same call that answer correctness makes.
        used = await check_claims(asking, claims.texts, [outcome.answer])
        judged = [use_of(in_sources, in_answer) for in_sources, in_answer in zip(found, used, strict=True)]
        return Opinion(utilization(judged), None, tuple(judged), claims.note)


class _OriginMetric(ClaimMetric):
    """The share of the answer's claims that have one of the verdicts in the module's table."""

    needs_reference_answer = True
    needs_sources = True
    higher_is_better = False
    _tells_relevant = False

    @property
    @abstractmethod
    def _counted(self) -> str:
        """The verdict."""

    def _steps(self, sample: EvalSample, assumed: Assumptions) -> list[Between]:
        answer, reference = assumed.answer_characters, reference_characters(sample)
        apart = self._tells_relevant and self._judge.by_logprobs
        against_sources = self._calls_against_sources(assumed, apart=apart)
        return [
            calls_of_extracting(answer),
            calls_of_extracting(reference),
            self._calls_against_text(assumed, reference),
            *[against_sources] * (2 if self._tells_relevant else 1),
        ]

    async def opinion(self, asking: Asking, sample: EvalSample, outcome: QueryOutcome) -> Opinion:
        """See `JudgedMetric.opinion`."""
        reference = sample.reference_answer or ""
        said, right = await run_together(
            extract_claims(asking, sample.question, outcome.answer),
            extract_claims(asking, sample.question, reference),
        )
        if not right.texts:
            return Opinion(None, NO_REFERENCE_CLAIMS)
        if not said.texts:
            return Opinion(None, NO_CLAIMS)
        sources = texts_of(outcome)
        apart = self._tells_relevant and asking.by_logprobs
        in_reference, in_sources, held = await run_together(
            check_claims(asking, said.texts, [reference]),
            check_claims(asking, said.texts, sources, apart=apart),
            check_claims(asking, right.texts if self._tells_relevant else (), sources, apart=apart),
        )
        relevant = {number for claim in held if claim.verdict == "supported" for number in claim.sources}
        claims = [
            origin(by_reference, by_sources, relevant if self._tells_relevant else None)
            for by_reference, by_sources in zip(in_reference, in_sources, strict=True)
        ]
        return Opinion(share(claims, self._counted), None, tuple(claims), notes(answer=said, reference=right))


class NoiseSensitivity(_OriginMetric):
    """``noise_sensitivity``: the share of the answer's claims that are wrong and come from the sources.

        noise_sensitivity            = wrong claims that a source supports / claims of the answer
        noise_sensitivity_relevant   = wrong claims that a relevant source supports / claims of the answer
        noise_sensitivity_irrelevant = wrong claims that only irrelevant sources support / claims of the answer

    (Ru et al. 2024, arXiv:2408.08067; the first is the sum of the others.) Lower is better: how much the answer is led
    astray by what stands in the sources beside the right. What is wrong, and which source is relevant: see the table
    at the top of the module. RAGChecker asks about each source alone; here a judge reads several at once and names
    those that support a claim, except one that is read by log-probabilities, which is asked about each source alone
    where relevant and irrelevant are to be told apart.

    None where the answer is empty or makes no claims, or nothing was retrieved (not measured), and where the sample
    has no reference answer or one without claims (not applicable).

    Args:
        judge: See `JudgedMetric`.
        part: ``"all"``, ``"relevant"`` or ``"irrelevant"``.

    Raises:
        ConfigurationError: ``part`` is another.

    >>> import asyncio
    >>> from fastrag.document import Document
    >>> from fastrag.testing import ScriptedLLM
    >>> judge = ScriptedLLM(
    ...     [
    ...         '{"claims": ["The Nile is 7,000 km long."]}',
    ...         '{"claims": ["The Nile is 6,650 km long."]}',
    ...         '{"findings": [{"number": 1, "reason": "6,650.", "verdict": "contradicted", "sources": [1]}]}',
    ...         '{"findings": [{"number": 1, "reason": "Stated.", "verdict": "supported", "sources": [1]}]}',
    ...     ]
    ... )
    >>> sample = EvalSample("How long is the Nile?", reference_answer="6,650 km.")
    >>> outcome = QueryOutcome("7,000 km.", [Document("a", "The Nile, 7,000 km long.")], 1.0)
    >>> asyncio.run(NoiseSensitivity(judge).score(sample, outcome))
    1.0
    """

    def __init__(self, judge: Judge | LLM | Sequence[LLM], part: Noise = "all") -> None:
        super().__init__(judge)
        if part not in _NOISE:
            raise ConfigurationError(f"part must be one of {', '.join(map(repr, _NOISE))}, not {part!r}")
        self._part = part
        self._tells_relevant = part != "all"

    @property
    def name(self) -> str:
        """``noise_sensitivity``, with ``_relevant`` or ``_irrelevant`` after it where it is that."""
        return "noise_sensitivity" if self._part == "all" else f"noise_sensitivity_{self._part}"

    @property
    def _counted(self) -> str:
        return _NOISE[self._part]


class Hallucination(_OriginMetric):
    """``hallucination``: the share of the answer's claims that are wrong and in no source.

        hallucination = claims that neither the reference nor a source supports / claims of the answer

    (Ru et al. 2024, arXiv:2408.08067.) Lower is better. Calls, and where it is None, are those of `NoiseSensitivity`.

    >>> import asyncio
    >>> from fastrag.document import Document
    >>> from fastrag.testing import ScriptedLLM
    >>> claims = '{"claims": ["The Nile is 6,650 km long."]}'
    >>> judge = ScriptedLLM(
    ...     [
    ...         claims,
    ...         claims,
    ...         '{"findings": [{"number": 1, "reason": "It is 7,000.", "verdict": "contradicted", "sources": [1]}]}',
    ...         '{"findings": [{"number": 1, "reason": "No length.", "verdict": "not_found", "sources": []}]}',
    ...     ]
    ... )
    >>> sample = EvalSample("How long is the Nile?", reference_answer="7,000 km.")
    >>> outcome = QueryOutcome("6,650 km.", [Document("a", "The Nile is a river.")], 1.0)
    >>> asyncio.run(Hallucination(judge).score(sample, outcome))
    1.0
    """

    name = "hallucination"
    _counted = "hallucination"


class SelfKnowledge(_OriginMetric):
    """``self_knowledge``: the share of the answer's claims that are right, and in no source.

        self_knowledge = claims that the reference supports and no source does / claims of the answer

    (Ru et al. 2024, arXiv:2408.08067.) Lower counts as better, since a pipeline is to answer from its sources; where a
    model may answer from what it knows, the share only tells how often it does. Calls, and where it is None, are those
    of `NoiseSensitivity`.

    >>> import asyncio
    >>> from fastrag.document import Document
    >>> from fastrag.testing import ScriptedLLM
    >>> claims = '{"claims": ["The Nile is 6,650 km long."]}'
    >>> judge = ScriptedLLM(
    ...     [
    ...         claims,
    ...         claims,
    ...         '{"findings": [{"number": 1, "reason": "The same.", "verdict": "supported", "sources": [1]}]}',
    ...         '{"findings": [{"number": 1, "reason": "No length.", "verdict": "not_found", "sources": []}]}',
    ...     ]
    ... )
    >>> sample = EvalSample("How long is the Nile?", reference_answer="6,650 km.")
    >>> outcome = QueryOutcome("6,650 km.", [Document("a", "The Nile is a river.")], 1.0)
    >>> asyncio.run(SelfKnowledge(judge).score(sample, outcome))
    1.0
    """

    name = "self_knowledge"
    _counted = "self_knowledge"


def utilization(claims: Sequence[JudgedClaim]) -> float:
    """The share of those claims in the sources, of which there is at least one, that are used."""
    return share([claim for claim in claims if claim.verdict != "not_in_sources"], "used")


def origin(in_reference: JudgedClaim, in_sources: JudgedClaim, relevant: Collection[int] | None) -> JudgedClaim:
    """Where a claim of the answer comes from.

    Args:
        in_reference: The claim as checked against the reference answer.
        in_sources: The same as checked against the sources.
        relevant: Numbers of the relevant sources; None where they are not told apart.

    >>> claim = JudgedClaim("It rains.", "not_found")
    >>> origin(claim, JudgedClaim("It rains.", "supported", (2,)), {1}).verdict
    'noise_of_irrelevant'
    """
    sourced = in_sources.verdict == "supported"
    if in_reference.verdict == "supported":
        verdict = "right_from_sources" if sourced else "self_knowledge"
    elif not sourced:
        verdict = "hallucination"
    elif relevant is None:
        verdict = "noise"
    else:
        verdict = (
            "noise_of_relevant" if any(number in relevant for number in in_sources.sources) else "noise_of_irrelevant"
        )
    reason = "; ".join(reason for reason in (in_reference.reason, in_sources.reason) if reason)
    return JudgedClaim(in_sources.text, verdict, in_sources.sources, reason)


def use_of(in_sources: JudgedClaim, in_answer: JudgedClaim) -> JudgedClaim:
    """A claim of the reference answer as used, not_used or not_in_sources, from its two checks."""
    if in_sources.verdict != "supported":
        return JudgedClaim(in_sources.text, "not_in_sources", (), in_sources.reason)
    verdict = "used" if in_answer.verdict == "supported" else "not_used"
    return JudgedClaim(in_sources.text, verdict, in_sources.sources, in_answer.reason)
