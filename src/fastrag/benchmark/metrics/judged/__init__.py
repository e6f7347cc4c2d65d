"""Metrics that ask a language model."""

from fastrag.benchmark.metrics.judged.base import JudgedMetric
from fastrag.benchmark.metrics.judged.completeness import Completeness
from fastrag.benchmark.metrics.judged.context_recall import ContextRecall
from fastrag.benchmark.metrics.judged.context_use import (
    ContextUtilization,
    Hallucination,
    NoiseSensitivity,
    SelfKnowledge,
)
from fastrag.benchmark.metrics.judged.correctness import AnswerCorrectness
from fastrag.benchmark.metrics.judged.faithfulness import Faithfulness

__all__ = [
    "AnswerCorrectness",
    "Completeness",
    "ContextRecall",
    "ContextUtilization",
    "Faithfulness",
    "Hallucination",
    "JudgedMetric",
    "NoiseSensitivity",
    "SelfKnowledge",
]
