"""What `compare` is asked for, checked against the results before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastrag._support.checks import require_positive_int
from fastrag.benchmark.metric_ranges import Range, range_of
from fastrag.benchmark.pairing import agreed_direction, measured_score
from fastrag.benchmark.results import BenchmarkResult
from fastrag.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Settings:
    """What `compare` was asked for, once it is known to be sound."""

    metrics: list[str]
    directions: dict[str, bool]
    ranges: dict[str, Range | None]
    margins: dict[str, float]
    not_compared: tuple[tuple[str, str], ...]
    alpha: float
    min_coverage: float
    permutations: int
    seed: int


def settings_for(
    baseline: BenchmarkResult,
    candidates: Sequence[BenchmarkResult],
    *,
    metrics: Sequence[str] | None,
    margin: float | Mapping[str, float] | None,
    alpha: float,
    min_coverage: float,
    ranges: Mapping[str, Range] | None,
    permutations: int,
    seed: int,
) -> Settings:
    """The arguments of `compare`, checked against the results.

    Raises:
        ConfigurationError: See `compare`.
    """
    _check(baseline, candidates, alpha, min_coverage, permutations, seed)
    names = _metrics_of(baseline, candidates, metrics)
    return Settings(
        metrics=names,
        directions={name: agreed_direction([baseline, *candidates], name) for name in names},
        ranges={name: range_of(name, _scores([baseline, *candidates], name), ranges) for name in names},
        margins=_margins(margin, names),
        not_compared=tuple(
            (candidate.name, name)
            for candidate in candidates
            for name in dict.fromkeys([*names, *(candidate.summary if metrics is None else ())])
            if not (name in candidate.summary and name in baseline.summary)
        ),
        alpha=alpha,
        min_coverage=min_coverage,
        permutations=permutations,
        seed=seed,
    )


def _scores(results: Sequence[BenchmarkResult], metric: str) -> list[float]:
    scores = (measured_score(sample, metric) for result in results for sample in result.samples)
    return [score for score in scores if score is not None]


def _check(
    baseline: object, candidates: Sequence[object], alpha: float, min_coverage: float, permutations: int, seed: int
) -> None:
    if not candidates:
        raise ConfigurationError("there is no candidate to compare with the baseline")
    for result in (baseline, *candidates):
        if not isinstance(result, BenchmarkResult):
            raise ConfigurationError(f"results must be BenchmarkResult objects, not {type(result).__name__}")
        if not result.samples:
            raise ConfigurationError(f"{result.name} has no samples, so its questions cannot be paired")
    if not 0 < alpha < 1:
        raise ConfigurationError(f"alpha must be between 0 and 1, not {alpha!r}")
    if not 0 <= min_coverage <= 1:
        raise ConfigurationError(f"min_coverage must be from 0 to 1, not {min_coverage!r}")
    require_positive_int("permutations", permutations)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ConfigurationError(f"seed must be a whole number of at least 0, not {seed!r}")


def _metrics_of(
    baseline: BenchmarkResult, candidates: Sequence[BenchmarkResult], metrics: Sequence[str] | None
) -> list[str]:
    if isinstance(metrics, str):
        raise ConfigurationError(f"metrics must be a list of names, not the text {metrics!r}")
    names = list(baseline.summary) if metrics is None else list(dict.fromkeys(metrics))
    for result in (baseline, *candidates) if metrics is not None else ():
        if unknown := [name for name in names if name not in result.summary]:
            there = ", ".join(result.summary) or "none"
            raise ConfigurationError(f"{result.name} does not have the metric {unknown[0]!r}; it has: {there}")
    if not any(name in candidate.summary for name in names for candidate in candidates):
        raise ConfigurationError("the baseline and the candidates have no metric in common")
    return names


def _margins(margin: float | Mapping[str, float] | None, names: Sequence[str]) -> dict[str, float]:
    if margin is None:
        return {}
    margins = dict(margin) if isinstance(margin, Mapping) else dict.fromkeys(names, margin)
    for name, value in margins.items():
        if name not in names:
            raise ConfigurationError(
                f"there is a margin for {name!r}, which is not compared; those are: {', '.join(names)}"
            )
        if not 0 < value < math.inf:
            raise ConfigurationError(f"the margin of {name} must be a finite number above 0, not {value!r}")
    return margins
