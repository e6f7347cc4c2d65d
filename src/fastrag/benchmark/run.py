"""Asking every question once and scoring every answer: the walk of a run.

Two stages overlap. *Askers*, at most ``concurrency`` of them, take the next question, time the pipeline's call and
score at once what needs no waiting. Metrics that do wait (an LLM judge) go through a bounded queue to *judges*, at
most ``judge_concurrency`` of them, so that judging one answer overlaps with asking the next question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import perf_counter

from fastrag.benchmark.metrics.base import Metric, QueryOutcome
from fastrag.benchmark.metrics.computed import ComputedMetric
from fastrag.benchmark.reasons import describe_error, join_reasons
from fastrag.benchmark.results import SampleResult, StatusCounts
from fastrag.benchmark.samples import EvalSample
from fastrag.benchmark.scoring import Scored, is_computed, score_async, score_computed
from fastrag.benchmark.target import Target

# A target that never waits would keep the loop from running anything else, Ctrl-C included.
_LONGEST_WITHOUT_YIELD_S = 0.01


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run has come: ``done`` of ``total`` questions have ended, in these statuses."""

    done: int
    total: int
    status: StatusCounts


@dataclass(slots=True)
class _Judging:
    """An answered question that still waits for judges."""

    index: int
    sample: EvalSample
    outcome: QueryOutcome
    result: SampleResult
    remaining: int
    scored: dict[str, Scored] = field(default_factory=dict)


class Run:
    """The state that the workers of one run share; used once."""

    def __init__(
        self,
        target: Target,
        samples: Sequence[EvalSample],
        metrics: Sequence[Metric],
        *,
        concurrency: int,
        judge_concurrency: int,
        timeout_s: float | None,
        on_progress: Callable[[RunProgress], None] | None,
    ) -> None:
        self.status = StatusCounts(0, 0, 0)
        self._target = target
        self._samples = samples
        self._names = [metric.name for metric in metrics]
        self._computed: list[tuple[str, ComputedMetric]] = []
        self._waiting: list[tuple[str, Metric]] = []
        for name, metric in zip(self._names, metrics, strict=True):
            if isinstance(metric, ComputedMetric) and is_computed(metric):
                self._computed.append((name, metric))
            else:
                self._waiting.append((name, metric))
        self._concurrency = min(concurrency, len(samples))
        self._judge_concurrency = judge_concurrency
        self._timeout_s = timeout_s
        self._on_progress = on_progress
        self._pending = iter(enumerate(samples))
        self._results: list[SampleResult | None] = [None] * len(samples)
        self._to_judge: asyncio.Queue[tuple[_Judging, str, Metric] | None]
        self._executor = ThreadPoolExecutor(self._concurrency, thread_name_prefix="fastrag-ask")
        self._yielded_at = perf_counter()

    async def execute(self) -> list[SampleResult]:
        """Ask and score everything; the results stand in the order of the samples."""
        self._to_judge = asyncio.Queue(maxsize=2 * self._judge_concurrency)
        judges = self._judge_concurrency if self._waiting else 0
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(judges):
                    group.create_task(self._judge_all())
                async with asyncio.TaskGroup() as askers:
                    for _ in range(self._concurrency):
                        askers.create_task(self._ask_all())
                for _ in range(judges):
                    await self._to_judge.put(None)
        finally:
            # A thread cannot be cancelled; one that hangs is left behind instead of holding up the run.
            self._executor.shutdown(wait=False, cancel_futures=True)
        return [result for result in self._results if result is not None]

    async def _ask_all(self) -> None:
        for index, sample in self._pending:
            outcome, result = await self._ask(sample)
            if outcome is None:
                self._finish(index, result)
            else:
                scored = {name: score_computed(metric, sample, outcome) for name, metric in self._computed}
                if self._waiting:
                    judging = _Judging(index, sample, outcome, result, len(self._waiting), scored)
                    for name, metric in self._waiting:
                        await self._to_judge.put((judging, name, metric))
                else:
                    self._finish_scored(index, result, scored)
            if perf_counter() - self._yielded_at > _LONGEST_WITHOUT_YIELD_S:
                await asyncio.sleep(0)
                self._yielded_at = perf_counter()

    async def _judge_all(self) -> None:
        while (unit := await self._to_judge.get()) is not None:
            judging, name, metric = unit
            judging.scored[name] = await score_async(metric, judging.sample, judging.outcome)
            judging.remaining -= 1
            if judging.remaining == 0:
                self._finish_scored(judging.index, judging.result, judging.scored)

    async def _ask(self, sample: EvalSample) -> tuple[QueryOutcome | None, SampleResult]:
        """The outcome, and the sample's result with its scores still open; no outcome where the call failed."""
        scope = asyncio.timeout(self._timeout_s)
        started = perf_counter()
        try:
            if self._timeout_s is None:
                reply = await self._target.ask(sample.question, self._executor)
            else:
                async with scope:
                    reply = await self._target.ask(sample.question, self._executor)
            latency_ms = (perf_counter() - started) * 1000
            outcome = self._target.read(reply, latency_ms)
        except BaseException as error:
            latency_ms = (perf_counter() - started) * 1000
            if not self._is_the_pipelines(error):
                raise
            # A TimeoutError of the pipeline's own is not the deadline set here.
            if isinstance(error, TimeoutError) and self._timeout_s is not None and scope.expired():
                reason = f"TimeoutError: no answer within timeout_s={self._timeout_s:g}"
            else:
                reason = describe_error(error)
            scores: dict[str, float | None] = dict.fromkeys(self._names)
            return None, SampleResult(sample.question, "errored", scores, latency_ms=latency_ms, error=reason)
        sources = outcome.sources
        return outcome, SampleResult(
            sample.question,
            "successful",
            {},
            outcome.answer if self._target.answers else None,
            [document.id for document in sources],
            [document.uri or "" for document in sources],
            latency_ms,
        )

    @staticmethod
    def _is_the_pipelines(error: BaseException) -> bool:
        """Whether the failure is the pipeline's own, and not this run being stopped."""
        if isinstance(error, asyncio.CancelledError):
            task = asyncio.current_task()
            return task is not None and task.cancelling() == 0
        return not isinstance(error, KeyboardInterrupt | GeneratorExit)

    def _finish_scored(self, index: int, result: SampleResult, scored: dict[str, Scored]) -> None:
        reasons = {}
        for name in self._names:
            score, reason = scored[name]
            result.scores[name] = score
            if reason is not None:
                reasons[name] = reason
        if reasons:
            result.status = "incomplete"
            result.error = join_reasons(reasons)
        self._finish(index, result)

    def _finish(self, index: int, result: SampleResult) -> None:
        self._results[index] = result
        setattr(self.status, result.status, getattr(self.status, result.status) + 1)
        if self._on_progress is not None:
            counts = self.status
            done = counts.successful + counts.errored + counts.incomplete
            self._on_progress(RunProgress(done, len(self._samples), counts))
