"""Everything that is wrong with a benchmark, found before the first call is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Protocol

from fastrag.benchmark.metrics.base import Metric
from fastrag.benchmark.metrics.relevance import prepare_relevance
from fastrag.benchmark.reasons import describe_error
from fastrag.benchmark.samples import EvalSample
from fastrag.benchmark.scoring import has_relevant_ids
from fastrag.benchmark.target import Target
from fastrag.errors import ConfigurationError

_SHOWN = 5


class Answering(Protocol):
    """What outcomes come from; its ``str`` is its name."""

    answers: bool
    """False where it only retrieves."""


def all_problems(target: Target, samples: object, metrics: object) -> list[str]:
    """Everything that keeps these samples and metrics from being measured over this target, one sentence a problem."""
    problems = [problem] if (problem := target.problem()) else []
    problems += sample_problems(samples) + metric_problems(metrics)
    usable_samples = [sample for sample in _items(samples) if isinstance(sample, EvalSample)]
    usable_metrics = [
        metric for metric in _items(metrics) if isinstance(metric, Metric) and not _metric_problem(metric)
    ]
    if usable_samples:
        problems += fit_problems(target, usable_samples, usable_metrics)
    return list(dict.fromkeys(problems))


def sample_problems(samples: object) -> list[str]:
    """What is wrong with the samples, one sentence a problem; empty where nothing is."""
    if not isinstance(samples, Sequence) or isinstance(samples, str | bytes):
        return [f"samples must be a list of EvalSample, not a {type(samples).__name__}"]
    if not samples:
        return ["there are no samples: give at least one EvalSample"]
    problems = []
    strangers = [f"{i} ({type(s).__name__})" for i, s in enumerate(samples) if not isinstance(s, EvalSample)]
    if strangers:
        return [f"samples must be EvalSample objects; {_some(strangers)} of {len(samples)} are not"]
    empty = [i for i, s in enumerate(samples) if not isinstance(s.question, str) or not s.question.strip()]
    if empty:
        problems.append(f"{len(empty)} of {len(samples)} samples have an empty question: {_some(empty)}")
    repeated = [id for id, times in Counter(map(str, sample_ids(samples))).items() if times > 1]
    if repeated:
        problems.append(f"sample ids must be distinct; {_some(repeated)} occur more than once")
    wrong = [f"sample {i}: {problem}" for i, sample in enumerate(samples) for problem in _field_problems(sample)]
    problems += wrong[:_SHOWN]
    if len(wrong) > _SHOWN:
        problems.append(f"and {len(wrong) - _SHOWN} more problems of samples")
    return problems


def metric_problems(metrics: object) -> list[str]:
    """What is wrong with the metrics themselves; empty where nothing is."""
    if not isinstance(metrics, Sequence) or isinstance(metrics, str | bytes):
        return [f"metrics must be a list of Metric, not a {type(metrics).__name__}"]
    if not metrics:
        return ["there are no metrics: give at least one"]
    problems = [problem for metric in metrics if (problem := _metric_problem(metric))]
    names = Counter(metric.name for metric in metrics if not _metric_problem(metric))
    problems += [
        f"{times} metrics are named {name!r}; names must be distinct, or one would overwrite the other"
        for name, times in names.items()
        if times > 1
    ]
    return problems


def fit_problems(target: Answering, samples: Sequence[EvalSample], metrics: Sequence[Metric]) -> list[str]:
    """Which metrics cannot be measured over this target and these samples, with the numbers that show why."""
    problems = []
    judged = any(has_relevant_ids(sample) for sample in samples if not _field_problems(sample))
    referenced = any(sample.reference_answer is not None for sample in samples)
    for metric in metrics:
        if metric.needs_relevant_ids and not judged:
            problems.append(f"{metric.name} needs relevant_ids: 0 of {len(samples)} samples have them")
        if getattr(metric, "needs_reference_answer", False) and not referenced:
            problems.append(f"{metric.name} needs a reference_answer: 0 of {len(samples)} samples have one")
        if target.answers:
            continue
        if metric.needs_answer:
            problems.append(f"{metric.name} needs an answer, which {target} never gives: it has no query()")
        elif getattr(metric, "needs_token_counts", False):
            problems.append(f"{metric.name} needs token counts, which {target} never gives: it has no query()")
    return problems


def sample_ids(samples: Sequence[EvalSample]) -> list[str]:
    """Each sample's id, its position (from 0) where it has none."""
    return [str(i) if sample.id is None else sample.id for i, sample in enumerate(samples)]


def with_ids(samples: Sequence[EvalSample]) -> list[EvalSample]:
    """Copies of the samples, each with an id; whatever happens to them, the caller's stay as they are."""
    return [
        replace(
            sample,
            question=plain_text(sample.question),
            id=plain_text(id),
            relevant_ids=copy(sample.relevant_ids),
            metadata=dict(sample.metadata),
        )
        for sample, id in zip(samples, sample_ids(samples), strict=True)
    ]


def plain_text(text: str) -> str:
    """``text`` as a str itself where it is of a subclass (numpy's, say), which files are not written with."""
    return text if type(text) is str else str.__str__(text)


def _field_problems(sample: EvalSample) -> list[str]:
    id, reference, metadata = (getattr(sample, name) for name in ("id", "reference_answer", "metadata"))
    problems = []
    if id is not None and not isinstance(id, str):
        problems.append(f"id must be a text or None, not {id!r}")
    if reference is not None and not isinstance(reference, str):
        problems.append(f"reference_answer must be a text or None, not {reference!r}")
    if not isinstance(metadata, dict):
        problems.append(f"metadata must be a dict, not {metadata!r}")
    try:
        prepare_relevance(sample.relevant_ids)
    except ConfigurationError as error:
        problems.append(str(error))
    return problems


def _metric_problem(metric: object) -> str | None:
    if isinstance(metric, type):
        return f"{metric.__name__} is a class; give an object of it: {metric.__name__}(...)"
    if not isinstance(metric, Metric):
        return f"metrics must be Metric objects, not a {type(metric).__name__}"
    kind = type(metric).__name__
    try:
        name = metric.name
        for flag in ("needs_relevant_ids", "needs_answer", "higher_is_better"):
            bool(getattr(metric, flag))
    except Exception as error:  # noqa: BLE001 - a metric is a stranger's code
        return f"{kind} cannot be asked for its name and needs: {describe_error(error)}"
    if not isinstance(name, str) or not name:
        return f"{kind}.name must be a text that is not empty, not {name!r}"
    return None


def _items(things: object) -> Sequence[object]:
    return things if isinstance(things, Sequence) and not isinstance(things, str | bytes) else ()


def _some(things: Sequence[object]) -> str:
    shown = ", ".join(repr(thing) if isinstance(thing, str) else str(thing) for thing in things[:_SHOWN])
    return shown if len(things) <= _SHOWN else f"{shown} and {len(things) - _SHOWN} more"
