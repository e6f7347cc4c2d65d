"""Quality against latency and cost: which results no other one beats in everything."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fastrag.benchmark.comparison_records import Coverage
from fastrag.benchmark.pairing import agreed_direction, coverage_of, scores_by_question
from fastrag.benchmark.results import BenchmarkResult
from fastrag.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class TradeOff:
    """One result among others.

    Attributes:
        result: The result itself.
        means: Metric -> mean over the questions that all results in the comparison measured by all metrics; empty
            where the result is not in it.
        coverage: Metric -> how much of the whole run was measured; metrics it does not have are not there.
        dominated_by: Names of the results that are at least as good by every metric and better by one.
        reason: Why the result is not in the comparison; None where it is.
    """

    result: BenchmarkResult
    means: Mapping[str, float]
    coverage: Mapping[str, Coverage]
    dominated_by: tuple[str, ...]
    reason: str | None

    @property
    def on_front(self) -> bool:
        """Whether the result is in the comparison and nothing dominates it."""
        return self.reason is None and not self.dominated_by


def trade_offs(
    results: Iterable[BenchmarkResult], metrics: Sequence[str], *, min_coverage: float = 0.9
) -> list[TradeOff]:
    """Each result with what dominates it: the Pareto front is what nothing does.

    Means are compared as they are, without a test: a result that is dominated by little may be none the worse, which
    `compare` and `rank` can tell. A result takes part if it has all the metrics and measured at least
    ``min_coverage`` of what could be measured by each.

    Args:
        results: At least one.
        metrics: At least two, such as ``["ndcg@10", "latency_ms", "cost_usd"]``.
        min_coverage: From 0 to 1.

    Returns:
        In the order of the results.

    Raises:
        ConfigurationError: There are no results or too few metrics, results disagree on a direction, no result
            takes part, or no question was measured by all that do.
    """
    listed, names = list(results), list(dict.fromkeys(metrics))
    if not listed or len(names) < 2 or isinstance(metrics, str):
        raise ConfigurationError(
            f"a trade-off is of results by at least two metrics, not of {len(listed)} by {metrics!r}"
        )
    if not 0 <= min_coverage <= 1:
        raise ConfigurationError(f"min_coverage must be from 0 to 1, not {min_coverage!r}")
    coverages = [{name: coverage_of(one, name) for name in names if name in one.summary} for one in listed]
    reasons = [_why_not(names, coverage, min_coverage) for coverage in coverages]
    inside = [position for position, reason in enumerate(reasons) if reason is None]
    if not inside:
        why = "\n- ".join(f"{one.name}: {reason}" for one, reason in zip(listed, reasons, strict=True))
        raise ConfigurationError(f"no result can be compared by {', '.join(names)}:\n- {why}")
    signs = {name: 1 if agreed_direction([listed[i] for i in inside], name) else -1 for name in names}
    means = _means([listed[i] for i in inside], names)
    found = []
    for position, (one, coverage, reason) in enumerate(zip(listed, coverages, reasons, strict=True)):
        if reason is not None:
            found.append(TradeOff(one, {}, coverage, (), reason))
            continue
        own = means[inside.index(position)]
        better = tuple(listed[i].name for i, other in zip(inside, means, strict=True) if _dominates(other, own, signs))
        found.append(TradeOff(one, own, coverage, better, None))
    return found


def _why_not(names: Sequence[str], coverage: Mapping[str, Coverage], min_coverage: float) -> str | None:
    for name in names:
        if name not in coverage:
            return f"it does not have {name}"
        of = coverage[name]
        if not of.measured or of.measured < min_coverage * of.measurable:
            return f"{name} measured {of.measured} of {of.measurable} measurable questions"
    return None


def _means(results: Sequence[BenchmarkResult], names: Sequence[str]) -> list[dict[str, float]]:
    scores = [{name: scores_by_question(one, name) for name in names} for one in results]
    first = scores[0][names[0]]
    common = [q for q in first if all(q in by_question for one in scores for by_question in one.values())]
    if not common:
        raise ConfigurationError(f"no question was measured by {', '.join(names)} in all results")
    return [
        {name: math.fsum(math.fsum(one[name][q]) / len(one[name][q]) for q in common) / len(common) for name in names}
        for one in scores
    ]


def _dominates(other: Mapping[str, float], own: Mapping[str, float], signs: Mapping[str, int]) -> bool:
    gains = [(other[name] - own[name]) * sign for name, sign in signs.items()]
    return min(gains) >= 0 and max(gains) > 0
