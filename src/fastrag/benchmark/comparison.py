"""compare(): a baseline against candidates, paired by question, with all that a difference needs to be believed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastrag.benchmark.comparison_records import Bounds, Comparison, MetricComparison
from fastrag.benchmark.comparison_settings import Settings, settings_for
from fastrag.benchmark.metric_ranges import Range
from fastrag.benchmark.paired_tests import (
    SIGN_FLIPS,
    PairedTest,
    differences_of,
    equivalence_of,
    paired_test,
    sign_flip_test,
)
from fastrag.benchmark.pairing import (
    PairedQuestions,
    PairedScores,
    Questions,
    coverage_of,
    pair_questions,
    pair_scores,
)
from fastrag.benchmark.planning import detectable_difference
from fastrag.benchmark.results import BenchmarkResult
from fastrag.benchmark.verdicts import Evidence, Family, verdict_of


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

    Results carry no sample ids: samples pair by question, one that is asked several times by the mean of all its
    occurrences. Verdicts are at level ``alpha`` for all of them together (Holm). A question that a side failed on is no
    part of the statistics, but of the verdict: what its score could have undone is not claimed. A failure more never
    turns a verdict to the liking of the run that failed, on no metric: even *worse* becomes *cannot say* at most, which
    no gate passes.

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
    return compare_families([(baseline, candidates)], settings)[0]


def compare_families(
    runs: Sequence[tuple[BenchmarkResult, Sequence[BenchmarkResult]]], settings: Settings
) -> list[Comparison]:
    """One comparison of each baseline with its candidates, adjusted for all of them together."""
    distinct = {id(run): run for baseline, candidates in runs for run in (baseline, *candidates)}
    questions = {of_run: Questions(run) for of_run, run in distinct.items()}
    paired = [
        [pair_questions(questions[id(baseline)], questions[id(candidate)]) for candidate in candidates]
        for baseline, candidates in runs
    ]
    begun = [
        [
            _Pair(pair, name, settings).begin()
            for name in settings.metrics
            for pair in pairs
            if name in pair.second.result.summary
        ]
        for pairs in paired
    ]
    family = Family([one.evidence for tests in begun for one in tests], settings.alpha)
    positions = iter(range(family.size))
    return [
        Comparison(
            baseline=baseline.name,
            candidates=tuple(candidate.name for candidate in candidates),
            metrics=tuple(settings.metrics),
            comparisons=tuple(one.finish(family, next(positions)) for one in tests),
            pairings=tuple(pair.pairing for pair in pairs),
            not_compared=settings.not_compared,
            alpha=settings.alpha,
            level=1 - settings.alpha,
            family_size=family.size,
            min_coverage=settings.min_coverage,
            permutations=settings.permutations,
            seed=settings.seed,
        )
        for (baseline, candidates), pairs, tests in zip(runs, paired, begun, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Pair:
    """One candidate and one metric, before anything is computed."""

    questions: PairedQuestions
    metric: str
    settings: Settings

    @property
    def baseline(self) -> BenchmarkResult:
        return self.questions.first.result

    @property
    def candidate(self) -> BenchmarkResult:
        return self.questions.second.result

    @property
    def higher(self) -> bool:
        return self.settings.directions[self.metric]

    @property
    def margin(self) -> float | None:
        return self.settings.margins.get(self.metric)

    def begin(self) -> _Tested:
        settings = self.settings
        scores = pair_scores(self.questions, self.metric, settings.ranges[self.metric])
        test = paired_test(scores.first, scores.second, level=1 - settings.alpha)
        evidence = Evidence.of(
            scores,
            test.deciding_p,
            higher=self.higher,
            margin=self.margin,
            p_equivalence=None if self.margin is None else equivalence_of(test, self.margin),
        )
        return _Tested(self, scores, test, evidence)


@dataclass(frozen=True, slots=True)
class _Tested:
    """The same with its tests, before it is known what the others say."""

    pair: _Pair
    scores: PairedScores
    test: PairedTest
    evidence: Evidence

    def finish(self, family: Family, position: int) -> MetricComparison:
        pair, test, scores, settings = self.pair, self.test, self.scores, self.pair.settings
        differences = differences_of(scores.first, scores.second)
        flips = sign_flip_test(differences, flips=settings.permutations, seed=settings.seed) if differences else None
        coverages = [coverage_of(result, pair.metric) for result in (pair.baseline, pair.candidate)]
        named = list(zip((pair.baseline.name, pair.candidate.name), coverages, strict=True))
        verdict, reason = verdict_of(family, position, self.evidence, named, settings.min_coverage)
        if problem := self._asked_too_few():
            verdict, reason = "cannot say", problem
        smallest = None
        if test.t is not None and test.sd is not None:
            smallest = detectable_difference(test.sd, test.n, alpha=settings.alpha, comparisons=family.size)
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
            p_permutation=flips.p if flips else None,
            permutation_is_exact=flips is not None and flips.is_exact,
            p_holm=family.adjusted(position, self.evidence.p),
            d_z=test.d_z,
            wins=test.higher if pair.higher else test.lower,
            ties=n - test.higher - test.lower,
            losses=test.lower if pair.higher else test.higher,
            smallest_detectable=smallest,
            margin=pair.margin,
            p_equivalence=family.adjusted_equivalence(position, self.evidence.p_equivalence),
            baseline_coverage=coverages[0],
            candidate_coverage=coverages[1],
            lost=tuple(scores.lost),
            gained=tuple(scores.gained),
            difference_bounds=self._bounds(),
            could_be_worse=family.could_be_worse(position, self.evidence),
            verdict=verdict,
            reason=reason,
        )

    def _asked_too_few(self) -> str | None:
        """Why the candidate's run is no answer to the baseline's: it left out questions that the baseline was asked."""
        pairing = self.pair.questions.pairing
        if pairing.share >= self.pair.settings.min_coverage:
            return None
        asked = pairing.pairs + len(pairing.only_in_baseline)
        return f"{self.pair.candidate.name} was asked only {pairing.pairs} of the {asked} questions of the baseline"

    def _bounds(self) -> Bounds | None:
        reaches = list((self.scores.lost | self.scores.gained).values())
        differences = differences_of(self.scores.first, self.scores.second)
        n = len(differences) + len(reaches)
        if not n or not all(math.isfinite(end) for reach in reaches for end in reach):
            return None
        lowest, highest = (math.fsum([*differences, *(reach[end] for reach in reaches)]) / n for end in (0, 1))
        return Bounds(lowest, highest) if self.pair.higher else Bounds(highest, lowest)
