"""What a run spent: its pipeline's calls and its judges' apart."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls of models, and what they took.

    Attributes:
        calls: How many there were, those that a cache answered included.
        cached_calls: How many of them a cache answered, which took nothing.
        input_tokens: Of the others; None where one of them did not say.
        output_tokens: Of the others; None where one of them did not say.
        cost_usd: Of the others, in US dollars; None where the tokens or the price of one of them are not known.
    """

    calls: int = 0
    cached_calls: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Spending:
    """What a run has spent so far, earlier parts of a resumed one included.

    Attributes:
        target: The pipeline's calls that gave an outcome, and what they said they took.
        judges: What metrics that ask a model recorded (`fastrag.benchmark.record_usage`).
    """

    target: Usage = Usage()
    judges: Usage = Usage()


@dataclass(slots=True)
class Tally:
    """A `Usage` that grows: what is known, and of how many calls it is not."""

    calls: int = 0
    cached_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    without_input: int = 0
    without_output: int = 0
    without_cost: int = 0

    def add(self, input_tokens: int | None, output_tokens: int | None, cost_usd: float | None) -> None:
        """Count one call that was made; None is not known. A cost of half the tokens counts as unknown, too."""
        self.calls += 1
        self.input_tokens += input_tokens or 0
        self.output_tokens += output_tokens or 0
        self.cost_usd += cost_usd or 0.0
        self.without_input += input_tokens is None
        self.without_output += output_tokens is None
        self.without_cost += None in (input_tokens, output_tokens, cost_usd)

    def add_cached(self) -> None:
        """Count one call that a cache answered."""
        self.calls += 1
        self.cached_calls += 1

    def usage(self, *, known: bool = True) -> Usage:
        """What may be said of it; ``known`` is False where calls are missing in it."""
        return Usage(
            self.calls,
            self.cached_calls,
            self.input_tokens if known and not self.without_input else None,
            self.output_tokens if known and not self.without_output else None,
            self.cost_usd if known and not self.without_cost else None,
        )
