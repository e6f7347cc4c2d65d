"""What a run spent, in a line."""

from __future__ import annotations

from fastrag.benchmark.budget import usd
from fastrag.benchmark.spending import Spending, Usage


def spending_line(spent: Spending) -> str:
    """What pipeline and judges took; empty where neither told anything.

    >>> spending_line(Spending(Usage(8, 0, 7_200, 900, None), Usage(24, 6, 30_000, 2_000, 0.0124)))
    'pipeline: 8 calls, 8,100 tokens, cost not known; judges: 24 calls (6 cached), 32,000 tokens, $0.01'
    """
    return "; ".join(spending_parts(spent))


def spending_parts(spent: Spending) -> list[str]:
    """What the pipeline took and what the judges took, as far as they told anything."""
    parts = []
    if spent.target.input_tokens is not None and spent.target.calls:
        parts.append(f"pipeline: {_usage(spent.target)}")
    if spent.judges.calls:
        parts.append(f"judges: {_usage(spent.judges)}")
    return parts


def _usage(usage: Usage) -> str:
    cached = f" ({usage.cached_calls:,} cached)" if usage.cached_calls else ""
    known = usage.input_tokens is not None and usage.output_tokens is not None
    tokens = f"{(usage.input_tokens or 0) + (usage.output_tokens or 0):,} tokens" if known else "tokens not known"
    cost = "cost not known" if usage.cost_usd is None else usd(usage.cost_usd)
    return f"{usage.calls:,} calls{cached}, {tokens}, {cost}"
