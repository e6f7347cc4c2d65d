"""compare(): a baseline against candidates, paired by question, with all that a difference needs to be believed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fastrag._support.checks import require_positive_int
from fastrag.benchmark.comparison_records import Bounds, Comparison, MetricComparison
from fastrag.benchmark.doubt import Doubt
from fastrag.benchmark.metric_ranges import Range, range_of
from fastrag.benchmark.paired_tests import (
    SIGN_FLIPS,
    PairedTest,
    SignFlipTest,
    differences_of,
    equivalence_p,
    holm,
    paired_test,
    sign_flip_test,
)
from fastrag.benchmark.pairing import (
    PairedSamples,
    PairedScores,
    agreed_direction,
    coverage_of,
    measured_score,
    pair_samples,
    pair_scores,
)
from fastrag.benchmark.planning import detectable_difference
from fastrag.benchmark.results import BenchmarkResult
from fastrag.benchmark.verdicts import Evidence, verdict_of
from fastrag.errors import ConfigurationError

# From so many equal differences on, random signs can show them at the usual level: 2 / 2**6 = 0.03.
_FLIPS_CAN_TELL = 6


def compare(
    baseline: BenchmarkResult,
    *candidates: BenchmarkResult,
    metrics: Sequence[str] | None = None,
    margin: float | Mapping[str, float] | None = None,
    alpha: float = 0.05,
    min_coverage: float = 0.9,
    ranges: Mapping[str, Range] | None = None,
    permutations: int = SIGN_FLIPS,
    seed: int = 0,
) -> Comparison:
    """Compare each candidate with the baseline on each metric, over the questions that both measured.

    Results carry no sample ids: samples pair by question, a question asked several times by its occurrences, whose
    scores are averaged. Verdicts are at level ``alpha`` for all of them together (Holm). A question that only one
    side failed on is no part of the statistics, but of the verdict: what the failed score could have undone is not
    claimed, so that a failure more never makes a run look better.

    Args:
        baseline: What is compared with.
        candidates: At least one.
        metrics: Which; None is all that the baseline has. Fewer metrics leave more of ``alpha`` for each.
        margin: Differences below this do not matter, in the metric's unit: allows the verdict *equivalent*. One
            number for all metrics, or a mapping; a metric that is not in it has none.
        alpha: Between 0 and 1.
        min_coverage: Share of the measurable samples that either side has to have measured, from 0 to 1.
        ranges: Metric -> lowest and highest score, where its name does not tell (`metric_ranges`).
        permutations: Random sign flips a test, at least 1.
        seed: Of the flips, at least 0.

    Raises:
        ConfigurationError: There is no candidate, a result has no samples, a metric is unknown or the results
            disagree on its direction, or an argument is out of its range.

    >>> from datetime import UTC, datetime
    >>> from fastrag.benchmark import DistributionSummary, SampleResult, StatusCounts
    >>> def result(name, scores):
    ...     samples = [SampleResult(f"q{i}", "successful", {"mrr": score}) for i, score in enumerate(scores)]
    ...     summary = {"mrr": DistributionSummary.of(scores)}
    ...     status = StatusCounts(len(scores), 0, 0)
    ...     return BenchmarkResult(name, datetime.now(UTC), status, summary, samples, 1.0, {"mrr": True})
    >>> found = compare(result("old", [0.2, 0.5, 0.3, 0.25]), result("new", [0.5, 0.75, 0.5, 0.5])).of("mrr")
    >>> found.verdict, round(found.mean_difference, 2), round(found.p_holm, 4)
    ('better', 0.25, 0.0012)
    """
    _check(baseline, candidates, alpha, min_coverage, permutations, seed)
    names = _metrics_of(baseline, candidates, metrics)
    margins = _margins(margin, names)
    paired = [pair_samples(baseline, candidate) for candidate in candidates]
    results = [baseline, *candidates]
    directions = {name: agreed_direction(results, name) for name in names}
    known = {name: range_of(name, _scores(results, name), ranges) for name in names}
    begun = [
        _Pair(
            baseline,
            candidate,
            samples,
            name,
            directions[name],
            margins.get(name),
            known[name],
        ).begin(1 - alpha, permutations, seed)
        for name in names
        for candidate, samples in zip(candidates, paired, strict=True)
        if name in candidate.summary
    ]
    adjusted = holm([one.p for one in begun])
    equivalences = holm([one.p_equivalence for one in begun])
    family_size = sum(p is not None for p in adjusted)
    return Comparison(
        baseline=baseline.name,
        candidates=tuple(candidate.name for candidate in candidates),
        metrics=tuple(names),
        comparisons=tuple(
            one.finish(p, p_equivalence, alpha, family_size, min_coverage)
            for one, p, p_equivalence in zip(begun, adjusted, equivalences, strict=True)
        ),
        pairings=tuple(samples.pairing for samples in paired),
        not_compared=tuple(
            (candidate.name, name)
            for candidate in candidates
            for name in dict.fromkeys([*names, *(candidate.summary if metrics is None else ())])
            if not (name in candidate.summary and name in baseline.summary)
        ),
        alpha=alpha,
        level=1 - alpha,
        family_size=family_size,
        min_coverage=min_coverage,
        permutations=permutations,
        seed=seed,
    )


@dataclass(frozen=True, slots=True)
class _Pair:
    """One candidate and one metric, before anything is computed."""

    baseline: BenchmarkResult
    candidate: BenchmarkResult
    samples: PairedSamples
    metric: str
    higher: bool
    margin: float | None
    score_range: Range | None

    def begin(self, level: float, permutations: int, seed: int) -> _Tested:
        scores = pair_scores(self.samples, self.metric, self.score_range)
        test = paired_test(scores.first, scores.second, level=level)
        differences = differences_of(scores.first, scores.second)
        flips = sign_flip_test(differences, flips=permutations, seed=seed) if differences else None
        p = test.p
        if p is None and flips is not None and test.n >= _FLIPS_CAN_TELL:
            p = flips.p
        p_equivalence = None
        if self.margin is not None and test.t is not None and test.mean is not None and test.sd is not None:
            p_equivalence = equivalence_p(test.mean, test.sd, test.n, self.margin)
        return _Tested(self, scores, test, differences, flips, p, p_equivalence)


@dataclass(frozen=True, slots=True)
class _Tested:
    """The same with its tests, before it is known how many others there are."""

    pair: _Pair
    scores: PairedScores
    test: PairedTest
    differences: list[float]
    flips: SignFlipTest | None
    p: float | None
    p_equivalence: float | None

    def finish(
        self, p: float | None, p_equivalence: float | None, alpha: float, family_size: int, min_coverage: float
    ) -> MetricComparison:
        pair, test, scores = self.pair, self.test, self.scores
        lost, gained = Doubt.of(list(scores.lost.values())), Doubt.of(list(scores.gained.values()))
        evidence = Evidence(self.differences, lost, gained, p, p_equivalence, pair.margin, alpha, max(1, family_size))
        if not pair.higher:
            evidence = replace(
                evidence, gains=[-d for d in self.differences], lost=lost.turned(), gained=gained.turned()
            )
        coverages = [coverage_of(result, pair.metric) for result in (pair.baseline, pair.candidate)]
        named = list(zip((pair.baseline.name, pair.candidate.name), coverages, strict=True))
        verdict, reason = verdict_of(evidence, named, min_coverage)
        smallest = None
        if test.t is not None and test.sd is not None:
            smallest = detectable_difference(test.sd, test.n, alpha=alpha, comparisons=max(1, family_size))
        n = test.n
        return MetricComparison(
            metric=pair.metric,
            baseline=pair.baseline.name,
            candidate=pair.candidate.name,
            higher_is_better=pair.higher,
            n=n,
            baseline_mean=math.fsum(scores.first) / n if n else None,
            candidate_mean=math.fsum(scores.second) / n if n else None,
            mean_difference=test.mean,
            interval=test.interval,
            sd_difference=test.sd,
            t=test.t,
            p_t=test.p,
            p_permutation=self.flips.p if self.flips else None,
            permutation_is_exact=self.flips is not None and self.flips.is_exact,
            p_holm=p,
            d_z=test.d_z,
            wins=test.higher if pair.higher else test.lower,
            ties=n - test.higher - test.lower,
            losses=test.lower if pair.higher else test.higher,
            smallest_detectable=smallest,
            margin=pair.margin,
            p_equivalence=p_equivalence,
            baseline_coverage=coverages[0],
            candidate_coverage=coverages[1],
            lost=tuple(scores.lost),
            gained=tuple(scores.gained),
            difference_bounds=self._bounds(),
            verdict=verdict,
            reason=reason,
        )

    def _bounds(self) -> Bounds | None:
        reaches = list((self.scores.lost | self.scores.gained).values())
        n = len(self.differences) + len(reaches)
        if not n or not all(math.isfinite(end) for reach in reaches for end in reach):
            return None
        lowest, highest = (math.fsum([*self.differences, *(reach[end] for reach in reaches)]) / n for end in (0, 1))
        return Bounds(lowest, highest) if self.pair.higher else Bounds(highest, lowest)


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
