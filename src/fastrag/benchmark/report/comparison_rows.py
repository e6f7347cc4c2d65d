"""A Comparison as rows of texts and lines of notes, for whatever lays them out. Nothing is escaped here."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fastrag.benchmark.comparison_records import Comparison, Coverage, MetricComparison
from fastrag.benchmark.gate import GateReport
from fastrag.benchmark.report.texts import (
    lower_is_better,
    number,
    number_format,
    one_line,
    percentage,
    questions,
    short,
    span,
)

_QUESTIONS_NAMED = 3

HEADLINES = {
    "passed": "passed",
    "regression": "failed: regression",
    "coverage too low": "failed: coverage too low",
    "cannot say": "failed: cannot say",
}

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Row:
    """One run under one metric; the baseline's has no difference, interval and p, and no verdict but that it is it."""

    run: str
    mean: str
    difference: str
    interval: str
    p: str
    n: str
    coverage: str
    verdict: str

    @property
    def cells(self) -> tuple[str, ...]:
        """All fields, in the order of `columns`."""
        return self.run, self.mean, self.difference, self.interval, self.p, self.n, self.coverage, self.verdict


def columns(comparison: Comparison) -> tuple[str, ...]:
    """The headings of `Row.cells`."""
    return "run", "mean", "diff", f"{comparison.level * 100:g} % interval", "p", "n", "cov", "verdict"


def rows_by_metric(comparison: Comparison) -> Iterator[tuple[str, list[Row]]]:
    """Each metric and its rows: the baseline over the questions compared, then what is compared with it."""
    for metric in comparison.metrics:
        found = [one for one in comparison.comparisons if one.metric == metric]
        if not found:
            continue
        form = _format(found)
        rows = []
        baseline = None
        for one in found:
            above = Row(
                one.baseline,
                number(one.baseline_mean, form),
                "",
                "",
                "",
                str(one.n),
                percentage(one.baseline_coverage),
                "(baseline)",
            )
            # Candidates that answered other questions are compared over others: the baseline's mean is not the same.
            if above != baseline:
                rows.append(above)
                baseline = above
            rows.append(_row(one, form))
        yield metric, rows


def notes(comparison: Comparison) -> list[str]:
    """Why each verdict is what it is, and then the `remarks`."""
    return [*(_reason(one, _format([one])) for one in comparison.comparisons), *remarks(comparison)]


def remarks(comparison: Comparison) -> list[str]:
    """What was not measured, asked or compared; what is said of several metrics alike is said once."""
    every = comparison.comparisons
    lines = list(_unmeasurable_lines(every))
    missing = ((line, one.metric) for one in every for line in _missing_lines(one))
    lines += [f"{line} ({', '.join(map(short, metrics))})" for line, metrics in _together(missing).items()]
    failed = (
        (f"only {short(who)} failed on {_named(named)}", one.metric)
        for one in every
        for who, named in ((one.candidate, one.lost), (one.baseline, one.gained))
        if named
    )
    lines += [f"{line} ({', '.join(map(short, metrics))})" for line, metrics in _together(failed).items()]
    for pairing in comparison.pairings:
        for who, named in (
            (comparison.baseline, pairing.only_in_baseline),
            (pairing.candidate, pairing.only_in_candidate),
        ):
            if named:
                lines.append(f"only {short(who)} was asked {_named(named)}")
    lines += [
        f"{short(metric)} of {short(candidate)}: only one of the two results has this metric"
        for candidate, metric in comparison.not_compared
    ]
    return lines


def legend(comparison: Comparison) -> list[str]:
    """What the columns are, in sentences."""
    tests = "1 test" if comparison.family_size == 1 else f"{comparison.family_size} tests"
    lower = dict.fromkeys(one.metric for one in comparison.comparisons if not one.higher_is_better)
    return [
        *lower_is_better(lower),
        "mean: over the n questions that both measured.",
        "diff: run minus baseline, each with its own interval.",
        f"p: paired t, adjusted for {tests} (Holm).",
        "cov: measured of measurable, whole run, rounded down.",
        f"Verdicts at {comparison.alpha:g}.",
    ]


def headline(comparison: Comparison, gate: GateReport) -> str:
    """What the gate says, in one line."""
    failed = sum(gate.fails(check) for check in gate.checks)
    checks = "1 check" if len(gate.checks) == 1 else f"{len(gate.checks)} checks"
    count = f" ({failed} of {checks} failed)" if failed else f" ({checks})"
    candidates = ", ".join(map(short, comparison.candidates))
    return f"{candidates} against {short(comparison.baseline)}: {HEADLINES[gate.outcome]}{count}"


def _row(one: MetricComparison, form: str) -> Row:
    return Row(
        one.candidate,
        number(one.candidate_mean, form),
        number(one.mean_difference, form, sign="+"),
        span(one.interval, form, sign="+"),
        number(one.p_holm, ".3f") if one.p_holm is None or one.p_holm >= 0.001 else "<0.001",
        str(one.n),
        percentage(one.candidate_coverage),
        one.verdict,
    )


def _reason(one: MetricComparison, form: str) -> str:
    text = f"{short(one.metric)}, {short(one.candidate)}: {one.verdict}: {one.reason}"
    if one.n:
        text += f"; better on {one.wins}, same on {one.ties}, worse on {one.losses}"
    if one.verdict == "no difference shown" and one.smallest_detectable is not None:
        text += f"; {one.n} questions could have shown {number(one.smallest_detectable, form)} or more"
    if one.difference_bounds is not None and (one.lost or one.gained):
        text += f"; with what failed at its worst..best {span(one.difference_bounds, form, sign='+')}"
    return text


def _unmeasurable_lines(comparisons: Iterable[MetricComparison]) -> Iterator[str]:
    """What no run could be scored on, for the samples lack what the metric needs; no part of any coverage."""
    every: dict[str, set[str]] = {}
    lacking: dict[tuple[int, int], dict[str, dict[str, None]]] = {}
    for one in comparisons:
        for who, coverage in _coverages(one):
            every.setdefault(one.metric, set()).add(who)
            if count := coverage.asked - coverage.measurable:
                lacking.setdefault((count, coverage.asked), {}).setdefault(one.metric, {})[who] = None
    for (count, asked), by_metric in lacking.items():
        pairs = ((() if runs.keys() == every[metric] else tuple(runs), metric) for metric, runs in by_metric.items())
        for some, metrics in _together(pairs).items():
            start = f"{', '.join(map(short, some))}: " if some else ""
            by = ", ".join(map(short, metrics))
            yield f"{start}{count} of {questions(asked)} cannot be measured by {by}: they lack what it needs"


def _missing_lines(one: MetricComparison) -> Iterator[str]:
    for who, coverage in _coverages(one):
        failed = {kind: count for kind, count in coverage.reasons.items() if kind != "not_applicable"}
        if failed:
            why = ", ".join(f"{count} {kind}" for kind, count in failed.items())
            yield f"{short(who)}: {coverage.measured} of {coverage.measurable} measurable questions measured: {why}"


def _coverages(one: MetricComparison) -> tuple[tuple[str, Coverage], ...]:
    return (one.baseline, one.baseline_coverage), (one.candidate, one.candidate_coverage)


def _together(pairs: Iterable[tuple[Key, str]]) -> dict[Key, list[str]]:
    """What is said -> the metrics that it is said of, each once."""
    found: dict[Key, dict[str, None]] = {}
    for key, metric in pairs:
        found.setdefault(key, {})[metric] = None
    return {key: list(metrics) for key, metrics in found.items()}


def _named(named: Sequence[str]) -> str:
    some = ", ".join(f'"{one_line(question, most=60)}"' for question in named[:_QUESTIONS_NAMED])
    more = len(named) - _QUESTIONS_NAMED
    return f"{questions(len(named))}: {some}" + (f" and {more} more" if more > 0 else "")


def _format(comparisons: Iterable[MetricComparison]) -> str:
    means = [mean for one in comparisons for mean in (one.baseline_mean, one.candidate_mean) if mean is not None]
    return number_format(means or [0.0], means or [0.0])
