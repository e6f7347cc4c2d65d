"""Scoring one outcome with one metric, so that whatever the metric does stays its own affair."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from fastrag.benchmark.early_stop import EarlyStop
from fastrag.benchmark.metrics.base import Metric, QueryOutcome
from fastrag.benchmark.metrics.computed import ComputedMetric
from fastrag.benchmark.reasons import Kind, describe_error, explanations, shorten
from fastrag.benchmark.samples import EvalSample
from fastrag.benchmark.stopping import belongs_to_stranger

Scored = tuple[float, None] | tuple[None, tuple[Kind, str]]
"""A score, or None and why."""


def is_computed(metric: Metric) -> bool:
    """Whether the metric can be called without a coroutine; true unless a subclass replaced ``score``."""
    return isinstance(metric, ComputedMetric) and type(metric).score is ComputedMetric.score


class Scorer:
    """One metric of a run, called so that it can harm neither the run nor the other metrics.

    Args:
        metric: The metric.
        watch: Told whether the metric works.
    """

    def __init__(self, metric: Metric, watch: EarlyStop) -> None:
        self.name = metric.name
        self.waits = not is_computed(metric)
        """Whether the metric has to be awaited."""
        self._metric = metric
        self._watch = watch
        # This package's metrics only read; copying ten sources would cost more than scoring them.
        self._is_ours = type(metric).__module__.partition(".")[0] == "fastrag"

    def compute(self, sample: EvalSample, outcome: QueryOutcome) -> Scored:
        """Score with a metric that need not be awaited."""
        metric = cast(ComputedMetric, self._metric)
        try:
            value = metric.compute(sample, outcome if self._is_ours else _copy(outcome))
        except BaseException as error:
            if not belongs_to_stranger(error):
                raise
            return self._raised(error)
        if type(value) is float and math.isfinite(value):
            if self._watch.unproven or self._watch.raising:
                self._watch.metric_worked(self.name)
            return value, None
        return self._judge_value(sample, outcome, value)

    async def score(self, sample: EvalSample, outcome: QueryOutcome) -> Scored:
        """Score with any metric.

        Raises:
            asyncio.CancelledError: The run itself is being cancelled; a metric's own cancellation is its failure.
        """
        with explanations() as explained:
            try:
                value = await self._metric.score(sample, outcome if self._is_ours else _copy(outcome))
            except BaseException as error:
                if not belongs_to_stranger(error):
                    raise
                return self._raised(error)
        if value is None and explained:
            return None, explained[-1]
        return self._judge_value(sample, outcome, value)

    def _raised(self, error: BaseException) -> Scored:
        self._watch.metric_raised(self.name, error)
        return None, ("metric_error", describe_error(error))

    def _judge_value(self, sample: EvalSample, outcome: QueryOutcome, value: object) -> Scored:
        if value is None:
            return None, _why_none(self._metric, sample, outcome)
        try:
            if not isinstance(value, numbers.Real):
                return None, ("invalid_score", shorten(f"returned {value!r}, which is no number"))
            number = float(value)
        except BaseException as error:
            if not belongs_to_stranger(error):
                raise
            return None, (
                "invalid_score",
                f"returned a {type(value).__name__} that failed with {describe_error(error)}",
            )
        if not math.isfinite(number):
            return None, ("invalid_score", f"returned {number!r}")
        self._watch.metric_worked(self.name)
        return number, None


def has_relevant_ids(sample: EvalSample) -> bool:
    """Whether anything is relevant for the sample: a listed id, or a gain above 0."""
    relevant = sample.relevant_ids
    if isinstance(relevant, Mapping):
        return any(gain > 0 for gain in relevant.values())
    return bool(relevant)


def _copy(outcome: QueryOutcome) -> QueryOutcome:
    """A metric's own outcome, so that what it changes stays with it."""
    sources = [replace(source, metadata=_fresh(source.metadata)) for source in outcome.sources]
    return replace(outcome, sources=sources)


def _fresh(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _fresh(item) for key, item in value.items()}
    return [_fresh(item) for item in value] if isinstance(value, list) else value


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
    except BaseException as error:
        if not belongs_to_stranger(error):
            raise
        return "not_measured", f"the metric returned None and could not say why: {describe_error(error)}"
