"""The benchmark: what fastrag exists for.

`Benchmark` checks a request and runs it; `BenchmarkResult` is what came out and can be saved; `compare`, `rank`
and `best` say what may be concluded from several; `questions_needed` plans the next.
Metrics are in `fastrag.benchmark.metrics`.
"""

from fastrag.benchmark.benchmark import Benchmark
from fastrag.benchmark.budget import record_usage
from fastrag.benchmark.calibration import Calibration, calibrate
from fastrag.benchmark.comparison import compare
from fastrag.benchmark.comparison_records import Bounds, Comparison, Coverage, MetricComparison, Pairing, Verdict
from fastrag.benchmark.estimate import Assumptions, Estimate, EstimatedUsage
from fastrag.benchmark.judging.opinions import (
    GivenOpinion,
    JudgedClaim,
    Judgement,
    Judgements,
    Missing,
    Opinion,
    read_judgements,
)
from fastrag.benchmark.metric_evidence import MetricEvidence, describe
from fastrag.benchmark.metrics.base import DistributionSummary, Metric, QueryOutcome
from fastrag.benchmark.outcomes import Outcome, Outcomes, read_outcomes, rescore
from fastrag.benchmark.planning import detectable_difference, questions_needed, smallest_detectable
from fastrag.benchmark.question_changes import QuestionChange, Repeats, question_changes, repeats_of
from fastrag.benchmark.ranking import best, rank
from fastrag.benchmark.ranking_records import RankedResult, Ranking
from fastrag.benchmark.reasons import explain_missing
from fastrag.benchmark.report.exports.csv_file import write_csv
from fastrag.benchmark.report.exports.junit_file import write_junit
from fastrag.benchmark.report.exports.markdown_file import write_markdown
from fastrag.benchmark.report.exports.parquet_file import write_parquet
from fastrag.benchmark.report.exports.trec_files import write_trec_qrels, write_trec_run
from fastrag.benchmark.report.html.report_file import write_report
from fastrag.benchmark.report.notebook.plot import Plot, plot
from fastrag.benchmark.results import BenchmarkResult, SampleResult, StatusCounts
from fastrag.benchmark.run import RunProgress
from fastrag.benchmark.running_means import RunningMean
from fastrag.benchmark.samples import EvalSample, Span, read_samples, write_samples
from fastrag.benchmark.slices import compare_slices, question_groups, rank_slices, slice_result
from fastrag.benchmark.spending import Spending, Usage
from fastrag.benchmark.statistics import Interval
from fastrag.benchmark.trade_offs import TradeOff, trade_offs

__all__ = [
    "Assumptions",
    "Benchmark",
    "BenchmarkResult",
    "Bounds",
    "Calibration",
    "Comparison",
    "Coverage",
    "DistributionSummary",
    "Estimate",
    "EstimatedUsage",
    "EvalSample",
    "GivenOpinion",
    "Interval",
    "JudgedClaim",
    "Judgement",
    "Judgements",
    "Metric",
    "MetricComparison",
    "MetricEvidence",
    "Missing",
    "Opinion",
    "Outcome",
    "Outcomes",
    "Pairing",
    "Plot",
    "QueryOutcome",
    "QuestionChange",
    "RankedResult",
    "Ranking",
    "Repeats",
    "RunProgress",
    "RunningMean",
    "SampleResult",
    "Span",
    "Spending",
    "StatusCounts",
    "TradeOff",
    "Usage",
    "Verdict",
    "best",
    "calibrate",
    "compare",
    "compare_slices",
    "describe",
    "detectable_difference",
    "explain_missing",
    "plot",
    "question_changes",
    "question_groups",
    "questions_needed",
    "rank",
    "rank_slices",
    "read_judgements",
    "read_outcomes",
    "read_samples",
    "record_usage",
    "repeats_of",
    "rescore",
    "slice_result",
    "smallest_detectable",
    "trade_offs",
    "write_csv",
    "write_junit",
    "write_markdown",
    "write_parquet",
    "write_report",
    "write_samples",
    "write_trec_qrels",
    "write_trec_run",
]
