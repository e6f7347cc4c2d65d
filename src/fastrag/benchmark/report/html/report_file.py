"""write_report(): results as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fastrag._support.checks import require_list
from fastrag.benchmark.arguments import require_result
from fastrag.benchmark.results import BenchmarkResult
from fastrag.benchmark.samples import EvalSample, read_samples


def write_report(
    results: Sequence[BenchmarkResult | str | Path],
    path: str | Path,
    *,
    samples: Sequence[EvalSample] | str | Path | None = None,
    title: str | None = None,
    margin: float | Mapping[str, float] | None = None,
) -> None:
    """Write one or many results as one HTML file that needs nothing else: open it in a browser, mail it, keep it.

    It shows every run and metric with intervals and coverage, rankings, comparisons of any two runs, every question
    side by side, and what failed. It asks nothing of any server. `fastrag report` does the same with saved results,
    and shows what lies beside them as well: texts of sources, and what judges said.

    Args:
        results: At least one. The first is the baseline of the others.
        path: Of the file, which is written atomically; an existing one is replaced.
        samples: Those that were asked, or the path of their file: reference answers, relevant ids and slices by
            metadata are shown as well. None: what the results have is all.
        title: Of the page; None for one made of the runs' names.
        margin: As in `compare`: of differences smaller than that it may say that they do not matter.

    Raises:
        ConfigurationError: There are no results, or one of the paths is none; or ``path`` cannot be written; or fastrag
            is used from a clone whose pages are not built yet.

    >>> from datetime import UTC, datetime
    >>> from fastrag.benchmark import DistributionSummary, SampleResult, StatusCounts
    >>> scores = [0.2, 0.5, 0.3]
    >>> samples = [SampleResult(f"q{i}", "successful", {"mrr": score}) for i, score in enumerate(scores)]
    >>> summary = {"mrr": DistributionSummary.of(scores)}
    >>> result = BenchmarkResult("run", datetime.now(UTC), StatusCounts(3, 0, 0), summary, samples, 1.0, {"mrr": True})
    >>> write_report([result], "report.html")  # doctest: +SKIP
    """
    from fastrag.benchmark.report.html.data import ReportData
    from fastrag.benchmark.report.html.page import write_page
    from fastrag.benchmark.report.html.runs import ReportedRun, reported_run

    runs = [
        reported_run(Path(one)) if isinstance(one, str | Path) else ReportedRun(require_result(one))
        for one in require_list("results", results, of="BenchmarkResults or paths")
    ]
    known = read_samples(samples) if isinstance(samples, str | Path) else samples
    write_page(ReportData(runs, samples=known, title=title, margin=margin), Path(path))
