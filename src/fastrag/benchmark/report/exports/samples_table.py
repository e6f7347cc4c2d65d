"""The samples of one or several results as one table."""

from __future__ import annotations

from collections.abc import Sequence

from fastrag.benchmark.report.frames import FrameColumn, result_columns
from fastrag.benchmark.results import BenchmarkResult

SCORE = "score."


def samples_columns(results: Sequence[BenchmarkResult]) -> list[list[FrameColumn]]:
    """For each result the columns of ``to_arrow()``, all of them the same: every metric that any of the results has.

    A metric that a result does not have is None on all its samples.
    """
    tables = [{column.name: column for column in result_columns(result)} for result in results]
    fields = [name for name in tables[0] if not name.startswith(SCORE)]
    metrics = dict.fromkeys(name for table in tables for name in table if name.startswith(SCORE))
    place = fields.index("latency_ms")
    names = [*fields[:place], *metrics, *fields[place:]]
    return [
        [table.get(name) or FrameColumn(name, "number", [None] * len(result.samples)) for name in names]
        for result, table in zip(results, tables, strict=True)
    ]
