"""How many questions it takes to show a difference, and what difference so many can show.

Power is that of the two-sided paired t test, from the noncentral t distribution (Cohen 1988; the same numbers as
statsmodels' TTestPower). scipy is loaded with the first question asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

from fastrag._support.checks import require_int, require_number, shown
from fastrag.benchmark.arguments import require_metrics, require_probability, require_samples
from fastrag.benchmark.pairing import scores_by_question
from fastrag.benchmark.results import BenchmarkResult
from fastrag.benchmark.statistics import mean_of, sd_of
from fastrag.errors import ConfigurationError

_MOST_QUESTIONS = 10**12
_MOST_COMPARISONS = 10**6
# It takes as many, by the normal approximation, which is close where the number is large.
_SMALLEST_D_Z = math.sqrt(40 / _MOST_QUESTIONS)
_LARGEST_D_Z = 1e100
# Above, the noncentral t distribution of scipy sometimes does not converge.
_LARGEST_NONCENTRALITY = 30.0


def power_of(d_z: float, n: float, *, alpha: float = 0.05) -> float:
    """Probability that ``n`` pairs show a mean difference of ``d_z`` standard deviations of the differences.

    >>> round(power_of(0.5, 34), 2)
    0.81
    """
    from scipy.stats import nct, t  # scipy.special.nctdtr is wrong by 1e-7, and NaN for strong effects

    noncentrality = abs(d_z) * math.sqrt(n)
    critical = float(t.isf(alpha / 2, n - 1))
    if noncentrality > _LARGEST_NONCENTRALITY:
        return _power_of_strong_effects(noncentrality, n - 1, critical)
    near = float(nct.sf(critical, n - 1, noncentrality))
    far = float(nct.cdf(-critical, n - 1, noncentrality))
    # Where the far tail is too thin for scipy to tell, it is no number.
    return near if math.isnan(far) else near + far


def _power_of_strong_effects(noncentrality: float, freedom: float, critical: float) -> float:
    """The same, as the mean over a normal z of P(chi2 < freedom * ((noncentrality + z) / critical)**2).

    Far from 0 this is smooth in z, and Gauss and Hermite's quadrature right to 1e-14.
    """
    import numpy as np
    from scipy.special import gammainc

    z, weights = _quadrature()
    ratios = np.minimum((noncentrality + z) / critical, _LARGEST_D_Z)
    return float(np.average(gammainc(freedom / 2, freedom / 2 * ratios**2), weights=weights))


@cache
def _quadrature() -> tuple[Any, Any]:
    """Points and weights of Gauss and Hermite's quadrature, which take an eigenvalue problem to find."""
    import numpy as np

    return np.polynomial.hermite_e.hermegauss(64)


def pairs_for_power(d_z: float, power: float = 0.8, *, alpha: float = 0.05) -> float:
    """The number of pairs, not rounded, at which `power_of` reaches ``power``; 2.0 where 2 are more than enough.

    >>> round(pairs_for_power(0.5), 2)
    33.37
    """
    from scipy.optimize import brentq

    low, high = 2.0, 4.0
    if power_of(d_z, low, alpha=alpha) >= power:
        return low
    while power_of(d_z, high, alpha=alpha) < power:
        low, high = high, 2 * high
    return float(brentq(lambda n: power_of(d_z, n, alpha=alpha) - power, low, high, xtol=1e-11, rtol=1e-14))


def detectable_d_z(n: int, power: float = 0.8, *, alpha: float = 0.05) -> float:
    """The smallest difference that ``n`` pairs, at least 2, show with probability ``power``, in standard deviations.

    >>> round(detectable_d_z(100), 3)
    0.283
    """
    from scipy.optimize import brentq

    high = 1.0
    while power_of(high, n, alpha=alpha) < power:
        high *= 2
    return float(brentq(lambda d_z: power_of(d_z, n, alpha=alpha) - power, 0.0, high, xtol=1e-13, rtol=1e-14))


def questions_needed(
    effect: float, power: float = 0.8, *, sd: float = 1.0, alpha: float = 0.05, comparisons: int = 1
) -> int:
    """How many questions have to be asked for `compare` to show a difference.

    Args:
        effect: The mean difference to be shown, in the metric's unit; in standard deviations of the differences
            where ``sd`` is left at 1. Its sign does not matter.
        power: The probability with which it is to be shown, between ``alpha`` and 1.
        sd: Standard deviation of the questions' differences: ``sd_difference`` of an earlier comparison.
        alpha: As in `compare`.
        comparisons: How many metrics and candidates will be compared at once. Each is planned for at
            ``alpha / comparisons``, the level of the strictest of Holm's steps.

    Raises:
        ConfigurationError: An argument is of a wrong type or out of its range, or the effect is too small to plan for.

    >>> questions_needed(0.2), questions_needed(0.02, sd=0.1), questions_needed(0.2, comparisons=10)
    (199, 199, 337)
    """
    _require_plan(power, alpha, comparisons)
    d_z = min(abs(require_number("effect", effect)) / require_number("sd", sd, above=0), _LARGEST_D_Z)
    if d_z < _SMALLEST_D_Z:
        raise ConfigurationError(
            f"an effect of {shown(effect)} is too small against sd={shown(sd)} for any number of questions to show it"
        )
    return math.ceil(pairs_for_power(d_z, power, alpha=alpha / comparisons))


def detectable_difference(
    sd: float, n: int, power: float = 0.8, *, alpha: float = 0.05, comparisons: int = 1
) -> float | None:
    """The smallest mean difference that ``n`` questions show with probability ``power``, in the metric's unit.

    Args:
        sd: Standard deviation of the questions' differences: ``sd_difference`` of a comparison.
        n: Questions, from 1 to 10**12.
        power: Between ``alpha`` and 1.
        alpha: As in `compare`.
        comparisons: As in `questions_needed`.

    Returns:
        None below n = 2 and where ``sd`` is 0: nothing can be said then; and where it is beyond every float.

    Raises:
        ConfigurationError: An argument is of a wrong type or out of its range.

    >>> round(detectable_difference(0.3, 100), 4)
    0.0849
    """
    _require_plan(power, alpha, comparisons)
    require_int("n", n, at_least=1, at_most=_MOST_QUESTIONS)
    require_number("sd", sd, at_least=0)
    if n < 2 or sd == 0:
        return None
    difference = sd * detectable_d_z(n, power, alpha=alpha / comparisons)
    return difference if math.isfinite(difference) else None


def smallest_detectable(
    result: BenchmarkResult,
    n: int,
    *,
    metrics: Sequence[str] | None = None,
    correlation: float = 0.0,
    power: float = 0.8,
    alpha: float = 0.05,
    comparisons: int = 1,
) -> dict[str, float | None]:
    """What difference from ``result`` a run over ``n`` such questions could show, metric by metric.

    One result tells how much scores differ between questions (s), not how alike two runs are. Differences between
    paired scores that correlate by r have a standard deviation of s * sqrt(2 * (1 - r)).

    Args:
        result: An earlier run, say over a few questions.
        n: Questions of the run that is planned.
        metrics: Which; None is all that the result has.
        correlation: How the two runs' scores will correlate over the questions, from 0 (the careful choice) to below
            1. Variants of one pipeline are more alike, and show smaller differences.
        power: As in `detectable_difference`.
        alpha: As in `compare`.
        comparisons: As in `questions_needed`.

    Returns:
        Metric -> difference in its unit; None where fewer than two questions of the result were measured or all
        have the same score, and where n is 1.

    Raises:
        ConfigurationError: An argument is of a wrong type or out of its range, or the result has no samples or not
            the metric.

    >>> from datetime import UTC, datetime
    >>> from fastrag.benchmark import DistributionSummary, SampleResult, StatusCounts
    >>> scores = [0.2, 0.5, 1.0, 0.3]
    >>> samples = [SampleResult(f"q{i}", "successful", {"mrr": score}) for i, score in enumerate(scores)]
    >>> summary = {"mrr": DistributionSummary.of(scores)}
    >>> pilot = BenchmarkResult("pilot", datetime.now(UTC), StatusCounts(4, 0, 0), summary, samples, 1.0, {"mrr": True})
    >>> for n in (50, 200):
    ...     print(n, round(smallest_detectable(pilot, n, correlation=0.5)["mrr"], 3))
    50 0.144
    200 0.071
    """
    require_samples(result)
    names = list(result.summary) if metrics is None else require_metrics(metrics, [result])
    require_number("correlation", correlation, at_least=0, below=1)
    _require_plan(power, alpha, comparisons)
    require_int("n", n, at_least=1, at_most=_MOST_QUESTIONS)
    found: dict[str, float | None] = {}
    for name in names:
        means = [mean_of(scores) for scores in scores_by_question(result, name).values()]
        sd = sd_of(means) * math.sqrt(2 * (1 - correlation)) if len(means) >= 2 else 0.0
        # Beyond every float, nothing can be said either.
        sd = sd if math.isfinite(sd) else 0.0
        found[name] = detectable_difference(sd, n, power, alpha=alpha, comparisons=comparisons)
    return found


def _require_plan(power: float, alpha: float, comparisons: int) -> None:
    require_probability("alpha", alpha)
    if require_probability("power", power) <= alpha:
        raise ConfigurationError(f"power must be between alpha ({alpha!r}) and 1, not {shown(power)}")
    require_int("comparisons", comparisons, at_least=1, at_most=_MOST_COMPARISONS)
