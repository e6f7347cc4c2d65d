"""The benchmark: what fastrag exists for.

`Benchmark` checks a request and runs it; `BenchmarkResult` is what came out and can be saved; `compare`, `rank`
and `best` say what may be concluded from several; `questions_needed` plans the next.
Metrics are in `fastrag.benchmark.metrics`.
"""

from fastrag.benchmark.benchmark import Benchmark
from fastrag.benchmark.budget import record_usage
from fastrag.benchmark.comparison import compare
from fastrag.benchmark.comparison_records import Bounds, Comparison, Coverage, MetricComparison, Pairing, Verdict
from fastrag.benchmark.metrics.base import DistributionSummary, Metric, QueryOutcome
from fastrag.benchmark.outcomes import Outcome, Outcomes, read_outcomes, rescore
from fastrag.benchmark.planning import detectable_difference, questions_needed, smallest_detectable
from fastrag.benchmark.ranking import RankedResult, Ranking, best, rank
from fastrag.benchmark.results import BenchmarkResult, SampleResult, StatusCounts
from fastrag.benchmark.run import RunProgress
from fastrag.benchmark.samples import EvalSample, Span, read_samples, write_samples

__all__ = [
    "Benchmark",
    "BenchmarkResult",
    "Bounds",
    "Comparison",
    "Coverage",
    "DistributionSummary",
    "EvalSample",
    "Metric",
    "MetricComparison",
    "Outcome",
    "Outcomes",
    "Pairing",
    "QueryOutcome",
    "RankedResult",
    "Ranking",
    "RunProgress",
    "SampleResult",
    "Span",
    "StatusCounts",
    "Verdict",
    "best",
    "compare",
    "detectable_difference",
    "questions_needed",
    "rank",
    "read_outcomes",
    "read_samples",
    "record_usage",
    "rescore",
    "smallest_detectable",
    "write_samples",
]
