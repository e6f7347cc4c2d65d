"""The benchmark: what fastrag exists for.

`Benchmark` checks a request and runs it; `BenchmarkResult` is what came out and can be saved; `best` chooses.
Metrics are in `fastrag.benchmark.metrics`.
"""

from fastrag.benchmark.benchmark import Benchmark
from fastrag.benchmark.budget import record_usage
from fastrag.benchmark.comparison import best
from fastrag.benchmark.metrics.base import DistributionSummary, Metric, QueryOutcome
from fastrag.benchmark.outcomes import Outcome, Outcomes, read_outcomes, rescore
from fastrag.benchmark.results import BenchmarkResult, SampleResult, StatusCounts
from fastrag.benchmark.run import RunProgress
from fastrag.benchmark.samples import EvalSample, Span, read_samples, write_samples

__all__ = [
    "Benchmark",
    "BenchmarkResult",
    "DistributionSummary",
    "EvalSample",
    "Metric",
    "Outcome",
    "Outcomes",
    "QueryOutcome",
    "RunProgress",
    "SampleResult",
    "Span",
    "StatusCounts",
    "best",
    "read_outcomes",
    "read_samples",
    "record_usage",
    "rescore",
    "write_samples",
]
