"""Metrics that need no waiting, and the hooks by which any metric says more about itself.

Benchmark looks for these on every `Metric`, and does without where they are absent:

``needs_reference_answer: bool``
    True when the metric reads ``sample.reference_answer``. Benchmark refuses it where no sample has one.
``needs_token_counts: bool``
    True when the metric reads ``outcome.input_tokens`` or ``outcome.output_tokens``. Benchmark refuses it
    over a bare Retriever, which never has them.
``missing_reason(sample, outcome) -> str``
    Why the metric gave None for this sample, for the sample's ``error``. Called only after it gave None.
"""

from __future__ import annotations

from abc import abstractmethod

from fastrag.benchmark.metrics.base import Metric, QueryOutcome
from fastrag.benchmark.samples import EvalSample


class ComputedMetric(Metric):
    """A metric computed on the spot: implement ``compute`` instead of ``score``.

    Benchmark calls ``compute`` directly, which saves a coroutine a score; it should take less than a
    millisecond.

    >>> class Sources(ComputedMetric):
    ...     name = "sources"
    ...     def compute(self, sample, outcome):
    ...         return float(len(outcome.sources))
    >>> Sources().compute(EvalSample("Why?"), QueryOutcome("", [], 1.0))
    0.0
    """

    needs_reference_answer: bool = False
    """True when compute() reads sample.reference_answer."""

    needs_token_counts: bool = False
    """True when compute() reads the outcome's token counts; never satisfied by a bare Retriever."""

    @abstractmethod
    def compute(self, sample: EvalSample, outcome: QueryOutcome) -> float | None:
        """This sample's score, or None when it is not measurable."""

    async def score(self, sample: EvalSample, outcome: QueryOutcome) -> float | None:
        """What ``compute`` gives."""
        return self.compute(sample, outcome)
