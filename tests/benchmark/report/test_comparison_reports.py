"""A comparison as text, Markdown, JSON and JUnit: all its numbers, and nothing that a name in it could do."""

import io
import json
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt
from rich.cells import cell_len
from rich.console import Console

from fastrag.benchmark import compare
from fastrag.benchmark.gate import gate
from fastrag.benchmark.report.comparison_json import comparison_dict
from fastrag.benchmark.report.comparison_rows import rows_by_metric
from fastrag.benchmark.report.comparison_text import print_comparison
from fastrag.benchmark.report.junit import junit_xml
from fastrag.benchmark.report.markdown import comparison_markdown, escape

OLD = [0.2, 0.5, 0.3, 0.25, 0.6, 0.1, 0.7, 0.4]
NEW = [0.5, 0.75, 0.5, 0.5, 0.9, 0.3, 0.9, 0.75]
HOSTILE = "\x1b[31m[red]<b>&|`*_x_*`\n# [a](http://b.c) \x00\ud800\u202e@team"
EVERY_CHARACTER = "".join(map(chr, range(0x3000))) + "\ud800\udfff\ufffe\uffff\U0001f600"


def text_of(comparison, report=None, *, encoding="utf-8", width=80):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    print_comparison(comparison, Console(file=stream, width=width), report)
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


@pytest.fixture
def worse(make_result):
    """A candidate that lost, with a failure and a question more."""
    old = make_result("old", [*NEW * 2], questions=[f"q{i}" for i in range(16)])
    new = make_result("new", [*OLD * 2, "errored"], questions=[f"q{i}" for i in range(15)] + ["x", "q15"])
    return compare(old, new)


@pytest.fixture
def hostile(make_result):
    old, new = make_result(HOSTILE, OLD, questions=[HOSTILE] * 8), make_result(HOSTILE + "2", [*NEW[:7], "errored"])
    for result in (old, new):
        result.summary[HOSTILE] = result.summary.pop("ndcg@10")
        result.higher_is_better = {HOSTILE: True}
        for sample in result.samples:
            sample.scores = {HOSTILE: sample.scores["ndcg@10"]}
    for sample in new.samples:
        sample.question = HOSTILE
    return compare(old, new, min_coverage=0.5)


def test_the_table_has_both_means_the_difference_and_how_sure_it_is(make_result):
    found = compare(make_result("old", OLD), make_result("new", NEW))
    lines = text_of(found, gate(found)).splitlines()
    baseline, candidate = (next(line for line in lines if line.startswith(f"  {name}")) for name in ("old", "new"))
    assert baseline.split() == ["old", "0.381", "8", "100%", "(baseline)"]
    assert candidate.split() == ["new", "0.637", "+0.256", "+0.209..+0.303", "<0.001", "8", "100%", "better"]
    assert "ndcg@10, new: better: " in "\n".join(lines)
    assert "better on 8, same on 0, worse on 0" in " ".join(" ".join(lines).split())
    assert lines[-1] == "new against old: passed (1 check)"


def test_what_failed_or_was_not_asked_is_named(worse):
    text = " ".join(text_of(worse).split())
    assert "new: 16 of 17 measurable questions measured: 1 errored (ndcg@10)" in text
    assert 'only new failed on 1 question: "q15" (ndcg@10)' in text
    assert 'only new was asked 1 question: "x"' in text


def test_the_baseline_stands_once_above_its_candidates(make_result):
    runs = [make_result("old", latency_ms=[300.0, 20.0, 7.0], higher={"latency_ms": False})]
    runs += [
        make_result(f"new{i}", latency_ms=[scale * x for x in (310.0, 22.0, 8.0)]) for i, scale in ((1, 1), (2, 50))
    ]
    for run in runs:
        run.higher_is_better = {"latency_ms": False}
    lines = text_of(compare(*runs)).splitlines()
    assert [line.split()[:2] for line in lines[2:6]] == [
        ["latency_ms"], ["old", "109"], ["new1", "113"], ["new2", "5667"],
    ]  # fmt: skip


def test_the_direction_is_said_where_lower_is_better(make_result):
    assert "Lower is better" not in text_of(compare(make_result("old", OLD), make_result("new", NEW)))
    slow, fast = (
        make_result(name, a=scores, b=scores, c=scores, higher={"a": False, "c": False})
        for name, scores in (("slow", NEW), ("fast", OLD))
    )
    found = compare(slow, fast)
    assert "\nLower is better: a, c. " in text_of(found)
    assert "\nLower is better: a, c. " in comparison_markdown(found)


def test_what_cannot_be_measured_is_told_once_and_apart(make_result):
    old = make_result("old", a=[*OLD, "not applicable"], b=[*OLD, "not applicable"], c=[*OLD, 0.5])
    new = make_result("new", a=[*NEW, "not applicable"], b=[*NEW, "not applicable"], c=[*NEW, "not applicable"])
    text = text_of(compare(old, new), width=200)
    assert "\n1 of 9 questions cannot be measured by a, b: they lack what it needs\n" in text
    assert "\nnew: 1 of 9 questions cannot be measured by c: they lack what it needs\n" in text
    assert "100%" in text
    assert "measurable questions measured" not in text


def test_no_difference_says_what_could_have_been_shown(make_result):
    found = compare(make_result("old", OLD), make_result("new", [*NEW[:4], *[0.01] * 4]))
    text = " ".join(text_of(found).split())
    assert "no difference shown" in text
    assert f"8 questions could have shown {found.of('ndcg@10').smallest_detectable:.3f} or more" in text


@pytest.mark.parametrize("name", ["hybrid-rrf60-extractive", "n" * 150, "検索パイプライン基準実験" * 4])
@pytest.mark.parametrize(
    ("metric", "scale"), [("ndcg@10", 1), ("latency_ms", 4000), ("cost_usd", 0.0001), ("own", 1e150), ("own", 1e-150)]
)
def test_fits_80_columns_with_whole_names_and_numbers(make_result, name, metric, scale):
    def scores(offset):
        return {metric: [scale * ((i * 37 + offset) % 101) / 100 for i in range(200)]}

    found = compare(*(make_result(f"{i}{name}", **scores(i * 7)) for i in range(4)))
    text = text_of(found, gate(found))
    assert max(map(cell_len, text.splitlines())) <= 80
    [(_, rows)] = rows_by_metric(found)
    table = text[: text.index("\nmean: ")]
    # Numbers and the words of verdicts are whole; p, which may give way, is in the reasons.
    whole = {word for row in rows for cell in (*row.cells[1:4], *row.cells[5:]) for word in cell.split()}
    assert whole - set(table.split()) == set()
    names = "".join(line.strip().split("  ")[0] for line in table.splitlines()[3:])
    assert names == "".join(row.run for row in rows)


def test_plain_ascii_where_the_terminal_has_nothing_else(make_result):
    found = compare(make_result("alt", OLD), make_result("größer", NEW))
    text = text_of(found, gate(found), encoding="ascii")
    assert text.isascii()
    assert "gr??er" in text


def test_nothing_steers_the_terminal(hostile):
    text = text_of(hostile, gate(hostile), width=200)
    assert all(character.isprintable() or character == "\n" for character in text)
    assert r"\x1b[31m[red]<b>&|`*_x_*`\n# [a](http://b.c) \x00\ud800\u202e@team" in text


def test_markdown_is_one_table_with_a_row_a_run(worse):
    found = comparison_markdown(worse, gate(worse))
    assert found.startswith("### new against old: failed: regression (1 of 1 check failed)\n\n| metric | run |")
    rows = [line for line in found.splitlines() if line.startswith("| ndcg@10")]
    assert len(rows) == 2
    assert rows[1].endswith("| 94% | **worse** |")
    assert found.endswith("</details>\n")


def test_markdown_shows_hostile_names_as_they_are(hostile):
    parser = MarkdownIt("gfm-like", {"linkify": False}).enable("table")
    tokens = parser.parse(comparison_markdown(hostile, gate(hostile)))
    inline = [child for token in tokens for child in token.children or []]
    assert {child.type for child in inline} <= {
        "text", "text_special", "strong_open", "strong_close", "html_inline",
    }  # fmt: skip
    assert {child.content for child in inline if child.type == "html_inline"} == {"<span>", "</span>"}
    assert [token.content.strip() for token in tokens if token.type == "html_block"] == [
        "<details><summary>Why</summary>",
        "</details>",
    ]
    assert sum(token.type == "heading_open" for token in tokens) == 1
    cells = [
        "".join(child.content for child in token.children if child.type != "html_inline")
        for before, token in pairwise(tokens)
        if before.type == "td_open"
    ]
    assert len(cells) % 9 == 0
    assert cells[:2] == [r"\x1b[31m[red]<b>&|`*_x_*`\n# [a](http://b.c) \x00\ud800\u202e@team"] * 2


@pytest.mark.parametrize("text", ["0.615", "+0.102", "-0.1..0.2", "adjusted p = 0.3, above 0.05", "recall@5", "a-b"])
def test_ordinary_text_is_not_escaped(text):
    assert escape(text) == text


@pytest.mark.parametrize("text", ["- x", "+ x", "1. x", "2) x", "# x", "> x", "---", "- - -", "===", "~~x~~", "&lt;"])
def test_what_markdown_would_take_for_a_mark(text):
    parser = MarkdownIt("gfm-like", {"linkify": False})
    assert parser.render(escape(text)) == f"<p>{text.replace('&', '&amp;').replace('>', '&gt;')}</p>\n"


def test_json_holds_every_field_and_no_nan(worse):
    one = worse.comparisons[0]
    strange = replace(worse, comparisons=(replace(one, t=float("inf"), d_z=float("nan")),))
    found = comparison_dict(strange, gate(strange))
    again = json.loads(json.dumps(found, allow_nan=False))
    assert again == found
    assert next(iter(found)) == "schema_version"
    [metric] = found["comparisons"]
    assert (metric["t"], metric["d_z"], metric["verdict"]) == (None, None, "worse")
    assert metric["mean_difference"] == one.mean_difference
    assert metric["interval"] == {"low": one.interval.low, "high": one.interval.high, "level": 0.95}
    assert metric["candidate_coverage"]["share"] == 16 / 17
    assert metric["candidate_coverage"]["reasons"] == {"errored": 1}
    assert found["gate"]["exit_code"] == 3
    assert found["gate"]["checks"][0]["fails"] is True


def test_junit_has_a_case_a_metric_and_candidate(make_result):
    old = make_result("old", a=NEW, b=NEW)
    found = compare(
        old,
        make_result("new", a=OLD, b=NEW),
        make_result("half", a=[*NEW[:4], *["errored"] * 4], b=[*NEW[:4], *["errored"] * 4]),
    )
    root = ElementTree.fromstring(junit_xml(found, gate(found)))
    [suite] = root
    assert suite.get("name") == "fastrag compare old"
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["4", "1", "2", "0"]
    cases = {(case.get("classname"), case.get("name")): [part.tag for part in case] for case in suite}
    assert cases == {
        ("a", "new"): ["failure", "system-out"],
        ("b", "new"): ["system-out"],
        ("a", "half"): ["error", "system-out"],
        ("b", "half"): ["error", "system-out"],
    }
    assert suite[0][0].get("message").startswith("regression: worse: ")


def test_junit_skips_what_cannot_be_said_unless_strict(make_result):
    found = compare(make_result("old", a=OLD, b=OLD), make_result("new", a=NEW))
    skipped = ElementTree.fromstring(junit_xml(found, gate(found)))
    assert [part.tag for part in skipped[0][1]] == ["skipped"]
    strict = ElementTree.fromstring(junit_xml(found, gate(found, strict=True)))
    assert [part.tag for part in strict[0][1]] == ["error"]
    assert strict[0].get("errors") == "1"


def test_junit_survives_every_character(hostile, make_result):
    names = [EVERY_CHARACTER[i : i + 150] for i in range(0, len(EVERY_CHARACTER), 150)]
    found = replace(
        hostile,
        candidates=tuple(names),
        comparisons=tuple(replace(hostile.comparisons[0], candidate=name, reason=name) for name in names),
    )
    text = junit_xml(found, gate(found))
    root = ElementTree.fromstring(text.encode("utf-8"))
    assert len(root[0]) == len(names)
    assert root[0][0].get("classname").startswith(r"\x1b[31m[red]<b>&|`*_x_*`\n# [a](http://b.c) \x00\ud800")
