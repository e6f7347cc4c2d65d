"""Results taken apart by what is known about their questions: topic, difficulty, language, source.

A result file does not carry the samples' metadata: it comes from the samples, or as any mapping question -> group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fastrag._support.checks import require_list, require_text
from fastrag.benchmark.arguments import (
    require_groups,
    require_metric,
    require_probability,
    require_result,
    require_results,
    require_share,
)
from fastrag.benchmark.assembly import count_statuses
from fastrag.benchmark.checks import sample_problems
from fastrag.benchmark.comparison import compare_families
from fastrag.benchmark.comparison_records import Comparison
from fastrag.benchmark.comparison_settings import settings_for
from fastrag.benchmark.metric_ranges import Range
from fastrag.benchmark.metrics.base import DistributionSummary
from fastrag.benchmark.paired_tests import SIGN_FLIPS
from fastrag.benchmark.ranking import rank
from fastrag.benchmark.ranking_records import Ranking
from fastrag.benchmark.results import BenchmarkResult, SampleResult
from fastrag.benchmark.samples import EvalSample
from fastrag.errors import ConfigurationError


def question_groups(samples: Iterable[EvalSample], key: str) -> dict[str, str]:
    """Question -> ``str`` of its sample's ``metadata[key]``; samples without the key are left out.

    Raises:
        ConfigurationError: No sample has the key, two samples with the same question differ in it, they are no samples
            that a Benchmark takes, or ``key`` is no text.

    >>> question_groups([EvalSample("Why?", metadata={"topic": "causes"}), EvalSample("How?")], "topic")
    {'Why?': 'causes'}
    """
    require_text("key", key)
    listed = require_list("samples", samples, of="EvalSample")
    if problems := sample_problems(listed):
        raise ConfigurationError("\n- ".join(["these samples cannot be grouped:", *problems]))
    groups: dict[str, str] = {}
    for sample in listed:
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

    Raises:
        ConfigurationError: ``result`` is no BenchmarkResult, or ``groups`` no mapping from texts to texts.

    >>> from datetime import UTC, datetime
    >>> from fastrag.benchmark import StatusCounts
    >>> scores = {"Why?": 0.5, "How?": 1.0, "When?": 0.0}
    >>> samples = [SampleResult(question, "successful", {"mrr": score}) for question, score in scores.items()]
    >>> summary = {"mrr": DistributionSummary.of(list(scores.values()))}
    >>> result = BenchmarkResult("run", datetime.now(UTC), StatusCounts(3, 0, 0), summary, samples, 1.0, {"mrr": True})
    >>> slices = slice_result(result, {"Why?": "causes", "How?": "causes", "When?": "times"})
    >>> {name: one.summary["mrr"].mean for name, one in slices.items()}
    {'causes': 0.75, 'times': 0.0}
    """
    require_result(result)
    require_groups(groups)
    samples: dict[str, list[SampleResult]] = {name: [] for name in _names(groups)}
    for sample in result.samples:
        if sample.question in groups:
            samples[groups[sample.question]].append(sample)
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
        Slice -> comparison, in order of their names, for the slices that the baseline has questions of.
        ``family_size`` is that of all slices. `fastrag.benchmark.gate.gate` takes each for itself; it does not pass a
        slice of which a candidate was asked less than ``min_coverage``.

    Raises:
        ConfigurationError: See `compare`; no question of the baseline is in a group.

    >>> from datetime import UTC, datetime
    >>> from fastrag.benchmark import StatusCounts
    >>> def result(name, scores):
    ...     samples = [SampleResult(f"q{i}", "successful", {"mrr": score}) for i, score in enumerate(scores)]
    ...     summary = {"mrr": DistributionSummary.of(scores)}
    ...     return BenchmarkResult(name, datetime.now(UTC), StatusCounts(8, 0, 0), summary, samples, 1.0, {"mrr": True})
    >>> old = result("old", [0.2, 0.5, 0.3, 0.25, 0.9, 0.7, 0.5, 0.1])
    >>> new = result("new", [0.5, 0.75, 0.5, 0.5, 0.8, 0.9, 0.5, 0.0])
    >>> topics = {f"q{i}": "short" if i < 4 else "long" for i in range(8)}
    >>> {topic: found.of("mrr").verdict for topic, found in compare_slices(old, new, groups=topics).items()}
    {'long': 'no difference shown', 'short': 'better'}
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

    Args:
        results: As in `rank`, as all that is not here.
        metric: As in `rank`.
        groups: Question -> slice; see `question_groups`.
        min_coverage: Of each slice.
        alpha: The probability of parting any two results in any slice where there is no difference.
        ranges: As in `rank`.

    Returns:
        Slice -> ranking, in order of their names.

    Raises:
        ConfigurationError: See `rank`; no question with a score is in a group.
    """
    require_share("min_coverage", min_coverage)
    alpha = require_probability("alpha", alpha)
    sliced = [slice_result(result, groups) for result in require_results(results)]
    require_metric(metric, [])
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
