"""The lowest and highest scores of the metrics whose names say what they are.

A result file carries names, not Metric objects; what a score could have been is known by name alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from fastrag._support.checks import require_number, shown
from fastrag.errors import ConfigurationError

Range = tuple[float, float]
"""The lowest and the highest score there can be; an infinity where there is no limit."""

_SHARES = re.compile(
    r"(?:precision|recall|hit_rate|f1|mrr|map|ndcg|ndcg_exp)(?:@\d+)?|r_precision|exact_match|token_f1"
    r"|preference_over_[\w.-]+"
)
_JUDGED = frozenset(
    {
        "abstention",
        "answer_correctness",
        "answer_correctness_precision",
        "answer_correctness_recall",
        "answer_relevance",
        "citation_precision",
        "citation_recall",
        "completeness",
        "context_recall",
        "context_relevance",
        "context_relevance_graded",
        "context_utilization",
        "faithfulness",
        "hallucination",
        "noise_sensitivity",
        "noise_sensitivity_irrelevant",
        "noise_sensitivity_relevant",
        "self_knowledge",
    }
)
_AMOUNTS = frozenset({"latency_ms", "total_tokens", "cost_usd"})


def range_of(metric: str, scores: Iterable[float] = (), known: Mapping[str, Range] | None = None) -> Range | None:
    """What scores of ``metric`` lie between; None where that is not known.

    Args:
        metric: Its name.
        scores: Some of its scores. One outside says that the name is another metric's, whose range is not known.
        known: Ranges that the user knows; they come before those known by name.

    Raises:
        ConfigurationError: ``known`` is no mapping from names to pairs of numbers, a range of it does not go upwards,
            or a score is outside of it.

    >>> range_of("ndcg@10"), range_of("latency_ms"), range_of("politeness"), range_of("recall@5", [17.0])
    ((0.0, 1.0), (0.0, inf), None, None)
    """
    ranges = _checked(known)
    if metric in ranges:
        low, high = ranges[metric]
        if outside := [score for score in scores if not low <= score <= high]:
            raise ConfigurationError(f"{metric} has the score {outside[0]!r}, outside of its range {low!r} to {high!r}")
        return low, high
    if metric in _JUDGED or _SHARES.fullmatch(metric):
        named = (0.0, 1.0)
    elif metric in _AMOUNTS:
        named = (0.0, math.inf)
    else:
        return None
    return named if all(named[0] <= score <= named[1] for score in scores) else None


def _checked(ranges: object) -> dict[str, Range]:
    if ranges is None:
        return {}
    if not isinstance(ranges, Mapping):
        raise ConfigurationError(f"ranges must be a mapping metric -> (lowest, highest), not {shown(ranges)}")
    found = {}
    for metric, ends in ranges.items():
        if not isinstance(ends, Sequence) or isinstance(ends, str) or len(ends) != 2:
            raise ConfigurationError(f"the range of {metric} must be a pair (lowest, highest), not {shown(ends)}")
        low, high = (_end(metric, end) for end in ends)
        if not low < high:
            raise ConfigurationError(f"the range of {metric} must go upwards, not from {low!r} to {high!r}")
        found[metric] = low, high
    return found


def _end(metric: str, end: object) -> float:
    if isinstance(end, float) and math.isinf(end):
        return end
    return require_number(f"an end of the range of {metric} that is no infinity", end)
