"""A criterion of the user's own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fastrag._support.checks import require_text, shown
from fastrag.benchmark.judging.judge import Asking, Judge
from fastrag.benchmark.judging.opinions import Missing, Opinion
from fastrag.benchmark.metrics.base import QueryOutcome
from fastrag.benchmark.metrics.judged.base import JudgedMetric
from fastrag.benchmark.metrics.judged.material import MATERIAL, material
from fastrag.benchmark.samples import EvalSample
from fastrag.errors import ConfigurationError
from fastrag.llm import LLM

INSTRUCTIONS = f"""\
You grade what a program that answers questions came up with, by one criterion.
{MATERIAL}
There is one exception: the text named "criterion", and the one named "levels" if there is one, say what to grade by. \
All others are what is graded. Grade by the criterion alone; what it does not ask for is not your concern.\
"""

YES_NO = """
yes: the criterion is met.
no: it is not met, or only in part.\
"""

LEVELS = """
Give the level that fits best. From the worst to the best they are {levels}; the text named "levels" tells what each \
means.\
"""

_MOST_LEVELS = 10
_LEVEL = re.compile(r"\w[\w-]{0,29}")
_NAME = re.compile(r"[^\s:;]+")


class Rubric(JudgedMetric):
    """A criterion of your own, under a name of your own: met or not, or a scale of levels.

    One call by `INSTRUCTIONS`. The judge sees the criterion, the question, and what the criterion is about: answer,
    reference answer, sources, as asked for. Without ``levels`` the score is 1 for yes and 0 for no; with n of them the
    worst is 0, the best 1, and the others lie between at equal steps of 1 / (n - 1). A judge that is read by
    log-probabilities gives the levels' mean, weighted by their probabilities (G-Eval, Liu et al. 2023,
    arXiv:2303.16634).

    Scores lie within 0..1. Reports know ranges by the metrics' names, and not of names that users give: where they take
    ``ranges``, give ``{name: (0, 1)}``.

    Args:
        judge: See `JudgedMetric`.
        criterion: What to grade by, as you would tell a person: "The answer names the version it is about."
        name: Of the metric; no white space, colon or semicolon.
        levels: Name of each level, such as "poor", with what it means; from the worst to the best, 2 to 10.
        needs_answer: Show the answer; an empty one is not measured.
        needs_reference_answer: Show the reference answer; a sample without one is not applicable.
        needs_sources: Show the sources, numbered; where none was retrieved it is not measured.

    Raises:
        ConfigurationError: An argument is of another kind, or nothing but the question would be shown.

    >>> import asyncio
    >>> from fastrag.testing import ScriptedLLM
    >>> levels = {"rude": "It scolds the asker.", "curt": "A bare answer.", "kind": "It is warm, and brief."}
    >>> judge = ScriptedLLM('{"reason": "Two words.", "verdict": "curt"}')
    >>> metric = Rubric(judge, "How kind is the answer?", name="kindness", levels=levels)
    >>> asyncio.run(metric.score(EvalSample("How hot is green tea steeped?"), QueryOutcome("80 degrees.", [], 1.0)))
    0.5
    """

    def __init__(
        self,
        judge: Judge | LLM | Sequence[LLM],
        criterion: str,
        *,
        name: str,
        levels: Mapping[str, str] | None = None,
        needs_answer: bool = True,
        needs_reference_answer: bool = False,
        needs_sources: bool = False,
    ) -> None:
        super().__init__(judge)
        self._criterion = require_text("criterion", criterion)
        self._name = require_text("name", name)
        if not _NAME.fullmatch(name):
            raise ConfigurationError(f"name must have no white space, colon or semicolon in it, not be {shown(name)}")
        self._levels = _checked(levels)
        self.needs_answer = needs_answer
        self.needs_reference_answer = needs_reference_answer
        self.needs_sources = needs_sources
        if not (needs_answer or needs_reference_answer or needs_sources):
            raise ConfigurationError(
                f"{name} would show the judge nothing but questions: set needs_answer, needs_reference_answer or "
                "needs_sources"
            )

    @property
    def name(self) -> str:
        """As it was given."""
        return self._name

    def unmeasurable(self, sample: EvalSample, outcome: QueryOutcome) -> Missing | None:
        """See `JudgedMetric.unmeasurable`."""
        if missing := super().unmeasurable(sample, outcome):
            return missing
        if self.needs_answer and not outcome.answer.strip():
            return Missing("not_measured", "the answer is empty")
        if self.needs_sources and not outcome.sources:
            return Missing("not_measured", "no source was retrieved")
        return None

    async def opinion(self, asking: Asking, sample: EvalSample, outcome: QueryOutcome) -> Opinion:
        """See `JudgedMetric.opinion`."""
        shown_to_judge = [("criterion", self._criterion)]
        if self._levels:
            shown_to_judge.append(("levels", "\n".join(f"{name}: {text}" for name, text in self._levels.items())))
        shown_to_judge.append(("question", sample.question))
        if self.needs_answer:
            shown_to_judge.append(("answer", outcome.answer))
        if self.needs_reference_answer:
            shown_to_judge.append(("reference answer", sample.reference_answer or ""))
        if self.needs_sources:
            shown_to_judge += [(f"source {i}", source.text) for i, source in enumerate(outcome.sources, start=1)]
        values, how = {"yes": 1.0, "no": 0.0}, YES_NO
        if self._levels:
            values = {name: rank / (len(self._levels) - 1) for rank, name in enumerate(self._levels)}
            how = LEVELS.format(levels=", ".join(self._levels))
        choice = await asking.choose(INSTRUCTIONS + how, material(*shown_to_judge), list(values))
        return Opinion(choice.expected(values), reason=choice.reason)


def _checked(levels: object) -> dict[str, str]:
    """The levels, empty where there are none."""
    if levels is None:
        return {}
    if not isinstance(levels, Mapping) or not 2 <= len(levels) <= _MOST_LEVELS:
        raise ConfigurationError(
            f"levels must be a mapping from 2 to {_MOST_LEVELS} names, from the worst to the best, to what each means, "
            f"not {shown(levels)}"
        )
    for name, text in levels.items():
        if not isinstance(name, str) or not _LEVEL.fullmatch(name):
            raise ConfigurationError(f"the name of a level must be one word of at most 30 letters, not {shown(name)}")
        require_text(f"the description of level {name!r}", text)
    if len({name.lower() for name in levels}) < len(levels):
        raise ConfigurationError(f"names of levels must differ by more than their case: {', '.join(levels)}")
    return dict(levels)
