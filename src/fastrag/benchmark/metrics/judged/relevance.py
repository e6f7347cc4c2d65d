"""Does the answer answer the question, and do the sources help to."""

from __future__ import annotations

from collections.abc import Sequence

from fastrag._support.concurrency import run_together
from fastrag.benchmark.estimate import Assumptions, Between
from fastrag.benchmark.judging.judge import Asking, Choice, Judge
from fastrag.benchmark.judging.opinions import JudgedClaim, Missing, Opinion
from fastrag.benchmark.metrics.base import QueryOutcome
from fastrag.benchmark.metrics.judged.base import JudgedMetric
from fastrag.benchmark.metrics.judged.checking import AT_ONCE, OVERLAP, PORTION_CHARACTERS
from fastrag.benchmark.metrics.judged.claim_calls import calls_of_checking
from fastrag.benchmark.metrics.judged.material import MATERIAL, material
from fastrag.benchmark.metrics.judged.portions import cut
from fastrag.benchmark.samples import EvalSample
from fastrag.llm import LLM

ANSWER_GRADES = {"fully": 1.0, "mostly": 2 / 3, "partly": 1 / 3, "not": 0.0}
"""What `AnswerRelevance` scores for each grade."""

ANSWER_INSTRUCTIONS = f"""\
You grade how well an answer addresses a question.
{MATERIAL}
Whether the answer is true is not your concern: take every statement in it as if it were true. Grade only whether it \
gives what was asked for.
fully: it gives everything that was asked for, and little else.
mostly: it gives the main thing that was asked for; a smaller part is missing, or much else stands around it.
partly: it gives a part of what was asked for, or something near it from which the asker could get on.
not: it gives nothing that was asked for: it is about something else, refuses, does not know, or asks back.\
"""

SOURCE_GRADES = {"perfect": 3, "highly": 2, "related": 1, "irrelevant": 0}
"""TREC's grades of a source's relevance."""

SOURCE_INSTRUCTIONS = f"""\
You grade how far one source helps to answer a question.
{MATERIAL}
Grade what the source says, not what you know yourself.
perfect: it is about what was asked and holds the whole answer, plainly.
highly: it holds an answer or a part of one, if unclear or among much else.
related: it is about the same matter, but nothing in it answers any part of the question.
irrelevant: it has nothing to do with the question.\
"""

_HELPS = 2


class AnswerRelevance(JudgedMetric):
    """``answer_relevance``: how well the answer addresses the question, whether or not it is true.

    One call. The judge reads question and answer, and grades by `ANSWER_INSTRUCTIONS`: fully 1, mostly 2/3, partly
    1/3, not 0. A judge that is read by log-probabilities gives the grades' mean, weighted by their probabilities, as
    G-Eval does (Liu et al. 2023, arXiv:2303.16634). An answer that refuses addresses nothing: 0; whether it was
    right to refuse is for `Abstention`. An empty answer is not measured.

    The quantity is RAGAS's answer relevance (Es et al. 2023, arXiv:2309.15217), the measure is not: RAGAS has
    questions generated from the answer and takes the mean cosine similarity between their embeddings and the
    question's. That needs an embedder, has no fixed scale, and differs with the wording; the grades here say what
    they mean.

    Args:
        judge: See `JudgedMetric`.

    >>> import asyncio
    >>> from fastrag.testing import ScriptedLLM
    >>> metric = AnswerRelevance(ScriptedLLM('{"reason": "Gives the heat, not the time.", "verdict": "mostly"}'))
    >>> sample = EvalSample("How hot and how long is green tea steeped?")
    >>> round(asyncio.run(metric.score(sample, QueryOutcome("At 80 degrees.", [], 1.0))), 3)
    0.667
    """

    name = "answer_relevance"

    def unmeasurable(self, sample: EvalSample, outcome: QueryOutcome) -> Missing | None:
        """See `JudgedMetric.unmeasurable`."""
        return None if outcome.answer.strip() else Missing("not_measured", "the answer is empty")

    async def opinion(self, asking: Asking, sample: EvalSample, outcome: QueryOutcome) -> Opinion:
        """See `JudgedMetric.opinion`."""
        content = material(("question", sample.question), ("answer", outcome.answer))
        choice = await asking.choose(ANSWER_INSTRUCTIONS, content, list(ANSWER_GRADES))
        return Opinion(choice.expected(ANSWER_GRADES), reason=choice.reason)


class ContextRelevance(JudgedMetric):
    """``context_relevance``: the share of the sources that help to answer the question.

    One call for each source, so that no source is judged by its neighbours or by its place, and a source that
    several pipelines find for one question is judged once where a cache keeps it. A source too long for one call is
    read in pieces, and its best piece counts; one without text is irrelevant, unasked. The judge grades by
    `SOURCE_INSTRUCTIONS`, which follow the four grades of TREC's deep learning tracks as UMBRELA has a model give them
    (Upadhyay et al. 2024, arXiv:2406.06519): perfect 3, highly 2, related 1, irrelevant 0. A source helps from grade
    2 on, where TREC draws the line, too:

        context_relevance = sources of grade 2 or 3 / sources

    and with ``graded=True``, ``context_relevance_graded`` = sum of grades / (3 * sources), where a judge that is read
    by log-probabilities gives each source's expected grade (and the plain share counts the likeliest grade).
    ``Opinion.claims`` has a verdict for each source, under the source's id. A source that comes back twice counts
    twice. Without any source it is not measured.

    Args:
        judge: See `JudgedMetric`.
        graded: Weigh the sources by their grades instead of counting those that help.

    >>> import asyncio
    >>> from fastrag.document import Document
    >>> from fastrag.testing import ScriptedLLM
    >>> replies = ['{"reason": "States it.", "verdict": "perfect"}', '{"reason": "Is on milk.", "verdict": "related"}']
    >>> metric = ContextRelevance(ScriptedLLM(replies))
    >>> sources = [Document("tea", "Green tea is steeped at 80 degrees."), Document("milk", "Some take milk.")]
    >>> asyncio.run(metric.score(EvalSample("How hot is green tea steeped?"), QueryOutcome("", sources, 1.0)))
    0.5
    """

    needs_answer = False

    def __init__(self, judge: Judge | LLM | Sequence[LLM], *, graded: bool = False) -> None:
        super().__init__(judge)
        self._graded = graded

    @property
    def name(self) -> str:
        """``context_relevance`` or ``context_relevance_graded``."""
        return "context_relevance_graded" if self._graded else "context_relevance"

    def unmeasurable(self, sample: EvalSample, outcome: QueryOutcome) -> Missing | None:
        """See `JudgedMetric.unmeasurable`."""
        return None if outcome.sources else Missing("not_measured", "no source was retrieved")

    def estimated_calls(self, sample: EvalSample, assumed: Assumptions) -> Between:
        """See `JudgedMetric.estimated_calls`."""
        return calls_of_checking((1, 1), assumed.sources, assumed.source_characters, by_logprobs=False, apart=True)

    async def opinion(self, asking: Asking, sample: EvalSample, outcome: QueryOutcome) -> Opinion:
        """See `JudgedMetric.opinion`."""
        choices = await run_together(
            *(_grade(asking, sample.question, source.text) for source in outcome.sources), at_once=AT_ONCE
        )
        if self._graded:
            parts = [choice.expected(SOURCE_GRADES) / max(SOURCE_GRADES.values()) for choice in choices]
        else:
            parts = [float(SOURCE_GRADES[choice.option] >= _HELPS) for choice in choices]
        claims = (
            JudgedClaim(source.id, choice.option, (number,), choice.reason)
            for number, (source, choice) in enumerate(zip(outcome.sources, choices, strict=True), start=1)
        )
        return Opinion(sum(parts) / len(parts), claims=tuple(claims))


async def _grade(asking: Asking, question: str, source: str) -> Choice:
    best = Choice("irrelevant", {"irrelevant": 1.0})
    for piece in cut(source, PORTION_CHARACTERS, OVERLAP):
        content = material(("question", question), ("source", piece))
        choice = await asking.choose(SOURCE_INSTRUCTIONS, content, list(SOURCE_GRADES))
        # Of equal ones the first that was asked for: its reason is the judge's.
        if not best.reason or choice.expected(SOURCE_GRADES) > best.expected(SOURCE_GRADES):
            best = choice
    return best
