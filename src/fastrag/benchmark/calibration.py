"""Judged means corrected by human labels: what a judge's mean is worth once people have looked at some of it.

A judge that is off by the same amount everywhere gives a precise and wrong mean. `calibrate` estimates the mean that
people would have given, from the judge's scores of all items and people's labels of a random few: prediction-powered
inference (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Science 382, 2023), by default with the weight of the
judge tuned to the data (Angelopoulos, Duchi and Zrnic, arXiv:2311.01453, 2023).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastrag._support.checks import require_list, shown
from fastrag.benchmark.agreement import Agreement, Scale, Weights, agreement, require_rating
from fastrag.benchmark.statistics import Interval, mean_interval
from fastrag.errors import ConfigurationError

_FEWEST_LABELS = 2


@dataclass(frozen=True, slots=True)
class Calibration:
    """A judge held against human labels.

    Attributes:
        labelled: How many items have both a judge's score and a human label.
        unlabelled: How many have a judge's score only.
        unjudged: How many have no judge's score. Their labels, if any, are not used.
        judged_mean: The judge's mean over all items it scored: what the benchmark reports.
        human_mean: The labels' mean over the labelled items.
        human_interval: Its Student's t interval: what the labels alone would say.
        bias: How much higher the judge scores than people, over the labelled items.
        bias_interval: Its Student's t interval. It leaves 0 out where the judge is off.
        corrected_mean: The prediction-powered estimate of the mean that people would have given to all items.
        corrected_interval: Its interval, by the normal approximation: with fewer than about 50 labels it is a
            little too narrow.
        judge_weight: How far the estimate leans on the judge: 1 fully, 0 not at all (the labels alone).
        agreement: Kappa, weighted kappa and alpha of judge and people over the labelled items.
    """

    labelled: int
    unlabelled: int
    unjudged: int
    judged_mean: float
    human_mean: float
    human_interval: Interval | None
    bias: float
    bias_interval: Interval | None
    corrected_mean: float
    corrected_interval: Interval
    judge_weight: float
    agreement: Agreement


def calibrate(
    judged: Mapping[Any, float | None] | Sequence[float | None],
    labels: Mapping[Any, float] | Sequence[float | None],
    *,
    power_tuned: bool = True,
    categories: Sequence[float] | None = None,
    weights: Weights = "quadratic",
    scale: Scale = "interval",
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Calibration:
    """Hold a judge's scores against human labels of some of the items, and correct its mean by them.

    The labelled items have to be a random sample of the judged ones: labels of only the odd cases correct nothing.

    Args:
        judged: The judge's score of every item; None where it gave none. A mapping from an item's id (anything
            hashable: the question, say) to its score, or a sequence.
        labels: People's labels on the same scale: a mapping from the ids of the labelled items, or a sequence as
            long as ``judged`` with None for what nobody labelled.
        power_tuned: Weight the judge by how well it predicts the labels, so that a useless judge costs nothing;
            False takes it fully, as the method of 2023 does.
        categories: For the kappas, see `fastrag.benchmark.agreement.agreement`.
        weights: For the weighted kappa.
        scale: For alpha.
        resamples: Of the bootstrap behind the agreement's intervals.
        level: Of all intervals.
        seed: Of the bootstrap.

    Raises:
        ConfigurationError: Fewer than two items have both, a label is of an item that is not in ``judged``, the
            sequences' lengths differ, or a value is not finite.

    >>> judged = [0.9, 0.8, 1.0, 0.7, 0.9, 0.8, 1.0, 0.9]
    >>> labels = [0.6, 0.5, 0.8, 0.4, None, None, None, None]
    >>> found = calibrate(judged, labels, power_tuned=False)
    >>> round(found.judged_mean, 3), round(found.bias, 3), round(found.corrected_mean, 3)
    (0.875, 0.275, 0.625)
    """
    all_judged, all_labels = _by_item(judged, labels)
    scores, by_item = _numbers("score", all_judged), _numbers("label", all_labels)
    pairs = [(score, by_item[item]) for item, score in scores.items() if item in by_item]
    if len(pairs) < _FEWEST_LABELS:
        raise ConfigurationError(
            f"calibrating needs at least {_FEWEST_LABELS} items with both a judge's score and a label; "
            f"there are {len(pairs)} among {len(all_judged)} judged items and {len(by_item)} labels"
        )
    predicted, true = [score for score, _ in pairs], [label for _, label in pairs]
    rest = [score for item, score in scores.items() if item not in by_item]
    found = agreement(
        predicted,
        true,
        categories=categories,
        weights=weights,
        scale=scale,
        resamples=resamples,
        level=level,
        seed=seed,
    )
    # Where everything is labelled there is nothing left to predict.
    weight = 0.0 if not rest else _tuned_weight(predicted, true, rest) if power_tuned else 1.0
    mean, interval = _prediction_powered(predicted, true, rest, weight, level)
    differences = [score - label for score, label in pairs]
    return Calibration(
        labelled=len(pairs),
        unlabelled=len(rest),
        unjudged=len(all_judged) - len(scores),
        judged_mean=statistics.fmean(scores.values()),
        human_mean=statistics.fmean(true),
        human_interval=mean_interval(true, level=level),
        bias=statistics.fmean(differences),
        bias_interval=mean_interval(differences, level=level),
        corrected_mean=mean,
        corrected_interval=interval,
        judge_weight=weight,
        agreement=found,
    )


def _prediction_powered(
    predicted: Sequence[float], true: Sequence[float], rest: Sequence[float], weight: float, level: float
) -> tuple[float, Interval]:
    """The judge's mean over the rest, and what the labels say it is off by; their variances add up."""
    from scipy.special import ndtri

    corrections = [label - weight * score for score, label in zip(predicted, true, strict=True)]
    mean, variance = statistics.fmean(corrections), statistics.pvariance(corrections) / len(corrections)
    if rest:
        mean += weight * statistics.fmean(rest)
        variance += weight**2 * statistics.pvariance(rest) / len(rest)
    half = float(ndtri((1 + level) / 2)) * math.sqrt(variance)
    return mean, Interval(mean - half, mean + half, level)


def _tuned_weight(predicted: Sequence[float], true: Sequence[float], rest: Sequence[float]) -> float:
    """The weight with the least variance, kept from 0 to 1: a judge that predicts nothing, or the contrary, gets 0."""
    spread = statistics.variance([*predicted, *rest])
    if spread == 0:
        return 0.0
    covariance = statistics.covariance(predicted, true) * (len(true) - 1) / len(true)
    return min(max(covariance / ((1 + len(true) / len(rest)) * spread), 0.0), 1.0)


def _by_item(
    judged: Mapping[Any, float | None] | Sequence[float | None], labels: Mapping[Any, float] | Sequence[float | None]
) -> tuple[Mapping[Any, float | None], Mapping[Any, float | None]]:
    """Both as mappings; of sequences, from the positions."""
    if not isinstance(judged, Mapping) and not isinstance(labels, Mapping):
        listed, given = require_list("judged", judged, of="scores"), require_list("labels", labels, of="numbers")
        if len(listed) != len(given):
            raise ConfigurationError(
                f"there are {len(listed)} judged items and {len(given)} labels; give None for what has no label"
            )
        judged, labels = dict(enumerate(listed)), dict(enumerate(given))
    if not isinstance(judged, Mapping) or not isinstance(labels, Mapping):
        raise ConfigurationError("judged and labels must both be mappings by item, or both sequences in one order")
    if strangers := [item for item in labels if item not in judged]:
        raise ConfigurationError(f"{len(strangers)} labels are of items that are not judged, as {shown(strangers[0])}")
    return judged, labels


def _numbers(what: str, values: Mapping[Any, float | None]) -> dict[Any, float]:
    """Item -> number, without what is None."""
    return {
        item: require_rating(f"the {what} of {shown(item)}", value)
        for item, value in values.items()
        if value is not None
    }
