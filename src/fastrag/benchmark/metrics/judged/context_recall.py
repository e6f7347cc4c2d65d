"""Do the sources hold what the right answer is made of?"""

from __future__ import annotations

from fastrag.benchmark.estimate import Assumptions, Between
from fastrag.benchmark.judging.judge import Asking
from fastrag.benchmark.judging.opinions import Opinion
from fastrag.benchmark.metrics.base import QueryOutcome
from fastrag.benchmark.metrics.judged.claim_calls import calls_of_extracting
from fastrag.benchmark.metrics.judged.claim_metric import (
    NO_REFERENCE_CLAIMS,
    ClaimMetric,
    reference_characters,
    texts_of,
)
from fastrag.benchmark.metrics.judged.claims import check_claims, extract_claims, share
from fastrag.benchmark.samples import EvalSample


class ContextRecall(ClaimMetric):
    """``context_recall``: the share of the reference answer's claims that the retrieved sources support.

        context_recall = supported claims of the reference / claims of the reference

    RAGChecker's claim recall (Ru et al. 2024, arXiv:2408.08067). It measures retrieval alone, without ``relevant_ids``
    and for any way of cutting the documents, and needs no answer. Prompts and verdicts are those of `Faithfulness`.

    None where the sample has no reference answer or one without claims (not applicable), and where nothing was
    retrieved (not measured).

    >>> import asyncio
    >>> from fastrag.document import Document
    >>> from fastrag.testing import ScriptedLLM
    >>> judge = ScriptedLLM(
    ...     [
    ...         '{"claims": ["The Nile is 6,650 km long."]}',
    ...         '{"findings": [{"number": 1, "reason": "Stated.", "verdict": "supported", "sources": [1]}]}',
    ...     ]
    ... )
    >>> sample = EvalSample("How long is the Nile?", reference_answer="6,650 km.")
    >>> asyncio.run(ContextRecall(judge).score(sample, QueryOutcome("", [Document("a", "The Nile: 6,650 km.")], 1.0)))
    1.0
    """

    name = "context_recall"
    needs_answer = False
    needs_reference_answer = True
    needs_sources = True

    def _steps(self, sample: EvalSample, assumed: Assumptions) -> list[Between]:
        return [calls_of_extracting(reference_characters(sample)), self._calls_against_sources(assumed)]

    async def opinion(self, asking: Asking, sample: EvalSample, outcome: QueryOutcome) -> Opinion:
        """See `JudgedMetric.opinion`."""
        claims = await extract_claims(asking, sample.question, sample.reference_answer or "")
        if not claims.texts:
            return Opinion(None, NO_REFERENCE_CLAIMS)
        checked = await check_claims(asking, claims.texts, texts_of(outcome))
        return Opinion(share(checked, "supported"), claims=tuple(checked), reason=claims.note)
