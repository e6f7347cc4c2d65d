"""Which retrieved sources are relevant, decided as the retrieval metrics decide it, as far as a report can tell.

A report does not know what the metrics of a run compared with the relevant ids: the ids of sources, their uris or the
ids of their parents. Each counts in a run in which it met a relevant id at all; where none ever did, the names are of
another kind, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fastrag.benchmark.metrics.relevance import Relevance, prepare_relevance
from fastrag.benchmark.outcomes import Outcome
from fastrag.benchmark.report.html.runs import ReportedRun
from fastrag.benchmark.results import SampleResult
from fastrag.benchmark.samples import EvalSample, Span
from fastrag.document import Document

Keys = tuple[str | None, str | None, str | None]
"""What a source can be known by: its id, its uri and the id of its parent."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """One source of a sample's result, with its Document where that was kept."""

    id: str
    uri: str
    document: Document | None

    @property
    def keys(self) -> Keys:
        """See `Keys`."""
        parent = None if self.document is None else self.document.metadata.get("parent_id")
        return self.id, self.uri or None, None if parent is None else str(parent)


class SourceRelevance:
    """Tells which sources of one run are relevant.

    Args:
        run: The run.
        samples: The sample set; without one nothing can be told.
    """

    def __init__(self, run: ReportedRun, samples: Sequence[EvalSample]) -> None:
        judged = {str(id) for sample in samples for id in sample.relevant_ids}
        self._kinds = [kind for kind in range(3) if judged and _meets(run, kind, judged)]
        uris = {span.uri for sample in samples for span in map(_span, sample.relevant_spans)}
        self._has_uris_of_spans = bool(uris) and _meets(run, 1, uris)

    def of(self, sample: EvalSample | None, sources: Sequence[Retrieved]) -> list[bool | None]:
        """Of each source whether it is relevant to the sample; None where that cannot be told."""
        if sample is None:
            return [None] * len(sources)
        relevance = prepare_relevance(sample.relevant_ids)
        spans = list(map(_span, sample.relevant_spans))
        return [self._either(source, relevance, spans) for source in sources]

    def missed(self, sample: EvalSample | None, sources: Sequence[Retrieved]) -> list[str]:
        """The relevant ids that none of the sources is known by; empty where that cannot be told."""
        if sample is None or not self._kinds:
            return []
        relevance = prepare_relevance(sample.relevant_ids)
        found = {source.keys[kind] for source in sources for kind in self._kinds}
        return [id for id in relevance.gains if id in relevance.ids and id not in found]

    def _either(self, source: Retrieved, relevance: Relevance, spans: Sequence[Span]) -> bool | None:
        by_id = None
        if relevance.judged and self._kinds:
            keys = source.keys
            by_id = any(keys[kind] in relevance.ids for kind in self._kinds)
        by_span = self._holds(source, spans) if spans and not by_id else None
        return by_id if by_span is None else by_span

    def _holds(self, source: Retrieved, spans: Sequence[Span]) -> bool | None:
        """Whether the source has a character of any of the spans."""
        document = source.document
        if not self._has_uris_of_spans or document is None or not source.uri:
            return None
        there = [span for span in spans if span.uri == source.uri]
        if not there:
            return False
        start, end = document.metadata.get("start"), document.metadata.get("end")
        if not isinstance(start, int) or not isinstance(end, int):
            return None
        return any(start < span.end and span.start < end for span in there)


def retrieved(sample: SampleResult, outcome: Outcome | None) -> list[Retrieved]:
    """The sources of one sample, best first, with their Documents where these were kept."""
    documents = [] if outcome is None else outcome.sources
    found = []
    for place, id in enumerate(sample.retrieved_ids):
        uri = sample.retrieved_uris[place] if place < len(sample.retrieved_uris) else ""
        document = documents[place] if place < len(documents) else None
        # A question that was asked again may have an outcome that its result is not of.
        found.append(Retrieved(id, uri, document if document is not None and document.id == id else None))
    return found


def _span(span: Sequence[object]) -> Span:
    return Span(*span)  # type: ignore[arg-type]


def _meets(run: ReportedRun, kind: int, names: set[str]) -> bool:
    """Whether any source of the run is known by one of the names."""
    return any(key in names for key in _keys(run, kind))


def _keys(run: ReportedRun, kind: int) -> Iterator[str | None]:
    if kind < 2:
        for sample in run.result.samples:
            yield from sample.retrieved_uris if kind else sample.retrieved_ids
    elif run.outcomes is not None:
        for outcome in run.outcomes.by_position.values():
            for source in outcome.sources:
                parent = source.metadata.get("parent_id")
                yield None if parent is None else str(parent)
