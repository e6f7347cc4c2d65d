"""A ranking as text and JSON: who is best, how sure that is, and why some have no rank."""

import io
import json

import pytest
from rich.cells import cell_len
from rich.console import Console

from fastrag.benchmark import rank
from fastrag.benchmark.report.ranking_json import ranking_dict
from fastrag.benchmark.report.ranking_text import print_ranking

LOW = [0.2, 0.5, 0.3, 0.25, 0.6, 0.1, 0.7, 0.4, 0.35, 0.45]
HIGH = [0.5, 0.75, 0.5, 0.5, 0.9, 0.3, 0.9, 0.75, 0.6, 0.8]


def shown(ranking, *without_metric, width=80):
    stream = io.StringIO()
    print_ranking(ranking, Console(file=stream, width=width), without_metric)
    return stream.getvalue()


def rows(text):
    """The rows of the table, by the run's name, or the beginning of it where it is folded."""
    lines = text[text.index("\nrank ") : text.index("\nrank: ")].splitlines()[3:]
    found = [line.split() for line in lines if line[:4].strip()]
    return {name: [rank, *numbers] for rank, name, *numbers in found}


def test_the_table_is_in_rank_order_with_ties_marked(make_result):
    low = make_result("low", LOW)
    near = make_result("near", [*HIGH[:-1], 0.79])
    text = shown(rank([low, near, make_result("high", HIGH)], "ndcg@10"))
    assert text.splitlines()[:3] == [
        "best by ndcg@10: high",
        "  tied with it, for no difference is shown: near",
        "  shown to be better than: low",
    ]
    assert list(rows(text).items()) == [
        ("high", ["=1", "0.650", "0.507..0.793", "100%"]),
        ("near", ["=1", "0.649", "0.507..0.791", "100%"]),
        ("low", ["3", "0.385", "0.253..0.517", "100%"]),
    ]
    assert "mean: over the 10 questions that all ranked results measured." in " ".join(text.split())


def test_a_winner_without_a_rival_and_results_without_a_rank(make_result):
    half = make_result("half", [*HIGH[:5], *["errored"] * 5])
    other = make_result("other", recall=LOW)
    text = shown(rank([half, make_result("low", LOW)], "ndcg@10"), other)
    assert text.startswith("best by ndcg@10: low\n  no other result qualifies\n")
    assert rows(text) == {"low": ["1", "0.385", "0.253..0.517", "100%"], "half": ["-", "-", "-", "50%", "0.315..0.815"]}
    assert "\nno rank: half: measured 5 of 10 measurable questions (50%), below 90%\n" in text
    assert "\nno rank: other: does not have the metric\n" in text
    assert "\n  5 x errored: ValueError: boom\n" in text


def test_none_qualifies(make_result):
    text = shown(rank([make_result("half", [0.5, "errored"])], "ndcg@10"))
    assert text.startswith("best by ndcg@10: no result qualifies\n")
    assert rows(text) == {"half": ["-", "-", "-", "50%", "0.250..0.750"]}


def test_what_a_loser_failed_on_is_not_called_shown(make_result):
    failed = make_result("failed", [*LOW * 2, "errored"])
    text = shown(rank([failed, make_result("high", [*HIGH * 2, 0.5])], "ndcg@10"))
    assert "\n  better than, what they failed on counted against them: failed\n" in text
    assert "shown to be" not in text


def test_shares_have_wilsons_interval(make_result):
    text = shown(rank([make_result("all", hit=[1.0] * 10)], "hit"))
    assert rows(text)["all"] == ["1", "1.000", "0.722..1.000", "100%"]


def test_the_direction_is_said_where_lower_is_better(make_result):
    assert "Lower is better" not in shown(rank([make_result("r", LOW)], "ndcg@10"))
    slow = make_result("slow", latency_ms=HIGH, higher={"latency_ms": False})
    assert "\nLower is better: latency_ms. rank: " in shown(rank([slow], "latency_ms"))


def test_summaries_alone_are_no_evidence(make_result):
    one, two = make_result("one", LOW), make_result("two", HIGH)
    one.samples = two.samples = []
    text = shown(rank([one, two], "ndcg@10"))
    assert text.splitlines()[1] == "  by its mean only, for there are no samples to compare; beside it: one"
    assert rows(text) == {"two": ["=1", "0.650", "-", "100%"], "one": ["=1", "0.385", "-", "100%"]}


@pytest.mark.parametrize("name", ["hybrid-rrf60-extractive", "n" * 150, "検索パイプライン基準実験" * 4])
@pytest.mark.parametrize(("metric", "scale"), [("ndcg@10", 1), ("latency_ms", 40000), ("cost_usd", 0.0001)])
def test_fits_80_columns(make_result, name, metric, scale):
    scores = [scale * score for score in LOW * 2] + ["errored"]
    results = [make_result(f"{i}{name}", **{metric: scores}) for i in range(3)]
    text, wide = shown(rank(results, metric)), shown(rank(results, metric), width=300)
    assert max(map(cell_len, text.splitlines())) <= 80
    assert sorted(rows(text).values()) == sorted(rows(wide).values())


def test_json_has_every_entry_and_no_nan(make_result):
    half = make_result("half", [*HIGH[:5], *["errored"] * 5])
    ranking = rank([half, make_result("low", LOW), make_result("high", HIGH)], "ndcg@10")
    found = ranking_dict(ranking, [make_result("other", recall=LOW)])
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert list(found) == [
        "schema_version", "metric", "higher_is_better", "questions", "min_coverage", "alpha", "winner",
        "tied_with_winner", "entries",
    ]  # fmt: skip
    assert (found["winner"], found["tied_with_winner"], found["questions"]) == ("high", [], 10)
    assert [(entry["name"], entry["rank"], entry["beaten_by"]) for entry in found["entries"]] == [
        ("high", 1, []), ("low", 2, ["high"]), ("half", None, []), ("other", None, []),
    ]  # fmt: skip
    assert {frozenset(entry) for entry in found["entries"]} == {
        frozenset(("name", "rank", "mean", "interval", "coverage", "bounds", "beaten_by", "reason"))
    }
    assert found["entries"][2]["coverage"]["share"] == 0.5
    assert found["entries"][2]["bounds"] == pytest.approx({"worst": 0.315, "best": 0.815})
    assert found["entries"][0]["interval"]["level"] == 0.95
    assert found["entries"][3]["reason"] == "does not have the metric"


def test_json_where_none_qualifies(make_result):
    found = ranking_dict(rank([make_result("half", [0.5, "errored"])], "ndcg@10"))
    assert (found["winner"], found["tied_with_winner"]) == (None, [])
