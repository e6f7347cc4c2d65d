"""Notebooks show the rows of the terminal's tables as HTML in which nothing but text comes from elsewhere."""

import re
from html.parser import HTMLParser

import pytest

from fastrag.benchmark import compare, rank
from fastrag.benchmark.report.comparison_text import comparison_sheet, comparison_text
from fastrag.benchmark.report.notebook.tables import sheet_html
from fastrag.benchmark.report.ranking_text import ranking_sheet
from fastrag.benchmark.report.sheets import Sheet
from fastrag.benchmark.report.tables import Column
from fastrag.benchmark.report.terminal import results_sheet
from fastrag.benchmark.report.texts import one_line

HOSTILE = [
    "<script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    "</table></div><b>bold</b>",
    "\" onmouseover='x' &amp; {{ 7*7 }} {% raw %}",
    "line\nbreak \x1b[31m \u202egnp.exe",
    "$x$ `code` [link](http://x.y)",
]
TAGS = {
    "div", "style", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "ul", "li",
}  # fmt: skip


class Page(HTMLParser):
    """The texts of each kind of element, and everything that is markup."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.attributes, self.cells, self.texts = [], set(), set(), [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open or "th" in self.open:
            self.cells[-1] += data
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self):
        return "".join(self.texts)


def records_of(make_result, name):
    scores = [0.2, 0.5, 0.3, 0.25, 0.6, 0.1, 0.7, 0.4]
    results = [
        make_result(run, **{name: [score + more for score in scores[:-1]] + ["errored"], "latency": scores})
        for run, more in ((name, 0.0), (f"{name} 2", 0.25))
    ]
    for result in results:
        result.samples[-1].error = f"ValueError: {name}"
    return results[0], compare(*results, min_coverage=0.5), rank(results, name, min_coverage=0.5)


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_names_are_they_are_shown_as_text(make_result, name):
    for record in records_of(make_result, name):
        page = Page(record._repr_html_())
        assert page.tags <= TAGS
        assert page.attributes <= {"class", "scope", "colspan", "open"}
        assert one_line(name) in page.text
        assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", page.text)


def test_the_rows_are_those_of_the_terminal(make_result):
    result, comparison, ranking = records_of(make_result, "ndcg")
    for record, sheet in (
        (result, results_sheet([result])),
        (comparison, comparison_sheet(comparison)),
        (ranking, ranking_sheet(ranking)),
    ):
        cells = Page(record._repr_html_()).cells
        expected = [column.heading for column in sheet.columns]
        for row in sheet.rows:
            expected += [row] if isinstance(row, str) else list(row)
        assert cells == expected
        text = " ".join(Page(record._repr_html_()).text.split())
        for line in (*sheet.headlines, *sheet.legend, *sheet.warnings, *sheet.notes):
            assert " ".join(line.split()) in text


def test_as_text_they_are_the_tables_of_the_terminal(make_result):
    result, comparison, ranking = records_of(make_result, "ndcg")
    assert str(comparison) == comparison_text(comparison).rstrip("\n")
    assert str(result).startswith("run ")
    assert "ndcg 2" not in str(result)
    assert str(ranking).startswith("best by ndcg: ndcg 2\n")
    for record in (result, comparison, ranking):
        assert max(map(len, str(record).splitlines()[:6])) <= 100
        assert "\x1b" not in str(record)


def test_reprs_stay_short_and_on_one_line(make_result):
    scores = [0.5] * 1000
    results = [
        make_result(f"run {i}\n\x1b[31m", mrr=scores, questions=[f"q{j}" * 50 for j in range(1000)]) for i in (1, 2)
    ]
    for record in (results[0], compare(*results), rank(results, "mrr")):
        assert len(repr(record)) < 700
        assert repr(record).isprintable()
        assert type(record).__name__ == repr(record).partition("(")[0]


def test_a_result_with_nothing_in_it_has_its_texts(make_result):
    result = make_result("r", mrr=[])
    assert "0 questions" in str(result)
    assert "0 questions" in Page(result._repr_html_()).text
    result.summary, result.higher_is_better = {}, {}
    assert "0 questions" in str(result)
    assert "0 questions" in Page(result._repr_html_()).text


def test_many_notes_are_folded_and_more_are_counted():
    def page(count):
        return Page(sheet_html(Sheet([Column("run", folds=True)], [("r",)], [], [f"note {i}" for i in range(count)])))

    assert "open" in page(8).attributes
    assert "open" not in page(9).attributes
    assert "details" not in page(0).tags
    assert "note 99" in page(130).text
    assert "note 100" not in page(130).text
    assert "and 30 more" in page(130).text


def test_styles_are_for_nothing_else():
    html = sheet_html(Sheet([Column("run")], [("r",)], [], []))
    [styles] = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    selectors = [part.strip() for rule in re.findall(r"([^{}]+)\{", styles) for part in rule.split(",")]
    assert selectors
    assert all(re.match(r"\.fastrag\b", selector) for selector in selectors)
    # Whatever the notebook's colours are: nothing is drawn in one of its own.
    assert set(re.findall(r"(?<![-\w])(?:color|background|border-bottom): ([^;]+);", styles)) <= {
        "inherit",
        "1px solid currentColor",
    }
