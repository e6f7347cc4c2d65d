"""Results taken apart by what is known about their questions: topic, difficulty, language, source.

A result file does not carry the samples' metadata: it comes from the samples, or as any mapping question -> group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fastrag.benchmark.assembly import count_statuses
from fastrag.benchmark.comparison import compare_families
from fastrag.benchmark.comparison_records import Comparison
from fastrag.benchmark.comparison_settings import settings_for
from fastrag.benchmark.metric_ranges import Range
from fastrag.benchmark.metrics.base import DistributionSummary
from fastrag.benchmark.paired_tests import SIGN_FLIPS
from fastrag.benchmark.ranking import Ranking, rank
from fastrag.benchmark.results import BenchmarkResult
from fastrag.benchmark.samples import EvalSample
from fastrag.errors import ConfigurationError


def question_groups(samples: Iterable[EvalSample], key: str) -> dict[str, str]:
    """Question -> ``str`` of its sample's ``metadata[key]``; samples without the key are left out.

    Raises:
        ConfigurationError: No sample has the key, or two samples with the same question differ in it.

    >>> question_groups([EvalSample("Why?", metadata={"topic": "causes"}), EvalSample("How?")], "topic")
    {'Why?': 'causes'}
    """
    groups: dict[str, str] = {}
    for sample in samples:
        if key not in sample.metadata:
            continue
        group = str(sample.metadata[key])
        if groups.setdefault(sample.question, group) != group:
            raise ConfigurationError(
                f"the question {sample.question!r} has two values of {key!r}, {groups[sample.question]!r} and "
                f"{group!r}: results tell samples apart by their questions"
            )
    if not groups:
        raise ConfigurationError(f"no sample has the metadata key {key!r}")
    return groups


def slice_result(result: BenchmarkResult, groups: Mapping[str, str]) -> dict[str, BenchmarkResult]:
    """Group -> what the result says about its questions, groups in order of their names.

    Questions that are in no group are in no slice. Summaries are the plain ones of the scores; ``duration_s`` and the
    name stay those of the whole run.
    """
    samples = {name: [s for s in result.samples if groups.get(s.question) == name] for name in _names(groups)}
    return {
        name: replace(
            result,
            samples=chosen,
            status=count_statuses(chosen),
            summary={
                metric: DistributionSummary.of([s.scores.get(metric) for s in chosen]) for metric in result.summary
            },
        )
        for name, chosen in samples.items()
    }


def compare_slices(
    baseline: BenchmarkResult,
    *candidates: BenchmarkResult,
    groups: Mapping[str, str],
    metrics: Sequence[str] | None = None,
    margin: float | Mapping[str, float] | None = None,
    alpha: float = 0.05,
    min_coverage: float = 0.9,
    ranges: Mapping[str, Range] | None = None,
    permutations: int = SIGN_FLIPS,
    seed: int = 0,
) -> dict[str, Comparison]:
    """`compare`, slice by slice, adjusted for all slices, metrics and candidates together.

    Args:
        baseline: As in `compare`, as all that is not here.
        candidates: As in `compare`.
        groups: Question -> slice; see `question_groups`.
        metrics: As in `compare`.
        margin: As in `compare`.
        alpha: The probability of calling any difference in any slice better or worse where there is none.
        min_coverage: Of each slice.
        ranges: As in `compare`.
        permutations: As in `compare`.
        seed: As in `compare`.

    Returns:
        Slice -> comparison, in order of their names. ``family_size`` is that of all slices.

    Raises:
        ConfigurationError: See `compare`; no question of the baseline is in a group.
    """
    settings = settings_for(
        baseline,
        candidates,
        metrics=metrics,
        margin=margin,
        alpha=alpha,
        min_coverage=min_coverage,
        ranges=ranges,
        permutations=permutations,
        seed=seed,
    )
    first = _slices_of(baseline, groups)
    others = [slice_result(candidate, groups) for candidate in candidates]
    runs = [(one, [other[name] for other in others]) for name, one in first.items()]
    return dict(zip(first, compare_families(runs, settings), strict=True))


def rank_slices(
    results: Sequence[BenchmarkResult],
    metric: str,
    *,
    groups: Mapping[str, str],
    min_coverage: float = 0.9,
    alpha: float = 0.05,
    ranges: Mapping[str, Range] | None = None,
) -> dict[str, Ranking]:
    """`rank`, slice by slice; each of the slices gets its equal part of ``alpha``.

    A slice on which no result has a score has no ranking.

    Raises:
        ConfigurationError: See `rank`; no question is in a group.
    """
    if not results:
        raise ConfigurationError("there are no results to choose from")
    sliced = [slice_result(result, groups) for result in results]
    names = [
        name
        for name in _names(groups)
        if any(metric in one[name].summary and one[name].summary[metric].count for one in sliced)
    ]
    if not names:
        raise ConfigurationError(f"no question with a score of {metric!r} is in a group")
    return {
        name: rank(
            [one[name] for one in sliced],
            metric,
            min_coverage=min_coverage,
            alpha=alpha / len(names),
            ranges=ranges,
        )
        for name in names
    }


def _slices_of(result: BenchmarkResult, groups: Mapping[str, str]) -> dict[str, BenchmarkResult]:
    found = {name: one for name, one in slice_result(result, groups).items() if one.samples}
    if not found:
        raise ConfigurationError(f"no question of {result.name} is in a group")
    return found


def _names(groups: Mapping[str, str]) -> list[str]:
    return sorted(set(groups.values()))
