"""Plots as a notebook holds them: a frame without an address of its own, in which every page can be reached."""

from datetime import UTC, datetime

import pytest

from fastrag.benchmark import BenchmarkResult, DistributionSummary, SampleResult, StatusCounts, compare, plot
from fastrag.benchmark.report.texts import one_line

METRIC = "ndcg@10 </iframe>\"'<b>"


def a_result(name, scores):
    samples = [SampleResult(f"q{i}", "successful", {METRIC: score, "mrr": 0.5}) for i, score in enumerate(scores)]
    summary = {METRIC: DistributionSummary.of(scores), "mrr": DistributionSummary.of([0.5] * len(scores))}
    status = StatusCounts(len(scores), 0, 0)
    return BenchmarkResult(name, datetime.now(UTC), status, summary, samples, 1.0, {METRIC: True, "mrr": True})


@pytest.fixture(scope="module")
def results():
    scores = [0.1 * (i % 9) for i in range(40)]
    return [a_result("old & <i>", scores), a_result("new", [min(1.0, score + 0.2) for score in scores])]


@pytest.fixture
def shown(watched, tmp_path):
    """``with shown(plot) as frame``: the plot in the page of somebody else."""

    def show(page, plotted):
        path = tmp_path / "notebook.html"
        path.write_text(f"<!doctype html><title>notebook</title><body>{plotted._repr_html_()}", encoding="utf-8")
        page.goto(path.as_uri())
        assert page.locator("iframe").count() == 1
        assert page.locator("body > b").count() == 0
        return page.frame_locator("iframe")

    return show


def test_a_metric_and_the_way_to_the_other_pages(watched, shown, results):
    with watched() as page:
        frame = shown(page, plot(results, METRIC))
        frame.get_by_role("heading", level=1).filter(has_text="ndcg@10").wait_for()
        assert METRIC in frame.get_by_role("heading", level=1).inner_text()
        frame.locator("svg").first.wait_for()
        for name in ("Overview", "Questions", "Errors", "Compare", "Metrics"):
            link = frame.get_by_role("navigation").get_by_role("link", name=name, exact=True)
            link.click()
            frame.locator(f'nav a[aria-current="page"]:text-is("{name}")').wait_for()
        assert page.url.endswith("notebook.html")


def test_the_differences_of_two_runs(watched, shown, results):
    with watched(colors="dark") as page:
        frame = shown(page, plot([*results, results[0]], METRIC, show="differences"))
        frame.locator('nav a[aria-current="page"]:text-is("Compare")').wait_for()
        frame.locator("svg").first.wait_for()
        text = frame.locator("main").inner_text()
        assert compare(*results).of(METRIC).verdict in text
        assert one_line(results[0].name) in text
