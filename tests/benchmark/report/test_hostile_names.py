"""Names from files come out of every report as the text they are: no markup, no emoji, no links, nothing unseen."""

import io
import json
import re
import unicodedata
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from fastrag.benchmark import compare, rank
from fastrag.benchmark.gate import gate
from fastrag.benchmark.report.comparison_json import comparison_dict
from fastrag.benchmark.report.comparison_text import comparison_text, print_comparison
from fastrag.benchmark.report.junit import junit_xml
from fastrag.benchmark.report.markdown import comparison_markdown, escape
from fastrag.benchmark.report.progress.display import run_display
from fastrag.benchmark.report.ranking_json import ranking_dict
from fastrag.benchmark.report.ranking_text import print_ranking
from fastrag.benchmark.report.results_json import results_dict
from fastrag.benchmark.report.terminal import print_results
from fastrag.benchmark.report.texts import one_line
from fastrag.benchmark.results import StatusCounts
from fastrag.benchmark.run import RunProgress

HOSTILE = [
    ":tada:",
    "a:+1:b",
    "GH-12",
    "gh-7x",
    "#12",
    "owner/repo#12",
    "@octocat",
    "-@team/x",
    "joe@0123abc",
    "a.b@example.com",
    "mailto:a@example.com",
    "xmpp:a@example.com",
    "https://example.com/x?y=1",
    "ftp://x.example",
    "www.example.com",
    "0123456789abcdef0123456789abcdef01234567",
    "a|b||c",
    "`code` ``x``",
    "```",
    "<script>alert(1)</script>",
    "<!-- x -->",
    "</details>",
    "&amp; &#64;",
    "[link](http://x.y) ![i](u) [^1] [x]: y",
    "**bold** _em_ __s__ ~~s~~",
    "$x$ and $$y$$",
    "# heading",
    "---",
    "- item",
    "+ item",
    "12. item",
    "> quote",
    "    code",
    "\\",
    "[red]markup[/red] [/]",
    "line\nbreak\r\nand\ttab",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\u202egnp.exe",
    "a\u2066b\u2069",
    "zero\u200bwidth\ufeff",
    "nul\x00 \ufffe \ue000",
    "\u2028line\u2029\x85",
]
RUNS = [pytest.param(name, id=str(number)) for number, name in enumerate(HOSTILE)]

# What GitHub looks for in the texts of a page once Markdown is done, and what its Markdown makes links of.
GITHUB = re.compile(
    r"(?:^|[^a-z0-9_])@[a-z0-9]"
    r"|#\d|\bgh-\d"
    r"|:[a-z0-9_+-]+:"
    r"|\b[0-9a-f]{40}\b|@[0-9a-f]{7,40}\b"
    r"|[a-z0-9._+-]+@[a-z0-9_-]+\.[a-z0-9]|(?:https?|ftp|mailto|xmpp):(?=//|\S)|\bwww\."
    r"|\$.",
    re.IGNORECASE | re.ASCII,
)


class Page(HTMLParser):
    """The texts of a page, each as it stands between two tags, and the tags."""

    def __init__(self, html):
        super().__init__()
        self.texts, self.tags = [], set()
        self.feed(html)

    def handle_data(self, data):
        self.texts.append(data)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    @property
    def text(self):
        return "".join(self.texts)


def page_of(markdown):
    return Page(MarkdownIt("gfm-like", {"linkify": False}).render(markdown))


def is_harmless(text):
    """Whether nothing in it steers a terminal, hides, or turns the direction of writing."""
    return not any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in text)


def hostile_results(make_result, name):
    scores = [0.2, 0.5, 0.3, 0.25, 0.6, 0.1, 0.7, 0.4]
    results = []
    for run, offset in ((name, 0.0), (f"{name} 2", 0.25)):
        result = make_result(
            run, **{name: [score + offset for score in scores]}, questions=[f"{name} {i}" for i in range(8)]
        )
        failed = result.samples[-1]
        failed.status, failed.scores, failed.error = "errored", {name: None}, f"ValueError: {name}"
        result.status = StatusCounts(7, 1, 0)
        results.append(result)
    # What only one of the two was asked or failed on is named, too.
    results[1].samples[-1].question = f"{name} only"
    return results


def printed(print_it, *arguments):
    """What a caller's own console gets, with rich's markup, emoji and highlighting at their defaults."""
    stream = io.StringIO()
    print_it(*arguments[:1], Console(file=stream, width=250), *arguments[1:])
    return stream.getvalue().rstrip("\n").replace("\n", " ")


@pytest.mark.parametrize("name", RUNS)
def test_in_texts(make_result, name):
    results = hostile_results(make_result, name)
    found = compare(*results, min_coverage=0.5)
    for text in (
        printed(print_results, results),
        printed(print_ranking, rank(results, name, min_coverage=0.5)),
        printed(print_ranking, rank(results, name, min_coverage=1)),
        printed(print_comparison, found, gate(found)),
        comparison_text(found, gate(found)).replace("\n", " "),
    ):
        assert is_harmless(text)
        assert one_line(name).strip() in text


@pytest.mark.parametrize("name", RUNS)
def test_in_markdown(make_result, name):
    found = compare(*hostile_results(make_result, name), min_coverage=0.5)
    page = page_of(comparison_markdown(found, gate(found)))
    assert page.tags <= {
        "h3", "table", "thead", "tbody", "tr", "th", "td", "strong", "details", "summary", "ul", "li", "p", "span",
    }  # fmt: skip
    assert [text for text in page.texts if GITHUB.search(text)] == []
    assert is_harmless(page.text.replace("\n", ""))
    assert page.text.count(one_line(name).strip()) >= 8
    cells = [
        "".join(child.content for child in token.children if child.type != "html_inline")
        for before, token in pairwise(MarkdownIt("gfm-like", {"linkify": False}).parse(comparison_markdown(found)))
        if before.type == "td_open"
    ]
    assert cells[:2] == [one_line(name).strip()] * 2


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("line", ["{}", "- {}", "### {}", "| {} |\n| --- |\n| {} |"])
def test_wherever_it_stands_in_markdown(name, line):
    page = page_of(line.replace("{}", escape(name)))
    assert [text for text in page.texts if GITHUB.search(text)] == []
    assert set(page.text.replace("\n", " ").strip().split()) == set(one_line(name).strip().split())


@pytest.mark.parametrize("name", RUNS)
def test_in_junit(make_result, name):
    found = compare(*hostile_results(make_result, name), min_coverage=0.5)
    text = junit_xml(found, gate(found))
    assert is_harmless(text.replace("\n", ""))
    [suite] = ElementTree.fromstring(text.encode("utf-8"))
    assert [case.get("classname") for case in suite] == [one_line(name)]
    assert [case.get("name") for case in suite] == [one_line(f"{name} 2")]


@pytest.mark.parametrize("name", RUNS)
def test_in_json_it_is_as_it_was(make_result, name):
    results = hostile_results(make_result, name)
    found = compare(*results, min_coverage=0.5)
    ranking = rank(results, name, min_coverage=0.5)
    for value in (comparison_dict(found, gate(found)), ranking_dict(ranking), results_dict(results)):
        text = json.dumps(value, allow_nan=False)
        assert text.isascii()
        assert is_harmless(text)
        assert json.loads(text) == value
    assert results_dict(results)["results"][0]["name"] == name


@pytest.mark.parametrize("on_terminal", [False, True])
@pytest.mark.parametrize("name", [":tada:", "[red]x[/red]", "\x1b]0;title\x07", "\u202egnp.exe"])
def test_in_a_run_s_progress(name, on_terminal, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: on_terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    with run_display(name, 1) as on_progress:
        on_progress(RunProgress(done=1, total=1, status=StatusCounts(1, 0, 0)))
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", capsys.readouterr().err)
    assert one_line(name) in shown
    assert is_harmless(re.sub(r"[\r\n]", "", shown))
