"""How far two raters agree beyond chance: a judge and a person, or two people.

Cohen's kappa is for categories, weighted kappa for ordered ones, Krippendorff's alpha for any scale, any number of
raters and gaps. All are 1 for perfect agreement, about 0 for what chance gives, and negative below it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from fastrag._support.checks import require_choice, require_int, require_list, require_number
from fastrag.benchmark.arguments import require_probability
from fastrag.benchmark.statistics import Interval
from fastrag.errors import ConfigurationError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Weights = Literal["none", "linear", "quadratic"]
Scale = Literal["nominal", "ordinal", "interval"]

MOST_CATEGORIES = 20
"""With more different values than this, and no ``categories`` given, scores are taken as a continuous scale."""

_MOST_UNDEFINED = 0.05
# Squares and sums of such numbers still have a float.
_LARGEST_RATING = 1e150


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient of agreement.

    Attributes:
        value: At most 1; None where it does not exist: all ratings are of one category, or they are no categories.
        interval: Its bootstrap percentile interval; None with the value, and where resampling leaves it undefined
            too often (more than 5 % of the resamples, as when all but a few ratings are equal).
    """

    value: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of two raters on the items that both rated.

    Attributes:
        n: How many items both rated.
        observed: Share of them given the same category, from 0 to 1; None where the ratings are no categories.
        kappa: Cohen's kappa, unweighted.
        weighted_kappa: Cohen's kappa with ``weights``, by the positions of the ordered categories.
        alpha: Krippendorff's alpha on ``scale``.
        weights: The weights of ``weighted_kappa``.
        scale: The scale of ``alpha``.
    """

    n: int
    observed: float | None
    kappa: Coefficient
    weighted_kappa: Coefficient
    alpha: Coefficient
    weights: Weights
    scale: Scale


def require_rating(name: str, value: object) -> float:
    """Return ``value`` as a float if it is a finite number that can be reckoned with.

    Raises:
        ConfigurationError: It is something else (a bool or a text included), or beyond 1e150.
    """
    number = require_number(name, value)
    if abs(number) > _LARGEST_RATING:
        raise ConfigurationError(f"{name} must lie within {_LARGEST_RATING:g} of 0, not be {number!r}")
    return number


def cohen_kappa(
    first: Sequence[float],
    second: Sequence[float],
    *,
    weights: Weights = "none",
    categories: Sequence[float] | None = None,
) -> float | None:
    """Cohen's kappa of two raters (Cohen 1960; weighted: Cohen 1968).

    Args:
        first: One rater's category of each item.
        second: The other's, in the same order.
        weights: ``"none"``: only equal counts; ``"linear"`` and ``"quadratic"``: a disagreement weighs as the
            distance, or its square, of the positions of the two among the ordered categories.
        categories: The whole scale; None: the values that occur.

    Returns:
        None where it does not exist: no items, or all ratings of one category.

    Raises:
        ConfigurationError: The lengths differ, or a rating is not among the categories or not finite.

    >>> round(cohen_kappa([1, 1, 0, 0, 1], [1, 1, 0, 1, 1]), 6)
    0.545455
    """
    import numpy as np

    require_choice("weights", weights, get_args(Weights))
    pair = np.array([[require_rating("a rating", value) for value in rater] for rater in _listed(first, second)])
    return _none_if_nan(_kappa(*_positions(pair, categories), _penalty(np, len(_scale(pair, categories)), weights)))


def krippendorff_alpha(ratings: Sequence[Sequence[float | None]], *, scale: Scale = "interval") -> float | None:
    """Krippendorff's alpha of any number of raters (Krippendorff 2011).

    Args:
        ratings: A sequence a rater, with the items in the same order in each; None where one did not rate an item.
            An item that fewer than two rated says nothing.
        scale: ``"nominal"``: values differ or not; ``"ordinal"``: their order counts; ``"interval"``: the squared
            difference of their values.

    Returns:
        None where it does not exist: no item that two rated, or all values equal.

    Raises:
        ConfigurationError: The lengths differ, there are fewer than two raters, or a rating is not finite.

    >>> round(krippendorff_alpha([[1, 2, 3, None], [1, 2, 4, 4], [None, 2, 3, 4]]), 6)
    0.927419
    """
    import numpy as np

    listed = require_list("ratings", ratings, of="lists, one a rater")
    raters = [require_list("a rater's values", rater, of="numbers") for rater in listed]
    if len(raters) < 2 or len({len(rater) for rater in raters}) > 1:
        raise ConfigurationError(
            f"alpha needs two or more raters with equally many items, not {[len(rater) for rater in raters]}"
        )
    require_choice("scale", scale, get_args(Scale))
    table = np.array([[_rating_or_none(value) for value in rater] for rater in raters], dtype=float)
    return _none_if_nan(_alpha(table, scale))


def agreement(
    first: Sequence[float | None],
    second: Sequence[float | None],
    *,
    categories: Sequence[float] | None = None,
    weights: Weights = "quadratic",
    scale: Scale = "interval",
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Agreement:
    """Kappa, weighted kappa and alpha of two raters, with seeded bootstrap intervals over the items.

    Args:
        first: One rater's values; None where there is none. Such items are left out.
        second: The other's, in the same order.
        categories: The scale for the kappas: each value counts as the nearest category (of two, the lower). None:
            values count as they are, and where more than 20 different ones occur the kappas are None.
        weights: For the weighted kappa; see `cohen_kappa`.
        scale: For alpha; see `krippendorff_alpha`. Alpha takes the values as they are, whatever the categories.
        resamples: How many bootstrap resamples; 0 for no intervals.
        level: Of the intervals.
        seed: The same seed gives the same intervals.

    Raises:
        ConfigurationError: The lengths differ, nothing was rated by both, or an argument is out of its range.

    >>> both = agreement([1, 1, 0, 0, 1, None], [1, 1, 0, 1, 1, 0])
    >>> both.n, both.observed, round(both.kappa.value, 3)
    (5, 0.8, 0.545)
    """
    import numpy as np

    require_probability("level", level)
    require_int("resamples", resamples, at_least=0)
    require_int("seed", seed, at_least=0)
    require_choice("weights", weights, get_args(Weights))
    require_choice("scale", scale, get_args(Scale))
    ratings = [[_rating_or_none(value) for value in rater] for rater in _listed(first, second)]
    rated = [(a, b) for a, b in zip(*ratings, strict=True) if a is not None and b is not None]
    if not rated:
        raise ConfigurationError("no item was rated by both, so their agreement cannot be measured")
    pair = np.array(rated, dtype=float).T
    order = np.random.default_rng(seed).integers(len(rated), size=(resamples, len(rated)))

    def coefficient(statistic: Callable[[Any], float]) -> Coefficient:
        value = _none_if_nan(statistic(slice(None)))
        return Coefficient(value, None if value is None else _percentile_interval(statistic, order, level))

    alpha = coefficient(lambda rows: _alpha(pair[:, rows], scale))
    if categories is None and len(np.unique(pair)) > MOST_CATEGORIES:
        absent = Coefficient(None, None)
        return Agreement(len(rated), None, absent, absent, alpha, weights, scale)
    values = _scale(pair, categories)
    rows, columns = _nearest(pair, values)
    plain, weighted = _penalty(np, len(values), "none"), _penalty(np, len(values), weights)
    return Agreement(
        len(rated),
        float((rows == columns).mean()),
        coefficient(lambda chosen: _kappa(rows[chosen], columns[chosen], plain)),
        coefficient(lambda chosen: _kappa(rows[chosen], columns[chosen], weighted)),
        alpha,
        weights,
        scale,
    )


def _kappa(rows: NDArray[Any], columns: NDArray[Any], penalty: NDArray[Any]) -> float:
    import numpy as np

    size = len(penalty)
    counts = np.bincount(rows * size + columns, minlength=size * size).reshape(size, size)
    by_chance = np.outer(counts.sum(axis=1), counts.sum(axis=0))
    expected = (penalty * by_chance).sum()
    return math.nan if expected == 0 else float(1 - (penalty * counts).sum() * counts.sum() / expected)


def _alpha(table: NDArray[Any], scale: Scale) -> float:
    """Alpha from the values each item got: observed over expected disagreement of pairs of ratings."""
    import numpy as np

    table = table[:, (~np.isnan(table)).sum(axis=0) >= 2]
    present = ~np.isnan(table)
    raters = present.sum(axis=0)
    if scale == "interval":
        # For squared differences the sums over pairs are sums over values: no table of pairs is needed.
        pooled = table[present]
        if pooled.size == 0 or np.ptp(pooled) == 0:
            return math.nan
        centred = np.where(present, table - pooled.mean(), 0.0)
        centred /= np.abs(centred).max()  # or the squares of very small differences would be nothing
        within = 2 * (raters * (centred**2).sum(axis=0) - centred.sum(axis=0) ** 2) / (raters - 1)
        expected = 2 * (pooled.size * (centred**2).sum() - centred.sum() ** 2)
        return float(1 - (pooled.size - 1) * within.sum() / expected)
    values, codes = np.unique(table[present], return_inverse=True)
    counts = np.zeros((table.shape[1], len(values)))
    np.add.at(counts, (np.nonzero(present)[1], codes), 1)
    coincidences = np.einsum("ui,uj->ij", counts / (raters - 1)[:, None], counts)
    coincidences -= np.diag((counts / (raters - 1)[:, None]).sum(axis=0))
    totals = counts.sum(axis=0)
    distance = 1 - np.eye(len(values))
    if scale == "ordinal":
        middles = totals.cumsum() - totals / 2
        distance = np.subtract.outer(middles, middles) ** 2
    expected = (distance * np.outer(totals, totals)).sum()
    return math.nan if expected == 0 else float(1 - (totals.sum() - 1) * (distance * coincidences).sum() / expected)


def _percentile_interval(statistic: Callable[[Any], float], order: NDArray[Any], level: float) -> Interval | None:
    import numpy as np

    if len(order) == 0 or order.shape[1] < 2:
        return None
    values = np.array([statistic(rows) for rows in order])
    defined = values[~np.isnan(values)]
    if len(defined) < (1 - _MOST_UNDEFINED) * len(values):
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level)


def _penalty(np: Any, size: int, weights: Weights) -> NDArray[np.float64]:
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float)
    penalty: NDArray[np.float64] = {"none": (apart > 0).astype(float), "linear": apart, "quadratic": apart**2}[weights]
    return penalty


def _listed(first: object, second: object) -> tuple[list[Any], list[Any]]:
    """Two raters' values, equally many."""
    one, other = (require_list("a rater's values", values, of="numbers") for values in (first, second))
    if len(one) != len(other):
        raise ConfigurationError(f"the raters have {len(one)} and {len(other)} values; they must have equally many")
    return one, other


def _rating_or_none(value: object) -> float | None:
    return None if value is None else require_rating("a rating", value)


def _scale(pair: NDArray[Any], categories: Sequence[float] | None) -> NDArray[Any]:
    import numpy as np

    if categories is None:
        return np.unique(pair)
    return np.unique(
        [require_rating("a category", value) for value in require_list("categories", categories, of="numbers")]
    )


def _positions(pair: NDArray[Any], categories: Sequence[float] | None) -> tuple[NDArray[Any], NDArray[Any]]:
    import numpy as np

    values = _scale(pair, categories)
    strangers = np.setdiff1d(pair, values)
    if len(strangers):
        raise ConfigurationError(f"the rating {strangers[0]} is none of the categories {values.tolist()}")
    return np.searchsorted(values, pair[0]), np.searchsorted(values, pair[1])


def _nearest(pair: NDArray[Any], values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    import numpy as np

    if not len(values):
        raise ConfigurationError("categories must not be empty")
    positions = np.searchsorted((values[1:] + values[:-1]) / 2, pair)
    return positions[0], positions[1]


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else value
