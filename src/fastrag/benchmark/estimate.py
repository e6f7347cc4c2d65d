"""What a run will take, before anything is asked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from fastrag._support.checks import as_number, shown
from fastrag.benchmark.budget import Price, usd
from fastrag.benchmark.limits import Limits
from fastrag.benchmark.metrics.base import Metric
from fastrag.benchmark.samples import EvalSample
from fastrag.benchmark.scoring import is_computed
from fastrag.benchmark.target import Target
from fastrag.errors import ConfigurationError

Between = tuple[float, float]
"""The least and the most."""

_MOST = 1_000_000_000
_FEWEST_PER_TOKEN = 0.1

_NOTES = (
    "Judges: every reply readable, nothing in the cache; what is in it costs nothing.",
    "Pipeline: one call of a model an answer.",
)


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What an estimate takes for granted, each as the least and the most.

    Attributes:
        answer_characters: Length of an answer.
        sources: How many sources an answer has.
        source_characters: Length of one of them.
        claims: How many claims an answer, or a reference answer, makes.
        instruction_characters: Length of what a prompt says besides the texts in it.
        reply_characters: Length of one reply of a judge.
        characters_per_token: Four are usual for English; other languages and code have fewer.
    """

    answer_characters: Between = (50, 2_000)
    sources: Between = (1, 10)
    source_characters: Between = (200, 2_000)
    claims: Between = (1, 20)
    instruction_characters: Between = (300, 4_000)
    reply_characters: Between = (10, 4_000)
    characters_per_token: Between = (4, 4)

    @classmethod
    def of(cls, given: Mapping[str, object]) -> Assumptions:
        """From numbers, or pairs of the least and the most; None is the default.

        Raises:
            ConfigurationError: A value is neither.
        """
        return cls(**{name: _between(name, value) for name, value in given.items() if value is not None})

    def context_characters(self) -> Between:
        """Of all sources of an answer together."""
        return self.sources[0] * self.source_characters[0], self.sources[1] * self.source_characters[1]

    def tokens(self, characters: Between) -> Between:
        """About as many as so many characters have."""
        return characters[0] / self.characters_per_token[1], characters[1] / self.characters_per_token[0]

    def __str__(self) -> str:
        each = (f"{field.name} {_range(getattr(self, field.name))}" for field in fields(self))
        return ", ".join(each)


@dataclass(frozen=True, slots=True)
class EstimatedUsage:
    """What one part of a run will take, each as the least and the most.

    Attributes:
        name: Of the metric; "pipeline" for the target.
        calls: How often a model, or the pipeline, is asked.
        input_tokens: None where nobody can say.
        output_tokens: None where nobody can say.
        cost_usd: In US dollars; None where it is not known.
        unknown: Why something is None; empty where nothing is.
    """

    name: str
    calls: Between
    input_tokens: Between | None
    output_tokens: Between | None
    cost_usd: Between | None
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run will take; its ``str`` is a table.

    Attributes:
        target: The pipeline.
        judges: By metric, in the order of the metrics.
        assumed: What was taken for granted.
        notes: What an estimate cannot know.
    """

    target: EstimatedUsage
    judges: dict[str, EstimatedUsage]
    assumed: Assumptions
    notes: tuple[str, ...]

    @property
    def cost_usd(self) -> Between | None:
        """Of everything together; None where the cost of a part is not known."""
        costs = [part.cost_usd for part in (self.target, *self.judges.values())]
        known = [cost for cost in costs if cost is not None]
        return _sum(known) if len(known) == len(costs) else None

    def __str__(self) -> str:
        parts = (self.target, *self.judges.values())
        rows = [("", "calls", "input tokens", "output tokens", "cost")]
        for part in parts:
            tokens = (_unless_unknown(part.input_tokens), _unless_unknown(part.output_tokens))
            rows.append((part.name, _range(part.calls), *tokens, _money(part.cost_usd)))
        if len(parts) > 1:
            rows.append(("together", "", "", "", _money(self.cost_usd)))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(_aligned(row, widths)).rstrip() for row in rows]
        lines += [f"{part.name}: {part.unknown}" for part in parts if part.unknown]
        return "\n".join([*lines, *self.notes, f"Assumed: {self.assumed}."])


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


def estimated_usage(
    name: str,
    prompts: Iterable[tuple[Between, Between]],
    reply_characters: Between,
    prices: Sequence[Price | None],
    assumed: Assumptions,
) -> EstimatedUsage:
    """What it takes to ask models.

    Args:
        name: Of the metric.
        prompts: How many prompts there are of how many characters, each sent once for every price.
        reply_characters: Of each reply.
        prices: Of each model and vote; None where it is not known.
        assumed: What is taken for granted.
    """
    calls: Between = (0, 0)
    inputs: Between = (0, 0)
    cost: Between = (0, 0)
    broken = ""
    known = [price for price in prices if price is not None]
    replied = assumed.tokens(reply_characters)
    for times, characters in prompts:
        tokens = assumed.tokens(characters)
        calls = _sum([calls, times])
        inputs = _sum([inputs, (times[0] * tokens[0], times[1] * tokens[1])])
        least, most = (math.floor(tokens[0]), math.floor(replied[0])), (math.ceil(tokens[1]), math.ceil(replied[1]))
        for price in known:
            try:
                each = float(price(*least)), float(price(*most))
            except Exception as error:  # noqa: BLE001 - a price is a stranger's code
                broken = f"the price raised {type(error).__name__}"
                continue
            if not (min(each) >= 0 and max(each) < math.inf):
                broken = f"the price gave {each[0]!r} and {each[1]!r}"
            cost = _sum([cost, (times[0] * each[0], times[1] * each[1])])
    count = len(prices)
    return EstimatedUsage(
        name,
        (count * calls[0], count * calls[1]),
        (math.floor(count * inputs[0]), math.ceil(count * inputs[1])),
        (math.floor(count * calls[0] * replied[0]), math.ceil(count * calls[1] * replied[1])),
        cost if len(known) == count and not broken else None,
        broken,
    )


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


def _between(name: str, value: object) -> Between:
    pair = value if isinstance(value, tuple) else (value, value)
    least, most = (as_number(pair[0]), as_number(pair[1])) if len(pair) == 2 else (math.nan, math.nan)
    lowest = _FEWEST_PER_TOKEN if name == "characters_per_token" else 0
    if not lowest <= least <= most <= _MOST:
        raise ConfigurationError(
            f"{name} must be a number from {lowest} to {_MOST:,}, or a pair of the least and the most, "
            f"not {shown(value)}"
        )
    return least, most


def _sum(ranges: Iterable[Between]) -> Between:
    ranges = list(ranges)
    return sum(least for least, _ in ranges), sum(most for _, most in ranges)


def _range(between: Between) -> str:
    least, most = between
    return f"{least:,.15g}" if least == most else f"{least:,.15g}..{most:,.15g}"


def _unless_unknown(between: Between | None) -> str:
    return "-" if between is None else _range(between)


def _money(between: Between | None) -> str:
    if between is None:
        return "-"
    least, most = (usd(float(f"{amount:.2g}")) for amount in between)
    return least if least == most else f"{least}..{most}"


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [row[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))]
