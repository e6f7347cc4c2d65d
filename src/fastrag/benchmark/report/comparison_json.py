"""A comparison as plain JSON values."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from fastrag.benchmark.comparison_records import Comparison, Coverage
from fastrag.benchmark.gate import GateReport

SCHEMA_VERSION = 1


def comparison_dict(comparison: Comparison, gate: GateReport | None = None) -> dict[str, Any]:
    """The fields of the `Comparison` under their own names, ``schema_version`` first, what the gate says last.

    Only dicts, lists, texts, finite numbers, booleans and None: what is infinite or NaN is None. A coverage has its
    ``share`` besides.
    """
    found: dict[str, Any] = {"schema_version": SCHEMA_VERSION, **_plain(comparison)}
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


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        fields = {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return fields | {"share": value.share} if isinstance(value, Coverage) else fields
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
