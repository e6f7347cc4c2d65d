"""Does the answer say only what the sources say?"""

from __future__ import annotations

from fastrag.benchmark.estimate import Assumptions, Between
from fastrag.benchmark.judging.judge import Asking
from fastrag.benchmark.judging.opinions import Opinion
from fastrag.benchmark.metrics.base import QueryOutcome
from fastrag.benchmark.metrics.judged.claim_calls import calls_of_extracting
from fastrag.benchmark.metrics.judged.claim_metric import NO_CLAIMS, ClaimMetric, texts_of
from fastrag.benchmark.metrics.judged.claims import check_claims, extract_claims, share
from fastrag.benchmark.samples import EvalSample


class Faithfulness(ClaimMetric):
    """``faithfulness``: the share of the answer's claims that the sources support.

        faithfulness = supported claims / claims

    after RAGAS (Es et al. 2023, arXiv:2309.15217, whose statements are our claims) and FActScore's factual precision
    (Min et al. 2023, arXiv:2305.14251), with the retrieved sources as the only knowledge. It does not ask whether the
    sources are right, nor whether the answer answers the question. The judge is asked by
    `claims.EXTRACT` for the claims and by `claims.CHECK` for their verdicts: *supported*, *contradicted* or
    *not_found*. The last two count alike and are told apart in ``Opinion.claims``, with the numbers of the sources
    that decided.

    None where the answer is empty or makes no claims (a refusal is neither faithful nor not), and where there are no
    sources: not measured.

    >>> import asyncio
    >>> from fastrag.document import Document
    >>> from fastrag.testing import ScriptedLLM
    >>> judge = ScriptedLLM(
    ...     [
    ...         '{"claims": ["The Nile is 6,650 km long.", "The Nile flows into the Red Sea."]}',
    ...         '{"findings": ['
    ...         '{"number": 1, "reason": "Stated.", "verdict": "supported", "sources": [1]},'
    ...         '{"number": 2, "reason": "Not the Red Sea.", "verdict": "contradicted", "sources": [1]}]}',
    ...     ]
    ... )
    >>> sources = [Document("nile", "The Nile runs 6,650 km, to the Mediterranean Sea.")]
    >>> outcome = QueryOutcome("It is 6,650 km long and flows into the Red Sea.", sources, 1.0)
    >>> asyncio.run(Faithfulness(judge).score(EvalSample("How long is the Nile?"), outcome))
    0.5
    """

    name = "faithfulness"
    needs_sources = True

    def _steps(self, sample: EvalSample, assumed: Assumptions) -> list[Between]:
        return [calls_of_extracting(assumed.answer_characters), self._calls_against_sources(assumed)]

    async def opinion(self, asking: Asking, sample: EvalSample, outcome: QueryOutcome) -> Opinion:
        """See `JudgedMetric.opinion`."""
        claims = await extract_claims(asking, sample.question, outcome.answer)
        if not claims.texts:
            return Opinion(None, NO_CLAIMS)
        checked = await check_claims(asking, claims.texts, texts_of(outcome))
        return Opinion(share(checked, "supported"), claims=tuple(checked), reason=claims.note)
