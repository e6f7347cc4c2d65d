"""Why scores are missing, in lines: what cannot be measured at all, and what failed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from fastrag.benchmark.pairing import measured_score
from fastrag.benchmark.reasons import is_not_applicable
from fastrag.benchmark.report.texts import listed, one_line, questions, short
from fastrag.benchmark.results import BenchmarkResult

_REASONS_SHOWN = 8
_NOT_APPLICABLE = "not_applicable: "


def unmeasurable_lines(results: Sequence[BenchmarkResult], metrics: Sequence[str]) -> list[str]:
    """What no pipeline could be scored on, for the samples lack what a metric needs; no part of any coverage."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for result in results:
        by_count: dict[tuple[int, str], list[str]] = {}
        for metric in metrics:
            for reason, count in _unmeasurable(result, metric).items():
                by_count.setdefault((count, reason), []).append(metric)
        for (count, reason), names in by_count.items():
            line = unmeasurable_line(count, len(result.samples), names, reason)
            found.setdefault((line, tuple(names)), []).append(result.name)
    return [
        line if all_have_it(results, names, runs) else f"{listed(map(short, runs))}: {line}"
        for (line, names), runs in found.items()
    ]


def unmeasurable_line(count: int, asked: int, metrics: Iterable[str], reason: str) -> str:
    """So many of the questions asked cannot be measured by these metrics, for this reason."""
    return f"{count} of {questions(asked)} cannot be measured by {listed(map(short, metrics))}: {reason}"


def all_have_it(results: Sequence[BenchmarkResult], metrics: Iterable[str], runs: Sequence[str]) -> bool:
    """Whether these are all the runs that have any of the metrics."""
    return len(runs) == sum(any(metric in result.summary for metric in metrics) for result in results)


def trouble_lines(result: BenchmarkResult) -> list[str]:
    """What a run's statuses are, and what went wrong in it, the most frequent reasons first."""
    counts = result.status
    asked = counts.successful + counts.errored + counts.incomplete
    lines = [
        f"{short(result.name)}: {questions(asked)} in {result.duration_s:.1f} s: {counts.successful} successful, "
        f"{counts.errored} errored, {counts.incomplete} incomplete"
    ]
    reasons: Counter[str] = Counter()
    for sample in result.samples:
        if sample.status == "errored":
            reasons[f"errored: {one_line(sample.error or 'no reason recorded')}"] += 1
        elif sample.status == "incomplete":
            reasons.update(map(short, _by_reason(sample.error or "no reason recorded")))
    lines += [f"  {count} x {reason}" for reason, count in reasons.most_common(_REASONS_SHOWN)]
    if len(reasons) > _REASONS_SHOWN:
        lines.append(f"  and {len(reasons) - _REASONS_SHOWN} other reasons")
    return lines


def own_mean_lines(result: BenchmarkResult, metrics: Sequence[str]) -> Iterator[str]:
    """Where a metric's own aggregate is not the mean of its scores, which is what the tables show."""
    for metric in metrics:
        scores = [score for sample in result.samples if (score := measured_score(sample, metric)) is not None]
        if metric in result.summary and scores:
            own, mean = result.summary[metric].mean, math.fsum(scores) / len(scores)
            if not math.isclose(own, mean, rel_tol=1e-9, abs_tol=1e-12):
                who = f"{short(result.name)}: {short(metric)}"
                yield f"{who} itself aggregates to {own:.6g}; the mean of its scores is {mean:.6g}"


def _unmeasurable(result: BenchmarkResult, metric: str) -> Counter[str]:
    prefix = f"{metric}: {_NOT_APPLICABLE}"
    return Counter(
        part.removeprefix(prefix)
        for sample in result.samples
        if is_not_applicable(sample, metric)
        for part in (sample.error or "").split("; ")
        if part.startswith(prefix)
    )


def _by_reason(error: str) -> list[str]:
    """The parts of an incomplete sample's error, those that differ only in the metric told as one."""
    metrics: dict[str, list[str]] = {}
    for part in error.split("; "):
        metric, separator, reason = part.partition(": ")
        if not reason.startswith(_NOT_APPLICABLE):
            metrics.setdefault(reason if separator else part, []).append(metric)
    return [f"{reason} ({', '.join(names)})" for reason, names in metrics.items()]
