"""Putting an `Estimate` together from a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fastrag.benchmark.estimate import Assumptions, Estimate, EstimatedUsage, estimated_usage
from fastrag.benchmark.limits import Limits
from fastrag.benchmark.metrics.base import Metric
from fastrag.benchmark.samples import EvalSample
from fastrag.benchmark.scoring import is_computed
from fastrag.benchmark.target import Target

_NOTES = (
    "Judges: every reply readable, nothing in the cache; what is in it costs nothing.",
    "Pipeline: one call of a model an answer.",
)


def estimated(
    target: Target, samples: Sequence[EvalSample], metrics: Sequence[Metric], limits: Limits, assumed: Assumptions
) -> Estimate:
    """See `Benchmark.estimate`."""
    asked = [sample for sample in samples for _ in range(limits.repeats)]
    judges = {}
    notes = list(_NOTES if target.answers else _NOTES[:1])
    for metric in metrics:
        # Of a metric that asks models; this module does not know those.
        estimate = getattr(metric, "estimated_usage", None)
        if estimate is not None:
            judges[metric.name] = estimate(asked, assumed)
        elif not is_computed(metric):
            notes.append(f"{metric.name} may ask a model; nobody knows how often.")
    return Estimate(_of_target(target, asked, metrics, limits, assumed), judges, assumed, tuple(notes))


def _of_target(
    target: Target, asked: Sequence[EvalSample], metrics: Sequence[Metric], limits: Limits, assumed: Assumptions
) -> EstimatedUsage:
    calls = (len(asked), len(asked) * limits.max_attempts)
    if not target.answers:
        return EstimatedUsage("pipeline", calls, None, None, None, f"{target} only retrieves, and tells no tokens")
    context, words = assumed.context_characters(), assumed.instruction_characters
    prompts = [
        (
            (1, limits.max_attempts),
            (words[0] + context[0] + len(sample.question), words[1] + context[1] + len(sample.question)),
        )
        for sample in asked
    ]
    price = limits.price_of_target(metrics)
    found = estimated_usage("pipeline", prompts, assumed.answer_characters, [price], assumed)
    if price is not None:
        return found
    return replace(found, unknown="no price is known: give Benchmark(..., price=CostUsd(...))")
