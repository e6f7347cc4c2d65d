"""Results, comparisons and rankings as data frames: one description of their columns, and a converter a library.

None is null in every library. A column has its type whatever is in it, also where everything is None.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from fastrag._support.extras import import_extra
from fastrag.benchmark.comparison_records import Bounds, Comparison, Coverage, MetricComparison, Verdict
from fastrag.benchmark.ranking_records import RankedResult, Ranking
from fastrag.benchmark.report.texts import short
from fastrag.benchmark.results import BenchmarkResult
from fastrag.benchmark.statistics import Interval
from fastrag.errors import ConfigurationError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Kind = Literal["text", "texts", "integer", "number", "boolean", "time"]
"""Of the values of a column: each may be None, but for the items of ``texts``. ``time`` is in UTC, in microseconds."""


@dataclasses.dataclass(frozen=True, slots=True)
class FrameColumn:
    """One column: its name, and a value a row."""

    name: str
    kind: Kind
    values: list[Any]


def metrics_of(results: Iterable[BenchmarkResult]) -> list[str]:
    """Every metric that any of the results has, in the order in which they first appear."""
    found: dict[str, None] = {}
    for result in results:
        found |= dict.fromkeys(result.summary)
        found |= dict.fromkeys(metric for sample in result.samples for metric in sample.scores)
    return list(found)


def result_columns(result: BenchmarkResult, metrics: Iterable[str] | None = None) -> list[FrameColumn]:
    """One row a sample, in their order. A metric is ``score.<its name>``, so that none is taken for a field.

    ``metrics`` are those that have a column, whether the result has them or not; None is all that it has.
    """
    samples = result.samples
    count = len(samples)
    metrics = metrics_of([result]) if metrics is None else metrics
    return [
        FrameColumn("run", "text", [_text(result.name)] * count),
        FrameColumn("created_at", "time", [utc_of(result)] * count),
        FrameColumn("position", "integer", list(range(count))),
        FrameColumn("question", "text", [_text(sample.question) for sample in samples]),
        FrameColumn("status", "text", [sample.status for sample in samples]),
        *(
            FrameColumn(f"score.{_text(metric)}", "number", [_number(sample.scores.get(metric)) for sample in samples])
            for metric in metrics
        ),
        FrameColumn("latency_ms", "number", [_number(sample.latency_ms) for sample in samples]),
        FrameColumn("answer", "text", [_text(sample.answer) for sample in samples]),
        FrameColumn("error", "text", [_text(sample.error) for sample in samples]),
        FrameColumn("retrieved_ids", "texts", [_texts(sample.retrieved_ids) for sample in samples]),
        FrameColumn("retrieved_uris", "texts", [_texts(sample.retrieved_uris) for sample in samples]),
    ]


def comparison_columns(comparison: Comparison) -> list[FrameColumn]:
    """One row a `MetricComparison`, with its fields; what has parts is a column a part: ``interval_low``, ..."""
    return _columns(MetricComparison, comparison.comparisons)


def ranking_columns(ranking: Ranking) -> list[FrameColumn]:
    """One row a `RankedResult`, with its fields, after the ranking's metric and its direction."""
    count = len(ranking.entries)
    return [
        FrameColumn("metric", "text", [_text(ranking.metric)] * count),
        FrameColumn("higher_is_better", "boolean", [ranking.higher_is_better] * count),
        *_columns(RankedResult, ranking.entries),
    ]


def to_pandas(columns: Sequence[FrameColumn]) -> pandas.DataFrame:
    """Numbers are ``float64`` with NaN for None, as pandas' own functions want them; the rest is nullable."""
    pd = import_extra("pandas", extra="pandas", purpose="to_pandas()")
    dtypes = {
        "text": "string",
        "texts": "object",
        "integer": "Int64",
        "number": "float64",
        "boolean": "boolean",
        "time": pd.DatetimeTZDtype("us", "UTC"),
    }
    return pd.DataFrame({column.name: pd.Series(column.values, dtype=dtypes[column.kind]) for column in columns})


def to_polars(columns: Sequence[FrameColumn]) -> polars.DataFrame:
    """A frame of polars' own types."""
    pl = import_extra("polars", extra="polars", purpose="to_polars()")
    dtypes = {
        "text": pl.String,
        "texts": pl.List(pl.String),
        "integer": pl.Int64,
        "number": pl.Float64,
        "boolean": pl.Boolean,
        "time": pl.Datetime("us", "UTC"),
    }
    frame: polars.DataFrame = pl.DataFrame(
        [pl.Series(column.name, column.values, dtype=dtypes[column.kind]) for column in columns]
    )
    return frame


def to_arrow(columns: Sequence[FrameColumn]) -> pyarrow.Table:
    """A table of Arrow's own types."""
    pa = import_extra("pyarrow", extra="arrow", purpose="to_arrow()")
    types = {
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
        "integer": pa.int64(),
        "number": pa.float64(),
        "boolean": pa.bool_(),
        "time": pa.timestamp("us", "UTC"),
    }
    arrays = [pa.array(column.values, type=types[column.kind]) for column in columns]
    return pa.table(arrays, names=[column.name for column in columns])


def _text(value: str | None) -> str | None:
    """The text, in which what is no Unicode (half of an escaped pair in a reply) is written as its escape."""
    if value is None or value.isascii():
        return value
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def _texts(values: Iterable[str]) -> list[str | None]:
    return [_text(value) for value in values]


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def utc_of(result: BenchmarkResult) -> datetime:
    """When the run began, in UTC.

    Raises:
        ConfigurationError: In UTC that is before the year 1 or after 9999.
    """
    try:
        return result.created_at.astimezone(UTC)
    except (OverflowError, ValueError) as error:
        raise ConfigurationError(
            f"created_at of {short(result.name)} is {result.created_at.isoformat()}: there is no such time in UTC"
        ) from error


def _field(name: str) -> Callable[[Any], Any]:
    """Gives that field of a record; None of None."""
    return lambda record: None if record is None else getattr(record, name)


_Part = tuple[str, Kind, Callable[[Any], Any]]
"""The name of a column, ``{}`` being the field's; its kind; and how its value is got of the field's."""

# By the type of a field: a record that gets a field of a new type has to say here what becomes of it.
_PARTS: dict[Any, list[_Part]] = {
    str: [("{}", "text", _text)],
    str | None: [("{}", "text", _text)],
    Verdict: [("{}", "text", _text)],
    bool: [("{}", "boolean", bool)],
    int: [("{}", "integer", int)],
    int | None: [("{}", "integer", lambda value: value)],
    float | None: [("{}", "number", _number)],
    tuple[str, ...]: [("{}", "texts", _texts)],
    Interval | None: [("{}_low", "number", _field("low")), ("{}_high", "number", _field("high"))],
    Bounds | None: [("{}_worst", "number", _field("worst")), ("{}_best", "number", _field("best"))],
    Coverage: [
        ("{}_measured", "integer", _field("measured")),
        ("{}_measurable", "integer", _field("measurable")),
        ("{}_asked", "integer", _field("asked")),
        ("{}_share", "number", _field("share")),
    ],
    BenchmarkResult: [
        ("run", "text", lambda result: _text(result.name)),
        ("created_at", "time", utc_of),
    ],
}


def _columns(record: type[MetricComparison] | type[RankedResult], rows: Sequence[object]) -> list[FrameColumn]:
    types = typing.get_type_hints(record)
    return [
        FrameColumn(name.format(field.name), kind, [part(getattr(row, field.name)) for row in rows])
        for field in dataclasses.fields(record)
        for name, kind, part in _PARTS[types[field.name]]
    ]
