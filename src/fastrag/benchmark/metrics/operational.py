"""What an answer cost in time, tokens and money."""

from __future__ import annotations

from abc import abstractmethod
from datetime import UTC, datetime
from typing import Any

from fastrag._support.checks import require_number, require_text
from fastrag._support.extras import import_extra
from fastrag.benchmark.budget import Price
from fastrag.benchmark.metrics.base import QueryOutcome
from fastrag.benchmark.metrics.computed import ComputedMetric
from fastrag.benchmark.samples import EvalSample
from fastrag.errors import ConfigurationError


class LatencyMs(ComputedMetric):
    """``latency_ms``: how long the pipeline's call took, in milliseconds; waiting for a slot is not in it.

    >>> LatencyMs().compute(EvalSample("Why?"), QueryOutcome("Because.", [], latency_ms=12.5))
    12.5
    """

    name = "latency_ms"
    higher_is_better = False

    def compute(self, sample: EvalSample, outcome: QueryOutcome) -> float:
        """The outcome's latency."""
        return float(outcome.latency_ms)


class _TokenMetric(ComputedMetric):
    """A metric computed from both token counts; None where one of them is unknown."""

    needs_token_counts = True
    higher_is_better = False

    def compute(self, sample: EvalSample, outcome: QueryOutcome) -> float | None:
        """The score; None unless both token counts are known."""
        if outcome.input_tokens is None or outcome.output_tokens is None:
            return None
        return self._from_tokens(outcome.input_tokens, outcome.output_tokens)

    def missing_reason(self, sample: EvalSample, outcome: QueryOutcome) -> str:
        """Which count is unknown."""
        unknown = [field for field in ("input_tokens", "output_tokens") if getattr(outcome, field) is None]
        return f"unknown {' and '.join(unknown)}"

    @abstractmethod
    def _from_tokens(self, input_tokens: int, output_tokens: int) -> float:
        """The score from known counts."""


class TotalTokens(_TokenMetric):
    """``total_tokens``: input and output tokens together, as the model's server counted them.

    >>> TotalTokens().compute(EvalSample("Why?"), QueryOutcome("Because.", [], 1.0, input_tokens=90, output_tokens=10))
    100.0
    """

    name = "total_tokens"

    def _from_tokens(self, input_tokens: int, output_tokens: int) -> float:
        return float(input_tokens + output_tokens)


class CostUsd(_TokenMetric):
    """``cost_usd``: what the outcome's tokens cost, in US dollars, at list prices.

    Either name a model, whose prices the package ``genai-prices`` knows (``pip install 'fastrag[cost]'``), or give
    both prices by hand. That package brings its price list along; nothing is fetched. Prices that change with the
    date or hour are those of the moment this object is made, so that one run is charged at one price. All input
    tokens are charged alike: discounts for cached ones are not known to an outcome.

    Args:
        model: The model's name, as its provider writes it.
        provider: The provider's name, such as "openai" or "azure"; None picks the one the model's name suggests.
        input_usd_per_million_tokens: Price of input, at least 0.
        output_usd_per_million_tokens: Price of output, at least 0.

    Raises:
        ConfigurationError: Neither or both of model and prices are given, a price is below 0 or not finite, or
            the model, its provider or its token prices are unknown.
        MissingDependencyError: A model is named, but genai-prices is not installed.

    >>> cost = CostUsd(input_usd_per_million_tokens=0.5, output_usd_per_million_tokens=2)
    >>> cost.compute(EvalSample("Why?"), QueryOutcome("", [], 1.0, input_tokens=1_000_000, output_tokens=250_000))
    1.0
    >>> cost.compute(EvalSample("Why?"), QueryOutcome("", [], 1.0)) is None
    True
    """

    name = "cost_usd"

    def __init__(
        self,
        model: str | None = None,
        *,
        provider: str | None = None,
        input_usd_per_million_tokens: float | None = None,
        output_usd_per_million_tokens: float | None = None,
    ) -> None:
        by_hand = (input_usd_per_million_tokens, output_usd_per_million_tokens)
        if model is None:
            if provider is not None or None in by_hand:
                raise ConfigurationError(
                    "CostUsd needs a model, or both input_usd_per_million_tokens and output_usd_per_million_tokens"
                )
            self._price = _fixed_price(
                require_number("input_usd_per_million_tokens", input_usd_per_million_tokens, at_least=0),
                require_number("output_usd_per_million_tokens", output_usd_per_million_tokens, at_least=0),
            )
        elif by_hand != (None, None):
            raise ConfigurationError(f"CostUsd takes a model or prices, not both: model={model!r}, prices={by_hand}")
        else:
            self._price = listed_price(require_text("model", model), provider)

    def __call__(self, input_tokens: int, output_tokens: int) -> float:
        """What so many tokens cost, in US dollars."""
        return self._price(input_tokens, output_tokens)

    def _from_tokens(self, input_tokens: int, output_tokens: int) -> float:
        return self._price(input_tokens, output_tokens)


def _fixed_price(usd_per_million_in: float, usd_per_million_out: float) -> Price:
    def price(input_tokens: int, output_tokens: int) -> float:
        return (input_tokens * usd_per_million_in + output_tokens * usd_per_million_out) / 1e6

    return price


def listed_price(model: str, provider: str | None = None, *, endpoint: str | None = None) -> Price:
    """What genai-prices says that the model's tokens cost.

    Args:
        model: As its provider writes it.
        provider: None: the one that ``endpoint`` belongs to, or else the one that the model's name suggests.
        endpoint: The URL that requests go to.

    Raises:
        ConfigurationError: It has no such model, or no token prices for it.
        MissingDependencyError: It is not installed.
    """
    genai_prices = import_extra("genai_prices", extra="cost", purpose="CostUsd(model=...)")
    moment = datetime.now(UTC)

    def calculate(input_tokens: int, output_tokens: int) -> Any:
        return genai_prices.calc_price(
            genai_prices.Usage(input_tokens=input_tokens, output_tokens=output_tokens),
            model,
            provider_id=provider,
            provider_api_url=endpoint,
            genai_request_timestamp=moment,
        )

    by_hand = "give input_usd_per_million_tokens and output_usd_per_million_tokens instead"
    at = f" of provider {provider!r}" if provider is not None else f" at {endpoint}" if endpoint is not None else ""
    try:
        known = calculate(0, 0).model_price
    except LookupError as error:
        raise ConfigurationError(
            f"genai-prices does not know model {model!r}{at}: correct the name, or {by_hand}"
        ) from error
    # Known to exist is not known to be free: a model without prices would be charged 0.
    if known.input_mtok is None or known.output_mtok is None:
        raise ConfigurationError(f"genai-prices has no token prices for model {model!r}{at}: {by_hand}")
    return lambda input_tokens, output_tokens: float(calculate(input_tokens, output_tokens).total_price)
