"""plot(): the report's charts in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from urllib.parse import quote

from fastrag._support.checks import require_choice, require_int
from fastrag.benchmark.arguments import require_metric, require_results
from fastrag.benchmark.report.notebook.rendering import render
from fastrag.benchmark.report.texts import listed, short
from fastrag.benchmark.results import BenchmarkResult
from fastrag.benchmark.samples import EvalSample
from fastrag.errors import ConfigurationError


class Plot:
    """A page of the report in a frame; what a notebook shows of it needs no server and asks none.

    Args:
        html: The whole report, opened at that page.
        title: What is to be seen, in words.
        height_px: Of the frame.
    """

    def __init__(self, html: str, title: str, height_px: int) -> None:
        self._html = html
        self._title = title
        self._height_px = height_px

    def __repr__(self) -> str:
        return f"<Plot of {self._title}; a notebook shows it>"

    def _repr_html_(self) -> str:
        return render("plot.html", html=self._html, title=self._title, height_px=self._height_px)


def plot(
    results: BenchmarkResult | Sequence[BenchmarkResult],
    metric: str,
    *,
    show: Literal["scores", "differences"] = "scores",
    samples: Sequence[EvalSample] | None = None,
    height_px: int = 720,
) -> Plot:
    """Show in a notebook how the scores of one metric are distributed, or how two runs differ on it.

    It is the report of `write_report`, opened at that page, in a frame that can run its own script and nothing else:
    the other pages can be reached from there. All of the results is in it, so a saved notebook grows by about half a
    megabyte a plot, and with the number of samples.

    Args:
        results: One or several.
        metric: What the page is of.
        show: ``"scores"``: of every run their distribution, percentiles, and what is missing. ``"differences"``:
            between the first two results, question by question.
        samples: See `write_report`.
        height_px: Of the frame, at least 100.

    Returns:
        What the notebook shows when it is the last line of a cell.

    Raises:
        ConfigurationError: There are no results, or not two for differences; none has the metric; an argument is not
            of those; or fastrag is used from a clone whose pages are not built yet.

    >>> from datetime import UTC, datetime
    >>> from fastrag.benchmark import DistributionSummary, SampleResult, StatusCounts
    >>> scores = [0.2, 0.5, 0.3]
    >>> samples = [SampleResult(f"q{i}", "successful", {"mrr": score}) for i, score in enumerate(scores)]
    >>> summary = {"mrr": DistributionSummary.of(scores)}
    >>> result = BenchmarkResult("run", datetime.now(UTC), StatusCounts(3, 0, 0), summary, samples, 1.0, {"mrr": True})
    >>> plot(result, "mrr")  # doctest: +SKIP
    <Plot of mrr of run; a notebook shows it>
    """
    from fastrag.benchmark.report.html.data import ReportData
    from fastrag.benchmark.report.html.page import page_html
    from fastrag.benchmark.report.html.runs import ReportedRun

    checked = require_results([results] if isinstance(results, BenchmarkResult) else results)
    require_choice("show", show, ("scores", "differences"))
    if show == "differences":
        checked = checked[:2]
        if len(checked) < 2:
            raise ConfigurationError("differences are between two results; there is only one")
    require_metric(metric, checked if show == "differences" else _having(checked, metric))
    require_int("height_px", height_px, at_least=100)
    data = ReportData([ReportedRun(result) for result in checked], samples=samples)
    names = [run["label"] for run in data.overview["runs"]]
    address = ("metric", metric) if show == "scores" else ("compare", *names, metric)
    title = f"{'differences in ' if show == 'differences' else ''}{short(metric)} of {listed(map(short, names))}"
    return Plot(page_html(data, start="#/" + "/".join(map(_encoded, address))), title, height_px)


def _having(results: Sequence[BenchmarkResult], metric: str) -> Sequence[BenchmarkResult]:
    """The results to be asked for the metric: those that have it, or all, so that the error names what there is."""
    return [result for result in results if metric in result.summary] or results


def _encoded(name: str) -> str:
    return quote(name, safe="", errors="replace")
