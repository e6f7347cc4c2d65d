"""Samples as CSV that a spreadsheet opens without running anything that stands in it.

The form is that of RFC 4180, in UTF-8: commas, texts in quotes, numbers and what is None not, ends of lines CR LF. An
answer that is empty is ``""``, one that is None is nothing between two commas; few readers tell them apart.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from fastrag.benchmark.arguments import require_results
from fastrag.benchmark.report.exports.writing import write_text
from fastrag.benchmark.report.frames import metrics_of, result_columns
from fastrag.benchmark.results import BenchmarkResult

# Without it Excel takes UTF-8 for the local code page; pandas and polars pass over it.
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# What makes a formula of a cell, full-width forms included; an apostrophe makes a text of it, and of itself.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def write_csv(results: Iterable[BenchmarkResult], path: str | Path) -> None:
    r"""Write one row a sample, in UTF-8 with a byte order mark: Excel, pandas and polars read it as it is.

    Columns: those of `BenchmarkResult.to_pandas`, with every metric that any of the results has. Lists are JSON; times
    are ISO 8601, in UTC. Floats come back exactly (in pandas with ``float_precision="round_trip"``).

    A text that a spreadsheet would take for a formula, because it begins with ``=``, ``+``, ``-``, ``@``, a tab or an
    end of line, gets an apostrophe before it; so does one that has apostrophes before such a character already. Taking
    one apostrophe away where these are followed by such a character gives every text back (`undefused`). NUL, which
    spreadsheets end a text at, is written as ``\x00``; Parquet keeps it.

    Args:
        results: At least one.
        path: Of the file, which is written atomically; an existing one is replaced.

    Raises:
        ConfigurationError: There are no results, or ``path`` cannot be written.

    >>> from datetime import UTC, datetime
    >>> from fastrag.benchmark import DistributionSummary, SampleResult, StatusCounts
    >>> samples = [SampleResult("Why?", "successful", {"mrr": 0.5}, answer="=1+1", retrieved_ids=["a", "b"])]
    >>> summary = {"mrr": DistributionSummary.of([0.5])}
    >>> result = BenchmarkResult("run", datetime.now(UTC), StatusCounts(1, 0, 0), summary, samples, 1.0)
    >>> write_csv([result], "samples.csv")
    >>> Path("samples.csv").read_text(encoding="utf-8-sig").splitlines()[1].split(",")[2:8]
    ['0', '"Why?"', '"successful"', '0.5', '0.0', '"\'=1+1"']
    """
    write_text(path, csv_pieces(require_results(results)), start=BYTE_ORDER_MARK)


def csv_pieces(results: Sequence[BenchmarkResult]) -> Iterator[str]:
    """What `write_csv` writes, row by row."""
    metrics = metrics_of(results)
    for index, result in enumerate(results):
        columns = result_columns(result, metrics)
        if not index:
            yield _row(column.name for column in columns)
        yield from map(_row, zip(*(column.values for column in columns), strict=True))


def defused(text: str) -> str:
    """``text`` as no spreadsheet takes it for a formula.

    >>> defused("=1+1"), defused("'=1+1"), defused("'quoted'"), defused("1-1")
    ("'=1+1", "''=1+1", "'quoted'", '1-1')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def undefused(text: str) -> str:
    """The text that `write_csv` wrote as ``text``, but for NUL.

    >>> undefused("'=1+1"), undefused("''=1+1"), undefused("'quoted'")
    ('=1+1', "'=1+1", "'quoted'")
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def _row(values: Iterable[object]) -> str:
    return ",".join(map(_cell, values)) + "\r\n"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float | int):
        return repr(value)
    if isinstance(value, datetime):
        return value.isoformat()
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, list) else defused(str(value))
    return '"' + text.replace("\0", "\\x00").replace('"', '""') + '"'
