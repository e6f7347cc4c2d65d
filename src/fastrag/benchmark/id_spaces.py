"""Noticing relevant ids and retrieved ids that can never meet, which look like a retriever that finds nothing."""

from __future__ import annotations

from collections.abc import Sequence

from fastrag.benchmark.metrics.base import Metric
from fastrag.benchmark.metrics.retrieval import RetrievalMetric
from fastrag.benchmark.results import SampleResult
from fastrag.benchmark.samples import EvalSample


def disjoint_ids_warning(
    metrics: Sequence[Metric], samples: Sequence[EvalSample], results: Sequence[SampleResult]
) -> str | None:
    """What to tell the user where not one retrieved id of the whole run is relevant to any question; else None.

    One miss is a bad retriever; all of them, over every question, are two ways of naming the same documents.
    """
    relevant = {str(id) for sample in samples for id in sample.relevant_ids}
    for match, attribute in (("id", "retrieved_ids"), ("uri", "retrieved_uris")):
        names = [metric.name for metric in metrics if isinstance(metric, RetrievalMetric) and metric.match == match]
        retrieved = {id for result in results for id in getattr(result, attribute) if id}
        if names and retrieved and relevant and retrieved.isdisjoint(relevant):
            return (
                f"{', '.join(names)}: not one of the {len(retrieved)} retrieved {match}s is among the {len(relevant)} "
                f"relevant_ids of any question: retrieved for example {min(retrieved)!r}, relevant for example "
                f"{min(relevant)!r}. If chunks are retrieved and whole documents judged, use match='parent_id'."
            )
    return None
