"""A comparison as plain JSON values."""

from __future__ import annotations

from typing import Any

from fastrag.benchmark.comparison_records import Comparison
from fastrag.benchmark.gate import GateReport
from fastrag.benchmark.report.json_values import SCHEMA_VERSION, plain


def comparison_dict(comparison: Comparison, gate: GateReport | None = None) -> dict[str, Any]:
    """The fields of the `Comparison` under their own names, ``schema_version`` first, what the gate says last."""
    found: dict[str, Any] = {"schema_version": SCHEMA_VERSION, **plain(comparison)}
    if gate is not None:
        found["gate"] = {
            "outcome": gate.outcome,
            "exit_code": gate.exit_code,
            "fail_on": gate.fail_on,
            "strict": gate.strict,
            "checks": [
                {
                    "metric": check.metric,
                    "candidate": check.candidate,
                    "outcome": check.outcome,
                    "fails": gate.fails(check),
                    "reason": check.reason,
                }
                for check in gate.checks
            ],
        }
    return found
