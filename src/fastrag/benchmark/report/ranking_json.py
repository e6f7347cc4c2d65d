"""A ranking as plain JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastrag.benchmark.ranking_records import Ranking
from fastrag.benchmark.report.evidence import NO_METRIC
from fastrag.benchmark.report.json_values import SCHEMA_VERSION, plain
from fastrag.benchmark.results import BenchmarkResult


def ranking_dict(ranking: Ranking, without_metric: Sequence[BenchmarkResult] = ()) -> dict[str, Any]:
    """The fields of the `Ranking` under their own names, ``schema_version`` first, a result being its ``name``.

    ``winner`` is a name or None where no result qualifies, ``tied_with_winner`` those of the same rank. Results without
    the metric come last in ``entries``.
    """
    first = ranking.groups[0] if ranking.groups else ()
    entries = [
        {
            "name": entry.result.name,
            "rank": entry.rank,
            "mean": plain(entry.mean),
            "interval": plain(entry.interval),
            "coverage": plain(entry.coverage),
            "bounds": plain(entry.bounds),
            "beaten_by": plain(entry.beaten_by),
            "reason": entry.reason,
        }
        for entry in ranking.entries
    ]
    absent = dict.fromkeys(("rank", "mean", "interval", "coverage", "bounds"))
    entries += [{"name": result.name, **absent, "beaten_by": [], "reason": NO_METRIC} for result in without_metric]
    return {
        "schema_version": SCHEMA_VERSION,
        "metric": ranking.metric,
        "higher_is_better": ranking.higher_is_better,
        "questions": ranking.questions,
        "min_coverage": ranking.min_coverage,
        "alpha": ranking.alpha,
        "winner": first[0].result.name if first else None,
        "tied_with_winner": [entry.result.name for entry in first[1:]],
        "entries": entries,
    }
