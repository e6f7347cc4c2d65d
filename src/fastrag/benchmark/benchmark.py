"""Benchmark: everything is checked before the first call, and every question ends in exactly one status."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from fastrag._support.checks import require_text
from fastrag.benchmark.asking import Asker
from fastrag.benchmark.assembly import assemble
from fastrag.benchmark.budget import Price
from fastrag.benchmark.checks import all_problems, with_ids
from fastrag.benchmark.estimate import Assumptions, Between, Estimate, estimated
from fastrag.benchmark.id_spaces import disjoint_ids_warning
from fastrag.benchmark.limits import Limits
from fastrag.benchmark.loop_lag import measured_lag
from fastrag.benchmark.metrics.base import Metric
from fastrag.benchmark.results import BenchmarkResult
from fastrag.benchmark.run import Run, RunProgress
from fastrag.benchmark.samples import EvalSample
from fastrag.benchmark.signals import stopping_on_signals
from fastrag.benchmark.spending import Spending
from fastrag.benchmark.target import Target
from fastrag.benchmark.threads import DaemonThreads
from fastrag.benchmark.warning import warn
from fastrag.errors import ConfigurationError

if TYPE_CHECKING:
    from fastrag.benchmark.recording import Recording

_log = logging.getLogger(__name__)


class Benchmark:
    """Measures a pipeline on a set of questions.

    Args:
        target: What to measure: an object with ``async query(question)`` returning a `fastrag.QueryResult`, or
            with ``async retrieve(question)`` returning Documents, best first. A method that is not async runs in
            a thread.
        samples: The questions. One without an ``id`` gets its position.
        metrics: What to measure, each under its own name.
        concurrency: How many questions are with the pipeline at once.
        judge_concurrency: How many scorings by metrics that wait (LLM judges) run at once.
        timeout_s: An attempt without an answer by then has failed, and with the last attempt the question is
            *errored*; None waits for ever.
        max_duration_s: One call of `run` takes no longer. What is under way then is cancelled; earlier parts of a
            resumed run do not count.
        max_cost_usd: No call of the pipeline and no scoring by a judge is started once so many US dollars are
            spent, earlier parts of a resumed run included. What is under way then is finished, so that the total
            can be higher by as many calls as run at once. Needs a ``price``, or `CostUsd` among the metrics, for
            what the pipeline takes; judges have prices of their own (`record_usage`).
        max_tokens: The same for input and output tokens together.
        price: What the pipeline's tokens cost: a `CostUsd`, or a function of input and output tokens giving US dollars.
        repeats: Ask every question so often; its results stand side by side. All are asked once before any is
            asked again.
        max_attempts: Ask again, up to so many times in all, when the pipeline could not be reached or did not
            answer in time: on ServiceUnavailableError, ServiceTimeoutError, ConnectionError, TimeoutError,
            ``timeout_s``, and whatever has an attribute ``retry_after_s`` (seconds to wait first, which are
            waited up to 600). 1 leaves retrying to the pipeline's own clients: let one of the two do it.
        stop_after_alike: Stop when the first so many questions all fail with the same error, or a metric cannot reach
            its model on the first so many answers; also when a metric raises the same programming error three times
            in a row, whose traceback is logged. None never stops.

    Raises:
        ConfigurationError: The request cannot be satisfied. The message lists every problem, with its numbers.

    >>> import asyncio
    >>> from fastrag import Document
    >>> from fastrag.benchmark.metrics import RecallAtK
    >>> class Parrot:
    ...     async def retrieve(self, question):
    ...         return [Document(word, word) for word in question.split()]
    >>> samples = [EvalSample("which tuple", relevant_ids=["tuple", "list"])]
    >>> result = asyncio.run(Benchmark(Parrot(), samples, [RecallAtK(5)]).run("parrot"))
    >>> result.summary["recall@5"].mean, result.status.successful
    (0.5, 1)
    """

    def __init__(
        self,
        target: object,
        samples: Sequence[EvalSample],
        metrics: Sequence[Metric],
        *,
        concurrency: int = 8,
        judge_concurrency: int = 8,
        timeout_s: float | None = None,
        max_duration_s: float | None = None,
        max_cost_usd: float | None = None,
        max_tokens: int | None = None,
        price: Price | None = None,
        repeats: int = 1,
        max_attempts: int = 1,
        stop_after_alike: int | None = 20,
    ) -> None:
        self._target = Target(target)
        self._limits = Limits(
            concurrency=concurrency,
            judge_concurrency=judge_concurrency,
            timeout_s=timeout_s,
            max_duration_s=max_duration_s,
            max_cost_usd=max_cost_usd,
            max_tokens=max_tokens,
            price=price,
            repeats=repeats,
            max_attempts=max_attempts,
            stop_after_alike=stop_after_alike,
        )
        problems = all_problems(self._target, samples, metrics) + self._limits.problems()
        if not problems:
            problems += self._limits.fit_problems(self._target, metrics)
        if problems:
            raise ConfigurationError("\n- ".join(["this benchmark cannot be run:", *problems]))
        self._samples = with_ids(samples)
        self._metrics = list(metrics)
        self._budget = self._limits.budget(self._metrics)

    @property
    def spent(self) -> Spending:
        """What the run that was begun last has spent so far, on the pipeline and on the judges."""
        return self._budget.spending()

    def estimate(
        self,
        *,
        answer_characters: float | Between | None = None,
        sources: float | Between | None = None,
        source_characters: float | Between | None = None,
        claims: float | Between | None = None,
        instruction_characters: float | Between | None = None,
        reply_characters: float | Between | None = None,
        characters_per_token: float | Between | None = None,
    ) -> Estimate:
        """How many calls, tokens and US dollars a run will take, as ranges; asks nothing.

        Everything about the samples is counted; what pipeline and judges will say is assumed. Give what you know of
        your pipeline as a number, or as a pair of the least and the most, and the ranges become narrow. Every question
        is taken to be answered, every judge's reply to be readable, and no answer of a judge to be in the cache yet.

        Args:
            answer_characters: Length of an answer; 50 to 2,000 unless given.
            sources: How many sources an answer has; 1 to 10.
            source_characters: Length of a source; 200 to 2,000.
            claims: How many claims an answer makes; 1 to 20.
            instruction_characters: Length of what a prompt says besides the texts in it; 300 to 4,000.
            reply_characters: Length of one reply of a judge; 10 to 4,000.
            characters_per_token: 4, which is about right for English; fewer for other languages and code.

        Raises:
            ConfigurationError: A value is neither a number from 0 to 1,000,000,000 nor a pair of them.
        """
        given = {
            "answer_characters": answer_characters,
            "sources": sources,
            "source_characters": source_characters,
            "claims": claims,
            "instruction_characters": instruction_characters,
            "reply_characters": reply_characters,
            "characters_per_token": characters_per_token,
        }
        return estimated(self._target, self._samples, self._metrics, self._limits, Assumptions.of(given))

    async def run(
        self,
        name: str,
        *,
        path: str | Path | None = None,
        resume: bool = False,
        retry_errored: bool = False,
        keep_outcomes: bool = False,
        progress: Callable[[RunProgress], None] | bool = False,
    ) -> BenchmarkResult:
        """Ask every question, score the answers, and return the whole outcome.

        A question whose pipeline raises or runs out of ``timeout_s`` is *errored*: no metric sees it and it is
        never scored 0. A metric that raises, or returns None, NaN or anything that is not a finite number, leaves
        that one score None, says why in the sample's ``error``, and makes the sample *incomplete*.

        A run that stops because of a limit or because everything fails alike returns what it has: what it did not
        come to is errored, with the reason "not attempted: ...". One that is cancelled, or stopped by Ctrl-C or
        SIGTERM, raises. Both leave the journal, from which ``resume`` goes on.

        Args:
            name: The result's identity: name it after the pipeline's configuration.
            path: Where the result is saved. While the run goes on, each sample that ends is kept at once in
                ``<path>.journal``, which a complete result replaces; and what judges said in
                ``<path>.judgements.jsonl``, which stays (`read_judgements`). None writes nothing.
            resume: Go on with the journal of ``path``, if there is one; it has to be of the same samples, metrics
                and name. Samples that ended in it are not asked again.
            retry_errored: Ask those again that are errored in the journal.
            keep_outcomes: Keep what the pipeline returned in ``<path>.outcomes.jsonl``, for `rescore`.
            progress: True shows how far the run has come, its pace, failures, spending and means so far: in place on
                a terminal (stderr) and in a notebook, elsewhere and in CI as a line every 30 s. A callable gets a
                `RunProgress` as each question ends.

        Raises:
            ConfigurationError: ``name`` is empty; options contradict each other; there is a journal and ``resume``
                is not given, or it belongs to another run; another run writes to ``path``; files cannot be
                written.
            KeyboardInterrupt: A signal stopped the run.
        """
        require_text("name", name)
        if path is None and (resume or keep_outcomes):
            raise ConfigurationError("resume and keep_outcomes need a path: where the result is saved")
        if retry_errored and not resume:
            raise ConfigurationError("retry_errored needs resume=True: it asks again what is errored in a journal")
        if not isinstance(progress, bool) and not callable(progress):
            raise ConfigurationError(f"progress must be a bool or a callable, not {progress!r}")
        if path is not None and not isinstance(path, str | Path):
            raise ConfigurationError(f"path must be a str or a Path, not {path!r}")
        recording = self._record(name, path, resume, retry_errored, keep_outcomes) if path is not None else None
        try:
            with self._progress(name, progress, recording) as on_progress:
                return await self._run(name, recording, on_progress)
        except (asyncio.CancelledError, KeyboardInterrupt):
            if recording is not None:
                _log.warning(recording.how_to_go_on())
            raise
        finally:
            if recording is not None:
                recording.close()

    def _record(self, name: str, path: str | Path, resume: bool, retry_errored: bool, keep_outcomes: bool) -> Recording:
        from fastrag.benchmark.recording import Recording  # msgspec is paid for only when a file is touched
        from fastrag.benchmark.run_header import run_header

        directions = {metric.name: bool(metric.higher_is_better) for metric in self._metrics}
        header = run_header(name, datetime.now(UTC), directions, self._samples, self._limits.repeats)
        return Recording(
            Path(path),
            header,
            resume=resume,
            retry_errored=retry_errored,
            keep_outcomes=keep_outcomes,
            # Of a metric that asks models; this module does not know those.
            keep_judgements=any(getattr(metric, "keeps_judgements", False) for metric in self._metrics),
        )

    async def _run(
        self, name: str, recording: Recording | None, on_progress: Callable[[RunProgress], None] | None
    ) -> BenchmarkResult:
        created_at = datetime.now(UTC) if recording is None else recording.created_at
        started = perf_counter()
        budget = self._budget = self._limits.budget(self._metrics)
        earlier_s = 0.0 if recording is None else recording.journal.earlier_s
        threads = DaemonThreads("fastrag-ask")
        asker = Asker(
            self._target,
            [metric.name for metric in self._metrics],
            threads,
            self._limits.timeout_s,
            self._limits.max_attempts,
        )
        run = Run(
            asker,
            self._samples,
            self._metrics,
            self._limits,
            budget=budget,
            done={} if recording is None else recording.journal.done,
            records=recording,
            on_progress=on_progress,
            earlier_s=earlier_s,
        )
        if recording is not None:
            recording.results = run.results
            budget.restore(*recording.journal.spent)
        try:
            with budget.counting(), stopping_on_signals(run.give_up) as interruption:
                async with measured_lag() as lag:
                    samples, stopped = await run.execute()
        except asyncio.CancelledError:
            if interruption.signal is None:
                raise
            raise KeyboardInterrupt from None
        finally:
            threads.shutdown()
        result = assemble(name, created_at, samples, self._metrics, earlier_s + perf_counter() - started)
        if recording is not None:
            recording.save(result, complete=stopped is None)
        # Only now: where warnings are made errors, they would take what was paid for with them.
        if stopped is not None:
            _log.warning("the run is partial, for it was stopped: %s", stopped)
        latencies = [sample.latency_ms for sample in samples if sample.status != "errored"]
        if latencies and (problem := lag.problem(sum(latencies) / len(latencies))):
            warn(problem)
        if warning := disjoint_ids_warning(self._metrics, self._samples, samples):
            warn(warning)
        return result

    @contextmanager
    def _progress(
        self, name: str, progress: Callable[[RunProgress], None] | bool, recording: Recording | None
    ) -> Iterator[Callable[[RunProgress], None] | None]:
        if progress is not True:
            yield progress or None
            return
        from fastrag.benchmark.report.progress.display import run_display

        earlier = 0 if recording is None else len(recording.journal.done)
        with run_display(name, len(self._samples) * self._limits.repeats, earlier=earlier) as on_progress:
            yield on_progress
