"""What results say, metric by metric, as plain JSON values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastrag.benchmark.pairing import agreed_direction
from fastrag.benchmark.report.evidence import evidence_of
from fastrag.benchmark.report.json_values import SCHEMA_VERSION, plain
from fastrag.benchmark.results import BenchmarkResult


def results_dict(
    results: Sequence[BenchmarkResult], *, partial: Mapping[int, tuple[int, int]] | None = None
) -> dict[str, Any]:
    """``schema_version`` and ``results``: each with its status and ``metrics``, by name.

    A metric has the fields of its `MetricEvidence` under their own names, ``higher_is_better``, and ``summary``: the
    `DistributionSummary` that the result carries.

    Args:
        results: What to tell.
        partial: Position among the results -> (questions that have ended, questions of the run), of runs that have not
            come to their end.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "results": [_result(result, (partial or {}).get(position)) for position, result in enumerate(results)],
    }


def _result(result: BenchmarkResult, partial: tuple[int, int] | None) -> dict[str, Any]:
    return {
        "name": result.name,
        "created_at": result.created_at.isoformat(),
        "duration_s": plain(result.duration_s),
        "status": plain(result.status),
        "partial": None if partial is None else {"ended": partial[0], "total": partial[1]},
        "metrics": {
            name: plain(evidence)
            | {
                "higher_is_better": agreed_direction([result], name),
                "summary": plain(result.summary[name]),
            }
            for name, evidence in evidence_of(result, list(result.summary)).items()
        },
    }
