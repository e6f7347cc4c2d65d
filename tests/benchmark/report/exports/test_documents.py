"""Markdown and JUnit XML of results, read by parsers of these."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import Error, JUnitXml, Skipped
from markdown_it import MarkdownIt

from fastrag.benchmark import BenchmarkResult, SampleResult, StatusCounts, write_junit, write_markdown
from fastrag.benchmark.report.exports.junit_file import junit_text
from fastrag.benchmark.report.exports.markdown_file import markdown_text
from fastrag.benchmark.report.terminal import results_sheet
from fastrag.benchmark.report.texts import one_line
from fastrag.errors import ConfigurationError

TEXTS = st.text(max_size=30) | st.text(st.sampled_from("|\\`*_<>&\"'#-= \n\r\t[]()!~$@:"), max_size=10)


def cells(markdown):
    """What a reader of the tables sees, row by row."""
    rows = []
    for token in MarkdownIt("gfm-like", {"linkify": False}).parse(markdown):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and token.level == 4:
            rows[-1].append("".join(child.content for child in token.children if child.type != "html_inline"))
    return rows


@settings(deadline=None)
@given(name=TEXTS.filter(str.strip), metric=TEXTS.filter(str.strip))
def test_a_table_shows_the_cells_of_the_terminal(name, metric, make_result):
    results = [make_result(name, None, **{metric: [0.25, 0.5, None]}), make_result("other", None, **{metric: [1.0]})]
    sheet = results_sheet(results)
    body = [row for row in sheet.rows if not isinstance(row, str)]
    heading, *rows = cells(markdown_text(results))
    assert heading == ["metric", *(column.heading for column in sheet.columns)]
    assert rows == [[one_line(cell).strip() for cell in (metric, *row)] for row in body]


def test_what_is_missing_and_what_columns_are_is_said(make_result):
    text = markdown_text([make_result("run", m=[0.5, "errored"])])
    assert "- run: 2 questions" in text
    assert text.endswith("fewer than 20 values.\n")


def test_chosen_metrics_only(make_result, tmp_path):
    write_markdown([make_result("run", a=[0.5], b=[0.25])], tmp_path / "x.md", metrics=["b"])
    assert [row[0] for row in cells((tmp_path / "x.md").read_text())] == ["metric", "b"]
    with pytest.raises(ConfigurationError, match="c"):
        write_markdown([make_result("run", a=[0.5])], tmp_path / "x.md", metrics=["c"])


def junit(result):
    return JUnitXml.fromstring(junit_text([result]).encode())


def test_one_test_case_a_question(make_result, tmp_path):
    write_junit([make_result("a", m=[0.5, "errored", None]), make_result("b", m=[0.25])], tmp_path / "x.xml")
    first, second = JUnitXml.fromfile(str(tmp_path / "x.xml"))
    assert (first.name, first.tests, first.errors, first.skipped, first.failures) == ("a", 3, 1, 1, 0)
    assert (second.name, second.tests, second.errors, second.skipped) == ("b", 1, 0, 0)
    fine, errored, incomplete = first
    assert [case.name for case in first] == ["1. q0", "2. q1", "3. q2"]
    assert (fine.result, fine.system_out) == ([], "m: 0.5")
    [error], [skipped] = errored.result, incomplete.result
    assert (type(error), error.type, error.message) == (Error, "ValueError", "ValueError: boom")
    assert (type(skipped), skipped.message) == (Skipped, "m: metric_error: KeyError")
    assert incomplete.system_out == "m: -"


def test_a_question_that_was_not_asked_is_skipped():
    samples = [SampleResult("q", "errored", {"m": None}, error="not attempted: out of money")]
    [suite] = junit(BenchmarkResult("run", datetime.now(UTC), StatusCounts(0, 1, 0), {}, samples, 1.0))
    [case] = suite
    assert [type(found) for found in case.result] == [Skipped]
    assert (suite.errors, suite.skipped) == (0, 1)


@settings(deadline=None)
@given(text=st.text(max_size=30) | st.text(st.sampled_from("<>&]\"'\0\x1b\ufffe\ud800\r\n"), max_size=10))
def test_whatever_a_text_is_the_xml_can_be_read(text):
    samples = [SampleResult(text, "errored", {text: None}, error=text)]
    result = BenchmarkResult(text, datetime.now(UTC), StatusCounts(0, 1, 0), {}, samples, 1.0)
    [suite] = junit(result)
    [case] = suite
    assert case.name == f"1. {one_line(text)}"
    assert case.classname == suite.name == one_line(text)


@pytest.mark.parametrize("year", [1, 999, 2026])
def test_the_time_is_one_that_xml_schemas_know(make_result, year):
    result = replace(make_result("run", m=[0.5]), created_at=datetime(year, 2, 3, 4, 5, 6, 7, UTC))
    [suite] = junit(result)
    assert suite.timestamp == f"{year:04}-02-03T04:05:06"


def test_a_time_that_there_is_not_in_utc_is_refused(make_result):
    result = replace(make_result("run", m=[0.5]), created_at=datetime.fromisoformat("9999-12-31T23:59:59-14:00"))
    with pytest.raises(ConfigurationError, match="there is no such time in UTC"):
        junit(result)
