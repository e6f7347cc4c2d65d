"""Any two runs of a report with one another, adjusted for all of them together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from fastrag.benchmark.arguments import require_metric
from fastrag.benchmark.comparison import compare_families
from fastrag.benchmark.comparison_records import Comparison, MetricComparison
from fastrag.benchmark.comparison_settings import Settings
from fastrag.benchmark.pairing import MOST_COMPARED
from fastrag.benchmark.question_changes import question_changes
from fastrag.benchmark.report.comparison_rows import remarks
from fastrag.benchmark.report.html.catalogue import Catalogue
from fastrag.benchmark.report.html.overview import ALPHA, MIN_COVERAGE, interval_dict
from fastrag.benchmark.report.json_values import plain
from fastrag.benchmark.report.texts import short
from fastrag.benchmark.results import BenchmarkResult
from fastrag.errors import ConfigurationError

MOST_PAIRED = 50
"""Runs of which any two are compared: pairs grow as the square of them."""

# Enough to see whether a permutation test agrees: no verdict rests on it.
_SIGN_FLIPS = 999
_MOST_NOTES = 100
_NOT_ASKED = b"."
_LETTERS = {"fixed": b"f", "broken": b"b", "unchanged": b"u", "flaky": b"y", "not measured": b"n"}
_AS_THEY_ARE = (
    "metric",
    "higher_is_better",
    "n",
    "baseline_mean",
    "candidate_mean",
    "mean_difference",
    "sd_difference",
    "p_t",
    "p_permutation",
    "p_holm",
    "d_z",
    "wins",
    "ties",
    "losses",
    "smallest_detectable",
    "baseline_coverage",
    "candidate_coverage",
    "difference_bounds",
    "verdict",
    "reason",
)


class Comparisons:
    """All pairs of runs that have questions and a metric to compare, the earlier one the baseline.

    When the first comparison is asked for, all are made, for each is adjusted for the others.

    Args:
        catalogue: The runs.
        margins: As in `compare`, by metric.

    Attributes:
        pairs: (baseline, candidate), by their numbers.
        are_all: Whether any two runs are paired; of more than `MOST_PAIRED`, each is with the first one only.
    """

    def __init__(self, catalogue: Catalogue, margins: Mapping[str, float]) -> None:
        self._catalogue = catalogue
        self._margins = margins
        self._metrics = {run: self._comparable(run) for run, result in enumerate(catalogue.results) if result.samples}
        self.are_all = len(self._metrics) <= MOST_PAIRED
        some = combinations(self._metrics, 2) if self.are_all else _with_the_first(self._metrics)
        self.pairs = [
            (first, second)
            for first, second in some
            if not self._metrics[first].keys().isdisjoint(self._metrics[second])
        ]

    def part(self, pair: tuple[int, int]) -> dict[str, Any]:
        """``Comparison`` of frontend/src/model.ts.

        Raises:
            KeyError: There is none of that pair.
        """
        comparison = self._all[pair]
        baseline, candidate = pair
        pairing = comparison.pairings[0]
        sentences = [*remarks(comparison), *self._left_out(pair)]
        if len(sentences) > _MOST_NOTES:
            sentences[_MOST_NOTES:] = [f"and {len(sentences) - _MOST_NOTES} notes more"]
        return {
            "baseline": baseline,
            "candidate": candidate,
            "comparisons": [self._metric(pair, one) for one in comparison.comparisons],
            "pairs": pairing.pairs,
            "only_in_baseline": len(pairing.only_in_baseline),
            "only_in_candidate": len(pairing.only_in_candidate),
            "family_size": comparison.family_size,
            "alpha": comparison.alpha,
            "level": comparison.level,
            "min_coverage": comparison.min_coverage,
            "notes": sentences,
        }

    @cached_property
    def _all(self) -> dict[tuple[int, int], Comparison]:
        catalogue = self._catalogue
        names = [name for name in catalogue.metrics if any(name in metrics for metrics in self._metrics.values())]
        settings = Settings(
            metrics=names,
            directions=catalogue.higher_is_better,
            ranges=catalogue.ranges,
            margins={name: self._margins[name] for name in names if name in self._margins},
            not_compared=(),
            alpha=ALPHA,
            min_coverage=MIN_COVERAGE,
            permutations=_SIGN_FLIPS,
            seed=0,
        )
        # One object for each run and set of metrics: what is worked out of a run is then worked out once.
        narrowed: dict[tuple[int, tuple[str, ...]], BenchmarkResult] = {}
        runs = []
        for baseline, candidate in self.pairs:
            common = tuple(name for name in self._metrics[candidate] if name in self._metrics[baseline])
            result = catalogue.results[candidate]
            if len(common) < len(result.summary):
                summary = {name: result.summary[name] for name in common}
                result = narrowed.setdefault((candidate, common), replace(result, summary=summary))
            runs.append((catalogue.results[baseline], [result]))
        return dict(zip(self.pairs, compare_families(runs, settings), strict=True))

    def _comparable(self, run: int) -> dict[str, None]:
        """The metrics of a run that can be compared, in their order."""
        found: dict[str, None] = {}
        for name in self._catalogue.results[run].summary:
            # Paired tests are not made of scores whose squares are beyond every float.
            largest = np.abs(self._catalogue.scores(run, name)).max(initial=0.0)
            if _is_name(name) and name not in self._catalogue.disputed and largest <= MOST_COMPARED:
                found[name] = None
        return found

    def _left_out(self, pair: tuple[int, int]) -> Iterator[str]:
        """Why metrics of either run are not compared."""
        summaries = [self._catalogue.results[run].summary for run in pair]
        for name in dict.fromkeys(name for summary in summaries for name in summary):
            if name in self._catalogue.disputed:
                yield f"{short(name)} is not compared: the results disagree on which direction of it is better"
            elif not all(name in summary for summary in summaries):
                yield f"{short(name)} is not compared: only one of the two runs has it"
            elif not all(name in self._metrics[run] for run in pair):
                yield f"'{short(name)}' is not compared: that is no name, or there are scores above {MOST_COMPARED:g}"

    def _metric(self, pair: tuple[int, int], one: MetricComparison) -> dict[str, Any]:
        return {
            **{name: plain(getattr(one, name)) for name in _AS_THEY_ARE},
            "interval": interval_dict(one.interval),
            "lost": len(one.lost),
            "gained": len(one.gained),
            "changes": self._changes(pair, one.metric),
        }

    def _changes(self, pair: tuple[int, int], metric: str) -> str:
        letters = bytearray(_NOT_ASKED * len(self._catalogue.questions))
        baseline, candidate = (self._catalogue.results[run] for run in pair)
        for change in question_changes(baseline, candidate, metric):
            place = self._catalogue.places[change.question]
            letters[place : place + 1] = _LETTERS[change.change]
        return letters.decode("ascii")


def _is_name(metric: str) -> bool:
    """Whether it is one that the functions over results take; a file may have others."""
    try:
        require_metric(metric, [])
    except ConfigurationError:
        return False
    return True


def _with_the_first(runs: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The first with each of the others."""
    first, *others = runs
    return ((first, other) for other in others)
