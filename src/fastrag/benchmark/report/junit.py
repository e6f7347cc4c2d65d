"""A gate's checks as JUnit XML, which continuous integration shows as tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fastrag.benchmark.comparison_records import Comparison, MetricComparison
from fastrag.benchmark.gate import Check, GateReport
from fastrag.benchmark.report.texts import one_line

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def junit_xml(comparison: Comparison, gate: GateReport) -> str:
    """One test case a metric and candidate, with the metric as class name and the candidate as name.

    A regression is a failure; too low a coverage is an error; *cannot say* is an error if the gate is strict, else
    skipped. The numbers are in the case's ``system-out``. What cannot be seen, or has no form in XML, is shown as its
    escape.
    """
    from xml.etree import ElementTree

    suite = ElementTree.Element("testsuite", name=one_line(f"fastrag compare {comparison.baseline}"))
    counts = {"tests": len(gate.checks), "failures": 0, "errors": 0, "skipped": 0}
    for check in gate.checks:
        case = ElementTree.SubElement(
            suite, "testcase", classname=one_line(check.metric), name=one_line(check.candidate)
        )
        if check.outcome != "passed":
            kind = _kind(check, gate)
            counts[{"failure": "failures", "error": "errors", "skipped": "skipped"}[kind]] += 1
            _complain(case, kind, check)
        if check.comparison is not None:
            ElementTree.SubElement(case, "system-out").text = _numbers(check.comparison)
    for name, count in counts.items():
        suite.set(name, str(count))
    return junit_document([suite])


def junit_document(suites: Iterable[Element]) -> str:
    """The file that holds these suites."""
    from xml.etree import ElementTree

    document = ElementTree.Element("testsuites")
    document.extend(suites)
    ElementTree.indent(document)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(document, encoding="unicode") + "\n"


def _kind(check: Check, gate: GateReport) -> str:
    if check.outcome == "regression":
        return "failure"
    return "error" if gate.fails(check) else "skipped"


def _complain(case: Element, kind: str, check: Check) -> None:
    from xml.etree import ElementTree

    complaint = ElementTree.SubElement(case, kind, message=one_line(f"{check.outcome}: {check.reason}", most=400))
    if kind != "skipped":
        complaint.set("type", check.outcome.replace(" ", "-"))


def _numbers(one: MetricComparison) -> str:
    interval = f" ({one.interval.low:+.6g}..{one.interval.high:+.6g})" if one.interval else ""
    parts = [
        f"verdict: {one.verdict}",
        f"n: {one.n}",
        f"baseline mean: {_number(one.baseline_mean)}",
        f"mean: {_number(one.candidate_mean)}",
        f"difference: {_number(one.mean_difference)}{interval}",
        f"adjusted p: {_number(one.p_holm)}",
        f"better, same, worse: {one.wins}, {one.ties}, {one.losses}",
        f"coverage: {one.candidate_coverage.measured} of {one.candidate_coverage.measurable} "
        f"(baseline {one.baseline_coverage.measured} of {one.baseline_coverage.measurable})",
    ]
    return "\n".join(parts)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
