"""What the functions over results are given, checked before anything is computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fastrag._support.checks import as_number, require_list, require_number, require_text, shown
from fastrag.benchmark.results import BenchmarkResult
from fastrag.errors import ConfigurationError

# Nearer to 0 or 1, quantiles lose their digits.
_LEAST_PROBABILITY = 1e-9


def require_result(value: object) -> BenchmarkResult:
    """Return ``value`` if it is a BenchmarkResult.

    Raises:
        ConfigurationError: It is something else.
    """
    if isinstance(value, BenchmarkResult):
        return value
    advice = ""
    if isinstance(value, str | Path):
        advice = "; read a file with BenchmarkResult.load(path)"
    elif isinstance(value, Iterable):
        advice = "; give them one by one, a list as *results"
    raise ConfigurationError(f"a result must be a BenchmarkResult, not {shown(value)}{advice}")


def require_samples(value: object) -> BenchmarkResult:
    """Return ``value`` if it is a BenchmarkResult with samples, and so says more than its summary.

    Raises:
        ConfigurationError: It is something else, or has none.
    """
    result = require_result(value)
    if not result.samples:
        raise ConfigurationError(f"{result.name} has no samples, and so says nothing about single questions")
    return result


def require_results(values: object) -> list[BenchmarkResult]:
    """Return ``values`` as a list if they are BenchmarkResults, one at least.

    Raises:
        ConfigurationError: They are something else, or none.
    """
    results = [require_result(value) for value in require_list("results", values, of="BenchmarkResult")]
    if not results:
        raise ConfigurationError("there are no results: give at least one BenchmarkResult")
    return results


def require_metric(metric: object, results: Iterable[BenchmarkResult]) -> str:
    """Return ``metric`` if it is the name of one that all the results have.

    Raises:
        ConfigurationError: It is something else.
    """
    name = require_text("a metric", metric)
    for result in results:
        if name not in result.summary:
            there = ", ".join(result.summary) or "none"
            raise ConfigurationError(f"{result.name} does not have the metric {name!r}; it has: {there}")
    return name


def require_metrics(metrics: object, results: Sequence[BenchmarkResult]) -> list[str]:
    """Return ``metrics`` as a list, each once, if they are names of metrics that all the results have.

    Raises:
        ConfigurationError: They are something else, or none.
    """
    listed = require_list("metrics", metrics, of="names")
    names = list(dict.fromkeys(require_metric(metric, results) for metric in listed))
    if not names:
        raise ConfigurationError("there are no metrics: name at least one, or leave metrics out")
    return names


def require_probability(name: str, value: object) -> float:
    """Return ``value`` if it lies between 0 and 1, and not so near to either that nothing can be computed of it.

    Raises:
        ConfigurationError: It does not.
    """
    number = as_number(value)
    if not _LEAST_PROBABILITY <= number <= 1 - _LEAST_PROBABILITY:
        raise ConfigurationError(
            f"{name} must be a number between 0 and 1, at least {_LEAST_PROBABILITY:g} away from both, "
            f"not {shown(value)}"
        )
    return number


def require_share(name: str, value: object) -> float:
    """Return ``value`` if it is from 0 to 1.

    Raises:
        ConfigurationError: It is not.
    """
    return require_number(name, value, at_least=0, at_most=1)


def require_groups(groups: object) -> Mapping[str, str]:
    """Return ``groups`` if it is a mapping from texts to texts.

    Raises:
        ConfigurationError: It is something else.
    """
    if not isinstance(groups, Mapping):
        raise ConfigurationError(
            f"groups must be a mapping question -> group, as question_groups() makes it of samples, not {shown(groups)}"
        )
    for question, group in groups.items():
        if not isinstance(question, str) or not isinstance(group, str):
            raise ConfigurationError(
                f"groups must be texts, of questions that are texts, not {shown(question)}: {shown(group)}"
            )
    return groups
