"""Asking every question and scoring every answer: the walk of a run.

Two stages overlap. *Askers*, at most ``concurrency`` of them, take the next question, time the pipeline's call and
score at once what needs no waiting. Metrics that do wait (an LLM judge) go through a bounded queue to *judges*, at
most ``judge_concurrency`` of them, so that judging one answer overlaps with asking the next question.

A run that has to stop (a budget is spent, everything fails alike) starts nothing more and lets what is under way end;
one that is out of time cancels that too. Either way every question has a result, which says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Protocol

from fastrag.benchmark.asking import Asked, failed
from fastrag.benchmark.budget import Budget
from fastrag.benchmark.early_stop import EarlyStop
from fastrag.benchmark.judging.collecting import collecting_judgements
from fastrag.benchmark.judging.opinions import Judgement
from fastrag.benchmark.limits import Limits
from fastrag.benchmark.metrics.base import Metric
from fastrag.benchmark.reasons import join_reasons
from fastrag.benchmark.results import SampleResult, StatusCounts
from fastrag.benchmark.running_means import RunningMean, RunningMeans
from fastrag.benchmark.samples import EvalSample
from fastrag.benchmark.scoring import Scored, Scorer
from fastrag.benchmark.spending import Spending
from fastrag.benchmark.stopping import Stopping, take_back_cancellation, watch_stopping

# A target that never waits would keep the loop from running anything else, Ctrl-C included.
_LONGEST_WITHOUT_YIELD_S = 0.01
# Long enough for connections to be closed, short enough for someone who pressed Ctrl-C.
_LONGEST_CANCELLATION_S = 0.5

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run has come. Of a resumed run, earlier parts are in every number.

    Attributes:
        done: How many questions have ended.
        total: How many there are.
        status: In which statuses they ended.
        spent: On the pipeline and on the judges, so far.
        elapsed_s: How long the run has taken so far, as in `BenchmarkResult.duration_s`.
        means: Metric -> how many scores there are, and their mean. A question asked several times counts as often.
        stopped: Why the run did not come to its end, with which it reports a last time; None before that.
    """

    done: int
    total: int
    status: StatusCounts
    spent: Spending = field(default_factory=Spending)
    elapsed_s: float = 0.0
    means: Mapping[str, RunningMean] = field(default_factory=dict)
    stopped: str | None = None


class Asks(Protocol):
    """What answers a run's questions: the pipeline, or outcomes it gave before."""

    async def ask(self, position: int, sample: EvalSample, may_call: Callable[[], bool]) -> Asked:
        """What came of the question whose result stands at ``position``."""
        ...


class KeepsJudgements(Protocol):
    """What keeps what judges say as it comes; positions are those in the finished result."""

    def judged(self, position: int, judgements: Sequence[Judgement]) -> None:
        """A scoring has ended in which these judgements were made."""
        ...


class Records(KeepsJudgements, Protocol):
    """What keeps the results of a run as they come, too."""

    def answered(self, position: int, sample: EvalSample, asked: Asked) -> None:
        """The pipeline's part has ended; no metric has seen the outcome yet."""
        ...

    def ended(self, position: int, result: SampleResult, attempts: int, budget: Budget) -> None:
        """The sample's result is complete."""
        ...


@dataclass(slots=True)
class _Judging:
    """An answered question that still waits for judges."""

    position: int
    sample: EvalSample
    asked: Asked
    remaining: int
    scored: dict[str, Scored] = field(default_factory=dict)
    cut_short: bool = False
    """A judge was not asked because the run is stopping."""


class Run:
    """The state that the workers of one run share; used once.

    Args:
        asker: Answers the questions.
        samples: Each is asked ``limits.repeats`` times; its results stand side by side.
        metrics: Score the answers.
        limits: See `Benchmark`.
        budget: What may be spent, and what was.
        done: Results that are there already, by their position.
        records: Told of everything that ends.
        judgements: Told of what judges said, where there are no ``records``.
        on_progress: Called as each question ends.
        earlier_s: How long the earlier parts of a resumed run took.
    """

    def __init__(
        self,
        asker: Asks,
        samples: Sequence[EvalSample],
        metrics: Sequence[Metric],
        limits: Limits,
        *,
        budget: Budget,
        done: Mapping[int, SampleResult] | None = None,
        records: Records | None = None,
        judgements: KeepsJudgements | None = None,
        on_progress: Callable[[RunProgress], None] | None = None,
        earlier_s: float = 0.0,
    ) -> None:
        self._started = perf_counter() - earlier_s
        self.status = StatusCounts(0, 0, 0)
        self._asker = asker
        self._samples = samples
        self._limits = limits
        self._budget = budget
        self._records = records
        self._judgements = judgements or records
        self._on_progress = on_progress
        self._names = [metric.name for metric in metrics]
        # Nobody else needs them before the end.
        self._means = None if on_progress is None else RunningMeans(self._names)
        self._early = EarlyStop(limits.stop_after_alike, self._names)
        scorers = [Scorer(metric, self._early) for metric in metrics]
        self._computed = [scorer for scorer in scorers if not scorer.waits]
        self._waiting = [scorer for scorer in scorers if scorer.waits]
        self.results: list[SampleResult | None] = [None] * (len(samples) * limits.repeats)
        """As far as they are there, in the order of the samples."""
        for position, result in (done or {}).items():
            self.results[position] = result
            self._count(result)
        self._pending = self._positions()
        self._asking: set[int] = set()
        self._judging: dict[int, _Judging] = {}
        self._to_judge: asyncio.Queue[tuple[_Judging, Scorer] | None]
        self._out_of_time: str | None = None
        self._yielded_at = perf_counter()
        self._is_yielding = False
        self._workers: list[asyncio.Task[None]] = []
        self._given_up = False
        self._stopping = Stopping()

    @property
    def done(self) -> int:
        """How many results are there."""
        return self.status.successful + self.status.errored + self.status.incomplete

    async def execute(self) -> tuple[list[SampleResult], str | None]:
        """Ask and score everything; gives the results and, where not everything was asked, the reason."""
        duration_s = self._limits.max_duration_s
        self._stopping = watch_stopping()
        try:
            async with asyncio.timeout(duration_s) as scope:
                await self._walk_or_leave()
        except TimeoutError:
            if not scope.expired():
                raise
            self._out_of_time = f"max_duration_s={duration_s:g} reached"
        except BaseExceptionGroup as errors:
            first = _first(errors)
            raise first from first.__cause__
        reason = None
        if self.done < len(self.results):
            reason = self._stop_reason() or "the run ended before it came to this question"
        return self._closed(reason or ""), reason

    def give_up(self) -> None:
        """Leave behind what is under way, even by the loop's own end: it had its chance to be cancelled."""
        self._given_up = True
        # asyncio.run waits for every task it knows of. There is no public way to take one out; should this one go, such
        # a run ends slowly.
        unregister = getattr(asyncio.tasks, "_unregister_task", None)
        for task in self._workers:
            if unregister is not None and not task.done():
                unregister(task)

    async def _walk_or_leave(self) -> None:
        """Walk in a task of its own, so that a pipeline that refuses to be cancelled cannot hold up this one."""
        walk = asyncio.create_task(self._walk())
        self._workers.append(walk)
        try:
            await asyncio.shield(walk)
        except asyncio.CancelledError:
            self._stopping.requested = True
            walk.cancel()
            try:
                await asyncio.wait([walk], timeout=_LONGEST_CANCELLATION_S)
            finally:
                # Also where a second cancellation ends the waiting.
                if not walk.done():
                    _log.warning("the pipeline did not let itself be cancelled and is left behind")
                    self.give_up()
            raise

    async def _walk(self) -> None:
        self._to_judge = asyncio.Queue(maxsize=2 * self._limits.judge_concurrency)
        judges = min(self._limits.judge_concurrency, len(self.results) * len(self._waiting))
        async with asyncio.TaskGroup() as group:
            for _ in range(judges):
                self._workers.append(group.create_task(self._work(self._judge_all)))
            async with asyncio.TaskGroup() as askers:
                for _ in range(min(self._limits.concurrency, len(self.results))):
                    self._workers.append(askers.create_task(self._work(self._ask_all)))
            for _ in range(judges):
                await self._to_judge.put(None)

    async def _work(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except BaseException:
            # The other workers are cancelled for it, and must not take that for a pipeline's own failure.
            self._stopping.requested = True
            raise

    def _positions(self) -> Iterator[int]:
        # Every question once before any a second time: a run that stops early has asked as many as it could.
        for repeat in range(self._limits.repeats):
            for position in range(repeat, len(self.results), self._limits.repeats):
                if self.results[position] is None:
                    yield position

    def _stop_reason(self) -> str | None:
        return self._out_of_time or self._early.reason or self._budget.exhausted()

    def _may_call(self) -> bool:
        return self._stop_reason() is None

    async def _ask_all(self) -> None:
        for position in self._pending:
            # A pipeline that swallows its cancellation must not be asked again.
            if not self._may_call() or self._stopping.requested:
                return
            sample = self._samples[position // self._limits.repeats]
            self._asking.add(position)
            asked = await self._asker.ask(position, sample, self._may_call)
            if self._given_up:
                return
            await take_back_cancellation(self._stopping)
            self._asking.discard(position)
            if self._records is not None:
                self._records.answered(position, sample, asked)
            outcome = asked.outcome
            if outcome is None:
                self._finish(position, asked)
            else:
                if asked.result.answer is None:
                    self._budget.add_retrieval()
                else:
                    self._budget.add_answer(outcome.input_tokens, outcome.output_tokens)
                scored = {scorer.name: scorer.compute(sample, outcome) for scorer in self._computed}
                if self._waiting:
                    judging = _Judging(position, sample, asked, len(self._waiting), scored)
                    self._judging[position] = judging
                    for scorer in self._waiting:
                        await self._to_judge.put((judging, scorer))
                else:
                    self._set_scores(asked.result, scored)
                    self._finish(position, asked)
            if perf_counter() - self._yielded_at > _LONGEST_WITHOUT_YIELD_S:
                if not self._is_yielding:
                    self._is_yielding = True
                    # Once for all askers: if each took its time anew, the loop would wait for all of them in turn.
                    asyncio.get_running_loop().call_soon(self._loop_came_round)
                await asyncio.sleep(0)

    def _loop_came_round(self) -> None:
        self._is_yielding = False
        self._yielded_at = perf_counter()

    async def _judge_all(self) -> None:
        while (unit := await self._to_judge.get()) is not None:
            judging, scorer = unit
            outcome = judging.asked.outcome
            if outcome is None:
                continue
            spent = self._budget.exhausted()
            if spent is None:
                with collecting_judgements() as judgements:
                    scored = await scorer.score(judging.sample, outcome)
                if self._given_up:
                    return
                if self._stopping.requested and scored[0] is None:
                    return  # most likely for being cancelled; a resumed run is to ask again
                if judgements and self._judgements is not None:
                    self._judgements.judged(judging.position, judgements)
                await take_back_cancellation(self._stopping)
                judging.scored[scorer.name] = scored
            else:
                judging.scored[scorer.name] = None, ("not_attempted", spent)
                judging.cut_short = True
            judging.remaining -= 1
            if judging.remaining == 0 and not judging.cut_short:
                del self._judging[judging.position]
                self._set_scores(judging.asked.result, judging.scored)
                self._finish(judging.position, judging.asked)
            if self._stopping.requested:
                return  # a metric that swallows its cancellation must not be asked again

    def _set_scores(self, result: SampleResult, scored: Mapping[str, Scored]) -> None:
        reasons = {}
        for name in self._names:
            score, reason = scored[name]
            result.scores[name] = score
            if reason is not None:
                reasons[name] = reason
        if reasons:
            result.status = "incomplete"
            result.error = join_reasons(reasons)

    def _finish(self, position: int, asked: Asked) -> None:
        result = asked.result
        self.results[position] = result
        self._count(result)
        self._early.sample_ended(result)
        if self._records is not None:
            self._records.ended(position, result, asked.attempts, self._budget)
        self._report()

    def _count(self, result: SampleResult) -> None:
        setattr(self.status, result.status, getattr(self.status, result.status) + 1)
        if self._means is not None:
            self._means.add(result.scores)

    def _report(self, stopped: str | None = None) -> None:
        if self._on_progress is not None and self._means is not None:
            status = self.status
            state = RunProgress(
                done=self.done,
                total=len(self.results),
                status=StatusCounts(status.successful, status.errored, status.incomplete),
                spent=self._budget.spending(),
                elapsed_s=perf_counter() - self._started,
                means=self._means.now(),
                stopped=stopped,
            )
            try:
                self._on_progress(state)
            except asyncio.CancelledError as error:
                # Raised on, it would end a worker as if the run had been stopped.
                raise RuntimeError("the progress callback raised CancelledError") from error

    def _closed(self, reason: str) -> list[SampleResult]:
        """Every result; those that are missing say that ``reason`` kept the run from getting them."""
        closed = []
        for position, found in enumerate(self.results):
            result = found
            if result is None:
                result = self._without_end(position, reason)
                self._count(result)
            closed.append(result)
        if reason:
            self._report(reason)
        return closed

    def _without_end(self, position: int, reason: str) -> SampleResult:
        if judging := self._judging.get(position):
            not_asked: Scored = None, ("not_attempted", reason)
            self._set_scores(judging.asked.result, dict.fromkeys(self._names, not_asked) | judging.scored)
            return judging.asked.result
        cut_off = position in self._asking
        error = f"TimeoutError: no answer when {reason}" if cut_off else f"not attempted: {reason}"
        sample = self._samples[position // self._limits.repeats]
        return failed(sample, self._names, error, 0.0)


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    first = errors.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
