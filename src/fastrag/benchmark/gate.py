"""From a comparison to pass or fail: what `fastrag compare` exits with and what the pytest plugin asserts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from fastrag.benchmark.comparison_records import Comparison, MetricComparison
from fastrag.errors import ConfigurationError

FailOn = Literal["worse", "not-equivalent", "not-better"]
"""What fails: a shown loss; anything not shown to be as good within the margin; anything not shown to be better."""

FAIL_ON: tuple[FailOn, ...] = get_args(FailOn)

Outcome = Literal["passed", "regression", "coverage too low", "cannot say"]

EXIT_CODES: dict[Outcome, int] = {"passed": 0, "regression": 3, "coverage too low": 4, "cannot say": 5}

_ACCEPTED: dict[FailOn, frozenset[str]] = {
    "worse": frozenset({"better", "equivalent", "no difference shown"}),
    "not-equivalent": frozenset({"better", "equivalent"}),
    "not-better": frozenset({"better"}),
}


@dataclass(frozen=True, slots=True)
class Check:
    """One metric of one candidate before the gate.

    Attributes:
        metric: Its name.
        candidate: The candidate's name.
        outcome: What the gate says of it.
        reason: Why, in one sentence.
        comparison: The numbers; None where only one of the two results has the metric.
    """

    metric: str
    candidate: str
    outcome: Outcome
    reason: str
    comparison: MetricComparison | None


@dataclass(frozen=True, slots=True)
class GateReport:
    """What the gate says of a comparison.

    Attributes:
        checks: One a metric and candidate.
        fail_on: What counts as a regression.
        strict: Whether *cannot say* fails too.
    """

    checks: tuple[Check, ...]
    fail_on: FailOn
    strict: bool

    @property
    def outcome(self) -> Outcome:
        """The worst that any check came to: a regression, else too low a coverage, else (if strict) cannot say."""
        found = {check.outcome for check in self.checks if self.fails(check)}
        return next(
            (outcome for outcome in ("regression", "coverage too low", "cannot say") if outcome in found), "passed"
        )

    @property
    def exit_code(self) -> int:
        """0 passed, 3 regression, 4 coverage too low, 5 cannot say."""
        return EXIT_CODES[self.outcome]

    def fails(self, check: Check) -> bool:
        """Whether this check keeps the gate shut."""
        return check.outcome != "passed" and (check.outcome != "cannot say" or self.strict)


def gate(comparison: Comparison, *, fail_on: FailOn = "worse", strict: bool = False) -> GateReport:
    """Hold every metric of every candidate against the gate.

    A coverage below the comparison's ``min_coverage``, on either side, is never passed, nor is a candidate that was
    asked less than that share of the baseline's questions, nor one of which nothing can be said, for failures might
    hide that it is worse: failing must not open the gate. Metrics that only one of the two results has, and those that
    nothing can be said of for want of questions or spread, pass unless ``strict``, or unless ``fail_on`` asks for
    something to be shown. *Cannot say* because failures might hide that the candidate is better is a pass.

    Args:
        comparison: What `compare` found.
        fail_on: ``"worse"`` fails what is shown to be worse; ``"not-equivalent"`` all but *better* and
            *equivalent*; ``"not-better"`` all but *better*.
        strict: Fail what nothing can be said of.

    Raises:
        ConfigurationError: ``fail_on`` is none of the three, or ``"not-equivalent"`` where no metric has a margin, or
            there is nothing to check.
    """
    if fail_on not in FAIL_ON:
        raise ConfigurationError(f"fail_on must be one of {', '.join(FAIL_ON)}, not {fail_on!r}")
    too_few = {pairing.candidate for pairing in comparison.pairings if pairing.share < comparison.min_coverage}
    checks = [_check(one, comparison.min_coverage, fail_on, one.candidate in too_few) for one in comparison.comparisons]
    checks += [
        Check(metric, candidate, "cannot say", "only one of the two results has this metric", None)
        for candidate, metric in comparison.not_compared
    ]
    if not comparison.comparisons:
        raise ConfigurationError(f"no metric of {comparison.baseline} is in the results compared with it")
    if fail_on == "not-equivalent" and all(one.margin is None for one in comparison.comparisons):
        raise ConfigurationError("fail_on='not-equivalent' needs a margin: how small a difference does not matter")
    return GateReport(tuple(checks), fail_on, strict)


def _check(one: MetricComparison, min_coverage: float, fail_on: FailOn, asked_too_few: bool) -> Check:
    shares = (one.baseline_coverage.share, one.candidate_coverage.share)
    outcome: Outcome = "passed"
    if asked_too_few or any(share is not None and share < min_coverage for share in shares):
        outcome = "coverage too low"
    elif one.verdict == "cannot say" and fail_on == "worse":
        # Without a p, however little failed, nothing was tested; with one, the doubt is who is better.
        if one.could_be_worse:
            outcome = "coverage too low"
        elif one.p_holm is None:
            outcome = "cannot say"
    elif one.verdict not in _ACCEPTED[fail_on]:
        outcome = "regression"
    return Check(one.metric, one.candidate, outcome, f"{one.verdict}: {one.reason}", one)
