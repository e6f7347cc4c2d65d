"""Does the pipeline refuse where it should, and only there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fastrag._support.checks import shown
from fastrag.benchmark.estimate import Assumptions, Between
from fastrag.benchmark.judging.judge import Asking, Judge
from fastrag.benchmark.judging.opinions import JudgedClaim, Missing, Opinion
from fastrag.benchmark.metrics.base import QueryOutcome
from fastrag.benchmark.metrics.judged.base import JudgedMetric
from fastrag.benchmark.metrics.judged.material import MATERIAL, material
from fastrag.benchmark.samples import EvalSample
from fastrag.benchmark.scoring import has_relevant_ids
from fastrag.errors import ConfigurationError
from fastrag.llm import LLM

INSTRUCTIONS = f"""\
You tell whether an answer refuses to answer its question.
{MATERIAL}
Whether it is true, or right to refuse, is not your concern.
refuses: it gives nothing of what was asked for; it says that it does not know, cannot or may not say, that the \
sources do not hold it, or it asks back.
answers: it gives something as an answer to the question or to a part of it, even if it is wrong, hedged or \
incomplete, or says in the same breath that it is not sure.\
"""

Answerable = Callable[[EvalSample], bool | None]
"""Whether a sample's question can be answered from the corpus; None where that is not known."""


def is_answerable(sample: EvalSample) -> bool | None:
    """Whether ``sample``'s question can be answered from the corpus, by what the sample says; None where it does not.

    ``metadata["answerable"]`` says so where it is True or False. Else ``metadata["kind"] == "unanswerable"`` says no,
    as in the demonstration's questions, and relevant ids say yes: somebody judged that these Documents answer it. A
    reference answer says nothing, for in many sets it is "The documents do not tell."

    >>> is_answerable(EvalSample("Why?", metadata={"kind": "unanswerable"}))
    False
    >>> is_answerable(EvalSample("Why?", relevant_ids=["because"])), is_answerable(EvalSample("Why?"))
    (True, None)
    """
    said = sample.metadata.get("answerable")
    if said is not None:
        return said if isinstance(said, bool) else None
    if sample.metadata.get("kind") == "unanswerable":
        return False
    return True if has_relevant_ids(sample) else None


class Abstention(JudgedMetric):
    """``abstention``: 1 where the answer refuses an unanswerable question or answers an answerable one, else 0.

    Whether the question can be answered is known beforehand, by ``answerable``; the judge, in one call by
    `INSTRUCTIONS`, says only whether the answer refuses. An empty answer is a refusal, unasked. Whether an answer that
    was given is true is for other metrics. ``Opinion.claims`` has the answer with one of four verdicts, so that the
    two mistakes can be counted apart:

    ========================== ===== =======================================
    verdict                    score
    ========================== ===== =======================================
    ``refused_unanswerable``   1     right to refuse
    ``answered_unanswerable``  0     made something up, or guessed
    ``refused_answerable``     0     the sources had it, or should have had
    ``answered_answerable``    1     right to answer
    ========================== ===== =======================================

    A pipeline that always refuses scores the share of unanswerable questions: look at the two kinds of questions apart
    (`fastrag.benchmark.slice_result`). The task is that of SQuAD 2.0 (Rajpurkar et al. 2018, arXiv:1806.03822); for
    refusals of RAG pipelines see "negative rejection" in RGB (Chen et al. 2023, arXiv:2309.01431).

    Args:
        judge: See `JudgedMetric`.
        answerable: Tells whether a question can be answered from the corpus: True, False, or None where that is not
            known and the sample is not applicable. None: `is_answerable`.

    Raises:
        ConfigurationError: ``answerable`` is no function; or, when a sample is scored, gave something else.

    >>> import asyncio
    >>> from fastrag.testing import ScriptedLLM
    >>> metric = Abstention(ScriptedLLM('{"reason": "Gives a date.", "verdict": "answers"}'))
    >>> sample = EvalSample("When does Python 3.11 reach its end of life?", metadata={"answerable": False})
    >>> judgement = asyncio.run(metric.judge(sample, QueryOutcome("In October 2027.", [], 1.0)))
    >>> judgement.score, judgement.opinions[0].opinion.claims[0].verdict
    (0.0, 'answered_unanswerable')
    """

    name = "abstention"

    def __init__(self, judge: Judge | LLM | Sequence[LLM], *, answerable: Answerable | None = None) -> None:
        super().__init__(judge)
        if answerable is not None and not callable(answerable):
            raise ConfigurationError(f"answerable must be a function from a sample to a bool, not {shown(answerable)}")
        self._answerable = is_answerable if answerable is None else answerable

    def unmeasurable(self, sample: EvalSample, outcome: QueryOutcome) -> Missing | None:
        """See `JudgedMetric.unmeasurable`."""
        said = self._answerable(sample)
        if said is not None and not isinstance(said, bool):
            raise ConfigurationError(f"answerable must give True, False or None, not {shown(said)}")
        if said is not None:
            return None
        detail = "it is not known whether the question can be answered"
        stated = sample.metadata.get("answerable")
        if self._answerable is is_answerable and stated is not None:
            detail += f": metadata['answerable'] is {shown(stated)}, neither True nor False"
        return Missing("not_applicable", detail)

    def estimated_calls(self, sample: EvalSample, assumed: Assumptions) -> Between:
        """See `JudgedMetric.estimated_calls`."""
        if self._answerable(sample) is None:
            return 0, 0
        return (1 if assumed.answer_characters[0] else 0), 1

    async def opinion(self, asking: Asking, sample: EvalSample, outcome: QueryOutcome) -> Opinion:
        """See `JudgedMetric.opinion`."""
        answerable = bool(self._answerable(sample))
        refuses, reason = True, "the answer is empty"
        if outcome.answer.strip():
            content = material(("question", sample.question), ("answer", outcome.answer))
            choice = await asking.choose(INSTRUCTIONS, content, ["refuses", "answers"])
            refuses, reason = choice.option == "refuses", choice.reason
        verdict = f"{'refused' if refuses else 'answered'}_{'answerable' if answerable else 'unanswerable'}"
        claim = JudgedClaim(outcome.answer, verdict, reason=reason)
        return Opinion(float(refuses != answerable), claims=(claim,), reason=reason)
