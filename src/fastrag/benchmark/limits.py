"""How much a run may do at once, how long it may take, and what it may spend."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from fastrag.benchmark.budget import Budget, Price
from fastrag.benchmark.metrics.base import Metric
from fastrag.benchmark.metrics.operational import CostUsd
from fastrag.benchmark.scoring import is_computed
from fastrag.benchmark.target import Target


@dataclass(frozen=True, slots=True)
class Limits:
    """The numbers of one Benchmark; what each means is said there."""

    concurrency: int = 8
    judge_concurrency: int = 8
    timeout_s: float | None = None
    max_duration_s: float | None = None
    max_cost_usd: float | None = None
    max_tokens: int | None = None
    price: Price | None = None
    repeats: int = 1
    max_attempts: int = 1
    stop_after_alike: int | None = 20

    def problems(self) -> list[str]:
        """What is wrong with the values themselves, one sentence a problem."""
        problems = []
        for name in ("concurrency", "judge_concurrency", "repeats", "max_attempts", "max_tokens", "stop_after_alike"):
            value = getattr(self, name)
            optional = name in ("max_tokens", "stop_after_alike")
            if not (optional and value is None) and (type(value) is not int or value < 1):
                or_none = ", or None" if optional else ""
                problems.append(f"{name} must be a whole number of at least 1{or_none}, not {value!r}")
        for name, what in (("timeout_s", "seconds"), ("max_duration_s", "seconds"), ("max_cost_usd", "US dollars")):
            value = getattr(self, name)
            if value is not None and not _is_positive(value):
                problems.append(f"{name} must be a number of {what} above 0, or None, not {value!r}")
        return problems + self._price_problems()

    def fit_problems(self, target: Target, metrics: Sequence[Metric]) -> list[str]:
        """Which limits cannot be kept over this target and these metrics."""
        problems = []
        if self.max_cost_usd is not None and target.answers and self.price_of_target(metrics) is None:
            problems.append(
                "max_cost_usd needs a price: give price=CostUsd(...), or have CostUsd among the metrics, "
                "or limit tokens with max_tokens"
            )
        if self.max_cost_usd is not None:
            problems += [problem for metric in metrics for problem in _unpriced(metric)]
        limits = [name for name in ("max_cost_usd", "max_tokens") if getattr(self, name) is not None]
        if limits and not target.answers and all(is_computed(metric) for metric in metrics):
            problems.append(f"{' and '.join(limits)} need token counts, which {target} never gives: it has no query()")
        return problems

    def budget(self, metrics: Sequence[Metric]) -> Budget:
        """A budget of which nothing is spent yet."""
        return Budget(self.max_cost_usd, self.max_tokens, self.price_of_target(metrics))

    def price_of_target(self, metrics: Sequence[Metric]) -> Price | None:
        """What the pipeline's tokens cost; None where nobody said."""
        return self.price if self.price is not None else _cost_metric(metrics)

    def _price_problems(self) -> list[str]:
        price: object = self.price
        if price is None:
            return []
        if not callable(price):
            return [f"price must be a CostUsd or a function of input and output tokens, not {price!r}"]
        try:
            cost: object = price(1_000, 1_000)
        except Exception as error:  # noqa: BLE001 - a price is a stranger's code
            return [f"price raised {type(error).__name__} for 1,000 input and 1,000 output tokens: {error}"]
        if isinstance(cost, bool) or not isinstance(cost, int | float) or not (math.isfinite(cost) and cost >= 0):
            return [f"price must give a number of US dollars of at least 0, not {cost!r}"]
        return []


def _is_positive(value: object) -> bool:
    # Compared as a whole: an int beyond every float is less than infinity, too.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= sys.float_info.max


def _cost_metric(metrics: Sequence[Metric]) -> CostUsd | None:
    return next((metric for metric in metrics if isinstance(metric, CostUsd)), None)


def _unpriced(metric: Metric) -> list[str]:
    # Of a metric that asks models; this module does not know those.
    explain = getattr(metric, "unpriced", None)
    return [] if explain is None else [f"max_cost_usd needs the prices of all judges: {text}" for text in explain()]
