"""Questions one by one: what each run made of them, side by side, with all that was kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fastrag._support.checks import as_number
from fastrag.benchmark.judging.opinions import GivenOpinion, Judgement, Missing
from fastrag.benchmark.pairing import measured_score
from fastrag.benchmark.report.html.catalogue import Catalogue
from fastrag.benchmark.report.html.relevance import Retrieved, SourceRelevance, retrieved
from fastrag.benchmark.results import SampleResult
from fastrag.benchmark.samples import EvalSample

QUESTIONS_PER_PART = 50
_LONGEST_TEXT = 300
_STATUS_LETTERS = {"successful": "s", "errored": "e", "incomplete": "i"}


def questions_part(catalogue: Catalogue) -> dict[str, Any]:
    """``Questions`` of frontend/src/model.ts."""
    return {"texts": [question[:_LONGEST_TEXT] for question in catalogue.questions]}


def scores_part(catalogue: Catalogue, run: int) -> dict[str, Any]:
    """``Scores`` of frontend/src/model.ts."""
    result = catalogue.results[run]
    return {
        "question": catalogue.question_of(run),
        "status": "".join(_STATUS_LETTERS[sample.status] for sample in result.samples),
        "latency_ms": [_latency(sample) for sample in result.samples],
        "scores": {name: [measured_score(sample, name) for sample in result.samples] for name in result.summary},
    }


class DetailsParts:
    """Makes the parts that show questions, each when it is asked for.

    Args:
        catalogue: All runs.
        samples: The sample set, each with an id; may be empty.
    """

    def __init__(self, catalogue: Catalogue, samples: Sequence[EvalSample]) -> None:
        self._catalogue = catalogue
        self._samples: dict[str, EvalSample] = {}
        for sample in samples:
            self._samples.setdefault(sample.question, sample)
        self._relevance: dict[int, SourceRelevance] = {}
        self._all_samples = samples

    def __len__(self) -> int:
        return math.ceil(len(self._catalogue.questions) / QUESTIONS_PER_PART)

    def part(self, number: int) -> dict[str, Any]:
        """``Details`` of frontend/src/model.ts.

        Raises:
            KeyError: There is no part of that number.
        """
        if not 0 <= number < len(self):
            raise KeyError(f"details-{number}")
        first = number * QUESTIONS_PER_PART
        questions = self._catalogue.questions[first : first + QUESTIONS_PER_PART]
        texts: dict[str, int] = {}
        results: list[list[dict[str, Any]]] = [[] for _ in questions]
        for run in range(len(self._catalogue.runs)):
            for question, position in self._catalogue.positions(run, first, first + len(questions)):
                results[question - first].append(self._result(run, position, texts))
        found = [
            {"text": question, "sample": self._sample(question), "results": its_results}
            for question, its_results in zip(questions, results, strict=True)
        ]
        return {"questions": found, "texts": list(texts)}

    def _sample(self, question: str) -> dict[str, Any] | None:
        sample = self._samples.get(question)
        if sample is None:
            return None
        relevant = sample.relevant_ids
        gains = relevant.items() if isinstance(relevant, Mapping) else ((id, 1.0) for id in relevant)
        return {
            "id": str(sample.id),
            "reference_answer": sample.reference_answer,
            "relevant_ids": {str(id): float(gain) for id, gain in gains},
            "relevant_spans": [list(span) for span in sample.relevant_spans],
            "metadata": {str(key): str(value) for key, value in sample.metadata.items()},
        }

    def _result(self, number: int, position: int, texts: dict[str, int]) -> dict[str, Any]:
        run = self._catalogue.runs[number]
        sample = run.result.samples[position]
        outcome = None if run.outcomes is None else run.outcomes.by_position.get(position)
        if outcome is not None and outcome.question != sample.question:
            outcome = None
        sources = retrieved(sample, outcome)
        asked = self._samples.get(sample.question)
        relevance = self._relevance_in(number)
        marks = relevance.of(asked, sources)
        # What failed before it retrieved anything did not miss what is relevant.
        has_retrieved = bool(sources) or sample.status != "errored"
        judgements = {} if run.judgements is None else run.judgements.by_position.get(position, {})
        return {
            "run": number,
            "position": position,
            "status": sample.status,
            "scores": {name: measured_score(sample, name) for name in run.result.summary},
            "answer": sample.answer,
            "latency_ms": _latency(sample),
            "error": sample.error,
            "input_tokens": None if outcome is None else outcome.input_tokens,
            "output_tokens": None if outcome is None else outcome.output_tokens,
            "attempts": None if outcome is None else outcome.attempts,
            "sources": [_source(source, mark, texts) for source, mark in zip(sources, marks, strict=True)],
            "missed": relevance.missed(asked, sources) if has_retrieved else [],
            "judgements": [_judgement(one) for one in judgements.values() if one.question == sample.question],
        }

    def _relevance_in(self, run: int) -> SourceRelevance:
        if run not in self._relevance:
            self._relevance[run] = SourceRelevance(self._catalogue.runs[run], self._all_samples)
        return self._relevance[run]


def _source(source: Retrieved, is_relevant: bool | None, texts: dict[str, int]) -> dict[str, Any]:
    document = source.document
    return {
        "id": source.id,
        "uri": source.uri,
        "score": None if document is None else _number(document.metadata.get("score")),
        "text": None if document is None else texts.setdefault(document.text, len(texts)),
        "is_relevant": is_relevant,
    }


def _judgement(judgement: Judgement) -> dict[str, Any]:
    return {
        "metric": judgement.metric,
        "score": _number(judgement.score),
        "spread": _number(judgement.spread),
        "missing": _missing(judgement.missing),
        "opinions": [_opinion(given) for given in judgement.opinions],
    }


def _opinion(given: GivenOpinion) -> dict[str, Any]:
    opinion = given.opinion
    return {
        "model": given.model,
        "take": given.take,
        "score": _number(opinion.score),
        "missing": _missing(opinion.missing),
        "reason": opinion.reason,
        "claims": [
            {"text": claim.text, "verdict": claim.verdict, "sources": list(claim.sources), "reason": claim.reason}
            for claim in opinion.claims
        ],
        "unreadable": list(given.unreadable),
    }


def _missing(missing: Missing | None) -> dict[str, str] | None:
    return None if missing is None else {"kind": missing.kind, "detail": missing.detail}


def _latency(sample: SampleResult) -> float:
    # Only a result made by hand has one that is no number.
    return sample.latency_ms if math.isfinite(sample.latency_ms) else 0.0


def _number(value: object) -> float | None:
    """A finite number; None for anything else, which metadata and hand-made records may hold."""
    number = as_number(value)
    return number if math.isfinite(number) else None
