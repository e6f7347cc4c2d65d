"""A Comparison as rows of texts and lines of notes, for whatever lays them out. Nothing is escaped here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fastrag.benchmark.comparison_records import Comparison, Coverage, MetricComparison
from fastrag.benchmark.gate import GateReport
from fastrag.benchmark.report.texts import decimals_for

ABSENT = "-"

_QUESTIONS_NAMED = 3

HEADLINES = {
    "passed": "passed",
    "regression": "failed: regression",
    "coverage too low": "failed: coverage too low",
    "cannot say": "failed: cannot say",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One run under one metric; the baseline's has no difference, interval, p and verdict."""

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
    """Each metric with its rows: the baseline over the questions compared, then the candidates it is compared with."""
    for metric in comparison.metrics:
        rows = []
        baseline = None
        for one in comparison.comparisons:
            if one.metric != metric:
                continue
            decimals = _decimals(one)
            above = Row(
                f"{one.baseline} (baseline)",
                _number(one.baseline_mean, decimals),
                "",
                "",
                "",
                str(one.n),
                _share(one.baseline_coverage),
                "",
            )
            # Candidates that answered other questions are compared over others: the baseline's mean is not the same.
            if above != baseline:
                rows.append(above)
                baseline = above
            rows.append(_row(one, decimals))
        if rows:
            yield metric, rows


def notes(comparison: Comparison) -> list[str]:
    """Why each verdict is what it is, and what was left out."""
    lines = [_reason(one) for one in comparison.comparisons]
    lines += dict.fromkeys(line for one in comparison.comparisons for line in _coverage_lines(one))
    for one in comparison.comparisons:
        for who, questions in ((one.candidate, one.lost), (one.baseline, one.gained)):
            if questions:
                lines.append(f"{one.metric}: only {who} failed on {_named(questions)}")
    for pairing in comparison.pairings:
        for who, questions in (
            (comparison.baseline, pairing.only_in_baseline),
            (pairing.candidate, pairing.only_in_candidate),
        ):
            if questions:
                lines.append(f"only {who} was asked {_named(questions)}")
    lines += [
        f"{metric} of {candidate}: only one of the two results has this metric"
        for candidate, metric in comparison.not_compared
    ]
    return lines


def legend(comparison: Comparison) -> str:
    """What the columns are."""
    return (
        "mean: over the n questions that both measured. diff: run minus baseline, each with its own interval. "
        f"p: paired t, adjusted for {comparison.family_size} tests (Holm). "
        f"cov: measured of measurable, whole run. Verdicts at {comparison.alpha:g}."
    )


def headline(comparison: Comparison, gate: GateReport) -> str:
    """What the gate says, in one line."""
    failed = sum(gate.fails(check) for check in gate.checks)
    checks = "1 check" if len(gate.checks) == 1 else f"{len(gate.checks)} checks"
    count = f" ({failed} of {checks} failed)" if failed else f" ({checks})"
    return f"{', '.join(comparison.candidates)} against {comparison.baseline}: {HEADLINES[gate.outcome]}{count}"


def _row(one: MetricComparison, decimals: int) -> Row:
    interval = one.interval
    return Row(
        one.candidate,
        _number(one.candidate_mean, decimals),
        _number(one.mean_difference, decimals, sign="+"),
        f"{interval.low:+.{decimals}f}..{interval.high:+.{decimals}f}" if interval else ABSENT,
        ABSENT if one.p_holm is None else "<0.001" if one.p_holm < 0.001 else f"{one.p_holm:.3f}",
        str(one.n),
        _share(one.candidate_coverage),
        one.verdict,
    )


def _reason(one: MetricComparison) -> str:
    text = f"{one.metric}, {one.candidate}: {one.verdict}: {one.reason}"
    if one.n:
        text += f"; better on {one.wins}, same on {one.ties}, worse on {one.losses}"
    if one.verdict == "no difference shown" and one.smallest_detectable is not None:
        text += f"; {one.n} questions could have shown {one.smallest_detectable:.{_decimals(one)}f} or more"
    if one.difference_bounds is not None and (one.lost or one.gained):
        bounds, decimals = one.difference_bounds, _decimals(one)
        text += f"; with what failed at its worst and best {bounds.worst:+.{decimals}f} and {bounds.best:+.{decimals}f}"
    return text


def _coverage_lines(one: MetricComparison) -> Iterator[str]:
    for who, coverage in ((one.baseline, one.baseline_coverage), (one.candidate, one.candidate_coverage)):
        if coverage.reasons:
            why = ", ".join(f"{count} {kind}" for kind, count in coverage.reasons.items())
            yield f"{one.metric}, {who}: {coverage.measured} of {coverage.asked} measured: {why}"


def _named(questions: Sequence[str]) -> str:
    some = ", ".join(f'"{question[:60]}"' for question in questions[:_QUESTIONS_NAMED])
    more = len(questions) - _QUESTIONS_NAMED
    count = "1 question" if len(questions) == 1 else f"{len(questions)} questions"
    return f"{count}: {some}" + (f" and {more} more" if more > 0 else "")


def _decimals(one: MetricComparison) -> int:
    means = [mean for mean in (one.baseline_mean, one.candidate_mean) if mean is not None] or [0.0]
    return decimals_for(means, means)


def _number(value: float | None, decimals: int, *, sign: str = "-") -> str:
    return ABSENT if value is None else f"{value:{sign}.{decimals}f}"


def _share(coverage: Coverage) -> str:
    # Rounded down: 999 of 1000 is not all of them.
    return f"{100 * coverage.measured // coverage.measurable}%" if coverage.measurable else ABSENT
