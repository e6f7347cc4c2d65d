"""A plot is a frame that holds a whole report and can do nothing but show it."""

from html.parser import HTMLParser

import pytest

from fastrag.benchmark import plot
from fastrag.benchmark.report.html import assets
from fastrag.errors import ConfigurationError

NAME = "</iframe><script>alert(1)</script> \"' &amp; {{ 7*7 }}"


@pytest.fixture(autouse=True)
def built(tmp_path, monkeypatch):
    """Pages that stand for the built ones, which a clone need not have."""
    texts = {"report.js": "0;", "report.css": "", "licenses.md": "none"}
    monkeypatch.setattr(assets, "_read", lambda name, ends: texts[name])


def parsed(html):
    tags = []

    class Parser(HTMLParser):
        def handle_starttag(self, tag, attrs):
            tags.append((tag, dict(attrs)))

    Parser().feed(html)
    return tags


@pytest.mark.parametrize("height_px", [100, 900])
def test_one_frame_and_nothing_else(make_result, height_px):
    results = [make_result(NAME, **{NAME: [0.2, 0.5]}), make_result("b", **{NAME: [0.5, None]})]
    shown = plot(results, NAME, height_px=height_px)
    [(tag, attributes)] = parsed(shown._repr_html_())
    assert (tag, attributes["sandbox"], attributes["height"]) == ("iframe", "allow-scripts", str(height_px))
    assert set(attributes) == {"sandbox", "title", "width", "height", "style", "srcdoc"}
    inner = parsed(attributes["srcdoc"])
    [(_, page)] = [one for one in inner if one[0] == "html"]
    assert page["data-page"].startswith("#/metric/%3C%2Fiframe%3E%3Cscript%3E")
    assert ("script", {}) in inner
    assert not any("alert" in str(attributes) for tag, attributes in inner if tag == "script")
    assert repr(shown).startswith("<Plot of </iframe>")
    assert repr(shown).isprintable()


def test_it_opens_at_what_was_asked_for(make_result):
    one, two = make_result("a/b", mrr=[0.2, 0.5]), make_result("a/b", mrr=[0.3, 0.5])
    html = plot([one, two], "mrr", show="differences")._html
    assert 'data-page="#/compare/a%2Fb/a%2Fb%20%282%29/mrr"' in html
    assert 'data-page="#/metric/mrr"' in plot(one, "mrr")._html
    other = make_result("c", recall=[0.5])
    assert 'data-page="#/metric/mrr"' in plot([other, one], "mrr")._html


@pytest.mark.parametrize(
    ("metric", "options", "message"),
    [
        ("ndcg", {}, "does not have the metric 'ndcg'; it has: mrr"),
        ("mrr", {"show": "differences"}, "only one"),
        ("mrr", {"show": "x"}, "one of scores, differences, not 'x'"),
        ("mrr", {"height_px": 99}, "at least 100, not 99"),
        ("mrr", {"height_px": True}, "height_px"),
    ],
)
def test_what_cannot_be_plotted_is_refused(make_result, metric, options, message):
    with pytest.raises(ConfigurationError, match=message):
        plot([make_result("r", mrr=[0.5])], metric, **options)


def test_without_results_there_is_none():
    with pytest.raises(ConfigurationError, match="no results"):
        plot([], "mrr")
