"""Every page, reached as readers reach it: by clicks, by keys alone, by addresses."""

import pytest

from fastrag.benchmark import read_judgements, read_outcomes
from fastrag.benchmark.judging.judgement_file import judgements_path
from fastrag.benchmark.outcome_file import outcomes_path

from .pages import cells, drawn, follow, go, heading, open_at, settled


@pytest.fixture(scope="module")
def opened(browser, real):
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    open_at(page, real)
    yield page
    page.context.close()


def test_every_page_is_reached_by_clicking(watched, real):
    with watched() as page:
        open_at(page, real)
        assert heading(page) == "6 runs on 60 questions"
        assert page.title() == real.overview["title"]
        follow(page, page.locator(".metric-table").get_by_role("link", name="mrr"))
        assert heading(page) == "mrr"
        assert page.title() == f"mrr - {real.overview['title']}"
        follow(page, page.get_by_role("link", name="Compare"))
        assert heading(page).split() == ["hybrid", "compared", "with", "keywords"]
        page.get_by_label("Candidate", exact=True).select_option("repeated")
        page.wait_for_function("() => location.hash.includes('repeated')")
        settled(page)
        follow(page, page.locator("table.comparison").get_by_role("link", name="faithfulness"))
        assert heading(page).split() == ["repeated", "compared", "with", "keywords"]
        assert page.locator("#differences").inner_text() == "Differences of faithfulness"
        follow(page, page.locator(".virtual-table tbody a").nth(3))
        assert (heading(page), page.url.partition("#")[2]) == ("Question 4", "repeated/7")
        page.go_back()
        settled(page)
        assert "compared with" in heading(page).replace("\n", " ")
        follow(page, page.get_by_role("link", name="Questions"))
        assert heading(page) == "Questions"
        follow(page, page.locator(".virtual-table tbody a").first)
        assert heading(page) == "Question 1"
        follow(page, page.get_by_role("link", name="Next"))
        assert heading(page) == "Question 2"
        follow(page, page.get_by_role("link", name="Errors"))
        assert heading(page) == "Errors"
        page.locator(".error-group summary").first.click()
        follow(page, page.locator(".error-group .examples a").first)
        assert (heading(page), page.url.partition("#")[2]) == ("Question 5", "keywords/5")
        follow(page, page.get_by_role("link", name="Overview"))
        assert heading(page) == "6 runs on 60 questions"
        follow(page, page.locator("main").get_by_role("link", name="failures in"))
        assert heading(page) == "Errors"


def focused(page):
    return page.evaluate("() => document.activeElement.innerText.trim() || document.activeElement.tagName")


def tab_to(page, text):
    for _ in range(60):
        page.keyboard.press("Tab")
        if focused(page).split("\n")[0] == text:
            return
    pytest.fail(f"the Tab key does not come to {text!r}")


def test_keys_alone_reach_and_operate_everything(watched, real):
    with watched() as page:
        open_at(page, real)
        page.keyboard.press("Tab")
        assert focused(page) == "Skip to the content"
        page.keyboard.press("Enter")
        assert page.evaluate("() => document.activeElement.id") == "main"
        assert page.url == real.url
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Shift+Tab")
        assert focused(page) == "Errors"
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Enter")
        page.wait_for_function("() => location.hash === '#/questions'")
        settled(page)
        drawn(page)
        # After a change of pages, one goes on at its beginning.
        assert page.evaluate("() => document.activeElement.id") == "main"
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.type("town 1")
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        drawn(page)
        assert page.locator(".show-only input").first.is_checked()
        assert page.locator(".shown").inner_text() == "1 of 60 questions"
        page.keyboard.press("Space")
        drawn(page)
        assert page.locator(".shown").inner_text() == "15 of 60 questions"
        tab_to(page, "keywords")
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        drawn(page)
        column = page.get_by_role("columnheader", name="keywords")
        assert column.get_attribute("aria-sort") == "descending"
        # All rows together are one stop of the Tab key.
        for _ in range(6):
            page.keyboard.press("Tab")
        rows = page.locator(".virtual-table tbody tr")
        assert focused(page) == rows.nth(0).locator("a").inner_text()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        drawn(page)
        assert focused(page) == rows.nth(2).locator("a").inner_text()
        page.keyboard.press("End")
        drawn(page)
        last = focused(page)
        assert page.evaluate("() => document.activeElement.closest('tr').ariaRowIndex") == "16"
        page.keyboard.press("Home")
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.querySelector('h1')?.innerText.startsWith('Question ')")
        settled(page)
        assert page.locator(".asked").inner_text() == last
        first = heading(page)
        page.keyboard.press("k")
        page.wait_for_function(
            "text => ![undefined, text].includes(document.querySelector('h1')?.innerText)", arg=first
        )
        page.keyboard.press("j")
        page.wait_for_function("text => document.querySelector('h1')?.innerText === text", arg=first)
        for _ in range(3):
            page.go_back()
        settled(page)
        drawn(page)
        # Who comes back finds the row, the words and the order.
        assert heading(page) == "Questions"
        assert focused(page) == last
        assert page.locator(".shown").inner_text() == "15 of 60 questions"
        assert column.get_attribute("aria-sort") == "descending"
        # Keys of one letter can be turned off, and stay so.
        go(page, "#keywords/5")
        fifth = heading(page)
        page.get_by_role("button", name="Keys j and k: on").press("Enter")
        page.get_by_role("button", name="Keys j and k: off").wait_for()
        page.keyboard.press("j")
        assert heading(page) == fifth
        # Keys that are typed into a field are letters there.
        go(page, "#/questions")
        page.get_by_label("Search the questions").fill("")
        page.get_by_label("Search the questions").press("j")
        assert heading(page) == "Questions"


def test_the_rows_of_what_failed_open_by_keys(watched, real):
    with watched() as page:
        open_at(page, real, "#/errors")
        page.locator(".error-group summary").first.focus()
        page.keyboard.press("Enter")
        page.wait_for_selector(".error-group .examples a")
        page.keyboard.press("Tab")
        assert "On which river lies town" in focused(page)


PAGES = ["#/", "#/metric/mrr", "#/compare", "#/questions", "#/errors", "#keywords/5", "#repeated/6", "#nobody/1"]


@pytest.mark.parametrize("address", PAGES)
def test_every_page_says_what_is_partial(opened, real, address):
    go(opened, address)
    assert opened.locator("aside.warnings").inner_text() == real.reported.is_partial


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("#nobody/1", "There is no run nobody."),
        ("#keywords/61", "keywords has 60 samples: there is no number 61."),
        ("#keywords/0", "There is no page #keywords/0."),
        ("#keywords/1.5", "There is no page #keywords/1.5."),
        ("#keywords/1/2", "There is no page #keywords/1/2."),
        ("#keywords", "There is no page #keywords."),
        ("#/metric/none", "No run has a metric none."),
        ("#/metric/", "No run has a metric (empty)."),
        ("#/compare/keywords/nobody", "There is no run nobody to compare."),
        ("#/compare/keywords/keywords", "A run is not compared with itself."),
        ("#/nowhere", "There is no page #/nowhere."),
        ("#%E0%A4%A", "There is no page #%E0%A4%A."),
        ("#/toString", "There is no page #/toString."),
    ],
)
def test_addresses_that_lead_nowhere(opened, address, said):
    go(opened, address)
    assert heading(opened) == "Not in this report"
    assert " ".join(opened.locator("main p").first.inner_text().split()) == said
    follow(opened, opened.get_by_role("link", name="Go to the overview"))
    assert heading(opened) == "6 runs on 60 questions"


def test_an_address_is_opened_directly(watched, real):
    with watched() as page:
        open_at(page, real, "#hybrid%20(2)/8")
        assert heading(page) == "Question 8"
        assert page.locator("article.here h3").inner_text().split("\n")[0].strip() == "hybrid (2)"
    with watched() as page:
        open_at(page, real, "#/compare/keywords/repeated/token_f1")
        assert page.locator("#differences").inner_text() == "Differences of token_f1"


def test_errors_are_counted_by_kind_and_run(opened, real):
    go(opened, "#/errors")
    groups = real.overview["errors"]
    failures = [group for group in groups if group["kind"] != "not_applicable"]
    counted = {}
    for group in failures:
        for run, times in enumerate(group["counts"]):
            counted[group["kind"], run] = counted.get((group["kind"], run), 0) + times
    (_, *kinds), *rows = cells(opened.locator("main table").first)
    names = {"errored": "errored", "not_measured": "not measured", "metric_error": "metric failed"}
    names["judge_unparseable"] = "judge not readable"
    assert sorted(kinds) == sorted(names[kind] for kind in {group["kind"] for group in failures})
    for run, (label, *counts) in enumerate(rows):
        assert label == real.labels[run]
        assert dict(zip(kinds, counts, strict=True)) == {
            names[kind]: str(counted[kind, run]) for kind in {group["kind"] for group in failures}
        }
    # From what the runs were made to do: four towns fail for keywords, one for both hybrids, one before it broke off.
    assert [counted["errored", run] for run in range(6)] == [4, 1, 1, 0, 0, 1]
    entries = opened.locator(".error-group")
    assert entries.count() == len(groups)
    shown = sorted(text.split("×")[0].strip() for text in entries.locator(".times").all_inner_texts())
    assert shown == sorted(str(sum(group["counts"])) for group in groups)
    entry = entries.filter(has_text="ConnectionError")
    assert entry.count() == 1
    entry.locator("summary").click()
    opened.wait_for_selector(".error-group .examples a")
    links = entry.locator(".examples a")
    assert links.count() == 7
    assert links.first.get_attribute("href") == "#keywords/5"
    assert "On which river lies town 4?" in links.first.inner_text()


def squeezed(text):
    return " ".join(text.split())


@pytest.mark.parametrize("number", [0, 1, 5, 8, 19, 28])
def test_a_question_shows_all_that_was_kept(opened, real, number):
    go(opened, f"#keywords/{number + 1}")
    sample = real.reported.samples[number]
    assert opened.locator(".asked").inner_text() == sample.question
    facts = squeezed(opened.locator("section[aria-labelledby=sample]").inner_text())
    assert sample.reference_answer is None or sample.reference_answer in facts
    assert ("Reference answer" in facts) == (sample.reference_answer is not None)
    for fact in (*sample.relevant_ids, f"Sample {sample.id}", *map(str, sample.metadata.values())):
        assert fact in facts
    run_of = {
        text.strip(): place for place, text in enumerate(opened.locator("article h3 .run-name").all_inner_texts())
    }
    for path, result, label in zip(real.reported.paths, real.reported.results, real.labels, strict=False):
        position = number * (len(result.samples) // 60)
        outcome = read_outcomes(outcomes_path(path)).by_position[position]
        one = result.samples[position]
        article = opened.locator("article").nth(run_of[label]).locator(".result").first
        text = squeezed(article.inner_text())
        assert one.status in text
        if one.error is not None:
            assert squeezed(one.error) in text
        if one.answer:
            assert squeezed(article.locator(".answer").inner_text()) == squeezed(one.answer)
        sources = article.locator(".sources > li")
        assert sources.count() == len(outcome.sources)
        for place, source in enumerate(outcome.sources):
            shown = sources.nth(place)
            line = squeezed(shown.locator("p").first.inner_text())
            is_relevant = source.id in sample.relevant_ids
            mark = "✓ relevant" if is_relevant else "not relevant"
            assert line == f"{source.id} {mark}, score {source.metadata['score']:.4f} {source.uri}"
            assert shown.locator(".long-text").text_content() == source.text
        missed = set(sample.relevant_ids) - {source.id for source in outcome.sources}
        if not outcome.sources:
            # It failed before it could miss anything.
            assert article.locator(".missed").count() == 0
        else:
            assert article.locator(".missed").count() == bool(missed)
            assert set(article.locator(".missed li").all_inner_texts()) == missed
        if judgements_path(path).exists():
            said = read_judgements(judgements_path(path)).by_position.get(position, {})
            assert article.locator(".judgement").count() == len(said)
            for judgement in said.values():
                expect_judgement(article.locator(".judgement"), judgement)


def expect_judgement(shown, judgement):
    text = squeezed(shown.inner_text())
    score = "not measured" if judgement.score is None else f"{judgement.score:.3f}"
    assert text.startswith(f"{judgement.metric}: {score}")
    if judgement.missing is not None:
        # Once, however few opinions there are.
        assert text.count(f"Not measured: {judgement.missing.kind}") == 1
    for given in judgement.opinions:
        assert given.model in text
        (_, *rows) = cells(shown.locator("table")) if given.opinion.claims else [None]
        for row, claim in zip(rows, given.opinion.claims, strict=True):
            assert row[0].split("\n") == [claim.text, claim.reason]
            numbers = ", ".join(map(str, claim.sources))
            assert row[1].split("\n") == [claim.verdict, *([f"source {numbers}"] if claim.sources else [])]
        replies = shown.locator("details .long-text").all_text_contents()
        assert replies == list(given.unreadable)


def test_repeats_stand_one_after_the_other(opened, real):
    go(opened, "#repeated/12")
    assert heading(opened) == "Question 6"
    here = opened.locator("article.here")
    assert [squeezed(text) for text in here.locator(".repeat").all_inner_texts()] == [
        "Repeat 1 of 2 (number 11 of the run)",
        "Repeat 2 of 2 (number 12 of the run) from the link",
    ]
    both = real.reported.results[3].samples[10:12]
    row = next(row for row in cells(opened.locator("table.scores")) if row[0] == "recall@4")
    assert row[1] == ", ".join(f"{sample.scores['recall@4']:.3f}" for sample in both)
    # Questions before and after are other questions, not repeats of this one.
    assert opened.get_by_role("link", name="Next").get_attribute("href") == "#repeated/13"
    assert opened.get_by_role("link", name="Previous").get_attribute("href") == "#repeated/10"
