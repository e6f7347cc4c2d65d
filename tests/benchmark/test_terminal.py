"""The table shows n, coverage and an interval beside every mean, and fits 80 columns."""

import io
from datetime import UTC, datetime

import pytest
from rich.console import Console

from fastrag.benchmark import BenchmarkResult, DistributionSummary, SampleResult, StatusCounts
from fastrag.benchmark.report.terminal import print_results


def shown(*results, width=80, encoding="utf-8"):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    print_results(results, Console(file=stream, width=width))
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


def a_result(name, scores, *, metric="ndcg@10", error="ValueError: boom"):
    samples = [
        SampleResult("q", "errored", {metric: None}, error=error)
        if score is None
        else SampleResult("q", "successful", {metric: score})
        for score in scores
    ]
    errored = sum(score is None for score in scores)
    summary = {metric: DistributionSummary.of(scores)}
    status = StatusCounts(len(scores) - errored, errored, 0)
    return BenchmarkResult(name, datetime.now(UTC), status, summary, samples, 2.0, {metric: True})


def test_every_mean_has_its_n_coverage_and_interval():
    text = shown(a_result("hybrid", [0.2, 0.4, 0.6, None]))
    [row] = [line for line in text.splitlines() if "3/4" in line]
    assert row.split() == ["hybrid", "0.400", "-0.097..0.897", "3/4", "75%", "0.400", "0.580*"]
    assert "*: from fewer than 20 values" in " ".join(text.split())


def test_no_interval_from_one_value_and_no_numbers_from_none():
    text = shown(a_result("one", [0.5]), a_result("none", [None]))
    rows = [line.split() for line in text.splitlines() if "1/1" in line or "0/1" in line]
    assert rows == [
        ["one", "0.500", "-", "1/1", "100%", "0.500", "0.500*"],
        ["none", "-", "-", "0/1", "-", "-", "-"],
    ]


def test_failures_are_listed_by_reason():
    text = shown(a_result("r", [0.5, None, None]))
    assert "r: 3 questions in 2.0 s: 1 successful, 2 errored, 0 incomplete" in text
    assert "  2 x errored: ValueError: boom" in text


def test_reasons_that_differ_only_in_the_metric_are_one():
    result = a_result("r", [0.5, 0.5])
    result.samples[0].status = "incomplete"
    result.samples[
        0
    ].error = "a@5: not_applicable: no relevant_ids; b: metric_error: KeyError: 'x'; c: not_applicable: no relevant_ids"
    text = shown(result)
    assert "  1 x not_applicable: no relevant_ids (a@5, c)" in text
    assert "  1 x metric_error: KeyError: 'x' (b)" in text


@pytest.mark.parametrize("metric", ["ndcg@10", "latency_ms", "cost_usd"])
def test_fits_80_columns(metric):
    scale = {"ndcg@10": 1, "latency_ms": 4000, "cost_usd": 0.0001}[metric]
    results = [
        a_result(f"hybrid-rrf60-extractive-{i}", [scale * x / 200 for x in range(200)], metric=metric) for i in range(4)
    ]
    assert max(map(len, shown(*results).splitlines())) <= 80


def test_hostile_names_and_errors_stay_text():
    text = shown(a_result("[red]name[/red]\x1b[31m", [None, 0.5], error="[bold]x[/bold]\x1b]0;title\x07\nnew line"))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[red]name" in text
    assert "[bold]x[/bold] ]0;title  new line" in text


def test_plain_ascii_where_the_terminal_has_nothing_else():
    assert shown(a_result("r", [0.5, 0.25]), encoding="ascii").isascii()
