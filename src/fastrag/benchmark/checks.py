"""Everything that is wrong with a benchmark, found before the first call is made."""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from fastrag.benchmark.metrics.base import Metric
from fastrag.benchmark.samples import EvalSample
from fastrag.benchmark.scoring import has_relevant_ids

_SHOWN = 5


class Answering(Protocol):
    """What outcomes come from; its ``str`` is its name."""

    answers: bool
    """False where it only retrieves."""


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
    for i, sample in enumerate(samples):
        problem = _relevance_problem(sample.relevant_ids)
        if problem:
            problems.append(f"sample {i}: {problem}")
            if len(problems) >= _SHOWN:
                problems.append("further samples were not looked at")
                break
    return problems


def metric_problems(metrics: object) -> list[str]:
    """What is wrong with the metrics themselves; empty where nothing is."""
    if not isinstance(metrics, Sequence) or isinstance(metrics, str | bytes):
        return [f"metrics must be a list of Metric, not a {type(metrics).__name__}"]
    if not metrics:
        return ["there are no metrics: give at least one"]
    problems = []
    names = []
    for metric in metrics:
        if isinstance(metric, type):
            problems.append(f"{metric.__name__} is a class; give an object of it: {metric.__name__}(...)")
        elif not isinstance(metric, Metric):
            problems.append(f"metrics must be Metric objects, not a {type(metric).__name__}")
        elif not isinstance(metric.name, str) or not metric.name:
            problems.append(f"{type(metric).__name__}.name must be a text that is not empty, not {metric.name!r}")
        else:
            names.append(metric.name)
    for name, times in Counter(names).items():
        if times > 1:
            problems.append(
                f"{times} metrics are named {name!r}; names must be distinct, or one would overwrite the other"
            )
    return problems


def fit_problems(target: Answering, samples: Sequence[EvalSample], metrics: Sequence[Metric]) -> list[str]:
    """Which metrics cannot be measured over this target and these samples, with the numbers that show why."""
    problems = []
    judged = sum(map(has_relevant_ids, samples))
    referenced = sum(sample.reference_answer is not None for sample in samples)
    for metric in metrics:
        if metric.needs_relevant_ids and judged == 0:
            problems.append(f"{metric.name} needs relevant_ids: 0 of {len(samples)} samples have them")
        if getattr(metric, "needs_reference_answer", False) and referenced == 0:
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
    """Copies of the samples, each with an id; the caller's stay as they are."""
    return [replace(sample, id=id) for sample, id in zip(samples, sample_ids(samples), strict=True)]


def _relevance_problem(relevant: object) -> str | None:
    if isinstance(relevant, Mapping):
        bad = [gain for gain in relevant.values() if not isinstance(gain, numbers.Real) or not math.isfinite(gain)]
        return f"gains in relevant_ids must be finite numbers, not {_some(bad)}" if bad else None
    if isinstance(relevant, str | bytes):
        return f"relevant_ids must be a list of ids or a mapping id -> gain, not the text {relevant!r}"
    if not isinstance(relevant, Sequence | set | frozenset):
        return f"relevant_ids must be a list of ids or a mapping id -> gain, not a {type(relevant).__name__}"
    return None


def _some(things: Sequence[object]) -> str:
    shown = ", ".join(repr(thing) if isinstance(thing, str) else str(thing) for thing in things[:_SHOWN])
    return shown if len(things) <= _SHOWN else f"{shown} and {len(things) - _SHOWN} more"
