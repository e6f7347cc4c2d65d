"""Records as plain JSON values. Whoever reads them can rely on the names: a change of one is a new SCHEMA_VERSION."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from fastrag.benchmark.comparison_records import Coverage

SCHEMA_VERSION = 1


def plain(value: Any) -> Any:
    """Dicts, lists, texts, finite numbers, booleans and None; what is infinite or NaN is None.

    Fields keep their names; a `Coverage` has its ``share`` besides.

    >>> plain({50: (1.0, float("nan"))})
    {'50': [1.0, None]}
    """
    if dataclasses.is_dataclass(value):
        fields = {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return fields | {"share": value.share} if isinstance(value, Coverage) else fields
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
