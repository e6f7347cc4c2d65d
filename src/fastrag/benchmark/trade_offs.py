"""Quality against latency and cost: which results no other one beats in everything."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fastrag._support.checks import require_list, require_text
from fastrag.benchmark.arguments import require_results, require_share
from fastrag.benchmark.comparison_records import Coverage
from fastrag.benchmark.metric_ranges import Range, range_of
from fastrag.benchmark.pairing import Questions, agreed_direction, coverage_of, measured_score
from fastrag.benchmark.results import BenchmarkResult
from fastrag.benchmark.statistics import mean_of
from fastrag.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class TradeOff:
    """One result among others.

    Attributes:
        result: The result itself.
        means: Metric -> mean over the questions that all results in the comparison measured in full, at every
            occurrence and by all metrics; empty where there is none, or the result is not in it.
        coverage: Metric -> how much of the whole run was measured; metrics it does not have are not there.
        dominated_by: Names of the results that are at least as good by every metric and better by one, whatever
            was failed on.
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
    results: Iterable[BenchmarkResult],
    metrics: Sequence[str],
    *,
    min_coverage: float = 0.9,
    ranges: Mapping[str, Range] | None = None,
) -> list[TradeOff]:
    """Each result with what dominates it: the Pareto front is what nothing does.

    Any two are compared by their means over the questions both were asked, without a test: a result that is dominated
    by little may be none the worse, which `compare` and `rank` can tell. A question that a result failed on has the
    metric's worst there, so that failing never puts a result onto the front; one that both failed on is left out. Where
    the worst is not known or has no limit (latency, cost), it is taken as infinite: a result that failed on something
    then dominates none by that metric, and is dominated only by results that did not. So the means that are shown,
    which are over what all measured, can look like dominance where there is none.

    A result takes part if it has all the metrics and measured at least ``min_coverage`` of what could be measured by
    each.

    Args:
        results: At least one.
        metrics: At least two, such as ``["ndcg@10", "latency_ms", "cost_usd"]``.
        min_coverage: From 0 to 1.
        ranges: As in `compare`.

    Returns:
        In the order of the results.

    Raises:
        ConfigurationError: There are no results or too few metrics, results disagree on a direction, no result
            takes part, no question was asked of all that do, or an argument is out of its range.
    """
    listed = require_results(results)
    listed_names = require_list("metrics", metrics, of="names")
    names = list(dict.fromkeys(require_text("a metric", name) for name in listed_names))
    if len(names) < 2:
        raise ConfigurationError(
            f"a trade-off is of at least two metrics, not of {', '.join(map(repr, names)) or 'none'}"
        )
    require_share("min_coverage", min_coverage)
    coverages = [{name: coverage_of(one, name) for name in names if name in one.summary} for one in listed]
    reasons = [_why_not(names, coverage, min_coverage) for coverage in coverages]
    inside = [position for position, reason in enumerate(reasons) if reason is None]
    if not inside:
        why = "\n- ".join(f"{one.name}: {reason}" for one, reason in zip(listed, reasons, strict=True))
        raise ConfigurationError(f"no result can be compared by {', '.join(names)}:\n- {why}")
    taking_part = [listed[i] for i in inside]
    goals = [_Goal.of(taking_part, name, ranges) for name in names]
    asked = {i: Questions(listed[i]) for i in inside}
    if not set.intersection(*(set(one.samples) for one in asked.values())):
        raise ConfigurationError(f"no question was asked of all results: {', '.join(one.name for one in taking_part)}")
    means = dict(zip(inside, _means(list(asked.values()), names), strict=True))
    reached = {i: [_Reached.of(asked[i], goal) for goal in goals] for i in inside}
    better = {
        i: tuple(listed[other].name for other in inside if _dominates(reached[other], reached[i])) for i in inside
    }
    return [
        TradeOff(one, means.get(i, {}), coverages[i], better.get(i, ()), reasons[i]) for i, one in enumerate(listed)
    ]


@dataclass(frozen=True, slots=True)
class _Goal:
    """One metric: which direction is better, and the worst there is, an infinity where there is no limit."""

    metric: str
    sign: int
    worst: float

    @classmethod
    def of(cls, results: Sequence[BenchmarkResult], metric: str, ranges: Mapping[str, Range] | None) -> _Goal:
        scores = [measured_score(sample, metric) for one in results for sample in one.samples]
        low, high = range_of(metric, [s for s in scores if s is not None], ranges) or (-math.inf, math.inf)
        higher = agreed_direction(results, metric)
        return cls(metric, 1 if higher else -1, low if higher else high)


def _why_not(names: Sequence[str], coverage: Mapping[str, Coverage], min_coverage: float) -> str | None:
    for name in names:
        if name not in coverage:
            return f"it does not have {name}"
        of = coverage[name]
        if not of.measured or of.measured < min_coverage * of.measurable:
            return f"{name} measured {of.measured} of {of.measurable} measurable questions"
    return None


def _means(results: Sequence[Questions], names: Sequence[str]) -> list[dict[str, float]]:
    scores = [{name: one.measured(name).full for name in names} for one in results]
    common = [q for q in scores[0][names[0]] if all(q in means for one in scores for means in one.values())]
    return [{name: mean_of([one[name][q] for q in common]) for name in names if common} for one in scores]


@dataclass(frozen=True, slots=True)
class _Reached:
    """What one result reached by one goal: each question's mean, with the worst for what failed."""

    sign: int
    means: dict[str, float]
    unscored: set[str]

    @classmethod
    def of(cls, questions: Questions, goal: _Goal) -> _Reached:
        measured = questions.measured(goal.metric)
        means = measured.full | {question: side.at(goal.worst) for question, side in measured.rest.items()}
        return cls(goal.sign, means, {question for question, side in measured.rest.items() if not side.scores})

    def gain(self, other: _Reached) -> float:
        """How much better this is, over the questions both were asked; NaN where both fail without a limit."""
        neither = self.unscored & other.unscored
        shared = [question for question in self.means if question in other.means and question not in neither]
        # Sums, not differences, one by one: of the same scores in another order they are exactly the same.
        own, theirs = (math.fsum(map(means.__getitem__, shared)) for means in (self.means, other.means))
        return self.sign * (own - theirs)


def _dominates(one: Sequence[_Reached], other: Sequence[_Reached]) -> bool:
    gains = [mine.gain(theirs) for mine, theirs in zip(one, other, strict=True)]
    return all(gain >= 0 for gain in gains) and any(gain > 0 for gain in gains)
