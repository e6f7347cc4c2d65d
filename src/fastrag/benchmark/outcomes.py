"""Outcomes kept beside a result, so that they can be scored again without asking again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from fastrag.benchmark.asking import Asked, answered, failed
from fastrag.benchmark.assembly import assemble
from fastrag.benchmark.checks import fit_problems, metric_problems, sample_problems, with_ids
from fastrag.benchmark.limits import Limits
from fastrag.benchmark.metrics.base import Metric, QueryOutcome
from fastrag.benchmark.results import BenchmarkResult
from fastrag.benchmark.run import Run
from fastrag.benchmark.samples import EvalSample
from fastrag.document import Document
from fastrag.errors import ConfigurationError

if TYPE_CHECKING:
    from fastrag.benchmark.judging.judgement_file import JudgementFile


@dataclass(slots=True)
class Outcome:
    """What the pipeline returned for one question.

    Attributes:
        sample_id: Of the sample that was asked.
        question: As it was asked.
        answer: None where the pipeline failed or only retrieves.
        sources: Best first, with text and metadata.
        input_tokens: As the pipeline reported them; None where unknown.
        output_tokens: As the pipeline reported them; None where unknown.
        latency_ms: Of the pipeline's call alone, the last attempt's.
        attempts: Calls that this took, at least 1.
        error: Why there is no outcome, None where there is one.
    """

    sample_id: str
    question: str
    answer: str | None
    sources: list[Document]
    input_tokens: int | None
    output_tokens: int | None
    latency_ms: float
    attempts: int
    error: str | None


@dataclass(slots=True)
class Outcomes:
    """The outcomes of one run.

    Attributes:
        name: Of the run.
        created_at: When the run started.
        samples: How many samples it had.
        repeats: How often each was asked.
        by_position: Outcomes by their position in the run's result; what was not asked is absent.
    """

    name: str
    created_at: datetime
    samples: int
    repeats: int
    by_position: dict[int, Outcome] = field(default_factory=dict)


def read_outcomes(path: str | Path) -> Outcomes:
    """Read the outcomes that ``run(..., path=..., keep_outcomes=True)`` left in ``<path>.outcomes.jsonl``.

    Raises:
        ConfigurationError: ``path`` is no such file, or is damaged; the message says in which line.
    """
    from fastrag.benchmark import outcome_file  # decoding by msgspec is paid for only when a file is touched

    return outcome_file.read(Path(path))


async def rescore(
    outcomes: Outcomes,
    samples: Sequence[EvalSample],
    metrics: Sequence[Metric],
    *,
    name: str | None = None,
    judge_concurrency: int = 8,
    path: str | Path | None = None,
) -> BenchmarkResult:
    """Score kept outcomes with other metrics, thresholds, judges or judgments, without one call of the pipeline.

    The same metrics over the same samples give the numbers that the run gave. What failed in the run is errored here
    as it was there, and what the run did not come to ask is errored as not attempted.

    Args:
        outcomes: Of `read_outcomes`.
        samples: The run's, in its order; what is relevant and what is a right answer may have changed since.
        metrics: Each under its own name.
        name: Of the new result; None for the run's.
        judge_concurrency: How many scorings by metrics that wait (LLM judges) run at once.
        path: Where the result will be saved, by the caller: what judges say is kept in ``<path>.judgements.jsonl``
            as it comes (`read_judgements`). None keeps none of it.

    Raises:
        ConfigurationError: The samples are not those of the run, or samples or metrics are not usable.

    >>> import asyncio
    >>> from fastrag.benchmark import Benchmark
    >>> from fastrag.benchmark.metrics import RecallAtK
    >>> class Finder:
    ...     async def retrieve(self, question):
    ...         return [Document("tuple", "..."), Document("list", "...")]
    >>> async def main():
    ...     samples = [EvalSample("Which is mutable?", relevant_ids=["list"])]
    ...     first = await Benchmark(Finder(), samples, [RecallAtK(1)]).run("r", path="r.json", keep_outcomes=True)
    ...     second = await rescore(read_outcomes("r.json.outcomes.jsonl"), samples, [RecallAtK(1), RecallAtK(2)])
    ...     return [result.samples[0].scores for result in (first, second)]
    >>> asyncio.run(main())
    [{'recall@1': 0.0}, {'recall@1': 0.0, 'recall@2': 1.0}]
    """
    problems = sample_problems(samples) + metric_problems(metrics)
    # What failed in the run fails again here, at no cost: no reason to stop.
    limits = Limits(judge_concurrency=judge_concurrency, repeats=outcomes.repeats, stop_after_alike=None)
    problems += limits.problems()
    replay = None
    if not problems:
        replay = _Replay(outcomes, [metric.name for metric in metrics])
        problems = _differences(outcomes, samples) + fit_problems(replay, samples, metrics)
    if problems or replay is None:
        raise ConfigurationError("\n- ".join(["these outcomes cannot be scored:", *problems]))
    started = perf_counter()
    samples, name = with_ids(samples), name or outcomes.name
    judgements = None
    if path is not None and any(getattr(metric, "keeps_judgements", False) for metric in metrics):
        judgements = _judgement_file(Path(path), name, outcomes, samples, metrics)
    try:
        run = Run(replay, samples, metrics, limits, budget=limits.budget([]), judgements=judgements)
        results, _ = await run.execute()
    finally:
        if judgements is not None:
            judgements.close()
    return assemble(name, outcomes.created_at, results, metrics, perf_counter() - started)


def _judgement_file(
    path: Path, name: str, outcomes: Outcomes, samples: Sequence[EvalSample], metrics: Sequence[Metric]
) -> JudgementFile:
    from fastrag.benchmark.judging.judgement_file import JudgementFile
    from fastrag.benchmark.run_header import run_header

    directions = {metric.name: bool(metric.higher_is_better) for metric in metrics}
    header = run_header(name, outcomes.created_at, directions, samples, outcomes.repeats)
    return JudgementFile(path, header, go_on=False)


def _differences(outcomes: Outcomes, samples: Sequence[EvalSample]) -> list[str]:
    if len(samples) != outcomes.samples:
        return [f"the run had {outcomes.samples} samples, not {len(samples)}"]
    for position, outcome in outcomes.by_position.items():
        index = position // outcomes.repeats
        if samples[index].question != outcome.question:
            return [f"sample {index} asks {samples[index].question!r}, but the run asked {outcome.question!r} there"]
    return []


class _Replay:
    """Answers a run's questions from outcomes."""

    def __init__(self, outcomes: Outcomes, metrics: list[str]) -> None:
        self._outcomes = outcomes.by_position
        self._metrics = metrics
        kept = [outcome for outcome in self._outcomes.values() if outcome.error is None]
        self.answers = not kept or any(outcome.answer is not None for outcome in kept)

    def __str__(self) -> str:
        return "the run's target"

    async def ask(self, position: int, sample: EvalSample, may_call: Callable[[], bool]) -> Asked:
        kept = self._outcomes.get(position)
        if kept is None:
            return Asked(None, failed(sample, self._metrics, "not attempted: the run did not come to it", 0.0), 1)
        if kept.error is not None:
            return Asked(None, failed(sample, self._metrics, kept.error, kept.latency_ms), kept.attempts)
        outcome = QueryOutcome(kept.answer or "", kept.sources, kept.latency_ms, kept.input_tokens, kept.output_tokens)
        return Asked(outcome, answered(sample, outcome, kept.answer), kept.attempts)
