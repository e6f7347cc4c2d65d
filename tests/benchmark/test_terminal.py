"""The table shows n, coverage and an interval beside every mean, and fits 80 columns."""

import io
import re
from datetime import UTC, datetime

import pytest
from rich.cells import cell_len
from rich.console import Console

from fastrag.benchmark import BenchmarkResult, DistributionSummary, SampleResult, StatusCounts
from fastrag.benchmark.report.terminal import print_results

ERRORED, NOT_APPLICABLE = "errored", "not applicable"


def shown(*results, width=80, encoding="utf-8", metrics=None, **console):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    print_results(results, Console(file=stream, width=width, **console), metrics=metrics)
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


def row_of(text, name):
    [row] = [line.split() for line in text.splitlines() if line.startswith(f"  {name} ")]
    return row


def a_result(name, scores, *, metric="ndcg@10", error="ValueError: boom"):
    samples = [
        SampleResult(f"q{i}", "errored", {metric: None}, error=error)
        if score is None
        else SampleResult(f"q{i}", "successful", {metric: score})
        for i, score in enumerate(scores)
    ]
    errored = sum(score is None for score in scores)
    summary = {metric: DistributionSummary.of(scores)}
    status = StatusCounts(len(scores) - errored, errored, 0)
    return BenchmarkResult(name, datetime.now(UTC), status, summary, samples, 2.0, {metric: True})


def test_every_mean_has_its_n_coverage_interval_and_bounds():
    text = shown(a_result("hybrid", [0.2, 0.4, 0.6, None]))
    assert row_of(text, "hybrid") == ["hybrid", "0.400", "-0.097..0.897", "3", "75%", "0.300..0.550", "0.400", "0.580*"]
    assert "*: from fewer than 20 values" in " ".join(text.split())
    assert "worst..best: the mean, had everything missing" in " ".join(text.split())


def test_shares_have_wilsons_interval():
    text = shown(a_result("all", [1.0] * 10))
    assert row_of(text, "all")[2:4] == ["0.722..1.000", "10"]


def test_what_cannot_be_measured_is_no_part_of_the_coverage_and_told_apart(make_result):
    one = make_result("one", a=[0.5, 0.25, NOT_APPLICABLE], b=[0.5, 0.5, NOT_APPLICABLE], c=[0.5] * 3)
    two = make_result("two", a=[0.5, 0.25, NOT_APPLICABLE], b=[0.5, 0.5, 0.5])
    text = shown(one, two)
    assert [line.split()[3:5] for line in text.splitlines() if line.startswith("  one ")] == [
        ["2", "100%"], ["2", "100%"], ["3", "100%"],
    ]  # fmt: skip
    assert "one: 1 of 3 questions cannot be measured by a, b: no relevant_ids" in text
    assert "two: 1 of 3 questions cannot be measured by a: no relevant_ids" in text
    assert "worst..best" not in text
    assert "x not_applicable" not in text
    text = shown(one, two, metrics=["a"])
    assert "\n1 of 3 questions cannot be measured by a: no relevant_ids" in text


def test_coverage_is_rounded_down():
    assert row_of(shown(a_result("r", [0.5] * 999 + [None])), "r")[3:5] == ["999", "99%"]


def test_repeats_of_a_question_count_once():
    result = a_result("r", [0.0, 0.5, 1.0, 1.0])
    for sample, question in zip(result.samples, "aabb", strict=True):
        sample.question = question
    text = shown(result)
    assert row_of(text, "r")[1:5] == ["0.625", "-4.140..5.390", "2", "100%"]
    assert "A question asked several times counts once" in " ".join(text.split())


def test_no_interval_from_one_value_and_no_numbers_from_none():
    text = shown(a_result("one", [0.5]), a_result("none", [None]), a_result("nothing", []))
    assert row_of(text, "one") == ["one", "0.500", "-", "1", "100%", "0.500", "0.500*"]
    assert row_of(text, "none") == ["none", "-", "-", "0", "0%", "0.000..1.000", "-", "-"]
    assert row_of(text, "nothing") == ["nothing", "-", "-", "0", "-", "-", "-"]


def test_a_result_without_samples_has_its_summary():
    result = a_result("r", [0.5, 0.25, None])
    result.samples = []
    assert row_of(shown(result), "r") == ["r", "0.375", "-", "2", "66%", "0.375", "0.487*"]


def test_no_bounds_where_there_is_no_limit():
    text = shown(a_result("r", [5.0, None], metric="latency_ms"))
    assert "worst..best" not in text


def test_a_metric_that_aggregates_in_its_own_way_is_named():
    result = a_result("r", [0.5, 0.25])
    assert "aggregates" not in shown(result)
    result.summary["ndcg@10"].mean = 0.35
    text = shown(result)
    assert row_of(text, "r")[1] == "0.375"
    assert "r: ndcg@10 itself aggregates to 0.35; the mean of its scores is 0.375" in text


def test_the_direction_is_said_where_lower_is_better(make_result):
    text = shown(make_result("r", quality=[0.5], latency_ms=[3.0], higher={"latency_ms": False}))
    assert "\nquality\n" in text
    assert "\nlatency_ms\n" in text
    assert "\nLower is better: latency_ms. " in text


def test_failures_are_listed_by_reason():
    text = shown(a_result("r", [0.5, None, None]))
    assert "r: 3 questions in 2.0 s: 1 successful, 2 errored, 0 incomplete" in text
    assert "  2 x errored: ValueError: boom" in text


def test_reasons_that_differ_only_in_the_metric_are_one():
    result = a_result("r", [0.5, 0.5])
    result.samples[0].status = "incomplete"
    result.samples[0].error = "a@5: not_measured: no tokens; b: metric_error: KeyError: 'x'; c: not_measured: no tokens"
    text = shown(result)
    assert "  1 x not_measured: no tokens (a@5, c)" in text
    assert "  1 x metric_error: KeyError: 'x' (b)" in text


def cells_of(text):
    """The rows of a table with one metric, by their headings; names, which may be folded, without spaces."""
    lines = [re.split(" {2,}", line.strip()) for line in text[: text.index("n: questions measured")].splitlines()]
    rows = []
    for name, *numbers in lines[3:]:
        if numbers:
            rows.append(dict(zip(lines[0], ["", *numbers], strict=True)))
        rows[-1]["run"] += name.replace(" ", "")
    return rows


@pytest.mark.parametrize("metric", ["ndcg@10", "latency_ms", "cost_usd"])
@pytest.mark.parametrize("missing", [0, 15])
@pytest.mark.parametrize("name", ["hybrid-rrf60-extractive", "n" * 150, "検索パイプライン基準実験" * 4, "a b " * 37])
def test_fits_80_columns_with_whole_names_and_numbers(metric, missing, name):
    scale = {"ndcg@10": 1, "latency_ms": 4000, "cost_usd": 0.0001}[metric]
    scores = [scale * x / 200 for x in range(200)] + [None] * missing
    results = [a_result(f"{name}-{i}", scores, metric=metric) for i in range(4)]
    text = shown(*results)
    assert max(map(cell_len, text.splitlines())) <= 80
    assert cells_of(text) == cells_of(shown(*results, width=300))
    assert [row["run"] for row in cells_of(text)] == [f"{name}-{i}".replace(" ", "") for i in range(4)]


def test_a_name_that_is_too_long_keeps_both_ends():
    text = shown(a_result("n" * 300 + "-1", [0.5, 0.25]))
    assert max(map(len, text.splitlines())) <= 80
    [row] = cells_of(text)
    assert row["run"].startswith("nnnn")
    assert row["run"].endswith("nn-1")


@pytest.mark.parametrize(("width", "gone"), [(70, set()), (66, {"p50"}), (60, {"p50", "p95"}), (40, {"p50", "p95"})])
def test_quantiles_give_way_and_numbers_stay_whole_where_it_is_narrow(width, gone):
    result = a_result("r", [x / 200 for x in range(200)] + [None])
    text = shown(result, width=width)
    [row], [everything] = cells_of(text), cells_of(shown(result, width=300))
    assert everything.keys() - row.keys() == gone
    assert row.items() <= everything.items()
    assert width == 40 or max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_numbers_of_any_size_fit_beside_bounds(make_result, scale):
    scores = [x / 200 for x in range(200)]
    result = make_result("n" * 50, **{"ndcg@10": [*scores, None], "own": [scale * x for x in [*scores, 1]]})
    lines, wide = shown(result).splitlines(), shown(result, width=300).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split()[-2:] == ["worst..best", "p95"]
    mean, interval, n, coverage, _, p95 = wide[wide.index("own") + 1].split()[1:]
    assert lines[lines.index("own") + 1].split()[1:] == [mean, interval, n, coverage, p95]


def test_no_spaces_at_the_end_of_lines_in_files():
    text = shown(a_result("r", [0.5, None]))
    assert [line for line in text[: text.index("\n\n")].splitlines() if line.endswith(" ")] == []


def test_thirty_metrics(make_result):
    text = shown(make_result("r", **{f"metric_{i}": [0.5, 0.25] for i in range(30)}))
    assert [line for line in text.splitlines() if line.startswith("metric_")] == [f"metric_{i}" for i in range(30)]
    assert max(map(cell_len, text.splitlines())) <= 80


def test_hostile_names_and_errors_stay_text():
    text = shown(
        a_result("[red]name[/red]\x1b[31m", [None, 0.5], error="[bold]:tada:[/bold]\x1b]0;title\x07\nnew line"),
        width=200,
    )
    assert "\x1b" not in text
    assert "\x07" not in text
    assert r"  [red]name[/red]\x1b[31m " in text
    assert r"  1 x errored: [bold]:tada:[/bold]\x1b]0;title\x07\nnew line" in text


def test_plain_ascii_where_the_terminal_has_nothing_else():
    assert shown(a_result("größe", [0.5, 0.25]), encoding="ascii", force_terminal=True, no_color=True).isascii()


@pytest.mark.parametrize(
    ("console", "is_plain"),
    [
        ({"force_terminal": True, "color_system": "standard"}, False),
        ({"force_terminal": False}, True),
        ({"force_terminal": True, "no_color": True}, True),
        ({"force_terminal": True, "color_system": None}, True),
    ],
)
def test_lines_are_drawn_on_terminals_only(console, is_plain, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert ("\u2500" not in shown(a_result("r", [0.5, 0.25]), **console)) is is_plain
    monkeypatch.setenv("TERM", "dumb")
    assert shown(a_result("r", [0.5, 0.25]), **console).isascii()
