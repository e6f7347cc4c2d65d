"""Scoring one outcome with one metric, so that whatever the metric does stays its own affair."""

from __future__ import annotations

import asyncio
import math
import numbers
from collections.abc import Mapping

from fastrag.benchmark.metrics.base import Metric, QueryOutcome
from fastrag.benchmark.metrics.computed import ComputedMetric
from fastrag.benchmark.reasons import Kind, describe_error, shorten
from fastrag.benchmark.samples import EvalSample

Scored = tuple[float, None] | tuple[None, tuple[Kind, str]]
"""A score, or None and why."""


def is_computed(metric: Metric) -> bool:
    """Whether the metric can be called without a coroutine; true unless a subclass replaced ``score``."""
    return isinstance(metric, ComputedMetric) and type(metric).score is ComputedMetric.score


def score_computed(metric: ComputedMetric, sample: EvalSample, outcome: QueryOutcome) -> Scored:
    """Score with a metric that needs no waiting."""
    try:
        value = metric.compute(sample, outcome)
    except Exception as error:  # noqa: BLE001 - a metric is a stranger's code
        return None, ("metric_error", describe_error(error))
    if type(value) is float and math.isfinite(value):
        return value, None
    return _judge_value(metric, sample, outcome, value)


async def score_async(metric: Metric, sample: EvalSample, outcome: QueryOutcome) -> Scored:
    """Score with any metric.

    Raises:
        asyncio.CancelledError: The run itself is being cancelled; a metric's own cancellation is its failure.
    """
    try:
        value = await metric.score(sample, outcome)
    except asyncio.CancelledError as error:
        if _is_being_cancelled():
            raise
        return None, ("metric_error", describe_error(error))
    except Exception as error:  # noqa: BLE001 - a metric is a stranger's code
        return None, ("metric_error", describe_error(error))
    return _judge_value(metric, sample, outcome, value)


def has_relevant_ids(sample: EvalSample) -> bool:
    """Whether anything is relevant for the sample: a listed id, or a gain above 0."""
    relevant = sample.relevant_ids
    if isinstance(relevant, Mapping):
        return any(gain > 0 for gain in relevant.values())
    return bool(relevant)


def _judge_value(metric: Metric, sample: EvalSample, outcome: QueryOutcome, value: object) -> Scored:
    if value is None:
        return None, _why_none(metric, sample, outcome)
    if not isinstance(value, numbers.Real):
        return None, ("invalid_score", shorten(f"returned {value!r}, which is no number"))
    number = float(value)
    if not math.isfinite(number):
        return None, ("invalid_score", f"returned {number!r}")
    return number, None


def _why_none(metric: Metric, sample: EvalSample, outcome: QueryOutcome) -> tuple[Kind, str]:
    if metric.needs_relevant_ids and not has_relevant_ids(sample):
        return "not_applicable", "no relevant_ids"
    if getattr(metric, "needs_reference_answer", False) and sample.reference_answer is None:
        return "not_applicable", "no reference_answer"
    explain = getattr(metric, "missing_reason", None)
    if explain is None:
        return "not_measured", "the metric returned None"
    try:
        return "not_measured", shorten(str(explain(sample, outcome)))
    except Exception as error:  # noqa: BLE001 - a metric is a stranger's code
        return "not_measured", f"the metric returned None and could not say why: {describe_error(error)}"


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
