"""The page: what it allows, what it holds, and that nothing in the data becomes anything else."""

import base64
import doctest
import gzip
import hashlib
import itertools
import json
import re
import resource
from html.parser import HTMLParser
from pathlib import Path

import pytest

import fastrag.benchmark.report.html.assets as assets
from fastrag.benchmark import EvalSample, write_report, write_samples
from fastrag.benchmark.report.html import report_file
from fastrag.benchmark.report.html.page import page_html, shell_html, write_page
from fastrag.errors import ConfigurationError

HOSTILE = [
    "</title><script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "\"' onload=alert(1) x='",
    "{{ 7 * 7 }}{% raw %}",
    "\u202egnp.exe\x00\x1b[31m\ud800",
]
VOID = {"meta", "link", "br", "img"}


class Data:
    """What the page takes of a ReportData."""

    def __init__(self, name="run", parts=None):
        self.overview = overview(name)
        self.parts = {"overview": self.overview} | (parts or {"questions": {"texts": [name, "</script>"]}})

    def part_names(self):
        return iter(self.parts)

    def part(self, name):
        return json.dumps(self.parts[name]).encode()


def overview(name):
    coverage = {"measured": 999, "measurable": 1000, "asked": 1000, "reasons": {name: 1}, "share": 0.999}
    evidence = {"mean": 0.25, "interval": {"low": 0.2, "high": 0.3}, "questions": 999, "coverage": coverage}
    none = {"mean": None, "interval": None, "questions": 0, "coverage": coverage | {"measured": 0, "measurable": 0}}
    run = {
        "label": name,
        "duration_s": 12.34,
        "samples": 1000,
        "status": {"successful": 900, "errored": 1, "incomplete": 99},
        "partial": {"ended": 1000, "total": 5000},
        "metrics": {name: evidence, "latency_ms": none},
    }
    return {
        "title": name,
        "version": "1.2.3",
        "runs": [run, run | {"label": "other", "partial": None, "metrics": {name: none}}],
        "metrics": [
            {"name": name, "higher_is_better": True, "format": ".3f"},
            {"name": "latency_ms", "higher_is_better": False, "format": ".0f"},
        ],
        "warnings": [f"partial: {name}"],
    }


class Page(HTMLParser):
    """The elements of a page, as a browser without scripts sees them."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements = []
        self.open = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append({"tag": tag, "attributes": dict(attributes), "text": ""})
        if tag not in VOID:
            self.open.append(self.elements[-1])

    def handle_endtag(self, tag):
        assert self.open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, tag):
        return [element for element in self.elements if element["tag"] == tag]


@pytest.fixture(autouse=True)
def pages(request, built_pages):
    pass


def policy_of(page):
    [policy] = [m for m in page.all("meta") if m["attributes"].get("http-equiv") == "Content-Security-Policy"]
    return dict(directive.split(" ", 1) for directive in policy["attributes"]["content"].split("; "))


def digest(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_policy_allows_the_one_script_and_the_one_style_and_nothing_else():
    page = Page(page_html(Data()))
    [script] = [element for element in page.all("script") if element["attributes"] == {}]
    [style] = page.all("style")
    assert policy_of(page) == {
        "default-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "script-src": digest(script["text"]),
        "style-src": digest(style["text"]),
    }
    # It counts only for what comes after it.
    tags = [element["tag"] for element in page.elements]
    assert tags.index("style") > 4
    assert "http-equiv" in page.elements[3]["attributes"]
    assert [element["attributes"].get("type") for element in page.all("script")].count(None) == 1


def test_nothing_in_the_page_asks_for_anything():
    page = Page(page_html(Data()))
    assert {element["tag"] for element in page.elements} & {"link", "img", "iframe", "base", "form", "object"} == set()
    names = {name for element in page.elements for name in element["attributes"]}
    assert names <= {"lang", "data-parts", "charset", "http-equiv", "content", "name", "id", "scope", "colspan"} | {
        "type",
        "data-part",
    }


def test_the_parts_read_back():
    parts = {
        "overview": overview("r"),
        "questions": {"texts": ["</script>", "\u2028", "\u00fc"]},
        "details-0": {"x": [1]},
    }
    page = Page(page_html(Data(parts=parts)))
    found = {
        element["attributes"]["data-part"]: json.loads(gzip.decompress(base64.b64decode(element["text"])))
        for element in page.all("script")
        if "data-part" in element["attributes"]
    }
    assert found == parts
    assert list(found) == list(parts)
    # The script runs when the parts are there.
    assert page.all("script")[-1]["attributes"] == {}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_texts(name):
    harmless, page = Page(page_html(Data("run"))), Page(page_html(Data(name)))
    shape = [(element["tag"], element["attributes"].keys()) for element in page.elements]
    assert shape == [(element["tag"], element["attributes"].keys()) for element in harmless.elements]
    [title] = page.all("title")
    shown = name.encode("unicode_escape").decode() if not name.isprintable() else name
    assert title["text"] == shown
    assert f"partial: {shown}" in [element["text"] for element in page.all("p")]


def test_the_overview_is_there_for_readers_without_scripts():
    page = Page(page_html(Data("recall")))
    rows = [element["text"] for element in page.all("tr")]
    assert "recall0.2500.200 to 0.30099999 %" in rows
    assert "other--0-" in rows
    assert "latency_ms (lower is better)" in rows
    [runs] = page.all("ul")
    assert (
        "recall: 1000 questions in 12.3 s, 900 successful, 1 errored, 99 incomplete; partial: 1000 of 5000"
        in (runs["text"])
    )
    [body] = [element for element in page.all("div") if element["attributes"].get("id") == "report"]
    assert "recall" in body["text"]


def test_licences_of_what_is_bundled_are_in_the_page():
    [licences] = [e for e in Page(page_html(Data())).all("script") if e["attributes"].get("id") == "licences"]
    assert "preact" in licences["text"]
    assert "Permission is hereby granted" in licences["text"]


def test_the_same_data_give_the_same_bytes_at_any_time_and_in_any_way(tmp_path, monkeypatch):
    names = []
    times = itertools.count(1_000_000_000, 1000)
    monkeypatch.setattr("time.time", lambda: next(times))
    write_page(Data(), tmp_path / "a.html", on_part=names.append)
    assert (tmp_path / "a.html").read_text("utf-8") == page_html(Data()) == page_html(Data())
    assert names == ["overview", "questions"]


def test_it_is_written_part_by_part(tmp_path):
    """Not all parts before the first of them is written."""
    seen = []

    class Watched(Data):
        def part(self, name):
            # The temporary file is written to in the meantime.
            seen.append(sum(file.stat().st_size for file in tmp_path.iterdir()))
            return super().part(name)

    parts = {f"details-{i}": {"noise": hashlib.sha256(str(i).encode()).hexdigest() * 500} for i in range(400)}
    write_page(Watched(parts=parts), tmp_path / "a.html")
    assert seen[0] < seen[-1]


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(ConfigurationError, match="could not be written"):
            write_page(Data(), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(ConfigurationError, match="not a regular file"):
        write_page(Data(), Path("/dev/full"))
    with pytest.raises(ConfigurationError, match="could not be written: a name cannot have NUL in it"):
        write_page(Data(), tmp_path / "a\0b")


def test_an_error_while_a_part_is_made_leaves_the_old_file(tmp_path):
    class Broken(Data):
        def part(self, name):
            raise KeyError(name)

    (tmp_path / "report.html").write_text("old")
    with pytest.raises(KeyError):
        write_page(Broken(), tmp_path / "report.html")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_the_shell_asks_its_own_server_only():
    shell = shell_html("<i>results</i>")
    page = Page(shell.html)
    [html] = page.all("html")
    assert html["attributes"]["data-parts"] == "served"
    [title] = page.all("title")
    assert title["text"] == "<i>results</i>"
    directives = dict(directive.split(" ", 1) for directive in shell.policy.split("; "))
    assert directives["default-src"] == directives["frame-ancestors"] == "'none'"
    assert directives["connect-src"] == "'self'"
    [script] = [element for element in page.all("script") if element["attributes"] == {}]
    assert directives["script-src"] == digest(script["text"])


@pytest.mark.parametrize(
    ("file", "text"), [("report.js", "'</SCRIPT>'"), ("report.js", "a<!--b"), ("report.css", "</style")]
)
def test_a_script_that_would_end_itself_is_refused(tmp_path, monkeypatch, file, text):
    (tmp_path / "static").mkdir()
    for name in ("report.js", "report.css", "licenses.md"):
        (tmp_path / "static" / name).write_text(text if name == file else "x")
    monkeypatch.setattr(assets, "files", lambda package: tmp_path)
    with pytest.raises(ConfigurationError, match=re.escape(file)):
        assets.read_assets()


def test_pages_that_are_not_built_say_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setattr(assets, "files", lambda package: tmp_path)
    with pytest.raises(ConfigurationError, match=r"make frontend .*Node\.js 20\.19"):
        page_html(Data())


def test_write_report_writes_results_in_memory(tmp_path, monkeypatch, make_result):
    path = tmp_path / "new" / "report.html"
    write_report([make_result("a", [0.5, 0.25, None]), make_result("a", [0.5, 1.0, 0.75])], path, title="Two <runs>")
    page = Page(path.read_text("utf-8"))
    [title] = page.all("title")
    assert title["text"] == "Two <runs>"
    assert "a (2)" in [element["text"] for element in page.all("th")]
    for wrong in ([], ["run.json"], make_result("a", [0.5])):
        with pytest.raises(ConfigurationError):
            write_report(wrong, path)


def test_write_report_takes_samples_in_memory_or_in_a_file(tmp_path, make_result):
    result, known = make_result("a", [0.5, 0.25]), [EvalSample("q0", reference_answer="yes"), EvalSample("q1")]
    write_samples(tmp_path / "samples.jsonl", known)
    for number, samples in enumerate((known, tmp_path / "samples.jsonl", str(tmp_path / "samples.jsonl"))):
        write_report([result], tmp_path / f"{number}.html", samples=samples, margin=0.1)
    assert len({(tmp_path / f"{number}.html").read_bytes() for number in range(3)}) == 1
    with pytest.raises(ConfigurationError, match="absent"):
        write_report([result], tmp_path / "r.html", samples=tmp_path / "absent.jsonl")


def test_write_report_reads_what_lies_beside_a_saved_result(tmp_path, make_result):
    saved = make_result("saved", [0.5, 0.25])
    saved.save(tmp_path / "saved.json")
    (tmp_path / "saved.json.outcomes.jsonl").write_text("none of that")
    write_report([make_result("a", [0.5]), tmp_path / "saved.json", str(tmp_path / "saved.json")], tmp_path / "r.html")
    page = Page((tmp_path / "r.html").read_text("utf-8"))
    assert {"a", "saved", "saved (2)"} <= {element["text"] for element in page.all("th")}
    assert sum("saved.json.outcomes.jsonl" in element["text"] for element in page.all("p")) == 2


def test_its_example_runs(tmp_path, monkeypatch):
    """It is not run where all others are, for it needs the built pages."""
    monkeypatch.chdir(tmp_path)
    [test] = [test for test in doctest.DocTestFinder().find(report_file) if test.name.endswith(".write_report")]
    for example in test.examples:
        example.options.clear()
    assert doctest.DocTestRunner().run(test).failed == 0
    assert (tmp_path / "report.html").stat().st_size > 1000
