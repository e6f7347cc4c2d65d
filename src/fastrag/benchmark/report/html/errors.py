"""Failures that are alike, together: what a pipeline or a metric says of hundreds of questions is read once."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from fastrag.benchmark.pairing import measured_score
from fastrag.benchmark.reasons import reason_of_missing
from fastrag.benchmark.report.html.catalogue import Catalogue
from fastrag.benchmark.results import SampleResult

MOST_GROUPS = 500
MOST_EXAMPLES = 1000

_LONGEST_MESSAGE = 2_000
_NO_REASON = "no reason recorded"
# Quoted texts: between double quotes or backquotes; between single ones where these are no apostrophes.
_VARYING = re.compile(
    r"""("(?:[^"\\]|\\.)*"|`[^`]*`|(?<!\w)'(?:[^'\\]|\\.)*'(?!\w))|0x[0-9a-fA-F]+|\d+(?:[.,]\d+)*""", re.DOTALL
)


@dataclass(slots=True)
class _Group:
    kind: str
    metric: str | None
    message: str
    counts: list[int]
    examples: list[tuple[int, int]] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(self.counts)

    def add(self, run: int, position: int) -> None:
        self.counts[run] += 1
        if len(self.examples) < MOST_EXAMPLES:
            self.examples.append((run, position))


def error_groups(catalogue: Catalogue) -> list[dict[str, Any]]:
    """``ErrorGroup`` of frontend/src/model.ts, the most frequent first.

    Messages of one kind and metric that differ only in numbers and quoted texts are a group. Of more than 500 groups
    the rarest are one, the last, whose message says how many they were.
    """
    runs = len(catalogue.results)
    groups: dict[tuple[str, str | None, str], _Group] = {}
    for run, result in enumerate(catalogue.results):
        # A metric that no sample has a place for is known by its summary alone.
        scored = {name for sample in result.samples for name in sample.scores}
        metrics = [name for name in result.summary if name in scored]
        for position, sample in enumerate(result.samples):
            for kind, metric, message in _failures(sample, metrics):
                key = kind, metric, alike(message)
                if key not in groups:
                    groups[key] = _Group(kind, metric, message, [0] * runs)
                groups[key].add(run, position)
    found = sorted(groups.values(), key=lambda group: -group.total)
    if len(found) > MOST_GROUPS:
        found[MOST_GROUPS - 1 :] = [_rest(found[MOST_GROUPS - 1 :])]
    return [
        {
            "kind": group.kind,
            "metric": group.metric,
            "message": group.message,
            "counts": group.counts,
            "examples": [list(example) for example in group.examples],
        }
        for group in found
    ]


def alike(message: str) -> str:
    """What messages that differ only in numbers and quoted texts have in common.

    >>> alike("HTTP 503 from 'http://a' after 1.5 s") == alike("HTTP 502 from 'http://b' after 20 s")
    True
    """
    return _VARYING.sub(lambda found: '""' if found[1] else "0", message)


def _failures(sample: SampleResult, metrics: list[str]) -> list[tuple[str, str | None, str]]:
    """(kind, metric, message) of all that went wrong with a sample."""
    if sample.status == "errored":
        return [_failure(sample, None)]
    return [_failure(sample, metric) for metric in metrics if measured_score(sample, metric) is None]


def _failure(sample: SampleResult, metric: str | None) -> tuple[str, str | None, str]:
    kind, detail = reason_of_missing(sample, metric or "")
    return kind, metric, (detail or _NO_REASON)[:_LONGEST_MESSAGE]


def _rest(groups: list[_Group]) -> _Group:
    rest = _Group("others", None, f"{len(groups)} other messages", [0] * len(groups[0].counts))
    for group in groups:
        rest.counts = [sum(both) for both in zip(rest.counts, group.counts, strict=True)]
        rest.examples += group.examples[: MOST_EXAMPLES - len(rest.examples)]
    return rest
