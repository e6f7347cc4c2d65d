"""What every judged metric does: asks for opinions, makes a score of them, and keeps why there is none."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from fastrag._support.concurrency import run_together
from fastrag.benchmark.estimate import Assumptions, Between, EstimatedUsage, estimated_usage
from fastrag.benchmark.judging.collecting import record_judgement
from fastrag.benchmark.judging.judge import Asking, Judge
from fastrag.benchmark.judging.opinions import GivenOpinion, Judgement, Missing, Opinion
from fastrag.benchmark.metrics.base import Metric, QueryOutcome
from fastrag.benchmark.metrics.judged.claims import MAX_TEXT_CHARACTERS, too_long
from fastrag.benchmark.reasons import describe_error, explain_missing, shorten
from fastrag.benchmark.samples import EvalSample
from fastrag.errors import ServiceError, UnreadableReplyError
from fastrag.llm import LLM


class JudgedMetric(Metric):
    """A metric that asks a language model.

    The score is the mean of the opinions of all models and votes; None where fewer than half of them have one.

    Args:
        judge: A `Judge`; a model or several are made one with its defaults.
    """

    needs_answer = True
    needs_reference_answer: bool = False
    """True when the metric reads sample.reference_answer; Benchmark refuses it where no sample has one."""

    keeps_judgements = True
    """Its judgements are kept beside the result."""

    def __init__(self, judge: Judge | LLM | Sequence[LLM]) -> None:
        self._judge = judge if isinstance(judge, Judge) else Judge(judge)

    async def score(self, sample: EvalSample, outcome: QueryOutcome) -> float | None:
        """This sample's score, or None when it is not measurable.

        Raises:
            ServiceError: The judge's endpoint failed.
        """
        judgement = await self.judge(sample, outcome)
        record_judgement(judgement)
        if judgement.missing is not None:
            explain_missing(judgement.missing.kind, judgement.missing.detail)
        return judgement.score

    async def judge(self, sample: EvalSample, outcome: QueryOutcome) -> Judgement:
        """The score and all that it was made of.

        Raises:
            ServiceError: The judge's endpoint failed; of a jury, or of several votes, every time.
        """
        # First, for looking at an endless answer may take seconds, and showing it to a judge a fortune.
        if self.needs_answer and len(outcome.answer) > MAX_TEXT_CHARACTERS:
            missing: Missing | None = Missing("not_measured", too_long("answer", outcome.answer))
        else:
            missing = self.unmeasurable(sample, outcome)
        if missing is not None:
            return Judgement(self.name, sample.question, None, None, missing, ())
        failures: list[ServiceError] = []
        given = await run_together(*(self._given(asking, sample, outcome, failures) for asking in self._judge.takes()))
        if len(failures) == len(given):
            raise failures[0]
        scores = [each.opinion.score for each in given if each.opinion.score is not None]
        if 2 * len(scores) >= len(given):
            spread = max(scores) - min(scores) if len(scores) > 1 else None
            return Judgement(self.name, sample.question, fmean(scores), spread, None, tuple(given))
        unexplained = Missing("not_measured", "the metric gave neither a score nor a reason")
        missing = next((each.opinion.missing for each in given if each.opinion.missing is not None), unexplained)
        return Judgement(self.name, sample.question, None, None, missing, tuple(given))

    def unpriced(self) -> list[str]:
        """What to do about each of the judge's models whose price is not known."""
        return self._judge.unpriced()

    def estimated_calls(self, sample: EvalSample, assumed: Assumptions) -> Between:
        """How often one opinion on this sample asks the judge, at least and at most; 1 unless a metric says more.

        Args:
            sample: Has what the metric needs.
            assumed: How many sources and claims there will be, and how long they are.
        """
        return 1, 1

    def estimated_usage(self, samples: Sequence[EvalSample], assumed: Assumptions) -> EstimatedUsage:
        """What judging these samples will take; see `Benchmark.estimate`."""
        prompts = []
        words, answer, context = (
            assumed.instruction_characters,
            assumed.answer_characters,
            assumed.context_characters(),
        )
        for sample in samples:
            if self.needs_reference_answer and sample.reference_answer is None:
                continue
            # A prompt has at least a question in it, and at most everything there is.
            least = words[0] + len(sample.question)
            most = words[1] + len(sample.question) + len(sample.reference_answer or "") + answer[1] + context[1]
            calls = self.estimated_calls(sample, assumed)
            # A choice that cannot be read off the log-probabilities is asked for once more, in writing.
            prompts.append(((calls[0], calls[1] * (1 + self._judge.by_logprobs)), (least, most)))
        prices = [price for _ in range(self._judge.votes) for price in self._judge.prices]
        found = estimated_usage(self.name, prompts, assumed.reply_characters, prices, assumed)
        return found if None not in prices else replace(found, unknown="; ".join(self.unpriced()))

    def unmeasurable(self, sample: EvalSample, outcome: QueryOutcome) -> Missing | None:
        """Why there is nothing to ask the judge for; None where there is."""
        if self.needs_reference_answer and sample.reference_answer is None:
            return Missing("not_applicable", "no reference_answer")
        return None

    @abstractmethod
    async def opinion(self, asking: Asking, sample: EvalSample, outcome: QueryOutcome) -> Opinion:
        """One opinion.

        Raises:
            UnreadableReplyError: The judge gave no reply that could be read.
            ServiceError: The judge's endpoint failed.
        """

    async def _given(
        self, asking: Asking, sample: EvalSample, outcome: QueryOutcome, failures: list[ServiceError]
    ) -> GivenOpinion:
        try:
            opinion = await self.opinion(asking, sample, outcome)
        except UnreadableReplyError as error:
            opinion = Opinion(None, Missing("judge_unparseable", str(error)))
        except ServiceError as error:
            # What the others say was asked for, and counts.
            failures.append(error)
            opinion = Opinion(None, Missing("metric_error", describe_error(error)))
        return GivenOpinion(
            _bounded(opinion),
            asking.model,
            asking.take,
            asking.calls,
            asking.cached_calls,
            asking.input_tokens,
            asking.output_tokens,
            tuple(asking.unreadable),
        )


def _bounded(opinion: Opinion) -> Opinion:
    """``opinion`` as it is kept: a judge's words may be endless, a line of the file may not."""
    claims = tuple(
        replace(
            claim,
            text=shorten(claim.text),
            sources=tuple(dict.fromkeys(claim.sources)),
            reason=shorten(claim.reason),
        )
        for claim in opinion.claims
    )
    return replace(opinion, claims=claims, reason=shorten(opinion.reason))
