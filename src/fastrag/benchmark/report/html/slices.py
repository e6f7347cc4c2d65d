"""All runs taken apart by what is known about their questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastrag.benchmark.report.evidence import evidence_of
from fastrag.benchmark.report.html.catalogue import Catalogue
from fastrag.benchmark.report.html.overview import interval_dict
from fastrag.benchmark.report.json_values import plain
from fastrag.benchmark.report.texts import listed, short
from fastrag.benchmark.results import BenchmarkResult
from fastrag.benchmark.samples import EvalSample
from fastrag.benchmark.slices import question_groups, slice_result
from fastrag.errors import ConfigurationError

MOST_KEYS = 20
MOST_GROUPS = 50
_LONGEST_NAME = 200


def all_slices(catalogue: Catalogue, samples: Sequence[EvalSample]) -> tuple[list[dict[str, Any]], list[str]]:
    """``Slices`` of frontend/src/model.ts, one a key of the samples' metadata, and sentences about what was left out.

    A key whose values are more than 50 (an id, a date) takes nothing apart; of many keys the first 20 are taken.
    """
    asked = [sample for sample in samples if sample.question in catalogue.places]
    keys = dict.fromkeys(key for sample in asked for key in sample.metadata if isinstance(key, str) and key.strip())
    found: list[dict[str, Any]] = []
    warnings: list[str] = []
    too_many: list[str] = []
    for key in keys:
        # Not even looked at: samples may have keys of their own, as many as there are samples.
        if len(found) == MOST_KEYS:
            too_many.append(key)
            continue
        try:
            groups = question_groups(asked, key)
        except ConfigurationError as error:
            warnings.append(f"No slices by {short(key)}: {error}")
            continue
        if len(set(groups.values())) <= MOST_GROUPS:
            found.append(_slices(catalogue, key, groups))
    if too_many:
        warnings.append(f"Slices are by the first {MOST_KEYS} keys of metadata, not by {listed(map(short, too_many))}.")
    return found, warnings


def _slices(catalogue: Catalogue, key: str, groups: dict[str, str]) -> dict[str, Any]:
    by_run = [slice_result(result, groups) for result in catalogue.results]
    questions: dict[str, set[str]] = {}
    for question, name in groups.items():
        questions.setdefault(name, set()).add(question)
    return {
        "key": key,
        "groups": [
            {
                "name": name[:_LONGEST_NAME],
                "questions": len(questions[name]),
                "runs": [_slice(sliced[name]) for sliced in by_run],
            }
            for name in sorted(questions)
        ],
    }


def _slice(result: BenchmarkResult) -> dict[str, Any] | None:
    if not result.samples:
        return None
    return {
        name: {
            "mean": plain(evidence.mean),
            "interval": interval_dict(evidence.interval),
            "questions": evidence.questions,
            "share": plain(evidence.coverage.share),
        }
        for name, evidence in evidence_of(result, list(result.summary)).items()
    }
