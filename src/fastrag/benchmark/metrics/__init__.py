"""What a benchmark measures: retrieval, answers, time, tokens and money."""

from fastrag.benchmark.metrics.answer import ExactMatch, TokenF1
from fastrag.benchmark.metrics.base import DistributionSummary, Metric, QueryOutcome
from fastrag.benchmark.metrics.batch import RankingScores, evaluate_rankings
from fastrag.benchmark.metrics.computed import ComputedMetric
from fastrag.benchmark.metrics.operational import CostUsd, LatencyMs, TotalTokens
from fastrag.benchmark.metrics.relevance import prepare_relevance
from fastrag.benchmark.metrics.retrieval import (
    MAP,
    MRR,
    NDCG,
    F1AtK,
    HitRateAtK,
    PrecisionAtK,
    RecallAtK,
    RetrievalMetric,
    RPrecision,
)

__all__ = [
    "MAP",
    "MRR",
    "NDCG",
    "ComputedMetric",
    "CostUsd",
    "DistributionSummary",
    "ExactMatch",
    "F1AtK",
    "HitRateAtK",
    "LatencyMs",
    "Metric",
    "PrecisionAtK",
    "QueryOutcome",
    "RPrecision",
    "RankingScores",
    "RecallAtK",
    "RetrievalMetric",
    "TokenF1",
    "TotalTokens",
    "evaluate_rankings",
    "prepare_relevance",
]
