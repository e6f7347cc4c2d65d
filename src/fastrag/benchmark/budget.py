"""What a run may spend: tokens and money, of the pipeline and of the metrics that ask a model, together."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Literal

Price = Callable[[int, int], float]
"""US dollars for so many input and output tokens."""

Calls = Literal["answers", "scorings"]
"""What tokens are spent on: answers of the pipeline, or scorings by metrics that ask a model."""

# So many answers without any token count show that there will be none; fewer may be questions that need no model.
_ENOUGH_UNCOUNTED = 3

_current: ContextVar[Budget | None] = ContextVar("fastrag_budget", default=None)


def record_usage(input_tokens: int | None, output_tokens: int | None) -> None:
    """Count what a metric spent on a model against the budget of the run it scores for.

    A metric that asks a model calls this after each of its calls; None stands for a count that the server did not
    give. Outside a run it does nothing. What the pipeline itself spent is not to be told here; its QueryResult says so.

    >>> record_usage(900, 12)
    """
    budget = _current.get()
    if budget is not None:
        budget.add("scorings", input_tokens, output_tokens)


class Budget:
    """What was spent so far, and whether any more may be.

    Args:
        max_cost_usd: In US dollars, None for no limit; needs a ``price``.
        max_tokens: Input and output tokens together, None for no limit.
        price: US dollars for so many input and output tokens; None where money is not counted.
    """

    def __init__(self, max_cost_usd: float | None, max_tokens: int | None, price: Price | None) -> None:
        self.input_tokens = 0
        self.output_tokens = 0
        self.cost_usd = 0.0
        self._max_cost_usd = max_cost_usd
        self._max_tokens = max_tokens
        self._limited = max_cost_usd is not None or max_tokens is not None
        self._price = price
        # Of each, how many came with token counts and how many without.
        self._counted: dict[Calls, int] = {"answers": 0, "scorings": 0}
        self._uncounted: dict[Calls, int] = {"answers": 0, "scorings": 0}
        self._broken_price: str | None = None
        # A metric may report from a thread.
        self._lock = threading.Lock()

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Let `record_usage` in this context, and in the tasks started from it, count here."""
        token = _current.set(self)
        try:
            yield
        finally:
            # A KeyboardInterrupt can end the run in another context than it began in.
            with suppress(ValueError):
                _current.reset(token)

    def restore(self, input_tokens: int, output_tokens: int, cost_usd: float) -> None:
        """Start from what an earlier part of the same run spent."""
        self.input_tokens, self.output_tokens = input_tokens, output_tokens
        self.cost_usd = cost_usd
        if cost_usd == 0 and input_tokens + output_tokens > 0:
            # The earlier part had no price.
            self.cost_usd = self._cost(input_tokens, output_tokens)

    def add(self, calls: Calls, input_tokens: int | None, output_tokens: int | None) -> None:
        """Count one call; None where a count is unknown."""
        tokens_in, tokens_out = input_tokens or 0, output_tokens or 0
        with self._lock:
            if input_tokens is None and output_tokens is None:
                self._uncounted[calls] += 1
                return
            self._counted[calls] += 1
            self.input_tokens += tokens_in
            self.output_tokens += tokens_out
            if self._price is not None:
                self.cost_usd += self._cost(tokens_in, tokens_out)

    def exhausted(self) -> str | None:
        """Why no further call may be started, None while one may."""
        if not self._limited:
            return None
        if self._max_cost_usd is not None:
            if self._broken_price is not None:
                return f"the budget of {_usd(self._max_cost_usd)} cannot be kept: {self._broken_price}"
            if self.cost_usd >= self._max_cost_usd:
                return f"budget of {_usd(self._max_cost_usd)} reached"
        if self._max_tokens is not None and self.input_tokens + self.output_tokens >= self._max_tokens:
            return f"budget of {self._max_tokens:,} tokens reached"
        for calls, uncounted in self._uncounted.items():
            if uncounted >= _ENOUGH_UNCOUNTED and self._counted[calls] == 0:
                return f"the budget cannot be kept: {uncounted} {calls} came without token counts, and none with any"
        return None

    def _cost(self, input_tokens: int, output_tokens: int) -> float:
        if self._price is None:
            return 0.0
        try:
            cost = float(self._price(input_tokens, output_tokens))
        except Exception as error:  # noqa: BLE001 - a price is a stranger's code, and the run's answers are paid for
            self._broken_price = f"the price raised {type(error).__name__}"
            return 0.0
        if not (math.isfinite(cost) and cost >= 0):
            self._broken_price = f"the price gave {cost!r}"
            return 0.0
        return cost


def _usd(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 0.01 else f"${amount:g}"
