"""Does the answer give everything that the question asks for?"""

from __future__ import annotations

from typing import Literal

import msgspec

from fastrag.benchmark.estimate import Assumptions, Between
from fastrag.benchmark.judging.judge import Asking
from fastrag.benchmark.judging.opinions import Missing, Opinion
from fastrag.benchmark.metrics.base import QueryOutcome
from fastrag.benchmark.metrics.judged.checking import Check, check_each
from fastrag.benchmark.metrics.judged.claim_calls import calls_of_checking
from fastrag.benchmark.metrics.judged.claim_metric import ClaimMetric
from fastrag.benchmark.metrics.judged.claims import bounded, share
from fastrag.benchmark.metrics.judged.material import MATERIAL, material
from fastrag.benchmark.samples import EvalSample

PARTS = f"""\
You list the parts of a question.
{MATERIAL}
A part is one thing that the question asks for, put as a question of its own that can be understood without the others.
A question that asks for one thing has one part, which is the question itself. Ask for nothing that it does not ask \
for: no background, no follow-up. A text that asks for nothing, a greeting say, has no parts: the list is empty.
Do not answer the question.
Reply with JSON: {{"parts": ["...", "..."]}}.\
"""

COVERED = f"""\
You decide which parts of a question an answer answers. The answer is shown as the source; the parts have numbers.
{MATERIAL}
The verdict of a part is
- answered: the answer gives what the part asks for, or says that there is no such thing;
- not_answered: it does not, gives only something near it, or says that it is not known or not found.
Whether what it gives is true is not your concern.\
"""

COVERED_IN_WRITING = """\
Reply with JSON: {"findings": [...]}, one finding for each part, each with "number" (of the part), "reason" (one \
sentence) and "verdict" ("answered" or "not_answered").\
"""


class _Parts(msgspec.Struct, forbid_unknown_fields=True):
    parts: list[str]


class _Finding(msgspec.Struct, forbid_unknown_fields=True):
    number: int
    reason: str
    verdict: Literal["answered", "not_answered"]


class _Findings(msgspec.Struct, forbid_unknown_fields=True):
    findings: list[_Finding]


_CHECK = Check(
    item="part",
    instructions=COVERED,
    written=COVERED_IN_WRITING,
    verdicts=("answered", "not_answered"),
    form=_Findings,
)


class Completeness(ClaimMetric):
    """``completeness``: the share of the parts of the question that the answer answers.

        completeness = parts that are answered / parts of the question

    Parts are what Xie et al. 2024 (arXiv:2410.15531) call core sub-questions; background and follow-up questions,
    which nobody asked, are left out. The judge is asked by `PARTS` for the parts, from the question alone, so that all
    pipelines are held to the same, and by `COVERED` which of them the answer answers.

    It needs no reference answer, which tells it from the recall of `AnswerCorrectness`: recall asks whether the answer
    says what the reference says, and rightly; completeness only whether each thing asked for is given, true or not.
    An answer that is wrong throughout can be complete, and one that refuses is 0.

    None where the answer is empty (not measured), and where the question asks for nothing (not applicable).

    >>> import asyncio
    >>> from fastrag.testing import ScriptedLLM
    >>> judge = ScriptedLLM(
    ...     [
    ...         '{"parts": ["How long is the Nile?", "Where does the Nile end?"]}',
    ...         '{"findings": ['
    ...         '{"number": 1, "reason": "Gives a length.", "verdict": "answered"},'
    ...         '{"number": 2, "reason": "Names no mouth.", "verdict": "not_answered"}]}',
    ...     ]
    ... )
    >>> sample = EvalSample("How long is the Nile, and where does it end?")
    >>> asyncio.run(Completeness(judge).score(sample, QueryOutcome("It is 6,650 km long.", [], 1.0)))
    0.5
    """

    name = "completeness"

    def _steps(self, sample: EvalSample, assumed: Assumptions) -> list[Between]:
        # A question's parts are about as many as an answer's claims at most, and there is one at least.
        parts = min(1, assumed.claims[0]), assumed.claims[1]
        checked = calls_of_checking(parts, (1, 1), assumed.answer_characters, by_logprobs=self._judge.by_logprobs)
        return [(1, 1), checked]

    async def opinion(self, asking: Asking, sample: EvalSample, outcome: QueryOutcome) -> Opinion:
        """See `JudgedMetric.opinion`."""
        reply = await asking.ask(PARTS, material(("question", sample.question)), _Parts)
        parts = bounded(reply.parts)
        if not parts.texts:
            return Opinion(None, Missing("not_applicable", "the question asks for nothing"))
        judged = await check_each(asking, _CHECK, parts.texts, [outcome.answer])
        return Opinion(share(judged, "answered"), None, tuple(judged), parts.note)
