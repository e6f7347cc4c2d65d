"""Tables of questions: sorted and narrowed as Python would, and of any length."""

import pytest

from fastrag.benchmark import question_changes
from fastrag.benchmark.journal import read_partial

from .pages import drawn, follow, go, heading, open_at, sort_by, virtual_rows


@pytest.fixture(scope="module")
def opened(browser, real):
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    open_at(page, real)
    yield page
    page.context.close()


@pytest.fixture(scope="module")
def results(real):
    return [*real.reported.results, read_partial(real.reported.paths[-1])]


def means(result, metric):
    """Question -> (mean of its scores, worst status); the mean None where it has no score."""
    found = {}
    for sample in result.samples:
        scores, statuses = found.setdefault(sample.question, ([], []))
        statuses.append(sample.status)
        if sample.scores.get(metric) is not None:
            scores.append(sample.scores[metric])
    worst = ["successful", "incomplete", "errored"]
    return {
        question: (sum(scores) / len(scores) if scores else None, max(statuses, key=worst.index))
        for question, (scores, statuses) in found.items()
    }


def in_order(rows, key, *, descending):
    """Stable; what has no key stands last either way."""
    known = [row for row in rows if key(row) is not None]
    # Python's `reverse` keeps the order of equals, too.
    return sorted(known, key=key, reverse=descending) + [row for row in rows if key(row) is None]


def shown_cell(by_question, question):
    if question not in by_question:
        return "not asked"
    mean, status = by_question[question]
    if status == "errored":
        return "errored"
    if mean is None:
        return "not measured"
    return f"{'incomplete ' if status == 'incomplete' else ''}{mean:.3f}"


def texts_of(rows):
    return [[" ".join(cell.replace("◐", "").split()) for cell in row] for row in rows]


def test_all_questions_are_sorted_and_shown_as_python_has_them(opened, results, real):
    go(opened, "#/questions")
    opened.get_by_label("Scores by").select_option("token_f1")
    drawn(opened)
    by_run = [means(result, "token_f1") for result in results]
    expected = [
        [str(place + 1), sample.question, *(shown_cell(by_question, sample.question) for by_question in by_run)]
        for place, sample in enumerate(real.reported.samples)
    ]
    assert texts_of(virtual_rows(opened)) == expected
    for run in (0, 3, 5):
        for descending in (False, True):
            sort_by(opened, real.labels[run])
            key = {row[1]: by_run[run].get(row[1], (None,))[0] for row in expected}
            wanted = in_order(expected, lambda row, key=key: key[row[1]], descending=descending)
            assert texts_of(virtual_rows(opened)) == wanted
        # The third time it is as it was.
        sort_by(opened, real.labels[run])
        assert texts_of(virtual_rows(opened)) == expected
    sort_by(opened, "Question")
    assert texts_of(virtual_rows(opened)) == sorted(expected, key=lambda row: row[1])
    opened.get_by_label("Search the questions").fill("TOWN 2")
    drawn(opened)
    wanted = [row for row in sorted(expected, key=lambda row: row[1]) if "2" in row[1]]
    assert texts_of(virtual_rows(opened)) == wanted
    assert opened.locator(".shown").inner_text() == f"{len(wanted)} of 60 questions"
    opened.locator(".show-only label").filter(has_text="errored").click()
    drawn(opened)
    assert texts_of(virtual_rows(opened)) == [row for row in wanted if "errored" in row]
    opened.get_by_label("Search the questions").fill("no such words")
    drawn(opened)
    assert virtual_rows(opened) == []
    assert opened.locator(".shown").inner_text() == "0 of 60 questions"
    opened.get_by_label("Search the questions").fill("")
    opened.locator(".show-only label").filter(has_text="errored").click()
    sort_by(opened, "Question")
    sort_by(opened, "Question")


def test_compared_questions_are_sorted_and_narrowed(opened, results, real):
    go(opened, "#/compare/keywords/repeated/mrr")
    changes = {change.question: change for change in question_changes(results[0], results[3], "mrr")}

    def signed(value):
        return "-" if value is None else f"{value:+.3f}"

    expected, difference = [], {}
    for place, sample in enumerate(real.reported.samples):
        change = changes[sample.question]
        before, after = change.baseline_score, change.candidate_score
        difference[sample.question] = None if before is None or after is None else after - before
        scores = ["-" if score is None else f"{score:.3f}" for score in (before, after)]
        expected.append([str(place + 1), sample.question, *scores, signed(difference[sample.question]), change.change])

    def shown():
        return [[*row[:5], row[5].split(" ", 1)[1].strip()] for row in texts_of(virtual_rows(opened))]

    assert shown() == expected
    for descending in (False, True):
        sort_by(opened, "Difference")
        assert shown() == in_order(expected, lambda row: difference[row[1]], descending=descending)
    sort_by(opened, "Change")
    order = ["fixed", "broken", "flaky", "unchanged", "not measured"]
    assert shown() == sorted(expected, key=lambda row: order.index(row[5]))
    kinds = {row[5] for row in expected}
    assert {"fixed", "broken", "flaky", "unchanged", "not measured"} == kinds
    for kind in ("fixed", "flaky"):
        opened.locator(".show-only label").filter(has_text=kind).click()
        drawn(opened)
    wanted = [row for row in expected if row[5] in ("fixed", "flaky")]
    assert shown() == sorted(wanted, key=lambda row: order.index(row[5]))
    assert opened.locator(".shown").inner_text() == f"{len(wanted)} of 60 questions"


def dom_rows(page):
    return page.locator(".virtual-table tbody tr").count()


def scroll_to(page, share):
    page.evaluate(
        """share => {
            const one = document.querySelector(".virtual-table");
            one.scrollTop = share * (one.scrollHeight - one.clientHeight);
        }""",
        share,
    )
    drawn(page)


def test_ten_thousand_questions_of_six_runs(watched, large):
    with watched() as page:
        open_at(page, large)
        assert heading(page) == "6 runs on 10,000 questions"
        go(page, "#/questions")
        assert page.locator(".shown").inner_text() == "All 10,000 questions"
        assert page.locator(".virtual-table table").get_attribute("aria-rowcount") == "10001"
        most = 0
        for share in (0, 0.1, 0.37, 0.5, 0.83, 0.999, 1):
            scroll_to(page, share)
            most = max(most, dom_rows(page))
            assert page.evaluate(
                """() => {
                    const box = document.querySelector(".virtual-table").getBoundingClientRect();
                    const at = y => document.elementFromPoint(box.left + 30, y)?.closest("tbody tr");
                    return at(box.top + 80) !== null && at(box.bottom - 12) !== null;
                }"""
            )
        assert most < 300
        last = page.locator(".virtual-table tbody tr").last
        assert last.get_attribute("aria-rowindex") == "10001"
        cells = last.locator("th, td").all_inner_texts()
        assert cells[0].strip() == "10000"
        assert cells[1].strip().startswith("Question 9999: ")
        scores = [(9999 * 7919 + run * 104_729) % 1000 / 999 for run in range(6)]
        assert [cell.strip() for cell in cells[2:]] == [f"{score:.3f}" for score in scores]
        sort_by(page, "run 2")
        first = page.locator(".virtual-table tbody tr").first
        assert first.get_attribute("data-index") == "0"
        assert first.locator("td").nth(3).inner_text().strip() == "0.000"
        scroll_to(page, 1)
        # What was not measured stands last: every 500th question.
        assert page.locator(".virtual-table tbody tr").last.locator("td").nth(3).inner_text().strip() == "errored"
        page.get_by_label("Search the questions").fill("question 9999:")
        drawn(page)
        assert dom_rows(page) == 1
        follow(page, page.locator(".virtual-table tbody a"))
        assert heading(page) == "Question 10,000"
        assert page.locator("article").count() == 6
        go(page, "#/compare/run%200/run%205")
        scroll_to(page, 1)
        assert dom_rows(page) < 300
        assert page.locator(".virtual-table tbody tr").last.get_attribute("aria-rowindex") == "10001"


def test_the_end_of_a_table_lets_the_focus_go(opened):
    go(opened, "#/questions")
    opened.locator(".virtual-table tbody a[tabindex='0']").focus()
    opened.keyboard.press("End")
    drawn(opened)
    # There is no row further down.
    opened.keyboard.press("ArrowDown")
    drawn(opened)
    assert opened.locator(".virtual-table tbody tr:focus-within").get_attribute("aria-rowindex") == "61"
    search = opened.get_by_label("Search the questions")
    search.click()
    drawn(opened)
    assert search.evaluate("input => input === document.activeElement")
