"""Benchmark: everything is checked before the first call, and every question ends in exactly one status."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from time import perf_counter

from fastrag._support.checks import require_text
from fastrag.benchmark.checks import fit_problems, metric_problems, sample_problems, with_ids
from fastrag.benchmark.id_spaces import disjoint_ids_warning
from fastrag.benchmark.metrics.base import DistributionSummary, Metric
from fastrag.benchmark.reasons import describe_error
from fastrag.benchmark.results import BenchmarkResult, SampleResult, StatusCounts
from fastrag.benchmark.run import Run, RunProgress
from fastrag.benchmark.samples import EvalSample
from fastrag.benchmark.target import Target
from fastrag.errors import ConfigurationError


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
        timeout_s: A question without an answer by then is *errored*; None waits for ever.

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
    ) -> None:
        self._target = Target(target)
        problems = [problem] if (problem := self._target.problem()) else []
        bad_samples, bad_metrics = sample_problems(samples), metric_problems(metrics)
        problems += bad_samples + bad_metrics
        if not problems:
            problems += fit_problems(self._target, samples, metrics)
        problems += _limit_problems(concurrency, judge_concurrency, timeout_s)
        if problems:
            raise ConfigurationError("\n- ".join(["this benchmark cannot be run:", *problems]))
        self._samples = with_ids(samples)
        self._metrics = list(metrics)
        self._concurrency = concurrency
        self._judge_concurrency = judge_concurrency
        self._timeout_s = timeout_s

    async def run(self, name: str, *, progress: Callable[[RunProgress], None] | bool = False) -> BenchmarkResult:
        """Ask every question once, score the answers, and return the whole outcome.

        A question whose pipeline raises or runs out of ``timeout_s`` is *errored*: no metric sees it and it is
        never scored 0. A metric that raises, or returns None, NaN or anything that is not a finite number, leaves
        that one score None, says why in the sample's ``error``, and makes the sample *incomplete*.

        Args:
            name: The result's identity: name it after the pipeline's configuration.
            progress: True shows a bar on stderr; a callable gets a `RunProgress` as each question ends.

        Raises:
            ConfigurationError: ``name`` is empty.
        """
        require_text("name", name)
        created_at = datetime.now(UTC)
        started = perf_counter()
        if progress is True:
            from fastrag.benchmark.report.progress import run_bar

            with run_bar(name, len(self._samples)) as on_progress:
                samples, status = await self._execute(on_progress)
        else:
            samples, status = await self._execute(progress or None)
        if warning := disjoint_ids_warning(self._metrics, self._samples, samples):
            warnings.warn(warning, stacklevel=2)
        return BenchmarkResult(
            name=name,
            created_at=created_at,
            status=status,
            summary={metric.name: _aggregate(metric, samples) for metric in self._metrics},
            samples=samples,
            duration_s=perf_counter() - started,
            higher_is_better={metric.name: bool(metric.higher_is_better) for metric in self._metrics},
        )

    async def _execute(
        self, on_progress: Callable[[RunProgress], None] | None
    ) -> tuple[list[SampleResult], StatusCounts]:
        run = Run(
            self._target,
            self._samples,
            self._metrics,
            concurrency=self._concurrency,
            judge_concurrency=self._judge_concurrency,
            timeout_s=self._timeout_s,
            on_progress=on_progress,
        )
        return await run.execute(), run.status


def _limit_problems(concurrency: object, judge_concurrency: object, timeout_s: object) -> list[str]:
    problems = [
        f"{name} must be a whole number of at least 1, not {value!r}"
        for name, value in (("concurrency", concurrency), ("judge_concurrency", judge_concurrency))
        if type(value) is not int or value < 1
    ]
    if timeout_s is not None and not (
        isinstance(timeout_s, int | float) and not isinstance(timeout_s, bool) and 0 < timeout_s < math.inf
    ):
        problems.append(f"timeout_s must be a number of seconds above 0, or None, not {timeout_s!r}")
    return problems


def _aggregate(metric: Metric, samples: Sequence[SampleResult]) -> DistributionSummary:
    scores = [sample.scores[metric.name] for sample in samples]
    try:
        summary = metric.aggregate(scores)
        if isinstance(summary, DistributionSummary) and summary.count + summary.missing == len(scores):
            return summary
        problem = f"returned {summary!r}, whose count and missing do not add up to {len(scores)}"
    except Exception as error:  # noqa: BLE001 - a metric is a stranger's code, and the run's answers are paid for
        problem = f"raised {describe_error(error)}"
    warnings.warn(f"{metric.name}.aggregate() {problem}; the plain summary of its scores is used instead", stacklevel=3)
    return DistributionSummary.of(scores)
