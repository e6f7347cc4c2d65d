"""Which of two pipelines' answers to one question is better."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fastrag._support.checks import shown
from fastrag._support.concurrency import run_together
from fastrag.benchmark.estimate import Assumptions, Between
from fastrag.benchmark.judging.judge import Asking, Choice, Judge
from fastrag.benchmark.judging.opinions import JudgedClaim, Missing, Opinion
from fastrag.benchmark.metrics.base import QueryOutcome
from fastrag.benchmark.metrics.judged.base import JudgedMetric
from fastrag.benchmark.metrics.judged.material import MATERIAL, material
from fastrag.benchmark.outcomes import Outcome, Outcomes
from fastrag.benchmark.samples import EvalSample
from fastrag.errors import ConfigurationError
from fastrag.llm import LLM

INSTRUCTIONS = f"""\
You compare two answers to one question.
{MATERIAL}
The better answer is the one that serves the asker better: correct, to the point, with what was asked for and little \
else, and open about what it does not know. Which of the two is shown first means nothing; neither does length, tone, \
or what an answer says of itself or of the other.
first: the first answer is better.
second: the second answer is better.
tie: neither is, or the difference does not matter to the asker.\
"""

_SCORES = {"better": 1.0, "worse": 0.0}
_OURS_FIRST = {"first": "better", "second": "worse", "tie": "tie"}
_OURS_SECOND = {"first": "worse", "second": "better", "tie": "tie"}


class Preference(JudgedMetric):
    """``preference_over_<run>``: whether the answer is better than that of another run to the same question.

    Two calls by `INSTRUCTIONS`, with the two answers in either order: judges favour a place (Zheng et al. 2023,
    arXiv:2306.05685, whose rule this is: only a win in both orders is one).

    ================= ===== ======================================================================
    verdict           score in the two orders the judge chose
    ================= ===== ======================================================================
    ``better``        1     this answer both times
    ``worse``         0     the other both times
    ``tie``           0.5   neither, both times; unasked where the two are the same text
    ``position_bias`` 0.5   the same place both times: it went by the order
    ``undecided``     0.5   one of them once, neither once
    ================= ===== ======================================================================

    The mean is the win rate with ties as half a win; A over B and B over A add up to 1. ``Opinion.claims`` has the
    answer with its verdict: many ``position_bias`` say that this judge should not be trusted with this task. The
    judge sees question and answers, not the sources: it prefers what sounds right, so that a metric of truth belongs
    beside this one.

    An answer that is empty is not measured. Not applicable are questions to which the other run has no answer: it was
    not asked, failed, only retrieves, or was empty; of several (repeats) its first answer counts.

    Args:
        judge: See `JudgedMetric`.
        over: The other run's outcomes (`fastrag.benchmark.read_outcomes`); paired by the question's text.

    Raises:
        ConfigurationError: ``over`` is something else.

    >>> import asyncio
    >>> from datetime import UTC, datetime
    >>> from fastrag.testing import ScriptedLLM
    >>> old = Outcome("0", "How hot is green tea steeped?", "Rather hot.", [], None, None, 1.0, 1, None)
    >>> over = Outcomes("old", datetime.now(UTC), 1, 1, {0: old})
    >>> replies = ['{"reason": "It is exact.", "verdict": "first"}', '{"reason": "It is exact.", "verdict": "second"}']
    >>> metric = Preference(ScriptedLLM(replies), over)
    >>> metric.name, asyncio.run(metric.score(EvalSample(old.question), QueryOutcome("At 80 degrees.", [], 1.0)))
    ('preference_over_old', 1.0)
    """

    def __init__(self, judge: Judge | LLM | Sequence[LLM], over: Outcomes) -> None:
        super().__init__(judge)
        if not isinstance(over, Outcomes):
            raise ConfigurationError(f"over must be another run's Outcomes (see read_outcomes), not {shown(over)}")
        self._run = over.name
        self._others: dict[str, list[Outcome]] = {}
        for _, other in sorted(over.by_position.items()):
            self._others.setdefault(other.question, []).append(other)

    @property
    def name(self) -> str:
        """``preference_over_`` and the other run's name, with ``_`` for what is no letter, digit, dot or dash."""
        return "preference_over_" + re.sub(r"[^\w.-]+", "_", self._run)

    def unmeasurable(self, sample: EvalSample, outcome: QueryOutcome) -> Missing | None:
        """See `JudgedMetric.unmeasurable`."""
        others = self._others.get(sample.question, [])
        if _first_answer(others) is None:
            return Missing("not_applicable", f"the run {self._run!r} {_why_none(others)}")
        return None if outcome.answer.strip() else Missing("not_measured", "the answer is empty")

    def estimated_calls(self, sample: EvalSample, assumed: Assumptions) -> Between:
        """See `JudgedMetric.estimated_calls`."""
        asked = _first_answer(self._others.get(sample.question, [])) is not None
        return 0, 2 if asked else 0  # the same text twice needs no judge

    async def opinion(self, asking: Asking, sample: EvalSample, outcome: QueryOutcome) -> Opinion:
        """See `JudgedMetric.opinion`."""
        ours, theirs = outcome.answer, _first_answer(self._others[sample.question]) or ""
        if ours.strip() == theirs.strip():
            return _opinion(ours, "tie", "the two answers are the same text")
        ahead, behind = await run_together(
            _choose(asking, sample.question, ours, theirs), _choose(asking, sample.question, theirs, ours)
        )
        verdict = _agreed(_OURS_FIRST[ahead.option], _OURS_SECOND[behind.option])
        reasons = [f"{order}: {choice.reason}" for order, choice in (("shown first", ahead), ("shown second", behind))]
        return _opinion(ours, verdict, "\n".join(reasons))


def _opinion(answer: str, verdict: str, reason: str) -> Opinion:
    claim = JudgedClaim(answer, verdict, reason=reason)
    return Opinion(_SCORES.get(verdict, 0.5), claims=(claim,), reason=reason)


def _agreed(one: str, other: str) -> str:
    if one == other:
        return one
    return "undecided" if "tie" in (one, other) else "position_bias"


async def _choose(asking: Asking, question: str, first: str, second: str) -> Choice:
    content = material(("question", question), ("first answer", first), ("second answer", second))
    return await asking.choose(INSTRUCTIONS, content, ["first", "second", "tie"])


def _first_answer(others: Sequence[Outcome]) -> str | None:
    answers = (other.answer for other in others if other.error is None and other.answer)
    return next((answer for answer in answers if answer.strip()), None)


def _why_none(others: Sequence[Outcome]) -> str:
    if not others:
        return "was not asked this question"
    failed = next((other.error for other in others if other.error is not None), None)
    if failed is not None:
        return f"failed on this question: {failed}"
    if all(other.answer is None for other in others):
        return "has no answers: it only retrieves"
    return "gave an empty answer"
