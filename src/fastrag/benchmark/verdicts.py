"""From the numbers of paired comparisons to what may be claimed of each.

What a run failed on is held against it: it is better only if it is so whatever it would have scored there, and it could
be worse if some scores there would have shown it. So a failure more never turns a verdict to the run's liking. Through
Holm's adjustment each comparison also depends on the others: for claims, these count with the highest p that their own
failed questions leave possible, for what could have been with the lowest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fastrag.benchmark.comparison_records import Coverage, Verdict
from fastrag.benchmark.doubt import Doubt, highest_p, lowest_p
from fastrag.benchmark.paired_tests import differences_of, holm
from fastrag.benchmark.pairing import PairedScores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one comparison says by itself, seen from the candidate's side.

    Attributes:
        gains: Per question, how much better the candidate is (negative: worse), in the metric's unit.
        lost: What the candidate failed on, as gains.
        gained: What the baseline failed on, as gains.
        unknown: What either failed on, or both.
        p: The p that decides, not adjusted; None where there is none.
        margin: As in `MetricComparison`.
        p_equivalence: As in `MetricComparison`, not adjusted.
    """

    gains: Sequence[float]
    lost: Doubt
    gained: Doubt
    unknown: Doubt
    p: float | None
    margin: float | None = None
    p_equivalence: float | None = None

    @classmethod
    def of(
        cls,
        scores: PairedScores,
        p: float | None,
        *,
        higher: bool,
        margin: float | None = None,
        p_equivalence: float | None = None,
    ) -> Evidence:
        """Of paired scores of which ``higher`` ones are better, or lower ones."""
        gains = differences_of(scores.first, scores.second)
        lost, gained, unknown = (Doubt.of(reaches.values()) for reaches in (scores.lost, scores.gained, scores.unknown))
        seen = cls(gains, lost, gained, unknown, p, margin, p_equivalence)
        # Where lower is better the candidate gains by what the baseline has more.
        return seen if higher else replace(seen.turned(), lost=lost.turned(), gained=gained.turned())

    @property
    def lead(self) -> float:
        """The sum of the gains: above 0 where the candidate is ahead."""
        return math.fsum(self.gains)

    def turned(self) -> Evidence:
        """The same from the baseline's side."""
        return replace(
            self,
            gains=[-gain for gain in self.gains],
            lost=self.gained.turned(),
            gained=self.lost.turned(),
            unknown=self.unknown.turned(),
        )

    def better_p(self) -> float:
        """The two-sided p of its being better, the highest that what it failed on leaves possible."""
        return self._highest_p(self.lost) if self.lead > 0 else 1.0

    def worse_p(self) -> float:
        """The two-sided p of its being worse, the lowest that what it failed on leaves possible."""
        known = self.p if self.p is not None and self.lead < 0 else 1.0
        return min(known, 2 * lowest_p([-gain for gain in self.gains], self.lost.turned()))

    def highest_p(self) -> float:
        """The highest p of a difference that all failed questions together leave possible."""
        ahead = self if self.lead > 0 else self.turned()
        return ahead._highest_p(ahead.unknown) if self.lead else 1.0

    def lowest_p(self) -> float:
        """The lowest, of a difference in either direction."""
        return min(
            1.0 if self.p is None else self.p,
            2 * lowest_p(self.gains, self.unknown),
            2 * lowest_p([-gain for gain in self.gains], self.unknown.turned()),
        )

    def highest_p_equivalence(self) -> float:
        """The highest p of a difference that reaches the margin that all failed questions together leave possible."""
        if self.margin is None or self.p_equivalence is None:
            return 1.0
        if not self.unknown.count:
            return self.p_equivalence
        margin = self.margin
        return max(
            self.p_equivalence,
            *(
                highest_p([gain + margin for gain in one.gains], one.unknown.shifted(margin))
                for one in (self, self.turned())
            ),
        )

    def clears_margin(self) -> bool:
        """Whether it is so far ahead that it would not have been called equivalent without its failures."""
        if self.margin is None:
            return True
        floor = math.fsum([self.lead, *(min(low, self.margin) for low, _ in self.lost.reaches)])
        return floor >= self.margin * (len(self.gains) + self.lost.count)

    def _highest_p(self, doubt: Doubt) -> float:
        if self.p is None:
            return 1.0
        return min(1.0, max(self.p, 2 * highest_p(self.gains, doubt))) if doubt.count else self.p


class Family:
    """All comparisons that share one ``alpha``, by Holm.

    Args:
        evidence: Of each comparison.
        alpha: The probability of any wrong claim.
        others: Comparisons without evidence that count, too.
    """

    def __init__(self, evidence: Sequence[Evidence], alpha: float, *, others: int = 0) -> None:
        self.alpha = alpha
        self.size = len(evidence) + others
        import numpy as np

        # A comparison without a p counts with 1: whether it has one, failures decide.
        self._highest = np.array([one.highest_p() for one in evidence] + [1.0] * others)
        self._lowest = np.array([one.lowest_p() for one in evidence] + [1.0] * others)
        self._equivalences = np.array([one.highest_p_equivalence() for one in evidence])
        self._has_failures = any(one.unknown.count for one in evidence)

    def adjusted(self, position: int, p: float | None) -> float | None:
        """``p`` of the comparison at ``position``, adjusted."""
        return None if p is None else _adjusted(self._highest, position, p)

    def adjusted_equivalence(self, position: int, p: float | None) -> float | None:
        """The same of a p of equivalence."""
        return None if p is None else _adjusted(self._equivalences, position, p)

    def shows_better(self, position: int, one: Evidence) -> bool:
        """Whether the comparison shows its candidate to be better, whatever it would have scored where it failed."""
        if not self._is_within_alpha(self._highest, position, one.better_p()):
            return False
        return not self._has_failures or one.clears_margin()

    def could_be_worse(self, position: int, one: Evidence) -> bool:
        """Whether its candidate is shown to be worse, or could have been, had there been no failures."""
        return self._is_within_alpha(self._lowest, position, one.worse_p())

    def shows_equivalent(self, position: int) -> bool:
        """Whether the difference is within the margin, whatever would have been scored where either failed."""
        return self._is_within_alpha(self._equivalences, position, float(self._equivalences[position]))

    def _is_within_alpha(self, p_values: NDArray[np.float64], position: int, p: float) -> bool:
        # Most p are above alpha before they are adjusted, which takes all the others.
        return p <= self.alpha and _adjusted(p_values, position, p) <= self.alpha


def _adjusted(p_values: NDArray[np.float64], position: int, p: float) -> float:
    """``p`` in the place of the one at ``position``, adjusted by Holm."""
    import numpy as np

    return holm(p, np.delete(p_values, position))


def verdict_of(
    family: Family,
    position: int,
    one: Evidence,
    coverages: Sequence[tuple[str, Coverage]],
    min_coverage: float,
) -> tuple[Verdict, str]:
    """The verdict of the comparison at ``position`` and its reason."""
    n = len(one.gains)
    for name, coverage in coverages:
        if coverage.share is None or coverage.share < min_coverage:
            share = f" ({coverage.share:.1%}, below {min_coverage:.1%})" if coverage.share is not None else ""
            return "cannot say", f"{name} measured {coverage.measured} of {coverage.measurable} samples{share}"
    if n < 2:
        return "cannot say", f"{_questions(n)} measured by both: at least 2 are needed"
    if family.shows_equivalent(position):
        p_equivalence = family.adjusted_equivalence(position, one.p_equivalence)
        return "equivalent", f"the difference is within the margin of {one.margin:g} ({_p(p_equivalence)})"
    p = family.adjusted(position, one.p)
    if p is None:
        return "cannot say", f"all {n} differences are the same: there is no spread to test them against"
    side: Verdict = "better" if one.lead > 0 else "worse"
    ahead, who = (one, "the candidate") if one.lead > 0 else (one.turned(), "the baseline")
    if family.shows_better(position, ahead):
        return side, f"{_p(p)}, at most {family.alpha:g}"
    if p <= family.alpha:
        return "cannot say", f"{side} on {_questions(n)}, but {_failures(ahead, who)} could undo it"
    for seen, who in ((one, "the candidate"), (one.turned(), "the baseline")):
        if family.could_be_worse(position, seen):
            return "cannot say", f"{_failures(seen, who)} could have shown {who} to be worse"
    return "no difference shown", f"{_p(p)}, above {family.alpha:g}"


def _failures(one: Evidence, who: str) -> str:
    return f"{_questions(one.lost.count)} {who} failed on" if one.lost.count else "failures elsewhere"


def _questions(count: int) -> str:
    return "1 question" if count == 1 else f"{count} questions"


def _p(p: float | None) -> str:
    return f"adjusted p = {p:.3g}"
