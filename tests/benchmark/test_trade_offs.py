"""The Pareto front: nobody on it is beaten in everything, everybody off it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrag.benchmark import trade_offs
from fastrag.errors import ConfigurationError

ERRORED = "errored"
DOWN = {"latency_ms": False, "cost_usd": False}


def test_what_is_worse_in_everything_is_dominated(make_result):
    results = [
        make_result("slow and good", mrr=[0.9, 0.9], latency_ms=[90.0, 90.0], higher=DOWN),
        make_result("fast and poor", mrr=[0.3, 0.3], latency_ms=[10.0, 10.0], higher=DOWN),
        make_result("slow and poor", mrr=[0.3, 0.3], latency_ms=[95.0, 95.0], higher=DOWN),
    ]
    found = trade_offs(results, ["mrr", "latency_ms"])
    assert [one.on_front for one in found] == [True, True, False]
    assert found[2].dominated_by == ("slow and good", "fast and poor")
    assert found[0].means == {"mrr": 0.9, "latency_ms": 90.0}


def test_equals_do_not_dominate_each_other(make_result):
    twins = [make_result(name, mrr=[0.5], latency_ms=[10.0], higher=DOWN) for name in "ab"]
    assert all(one.on_front for one in trade_offs(twins, ["mrr", "latency_ms"]))


def test_means_are_over_common_questions(make_result):
    whole = make_result("whole", mrr=[1.0] * 9 + [0.0], latency_ms=[10.0] * 9 + [99.0], higher=DOWN)
    skipper = make_result("skipper", mrr=[0.9] * 9 + [ERRORED], latency_ms=[11.0] * 9 + [ERRORED], higher=DOWN)
    found = trade_offs([whole, skipper], ["mrr", "latency_ms"])
    assert found[0].means == {"mrr": 1.0, "latency_ms": 10.0}
    assert found[1].dominated_by == ("whole",)
    assert found[1].coverage["mrr"].measured == 9


def test_those_that_cannot_take_part_say_why(make_result):
    whole = make_result("whole", mrr=[0.5, 0.5], cost_usd=[0.1, 0.1], higher=DOWN)
    free = make_result("free", mrr=[0.9, 0.9])
    unknown = make_result("unknown", mrr=[0.9, 0.9], cost_usd=[None, 0.0], higher=DOWN)
    found = trade_offs([whole, free, unknown], ["mrr", "cost_usd"])
    assert [one.on_front for one in found] == [True, False, False]
    assert found[1].reason == "it does not have cost_usd"
    assert found[2].reason == "cost_usd measured 1 of 2 measurable questions"
    with pytest.raises(ConfigurationError, match="free: it does not have cost_usd"):
        trade_offs([free], ["mrr", "cost_usd"])


def test_wrong_arguments(make_result):
    result = make_result("run", mrr=[0.1], latency_ms=[1.0])
    for results, metrics, match in (
        ([], ["mrr", "latency_ms"], "no results"),
        ([result], ["mrr"], "at least two metrics, not of 'mrr'"),
        ([result], [], "at least two metrics, not of none"),
        ([result], "mrr", "metrics must be a list of names"),
        (["run.json"], ["mrr", "latency_ms"], "must be a BenchmarkResult"),
    ):
        with pytest.raises(ConfigurationError, match=match):
            trade_offs(results, metrics)
    with pytest.raises(ConfigurationError, match="min_coverage"):
        trade_offs([result], ["mrr", "latency_ms"], min_coverage=-1)
    other = make_result("other", mrr=[0.1], latency_ms=[1.0], questions=["another"])
    with pytest.raises(ConfigurationError, match="no question"):
        trade_offs([result, other], ["mrr", "latency_ms"])


def test_failing_does_not_lead_onto_the_front(make_result):
    good = make_result("good", mrr=[0.9] * 10, latency_ms=[10.0] * 10, higher=DOWN)
    bad = make_result("bad", mrr=[0.95] * 9 + [0.1], latency_ms=[10.0] * 10, higher=DOWN)
    failing = make_result("bad", mrr=[0.95] * 9 + [ERRORED], latency_ms=[10.0] * 10, higher=DOWN)
    for run in (bad, failing):
        found = trade_offs([good, run], ["mrr", "latency_ms"])[1]
        assert found.dominated_by == ("good",)
    assert found.means["mrr"] == pytest.approx(0.95)


def test_what_failed_has_no_limit_where_none_is_known(make_result):
    whole = make_result("whole", mrr=[0.5, 0.5, 0.5], latency_ms=[90.0, 90.0, 90.0], higher=DOWN)
    failing = make_result("failing", mrr=[0.9, 0.9, 0.9], latency_ms=[10.0, 10.0, None], higher=DOWN)
    found = trade_offs([whole, failing], ["mrr", "latency_ms"], min_coverage=0.5)
    assert [one.dominated_by for one in found] == [(), ()]  # better by all that was measured, but at what latency?
    worse = make_result("worse", mrr=[0.1, 0.1, 0.1], latency_ms=[99.0, None, 99.0], higher=DOWN)
    found = trade_offs([failing, worse], ["mrr", "latency_ms"], min_coverage=0.5)
    assert found[1].dominated_by == ()  # both without a limit: which is the more?
    also = make_result("worse", mrr=[0.1, 0.1, 0.1], latency_ms=[99.0, 99.0, None], higher=DOWN)
    found = trade_offs([failing, also], ["mrr", "latency_ms"], min_coverage=0.5)
    assert found[1].dominated_by == ("failing",)  # what both failed on is no part


def test_a_range_that_is_known_limits_what_failed(make_result):
    one = make_result("one", kindness=[5.0] * 20, mrr=[0.9] * 20)
    two = make_result("two", kindness=[2.0] * 20, mrr=[0.9] * 20)
    two.samples[0].scores["kindness"] = None
    one.samples[1].scores["kindness"] = None
    assert trade_offs([one, two], ["kindness", "mrr"])[1].on_front
    assert not trade_offs([one, two], ["kindness", "mrr"], ranges={"kindness": (0, 5)})[1].on_front


def test_a_failed_repeat_takes_its_question_out_of_the_means(make_result):
    questions = ["q0", "q0", "q1", "q1"]
    columns = {"mrr": [0.9, 0.1, 0.5, 0.5], "latency_ms": [10.0] * 4}
    whole = make_result("whole", questions=questions, higher=DOWN, **columns)
    failing = make_result(
        "failing", questions=questions, higher=DOWN, mrr=[0.9, ERRORED, 0.5, 0.5], latency_ms=[10.0] * 4
    )
    found = trade_offs([whole, failing], ["mrr", "latency_ms"], min_coverage=0.5)
    assert [one.means["mrr"] for one in found] == [0.5, 0.5]
    assert [one.dominated_by for one in found] == [(), ("whole",)]


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=8))
def test_the_front_is_what_nothing_dominates(make_result, points):
    results = [
        make_result(f"r{i}", mrr=[q / 4], latency_ms=[float(ms)], cost_usd=[float(usd)], higher=DOWN)
        for i, (q, ms, usd) in enumerate(points)
    ]
    for point, one in zip(points, trade_offs(results, ["mrr", "latency_ms", "cost_usd"]), strict=True):
        q, ms, usd = point
        beaten = any(a >= q and b <= ms and c <= usd and (a, b, c) != point for a, b, c in points)
        assert one.on_front != beaten
