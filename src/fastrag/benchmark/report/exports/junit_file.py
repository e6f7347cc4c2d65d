"""Results as JUnit XML: one test case a question, which continuous integration lists with what failed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fastrag.benchmark.arguments import require_results
from fastrag.benchmark.reasons import kind_of_missing
from fastrag.benchmark.report.exports.writing import write_text
from fastrag.benchmark.report.frames import utc_of
from fastrag.benchmark.report.junit import junit_document
from fastrag.benchmark.report.texts import one_line
from fastrag.benchmark.results import BenchmarkResult, SampleResult

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def write_junit(results: Iterable[BenchmarkResult], path: str | Path) -> None:
    """Write one test suite a result, with one test case a question, its scores in its ``system-out``.

    A question on which the pipeline failed is an error. One that was not asked, or that a metric could not measure, is
    skipped, with the reason. No score is a failure: what is too low, `fastrag compare` tells.

    Args:
        results: At least one.
        path: Of the file, which is written atomically; an existing one is replaced.

    Raises:
        ConfigurationError: There are no results, or ``path`` cannot be written.

    >>> from datetime import UTC, datetime
    >>> from fastrag.benchmark import DistributionSummary, SampleResult, StatusCounts
    >>> samples = [SampleResult("Why?", "successful", {"mrr": 0.5}, answer="=1+1", retrieved_ids=["a", "b"])]
    >>> summary = {"mrr": DistributionSummary.of([0.5])}
    >>> result = BenchmarkResult("run", datetime.now(UTC), StatusCounts(1, 0, 0), summary, samples, 1.0)
    >>> write_junit([result], "questions.xml")
    >>> print(Path("questions.xml").read_text(encoding="utf-8").splitlines()[3].strip())
    <testcase classname="run" name="1. Why?" time="0.000000">
    """
    write_text(path, [junit_text(require_results(results))])


def junit_text(results: Sequence[BenchmarkResult]) -> str:
    """What `write_junit` writes."""
    return junit_document([_suite(result) for result in results])


def _suite(result: BenchmarkResult) -> Element:
    from xml.etree import ElementTree

    name = one_line(result.name)
    # The schemas have a time without an offset.
    started = utc_of(result).replace(tzinfo=None).isoformat(timespec="seconds")
    suite = ElementTree.Element("testsuite", name=name, timestamp=started, time=f"{result.duration_s:.3f}")
    counts = {"tests": len(result.samples), "failures": 0, "errors": 0, "skipped": 0}
    for place, sample in enumerate(result.samples, start=1):
        # With its place: whoever reads the file takes two cases of one name for one, and questions may be repeated.
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=name,
            name=f"{place}. {one_line(sample.question)}",
            time=f"{sample.latency_ms / 1000:.6f}",
        )
        if sample.status != "successful":
            kind = _complain(case, sample)
            counts[kind] += 1
        ElementTree.SubElement(case, "system-out").text = _scores(sample)
    for kind, count in counts.items():
        suite.set(kind, str(count))
    return suite


def _complain(case: Element, sample: SampleResult) -> str:
    """Say what is wrong with the sample, and where it counts."""
    from xml.etree import ElementTree

    reason = sample.error or ""
    message = one_line(reason, most=400)
    if sample.status == "incomplete" or kind_of_missing(sample, "") == "not_attempted":
        ElementTree.SubElement(case, "skipped", message=message)
        return "skipped"
    kind = one_line(reason.partition(":")[0], most=80)
    ElementTree.SubElement(case, "error", message=message, type=kind or "error")
    return "errors"


def _scores(sample: SampleResult) -> str:
    return "\n".join(
        f"{one_line(metric)}: {'-' if score is None else f'{score:.6g}'}" for metric, score in sample.scores.items()
    )
