"""What a run may spend: tokens and money, of the pipeline and of the metrics that ask a model, together."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from typing import Literal

from fastrag.benchmark.spending import Spending, Tally

Price = Callable[[int, int], float]
"""US dollars for so many input and output tokens."""

Calls = Literal["answers", "scorings"]
"""What tokens are spent on: answers of the pipeline, or scorings by metrics that ask a model."""

# So many answers without any token count show that there will be none; fewer may be questions that need no model.
_ENOUGH_UNCOUNTED = 3

_current: ContextVar[Budget | None] = ContextVar("fastrag_budget", default=None)


def record_usage(
    input_tokens: int | None, output_tokens: int | None, *, price: Price | None = None, cached: bool = False
) -> None:
    """Count one call of a model that a metric made, in the run that it scores for.

    A metric that asks a model calls this after each of its calls. Outside a run it does nothing. What the pipeline
    itself spent is not to be told here; its QueryResult says so.

    Args:
        input_tokens: None where the server did not say.
        output_tokens: None where the server did not say.
        price: What the tokens of that model cost, a `CostUsd` for example. None where it is not known; a run with
            ``max_cost_usd`` then stops, for what is spent cannot be held to it.
        cached: The answer came out of a cache: the call is counted, and nothing was spent.

    >>> record_usage(900, 12)
    """
    budget = _current.get()
    if budget is not None:
        budget.add_scoring(input_tokens, output_tokens, price, cached=cached)


class Budget:
    """What was spent so far, and whether any more may be.

    Args:
        max_cost_usd: In US dollars, None for no limit; needs a ``price``.
        max_tokens: Input and output tokens together, None for no limit.
        price: What the pipeline's tokens cost; None where that is not known.
    """

    def __init__(self, max_cost_usd: float | None, max_tokens: int | None, price: Price | None) -> None:
        self.target = Tally()
        self.judges = Tally()
        self._max_cost_usd = max_cost_usd
        self._max_tokens = max_tokens
        self._limited = max_cost_usd is not None or max_tokens is not None
        self._price = price
        # What earlier versions kept of earlier parts of the run: the sum for pipeline and judges.
        self._unsplit_tokens = (0, 0)
        self._unsplit_cost_usd = 0.0
        # Of each, how many came with token counts and how many without.
        self._counted: dict[Calls, int] = {"answers": 0, "scorings": 0}
        self._uncounted: dict[Calls, int] = {"answers": 0, "scorings": 0}
        self._broken_price: str | None = None
        # A metric may report from a thread.
        self._lock = threading.Lock()

    @property
    def input_tokens(self) -> int:
        """All that are known of."""
        return self._unsplit_tokens[0] + self.target.input_tokens + self.judges.input_tokens

    @property
    def output_tokens(self) -> int:
        """All that are known of."""
        return self._unsplit_tokens[1] + self.target.output_tokens + self.judges.output_tokens

    @property
    def cost_usd(self) -> float:
        """Of all tokens that are known of and have a price."""
        return self._unsplit_cost_usd + self.target.cost_usd + self.judges.cost_usd

    def spending(self) -> Spending:
        """What was spent so far."""
        known = self._unsplit_tokens == (0, 0)
        with self._lock:
            return Spending(self.target.usage(known=known), self.judges.usage(known=known))

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

    def restore(self, spent: tuple[int, int, float], target: Tally | None, judges: Tally | None) -> None:
        """Start from what an earlier part of the same run spent.

        Args:
            spent: Input tokens, output tokens and US dollars of pipeline and judges together.
            target: The pipeline's part of it; None where that was not kept.
            judges: The judges' part of it.
        """
        input_tokens, output_tokens, cost_usd = spent
        if target is not None and judges is not None:
            self.target, self.judges = replace(target), replace(judges)
            input_tokens -= target.input_tokens + judges.input_tokens
            output_tokens -= target.output_tokens + judges.output_tokens
            cost_usd -= target.cost_usd + judges.cost_usd
        if target is not None and target.without_cost and not (target.without_input or target.without_output):
            # The earlier part had no price.
            cost = self._cost(self._price, target.input_tokens, target.output_tokens)
            if cost is not None:
                self.target.cost_usd, self.target.without_cost = cost, 0
        if input_tokens > 0 or output_tokens > 0:
            self._unsplit_tokens = input_tokens, output_tokens
            self._unsplit_cost_usd = cost_usd or self._cost(self._price, input_tokens, output_tokens) or 0.0

    def add_retrieval(self) -> None:
        """Count one call of a pipeline that only retrieves: what it took nobody says."""
        with self._lock:
            self.target.add(None, None, None)

    def add_answer(self, input_tokens: int | None, output_tokens: int | None) -> None:
        """Count one call of the pipeline; None where a count is unknown."""
        with self._lock:
            self._add("answers", self.target, input_tokens, output_tokens, self._price)

    def add_scoring(
        self, input_tokens: int | None, output_tokens: int | None, price: Price | None, *, cached: bool = False
    ) -> None:
        """Count one call of a metric's model; None where a count or the price is unknown."""
        with self._lock:
            if cached:
                self.judges.add_cached()
            else:
                self._add("scorings", self.judges, input_tokens, output_tokens, price)

    def exhausted(self) -> str | None:
        """Why no further call may be started, None while one may."""
        if not self._limited:
            return None
        if self._max_cost_usd is not None:
            if self._broken_price is not None:
                return f"the budget of {usd(self._max_cost_usd)} cannot be kept: {self._broken_price}"
            if self._unpriced_scorings():
                return (
                    f"the budget of {usd(self._max_cost_usd)} cannot be kept: {self._unpriced_scorings()} calls of "
                    "judges came without a price"
                )
            if self.cost_usd >= self._max_cost_usd:
                return f"budget of {usd(self._max_cost_usd)} reached"
        if self._max_tokens is not None and self.input_tokens + self.output_tokens >= self._max_tokens:
            return f"budget of {self._max_tokens:,} tokens reached"
        for calls, uncounted in self._uncounted.items():
            if uncounted >= _ENOUGH_UNCOUNTED and self._counted[calls] == 0:
                return f"the budget cannot be kept: {uncounted} {calls} came without token counts, and none with any"
        return None

    def _unpriced_scorings(self) -> int:
        # Those without token counts have no cost either, and may be exceptions; see `_ENOUGH_UNCOUNTED`.
        return self.judges.without_cost - max(self.judges.without_input, self.judges.without_output)

    def _add(
        self, calls: Calls, tally: Tally, input_tokens: int | None, output_tokens: int | None, price: Price | None
    ) -> None:
        if input_tokens is None and output_tokens is None:
            self._uncounted[calls] += 1
            tally.add(None, None, None)
            return
        self._counted[calls] += 1
        # Half of a cost is no cost to tell, but it counts against the limit.
        tally.add(input_tokens, output_tokens, self._cost(price, input_tokens or 0, output_tokens or 0))

    def _cost(self, price: Price | None, input_tokens: int, output_tokens: int) -> float | None:
        if price is None:
            return None
        try:
            cost = float(price(input_tokens, output_tokens))
        except Exception as error:  # noqa: BLE001 - a price is a stranger's code, and the run's answers are paid for
            self._broken_price = f"the price raised {type(error).__name__}"
            return None
        if not (math.isfinite(cost) and cost >= 0):
            self._broken_price = f"the price gave {cost!r}"
            return None
        return cost


def usd(amount: float) -> str:
    """US dollars for people.

    >>> usd(0.5), usd(0.00012)
    ('$0.50', '$0.00012')
    """
    return f"${amount:,.2f}" if amount >= 0.01 else f"${amount:g}"
