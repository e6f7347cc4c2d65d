"""Samples as Parquet: with their types, and exact."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fastrag._support.extras import import_extra
from fastrag._support.files import written_atomically
from fastrag.benchmark.arguments import require_results
from fastrag.benchmark.report.exports.writing import unwritable
from fastrag.benchmark.report.frames import metrics_of, result_columns, to_arrow
from fastrag.benchmark.results import BenchmarkResult


def write_parquet(results: Iterable[BenchmarkResult], path: str | Path) -> None:
    """Write one row a sample as Parquet; a row group a result.

    Columns: those of `BenchmarkResult.to_arrow`, with every metric that any of the results has.

    Args:
        results: At least one.
        path: Of the file, which is written atomically; an existing one is replaced.

    Raises:
        MissingDependencyError: There is no pyarrow; the extra ``arrow`` brings it.
        ConfigurationError: There are no results, or ``path`` cannot be written.

    >>> from datetime import UTC, datetime
    >>> from fastrag.benchmark import DistributionSummary, SampleResult, StatusCounts
    >>> samples = [SampleResult("Why?", "successful", {"mrr": 0.5}, answer="=1+1", retrieved_ids=["a", "b"])]
    >>> summary = {"mrr": DistributionSummary.of([0.5])}
    >>> result = BenchmarkResult("run", datetime.now(UTC), StatusCounts(1, 0, 0), summary, samples, 1.0)
    >>> write_parquet([result], "samples.parquet")
    >>> import pyarrow.parquet
    >>> pyarrow.parquet.read_table("samples.parquet").column("answer").to_pylist()
    ['=1+1']
    """
    parquet = import_extra("pyarrow.parquet", extra="arrow", purpose="writing Parquet")
    listed = require_results(results)
    metrics = metrics_of(listed)
    tables = [to_arrow(result_columns(result, metrics)) for result in listed]
    try:
        with written_atomically(Path(path)) as file, parquet.ParquetWriter(file, tables[0].schema) as writer:
            for table in tables:
                writer.write_table(table)
    except OSError as error:
        raise unwritable(path, error) from error
