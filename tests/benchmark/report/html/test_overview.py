"""The overview: evidence, trade-offs and what is compared at all."""

import pytest

from fastrag.benchmark import compare, describe, trade_offs
from fastrag.benchmark.report.html import comparisons, overview
from fastrag.benchmark.report.html.data import ReportData
from fastrag.benchmark.report.html.runs import ReportedRun
from fastrag.errors import ConfigurationError


def overview_of(*results, **options):
    return ReportData(list(map(ReportedRun, results)), **options).overview


def test_evidence_is_what_describe_says(make_result):
    result = make_result("a", [0.0, 1.0, None, 0.5, 0.25])
    [run], [metric] = (overview_of(result)[name] for name in ("runs", "metrics"))
    found, expected = run["metrics"]["ndcg@10"], describe(result)["ndcg@10"]
    assert (found["mean"], found["questions"]) == (expected.mean, expected.questions)
    assert found["interval"] == {"low": expected.interval.low, "high": expected.interval.high}
    assert found["bounds"] == {"worst": expected.bounds.worst, "best": expected.bounds.best}
    assert found["coverage"]["reasons"] == {"metric_error": 1}
    assert found["percentiles"].keys() == {"50", "90", "95", "99"}
    assert (metric["range"], metric["format"], metric["higher_is_better"]) == ([0.0, 1.0], ".3f", True)


def test_all_runs_share_the_bins_of_a_metric(make_result):
    first, second = overview_of(make_result("a", x=[1.0, 2.0]), make_result("b", x=[5.0, 5.0]))["runs"]
    assert first["metrics"]["x"]["histogram"] == [1, 1, 0, 0, 0]
    assert second["metrics"]["x"]["histogram"] == [0, 0, 0, 0, 2]


def test_quality_is_traded_for_what_all_runs_know_the_price_of(make_result):
    lower = {"latency_ms": False, "cost_usd": False}
    first = make_result("a", higher=lower, q=[1.0, 0.5], latency_ms=[9.0, 8.0], cost_usd=[1.0, 1.0])
    second = make_result("b", higher=lower, q=[0.5, 0.5], latency_ms=[1.0, 2.0])
    [found] = overview_of(first, second)["trade_offs"]
    assert found["metrics"] == ["q", "latency_ms"]
    expected = trade_offs([first, second], ["q", "latency_ms"])
    assert [entry["on_front"] for entry in found["entries"]] == [one.on_front for one in expected] == [True, True]
    del first.summary["latency_ms"]
    assert [one["metrics"] for one in overview_of(first, second)["trade_offs"]] == [["q", "latency_ms"]]


def test_there_is_nothing_to_trade_for_one_run_or_without_a_price(make_result):
    assert overview_of(make_result("a", q=[1.0], latency_ms=[1.0]))["trade_offs"] == []
    assert overview_of(make_result("a", q=[1.0]), make_result("b", q=[1.0]))["trade_offs"] == []


@pytest.mark.parametrize("name", ["", " ", "\ud800"])
def test_what_has_no_name_is_shown_and_not_compared(make_result, read_parts, name):
    runs = [ReportedRun(make_result(run, **{name: [0.5, 1.0], "x": [0.5, 1.0]})) for run in "ab"]
    parts = read_parts(ReportData(runs))
    assert [metric["name"] for metric in parts["overview"]["metrics"]] == [name, "x"]
    assert [one["metric"] for one in parts["comparison-0-1"]["comparisons"]] == ["x"]
    assert any("that is no name" in note for note in parts["comparison-0-1"]["notes"])


def test_scores_that_no_test_can_be_made_of_are_shown_and_not_compared(make_result, read_parts):
    runs = [ReportedRun(make_result(run, huge=[1e200, 1.0], x=[0.5, 1.0])) for run in "ab"]
    parts = read_parts(ReportData(runs))
    assert [one["metric"] for one in parts["comparison-0-1"]["comparisons"]] == ["x"]
    assert any("scores above 1e+150" in note for note in parts["comparison-0-1"]["notes"])
    assert "1e+200" in parts["overview"]["rankings"][0]["problem"]


def test_runs_with_nothing_in_common_are_no_pair(make_result, read_parts):
    parts = read_parts(ReportData([ReportedRun(make_result("a", x=[1.0])), ReportedRun(make_result("b", y=[1.0]))]))
    assert parts["overview"]["pairs"] == []
    assert [ranking["entries"][-1]["reason"] for ranking in parts["overview"]["rankings"]] == [
        "does not have the metric"
    ] * 2


def test_runs_of_other_questions_are_compared_and_nothing_is_claimed(make_result, read_parts):
    first, second = make_result("a", [1.0, 0.5]), make_result("b", [1.0, 0.5], questions=["p0", "p1"])
    part = read_parts(ReportData([ReportedRun(first), ReportedRun(second)]))["comparison-0-1"]
    assert (part["pairs"], part["comparisons"][0]["n"], part["comparisons"][0]["changes"]) == (0, 0, "....")
    assert part["comparisons"][0]["verdict"] == "cannot say"


def test_the_title_is_given_or_made_of_the_labels(make_result):
    runs = [make_result("a", [1.0]) for _ in range(5)]
    assert overview_of(*runs)["title"] == "a, a (2), a (3) and 2 more"
    assert overview_of(*runs, title="Nightly")["title"] == "Nightly"


def test_within_a_margin_runs_are_equivalent(make_result, read_parts):
    first = make_result("a", x=[0.1, 0.2, 0.3, 0.4] * 5, y=[0.5, 1.0, 0.25, 0.75] * 5)
    second = make_result("b", x=[0.101, 0.199, 0.301, 0.399] * 5, y=[0.5, 1.0, 0.25, 0.5] * 5)
    for margin in (0.1, {"x": 0.1}):
        parts = read_parts(ReportData([ReportedRun(first), ReportedRun(second)], margin=margin))
        found = {one["metric"]: one["verdict"] for one in parts["comparison-0-1"]["comparisons"]}
        assert found == {one.metric: one.verdict for one in compare(first, second, margin=margin).comparisons}
        assert found["x"] == "equivalent"
    for wrong in ({"z": 0.1}, 0, "wide"):
        with pytest.raises(ConfigurationError, match="margin"):
            ReportData([ReportedRun(first)], margin=wrong)


def test_of_very_many_runs_each_is_compared_with_the_first(make_result, read_parts, monkeypatch):
    runs = [ReportedRun(make_result(f"r{number}", x=[0.5, 1.0, 0.25])) for number in range(5)]
    assert len(read_parts(ReportData(runs))["overview"]["pairs"]) == 10
    monkeypatch.setattr(comparisons, "MOST_PAIRED", 4)
    monkeypatch.setattr(overview, "_MOST_RANKED", 4)
    found = read_parts(ReportData(runs))
    assert found["overview"]["pairs"] == [[0, other] for other in range(1, 5)]
    assert found["overview"]["warnings"] == [
        "There are 5 runs: each is compared with the first one only. A report of at most 4 compares any two."
    ]
    assert found["overview"]["rankings"][0]["problem"].startswith("5 runs are too many to rank")
    assert found["comparison-0-4"]["comparisons"][0]["verdict"] == "no difference shown"
