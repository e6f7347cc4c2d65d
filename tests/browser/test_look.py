"""For everybody: no serious violation of what axe-core checks, phones, paper, dark and light, no movement."""

import pypdf
import pytest

from .pages import cells, drawn, go, open_at

PAGES = [
    "#/",
    "#/metric/faithfulness",
    "#/compare/keywords/repeated/mrr",
    "#/questions",
    "#/errors",
    "#keywords/5",
    "#repeated/6",
    "#x/1",
]


def opened_details(page):
    page.evaluate("() => { for (const one of document.querySelectorAll('main details')) one.open = true }")
    drawn(page)


@pytest.mark.parametrize("colors", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_no_page_has_serious_violations_or_scrolls_sideways(watched, real, violations, width, colors):
    with watched(width=width, colors=colors) as page:
        open_at(page, real)
        for address in PAGES:
            go(page, address)
            opened_details(page)
            assert violations(page) == [], address
            assert page.evaluate("() => document.documentElement.scrollWidth") <= width, address


def test_hostile_names_do_not_scroll_a_phone_sideways(watched, hostile):
    with watched(width=360) as page:
        open_at(page, hostile)
        for address in ("#/", "#/metric/constructor", "#/compare", "#/questions", "#/errors", "#%23/3", "#metric/13"):
            go(page, address)
            opened_details(page)
            assert page.evaluate("() => document.documentElement.scrollWidth") <= 360, address


def test_dark_and_light_are_chosen_and_remembered(watched, real):
    def back(page):
        return page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor")

    with watched(colors="dark") as page:
        open_at(page, real)
        dark = back(page)
        button = page.get_by_role("button", name="Theme")
        assert button.inner_text() == "Theme: auto"
        button.click()
        drawn(page)
        assert button.inner_text() == "Theme: light"
        light = back(page)
        assert light != dark
        page.reload()
        assert button.inner_text() == "Theme: light"
        assert back(page) == light
        button.click()
        drawn(page)
        assert (button.inner_text(), back(page)) == ("Theme: dark", dark)
        button.click()
        drawn(page)
        assert (button.inner_text(), back(page)) == ("Theme: auto", dark)
        page.emulate_media(color_scheme="light")
        assert back(page) == light


def test_nothing_moves_for_those_who_ask_for_it(watched, real):
    with watched(reduced_motion="reduce") as page:
        open_at(page, real)
        for address in PAGES[:-1]:
            go(page, address)
            opened_details(page)
            moving = page.evaluate(
                """() => [...document.querySelectorAll("*")].filter(one => {
                    const style = getComputedStyle(one);
                    const lasts = list => list.split(",").some(time => parseFloat(time) > 0.001);
                    const moves = style.animationName !== "none" && lasts(style.animationDuration);
                    return moves || lasts(style.transitionDuration) || style.scrollBehavior === "smooth";
                }).map(one => one.outerHTML.slice(0, 100)).concat(document.getAnimations().map(String))"""
            )
            assert moving == [], address


def printed(page, path):
    page.pdf(path=path)
    return " ".join(" ".join(sheet.extract_text() for sheet in pypdf.PdfReader(path).pages).split())


def test_paper_has_the_content_and_nothing_to_press(watched, real, tmp_path):
    with watched() as page:
        open_at(page, real)
        page.emulate_media(media="print")
        text = printed(page, tmp_path / "overview.pdf")
        for row in cells(page.locator(".metric-table"))[1:]:
            assert [part for cell in row for part in cell.split() if part not in text] == []
        assert "going is partial" in text
        assert "Theme" not in text
        go(page, "#/questions")
        text = printed(page, tmp_path / "questions.pdf")
        # All rows, not only those in view.
        assert all(sample.question.rstrip("?") in text for sample in real.reported.samples)
        assert "Search" not in text
        go(page, "#hybrid/5")
        text = printed(page, tmp_path / "question.pdf")
        assert "the river Elder" in text
        assert "judge_unparseable" in text


def test_dark_reports_are_printed_on_white(watched, real):
    with watched(colors="dark") as page:
        open_at(page, real)
        page.emulate_media(media="print", color_scheme="dark")
        colours = page.evaluate(
            "() => [getComputedStyle(document.body).color, getComputedStyle(document.documentElement).backgroundColor]"
        )
        light = [sum(map(int, colour.strip("rgba()").split(",")[:3])) for colour in colours]
        assert light[0] < 200
        assert light[1] > 700 or colours[1] == "rgba(0, 0, 0, 0)"
