"""The parts as a whole: whatever a result holds, they are of the described types and say the same thing everywhere."""

import math
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fastrag.benchmark import (
    BenchmarkResult,
    DistributionSummary,
    EvalSample,
    SampleResult,
    Spending,
    StatusCounts,
    Usage,
    compare,
    question_changes,
    rank,
)
from fastrag.benchmark.report.html.data import ReportData
from fastrag.benchmark.report.html.runs import ReportedRun
from fastrag.errors import ConfigurationError

HOSTILE = [
    "",
    " ",
    "</script><img src=x onerror=alert(1)>",
    "\x00",
    "\ud800",
    "مرحبا \u202e",
    "👩‍👩‍👧",
    "__proto__",
    "a; b: c",
]
NAMES = st.sampled_from([*HOSTILE, "a", "a", "a (2)", "x" * 5000])
METRICS = ["ndcg@10", "latency_ms", "cost_usd", "faithfulness", "ours", *HOSTILE]
SCORES = st.one_of(
    st.none(),
    st.sampled_from([0.0, 1.0, 0.5, -1.0, 3.0, 1e-300, 5e-324]),
    st.floats(allow_nan=False, allow_infinity=False),
)
QUESTIONS = st.sampled_from([f"q{i}" for i in range(8)] + HOSTILE)
ERRORS = st.one_of(
    st.none(), st.sampled_from(["not attempted: x", "ndcg@10: not_applicable: none", "; : ;"]), st.text()
)


@st.composite
def results(draw):
    metrics = draw(st.lists(st.sampled_from(METRICS), unique=True, max_size=4))
    samples = [
        SampleResult(
            draw(QUESTIONS),
            draw(st.sampled_from(["successful", "errored", "incomplete"])),
            {name: draw(SCORES) for name in metrics if draw(st.integers(0, 9))},
            draw(st.one_of(st.none(), st.sampled_from(HOSTILE))),
            draw(st.lists(st.sampled_from(["a", "b", *HOSTILE]), max_size=3)),
            draw(st.lists(st.sampled_from(["u", *HOSTILE]), max_size=3)),
            draw(st.floats(allow_nan=False, allow_infinity=False)),
            draw(ERRORS),
        )
        for _ in range(draw(st.integers(0, 12)))
    ]
    directions = {name: draw(st.booleans()) for name in metrics if draw(st.booleans())}
    summary = {name: DistributionSummary.of([sample.scores.get(name) for sample in samples]) for name in metrics}
    for name in metrics:
        if not draw(st.integers(0, 5)):
            summary[name] = DistributionSummary(draw(st.integers(0, 5)), 2, 1e300, -1.0, 0.0, 5.0, 1.0, {})
    created_at = draw(st.sampled_from([datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1)]))  # noqa: DTZ001
    return BenchmarkResult(draw(NAMES), created_at, StatusCounts(1, 2, 3), summary, samples, 1.0, directions)


SAMPLES = st.lists(
    st.builds(
        EvalSample,
        question=st.sampled_from([f"q{i}" for i in range(8)] + ["\x00", "\ud800"]),
        relevant_ids=st.sampled_from([[], ["a"], {"a": 1, "b": 0.0}, ["u", "b"]]),
        metadata=st.dictionaries(st.sampled_from(["topic", "", "x" * 300]), st.sampled_from([1, "a", None, "\x00"])),
    ),
    max_size=5,
)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(runs=st.lists(results(), min_size=1, max_size=4), samples=SAMPLES)
def test_any_results_make_parts_of_the_described_types_that_agree(read_parts, runs, samples):
    parts = read_parts(ReportData([ReportedRun(run) for run in runs], samples=samples))
    overview, texts = parts["overview"], parts["questions"]["texts"]
    labels = [run["label"] for run in overview["runs"]]
    assert len(set(labels)) == len(runs)
    assert all(label.strip() for label in labels)
    assert texts == list(dict.fromkeys(sample.question for run in runs for sample in run.samples))
    assert overview["questions"] == len(texts)
    details = [one for name, part in parts.items() if name.startswith("details") for one in part["questions"]]
    assert [one["text"] for one in details] == texts
    shown = [(result["run"], result["position"]) for one in details for result in one["results"]]
    assert sorted(shown) == [(run, place) for run, result in enumerate(runs) for place in range(len(result.samples))]
    for place, one in enumerate(details):
        for result in one["results"]:
            sample = runs[result["run"]].samples[result["position"]]
            assert (sample.question, sample.answer, sample.error) == (one["text"], result["answer"], result["error"])
            assert parts[f"scores-{result['run']}"]["question"][result["position"]] == place
    bins = {metric["name"]: metric["bins"] for metric in overview["metrics"]}
    assert all(low < high for ends in bins.values() for low, high in pairwise(ends))
    for number, run in enumerate(runs):
        for name, evidence in overview["runs"][number]["metrics"].items():
            scores = [score for score in parts[f"scores-{number}"]["scores"][name] if score is not None]
            assert sum(evidence["histogram"]) == len(scores)
            assert len(evidence["histogram"]) == max(0, len(bins[name]) - 1)
            assert all(bins[name][0] <= score <= bins[name][-1] for score in scores)
        assert parts[f"scores-{number}"]["status"] == "".join(sample.status[0] for sample in run.samples)
    failed = sum(sum(group["counts"]) for group in overview["errors"] if group["metric"] is None)
    assert failed == sum(sample.status == "errored" for run in runs for sample in run.samples)


def test_comparisons_of_two_runs_say_what_compare_and_question_changes_say(make_result, read_parts):
    old = make_result("old", mrr=[0.2, 0.5, 0.3, 0.25, None, 1.0], latency_ms=[3.0, 5.0, 4.0, 9.0, 8.0, 7.0])
    new = make_result("new", mrr=[0.5, 0.75, 0.5, 0.5, 1.0, 1.0], latency_ms=[2.0, 5.0, 3.0, 8.0, None, 7.5])
    new.samples.append(SampleResult("more", "successful", {"mrr": 1.0, "latency_ms": 1.0}))
    part = read_parts(ReportData([ReportedRun(old), ReportedRun(new)]))["comparison-0-1"]
    expected = compare(old, new, permutations=999)
    for one in part["comparisons"]:
        wanted = expected.of(one["metric"])
        for field in ("n", "mean_difference", "p_t", "p_holm", "p_permutation", "wins", "losses", "verdict", "reason"):
            assert one[field] == getattr(wanted, field)
        assert (one["lost"], one["gained"]) == (len(wanted.lost), len(wanted.gained))
        changes = [change.change for change in question_changes(old, new, one["metric"])]
        letters = {"fixed": "f", "broken": "b", "unchanged": "u", "flaky": "y", "not measured": "n"}
        assert one["changes"] == "".join(letters[change] for change in changes) + "."
    assert [one["metric"] for one in part["comparisons"]] == ["mrr", "latency_ms"]
    assert (part["pairs"], part["only_in_baseline"], part["only_in_candidate"]) == (6, 0, 1)


def test_a_ranking_is_that_of_rank_by_labels(make_result, read_parts):
    runs = [make_result("same", [0.1 * i for i in range(9)]), make_result("same", [0.1 * i + 0.1 for i in range(9)])]
    [found] = read_parts(ReportData([ReportedRun(run) for run in runs]))["overview"]["rankings"]
    expected = rank(runs, "ndcg@10")
    assert [(entry["run"], entry["rank"]) for entry in found["entries"]] == [(1, 1), (0, 2)]
    assert [entry["mean"] for entry in found["entries"]] == [entry.mean for entry in expected.entries]
    assert found["entries"][1]["beaten_by"] == ["same (2)"]


def test_what_makes_a_run_partial_is_said_and_shown(make_result, read_parts):
    spent = Spending(Usage(3, 0, 900, 100, 0.5))
    run = ReportedRun(make_result("slow", [0.5, 1.0]), partial=(2, 5), spent=spent, warnings=("Left out: x",))
    overview = read_parts(ReportData([run], warnings=["First."], live=True, snapshot="7"))["overview"]
    assert overview["runs"][0]["partial"] == {"ended": 2, "total": 5}
    assert overview["runs"][0]["spent"].startswith("pipeline: 3 calls, 1,000 tokens")
    assert overview["warnings"] == ["First.", "slow is partial: 2 of 5 questions have ended.", "slow: Left out: x"]
    assert (overview["live"], overview["snapshot"]) == (True, "7")


def test_results_of_summaries_alone_are_shown_without_questions(make_result, read_parts):
    runs = [make_result("a", [0.5, 1.0]), make_result("b", [0.25, 0.5])]
    for run in runs:
        run.samples.clear()
    parts = read_parts(ReportData(list(map(ReportedRun, runs))))
    assert list(parts) == ["overview", "questions", "scores-0", "scores-1"]
    assert [run["metrics"]["ndcg@10"]["mean"] for run in parts["overview"]["runs"]] == [0.75, 0.375]


def test_runs_that_disagree_on_a_direction_are_not_compared_by_it(make_result, read_parts):
    runs = [make_result("a", x=[1.0, 2.0], y=[1.0, 2.0]), make_result("b", x=[1.0, 2.0], y=[1.0, 2.0])]
    runs[1].higher_is_better["x"] = False
    parts = read_parts(ReportData(list(map(ReportedRun, runs))))
    assert [one["metric"] for one in parts["comparison-0-1"]["comparisons"]] == ["y"]
    assert "which direction of x is better" in parts["overview"]["warnings"][0]
    assert "disagree" in parts["overview"]["rankings"][0]["problem"]


def test_numbers_that_are_none_are_null(make_result, read_parts):
    run = make_result("a", [0.5, 0.25])
    run.samples[0].scores["ndcg@10"] = math.nan
    run.samples[1].latency_ms = math.inf
    run.summary["ndcg@10"].mean = 0.25
    run.duration_s = math.nan
    parts = read_parts(ReportData([ReportedRun(run)]))
    assert parts["scores-0"]["scores"] == {"ndcg@10": [None, 0.25]}
    assert parts["scores-0"]["latency_ms"] == [0.0, 0.0]
    assert parts["overview"]["errors"][0]["kind"] == "invalid_score"


@pytest.mark.parametrize(
    "name",
    [
        *("", "x", "overview-0", "scores", "scores-1", "scores--1", "scores-01", "scores-0-0", "scores-0\n"),
        *("details-1", "details-0-0", "comparison-0", "comparison-0-1", "comparison-1-0", "scores-" + "9" * 20),
    ],
)
def test_there_is_no_other_part(make_result, name):
    with pytest.raises(KeyError):
        ReportData([ReportedRun(make_result("a", [0.5]))]).part(name)


def test_mistakes_are_refused(make_result):
    with pytest.raises(ConfigurationError, match="no results"):
        ReportData([])
    with pytest.raises(ConfigurationError, match="cannot be shown"):
        ReportData([ReportedRun(make_result("a", [0.5]))], samples=[EvalSample("")])
