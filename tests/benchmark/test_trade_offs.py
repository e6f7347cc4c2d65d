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
    for results, metrics in (([], ["mrr", "latency_ms"]), ([result], ["mrr"]), ([result], "mrr")):
        with pytest.raises(ConfigurationError, match="at least two metrics"):
            trade_offs(results, metrics)
    with pytest.raises(ConfigurationError, match="min_coverage"):
        trade_offs([result], ["mrr", "latency_ms"], min_coverage=-1)
    other = make_result("other", mrr=[0.1], latency_ms=[1.0], questions=["another"])
    with pytest.raises(ConfigurationError, match="no question"):
        trade_offs([result, other], ["mrr", "latency_ms"])


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
