"""What `compare` is asked for, checked against the results before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastrag._support.checks import require_int, require_number, require_positive_int
from fastrag.benchmark.arguments import require_metrics, require_probability, require_samples, require_share
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
    _check_results(baseline, candidates)
    names = _metrics_of(baseline, candidates, metrics)
    return Settings(
        metrics=names,
        directions={name: agreed_direction([baseline, *candidates], name) for name in names},
        ranges={name: range_of(name, _scores([baseline, *candidates], name), ranges) for name in names},
        margins=margins_of(margin, names),
        not_compared=tuple(
            (candidate.name, name)
            for candidate in candidates
            for name in dict.fromkeys([*names, *(candidate.summary if metrics is None else ())])
            if not (name in candidate.summary and name in baseline.summary)
        ),
        alpha=require_probability("alpha", alpha),
        min_coverage=require_share("min_coverage", min_coverage),
        permutations=require_positive_int("permutations", permutations),
        seed=require_int("seed", seed, at_least=0),
    )


def _scores(results: Sequence[BenchmarkResult], metric: str) -> list[float]:
    scores = (measured_score(sample, metric) for result in results for sample in result.samples)
    return [score for score in scores if score is not None]


def _check_results(baseline: object, candidates: Sequence[object]) -> None:
    if not candidates:
        raise ConfigurationError("there is no candidate to compare with the baseline")
    for result in (baseline, *candidates):
        require_samples(result)


def _metrics_of(
    baseline: BenchmarkResult, candidates: Sequence[BenchmarkResult], metrics: Sequence[str] | None
) -> list[str]:
    names = list(baseline.summary) if metrics is None else require_metrics(metrics, [baseline, *candidates])
    if not any(name in candidate.summary for name in names for candidate in candidates):
        raise ConfigurationError("the baseline and the candidates have no metric in common")
    return names


def margins_of(margin: float | Mapping[str, float] | None, names: Sequence[str]) -> dict[str, float]:
    """The margin of each metric that has one: one for all ``names``, or each its own.

    Raises:
        ConfigurationError: One is of a metric that is not among them, or is no number above 0.
    """
    if margin is None:
        return {}
    margins = dict(margin) if isinstance(margin, Mapping) else dict.fromkeys(names, margin)
    if unknown := [name for name in margins if name not in names]:
        raise ConfigurationError(
            f"there is a margin for {unknown[0]!r}, which is not compared; those are: {', '.join(names)}"
        )
    return {name: require_number(f"the margin of {name}", value, above=0) for name, value in margins.items()}
