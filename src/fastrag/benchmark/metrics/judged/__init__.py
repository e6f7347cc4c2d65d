"""Metrics that ask a language model."""

from fastrag.benchmark.judging.judge import Asking, Judge
from fastrag.benchmark.metrics.judged.abstention import Abstention
from fastrag.benchmark.metrics.judged.base import JudgedMetric
from fastrag.benchmark.metrics.judged.citations import CitationPrecision, CitationRecall
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
from fastrag.benchmark.metrics.judged.preference import Preference
from fastrag.benchmark.metrics.judged.relevance import AnswerRelevance, ContextRelevance
from fastrag.benchmark.metrics.judged.rubric import Rubric

__all__ = [
    "Abstention",
    "AnswerCorrectness",
    "AnswerRelevance",
    "Asking",
    "CitationPrecision",
    "CitationRecall",
    "Completeness",
    "ContextRecall",
    "ContextRelevance",
    "ContextUtilization",
    "Faithfulness",
    "Hallucination",
    "Judge",
    "JudgedMetric",
    "NoiseSensitivity",
    "Preference",
    "Rubric",
    "SelfKnowledge",
]
