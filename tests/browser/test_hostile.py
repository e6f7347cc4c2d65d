"""Names and texts that mean harm are shown as texts, and every address made of them leads where it says."""

from datetime import UTC, datetime
from urllib.parse import quote

import pytest

from fastrag.benchmark import BenchmarkResult, DistributionSummary, SampleResult, StatusCounts, write_report
from fastrag.benchmark.report.texts import one_line

from .pages import cells, follow, go, heading, open_at, settled
from .real_runs import EVIL, HOSTILE_METRICS, Reported


@pytest.fixture
def opened(watched, hostile):
    with watched() as page:
        open_at(page, hostile)
        yield page
        assert page.evaluate("() => window.hurt") is None


def visible(text):
    return " ".join(one_line(text, most=10_000).split())


def squeezed(text):
    return " ".join(text.split())


def test_the_overview_names_every_run_and_metric(opened, hostile):
    labels = [squeezed(row[0].split("\n")[0]) for row in cells(opened.locator(".run-facts"))[1:]]
    assert labels == [visible(label) for label in hostile.labels]
    assert labels[-3:] == ["(unnamed)", "same", "same (2)"]
    names = [squeezed(text) for text in opened.locator(".metric-table tr.group a").all_inner_texts()]
    assert names == [visible(name) for name in HOSTILE_METRICS]
    rows = [row for row in cells(opened.locator(".metric-table")) if len(row) > 4]
    # Every second run has all four metrics, the others one: none has a "constructor" that it was born with.
    assert len(rows) - 1 == 7 * 4 + 7


@pytest.mark.parametrize("metric", HOSTILE_METRICS)
def test_metrics(opened, metric):
    follow(opened, opened.locator(".metric-table tr.group a").nth(HOSTILE_METRICS.index(metric)))
    assert squeezed(heading(opened)) == visible(metric)
    rows = cells(opened.locator("section[aria-labelledby=means] table"))
    assert len(rows) == (15 if metric == HOSTILE_METRICS[3] else 8)


def test_every_run_has_questions_at_its_address(opened, hostile):
    for run, label in enumerate(hostile.labels):
        number = run + 1
        go(opened, f"#{quote(label, safe='')}/{number}")
        assert heading(opened) == f"Question {number}"
        evil = f"{EVIL[run]} {run}" if run else EVIL[run]
        shown = squeezed(opened.locator(".asked").inner_text())
        assert shown == visible(evil)
        badge = opened.locator("article.here h3")
        assert squeezed(badge.inner_text()).endswith("from the link")
        assert opened.locator("article").first.get_attribute("class") == "here"


def test_addresses_are_opened_from_outside(watched, hostile):
    for label in ("#", "/compare", "..", "__proto__", hostile.labels[0], hostile.labels[6]):
        with watched() as page:
            open_at(page, hostile, f"#{quote(label, safe='')}/3")
            assert heading(page) == "Question 3"


def test_runs_are_compared_whatever_their_names(opened, hostile):
    go(opened, "#/questions")
    follow(opened, opened.get_by_role("link", name="Compare"))
    labels = hostile.labels
    for run in (3, 4, 8, 13):
        opened.get_by_label("Candidate", exact=True).select_option(labels[run])
        opened.wait_for_function("label => location.hash.split('/')[3] === label", arg=quote(labels[run], safe="()"))
        go(opened, opened.evaluate("() => location.hash"))
        metrics = [squeezed(row[0]) for row in cells(opened.locator("table.comparison"))[1:]]
        both = HOSTILE_METRICS if run % 2 == 0 else HOSTILE_METRICS[3:]
        assert metrics == [f"{visible(name)} higher is better" for name in both]
        assert opened.locator(".virtual-table tbody tr").count() == len(EVIL)


def test_no_uri_of_a_source_is_a_link_that_runs(opened, hostile):
    for number in range(1, len(EVIL) + 1):
        go(opened, f"#metric/{number}")
        links = opened.locator(".sources a").evaluate_all("links => links.map(link => [link.protocol, link.rel])")
        assert {tuple(link) for link in links} <= {("https:", "noreferrer noopener")}
        if number != 1 + EVIL.index("javascript:window.hurt=1"):  # there it is the id, too
            assert opened.locator(".sources li").first.locator(".uri").inner_text() == "javascript:window.hurt=1"


def test_a_very_long_answer_is_cut_until_it_is_asked_for(opened):
    go(opened, f"#{quote(EVIL[0], safe='')}/13")
    answer = opened.locator("article.here .answer .long-text")
    assert len(answer.inner_text()) < 10_000
    answer.get_by_role("button", name="Show all 1,048,576 characters").click()
    opened.wait_for_function("() => document.querySelector('article.here .answer').textContent.length > 1_000_000")
    assert len(answer.text_content()) == 1_048_576


def test_errors_are_texts(opened):
    go(opened, "#/errors")
    opened.evaluate("() => { for (const one of document.querySelectorAll('main details')) one.open = true }")
    opened.wait_for_selector(".error-group .examples a")
    text = squeezed(opened.locator("main").inner_text())
    for evil in EVIL[:5]:
        assert visible(f"{evil}: {evil}") in text


def test_nothing_is_found_where_only_objects_have_it(opened):
    for address, said in (
        ("#constructor/1", "Question 1"),
        ("#toString/1", "Not in this report"),
        ("#/metric/toString", "Not in this report"),
        ("#/metric/hasOwnProperty", "Not in this report"),
    ):
        go(opened, address)
        assert heading(opened) == said


@pytest.mark.parametrize("place", ["name", "answer", "metric"])
def test_half_a_character_is_shown(written, watched, place):
    """A lone surrogate, which has no UTF-8 and no place in an address, but which JSON can hold."""
    half = "half \ud83d of one"
    sample = SampleResult(
        "q", "successful", {half if place == "metric" else "m": 1.0}, answer=half if place == "answer" else "a"
    )
    summary = {name: DistributionSummary.of([1.0]) for name in sample.scores}
    result = BenchmarkResult(
        half if place == "name" else "r",
        datetime(2026, 11, 1, tzinfo=UTC),
        StatusCounts(1, 0, 0),
        summary,
        [sample],
        1.0,
        dict.fromkeys(summary, True),
    )

    def make(folder):
        result.save(folder / "r.json")
        return Reported(folder, [folder / "r.json"])

    report = written(make)
    with watched() as page:
        open_at(page, report)
        for address in ("#/questions", "#/errors", "#/"):
            go(page, address)
            assert heading(page) in ("Questions", "Errors", "1 run on 1 question")
        follow(page, page.locator(".metric-table tr.group a"))
        go(page, "#/questions")
        follow(page, page.locator(".virtual-table tbody a"))
        assert heading(page) == "Question 1"


def test_an_answer_with_very_many_sources_shows_the_first_until_asked(watched, tmp_path):
    sample = SampleResult("q", "successful", {"m": 1.0}, retrieved_ids=[f"d{n}" for n in range(5_000)])
    sample.retrieved_uris = [""] * 5_000
    summary = {"m": DistributionSummary.of([1.0])}
    result = BenchmarkResult("many", datetime.now(UTC), StatusCounts(1, 0, 0), summary, [sample], 1.0, {"m": True})
    write_report([result], tmp_path / "r.html")
    with watched() as page:
        page.goto((tmp_path / "r.html").as_uri() + "#many/1")
        settled(page)
        assert page.locator(".sources > li").count() == 200
        page.get_by_role("button", name="Show all 5,000 sources").click()
        page.locator(".sources > li").nth(4_999).wait_for(state="attached")
        assert "d4999" in page.locator(".sources > li").last.inner_text()
        page.evaluate("location.hash = '#many/0x1'")
        page.get_by_role("heading", name="Not in this report").wait_for()
