"""From the numbers of one paired comparison to what may be claimed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastrag.benchmark.comparison_records import Coverage, Verdict
from fastrag.benchmark.doubt import Doubt, could_be_below, is_certainly_above


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a verdict is made from.

    Attributes:
        gains: Per question, how much better the candidate is (negative: worse), in the metric's unit.
        lost: What the candidate failed on, as gains.
        gained: What the baseline failed on, as gains.
        p: The p that decides, adjusted; None where there is none.
        p_equivalence: As in `MetricComparison`.
        margin: As in `MetricComparison`.
        alpha: The family's level.
        family_size: Over how many p alpha is spent.
    """

    gains: Sequence[float]
    lost: Doubt
    gained: Doubt
    p: float | None
    p_equivalence: float | None
    margin: float | None
    alpha: float
    family_size: int

    def stays_better(self) -> bool:
        """Whether the candidate is shown to be better whatever it would have scored where it failed."""
        if not (self.p is not None and self.p <= self.alpha and sum(self.gains) > 0):
            return False
        if not self.lost.count:
            return True
        if self.margin is not None:
            # It must not be what would have been called equivalent without the failures.
            floor = sum(self.gains) + self.lost.count * min(self.lost.low, self.margin)
            if floor / (len(self.gains) + self.lost.count) < self.margin:
                return False
        return is_certainly_above(self.gains, self.lost, self.alpha / self.family_size / 2)

    def could_be_worse(self) -> bool:
        """Whether the candidate might have been shown to be worse, had it not failed where it did."""
        return could_be_below(self.gains, self.lost, self.alpha / 2)

    def stays_equivalent(self) -> bool:
        """Whether the difference is within the margin whatever would have been scored where either failed."""
        if self.margin is None or self.p_equivalence is None or self.p_equivalence > self.alpha:
            return False
        count = self.lost.count + self.gained.count
        if not count:
            return True
        both = Doubt(count, min(self.lost.low, self.gained.low), max(self.lost.high, self.gained.high))
        return all(
            is_certainly_above(
                [gain + self.margin for gain in gains],
                Doubt(count, doubt.low + self.margin, doubt.high + self.margin),
                self.alpha / self.family_size,
            )
            for gains, doubt in ((self.gains, both), ([-gain for gain in self.gains], both.turned()))
        )

    def turned(self) -> Evidence:
        """The same from the baseline's side."""
        return Evidence(
            [-gain for gain in self.gains],
            self.gained.turned(),
            self.lost.turned(),
            self.p,
            self.p_equivalence,
            self.margin,
            self.alpha,
            self.family_size,
        )


def verdict_of(
    evidence: Evidence, coverages: Sequence[tuple[str, Coverage]], min_coverage: float
) -> tuple[Verdict, str]:
    """The verdict and its reason.

    A failure takes the doubt against the run that failed: where it could have turned a verdict that run would like,
    there is none.
    """
    n = len(evidence.gains)
    for name, coverage in coverages:
        if coverage.share is None or coverage.share < min_coverage:
            share = f" ({coverage.share:.1%}, below {min_coverage:.1%})" if coverage.share is not None else ""
            return "cannot say", f"{name} measured {coverage.measured} of {coverage.measurable} samples{share}"
    if n < 2:
        return "cannot say", f"{_questions(n)} measured by both: at least 2 are needed"
    if evidence.stays_equivalent():
        return (
            "equivalent",
            f"the difference is within the margin of {evidence.margin:g} ({_p(evidence.p_equivalence)})",
        )
    if evidence.p is None:
        return "cannot say", f"all {n} differences are the same: there is no spread to test them against"
    mean = sum(evidence.gains) / n
    if evidence.p <= evidence.alpha:
        side: Verdict = "better" if mean > 0 else "worse"
        seen = evidence if mean > 0 else evidence.turned()
        if seen.stays_better():
            return side, f"{_p(evidence.p)}, at most {evidence.alpha:g}"
        who = "the candidate" if mean > 0 else "the baseline"
        return (
            "cannot say",
            f"{side} on {_questions(n)}, but {_questions(seen.lost.count)} {who} failed on could undo it",
        )
    for seen, who in ((evidence, "the candidate"), (evidence.turned(), "the baseline")):
        if seen.could_be_worse():
            return "cannot say", f"{_questions(seen.lost.count)} {who} failed on could have shown it to be worse"
    return "no difference shown", f"{_p(evidence.p)}, above {evidence.alpha:g}"


def _questions(count: int) -> str:
    return "1 question" if count == 1 else f"{count} questions"


def _p(p: float | None) -> str:
    return f"adjusted p = {p:.3g}"
