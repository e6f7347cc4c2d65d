"""What passes and what does not: a loss, too little measured, or nothing that can be said."""

import pytest

from fastrag.benchmark.comparison_records import Bounds, Comparison, Coverage, MetricComparison, Pairing
from fastrag.benchmark.gate import gate
from fastrag.benchmark.statistics import Interval
from fastrag.errors import ConfigurationError


def coverage(measured, measurable=100):
    return Coverage(
        measured, measurable, measurable, {"errored": measurable - measured} if measured < measurable else {}
    )


def one(verdict, *, metric="m", measured=100, base_measured=100, p_holm=0.0003, could_be_worse=False):
    return MetricComparison(
        metric=metric,
        baseline="base",
        candidate="new",
        higher_is_better=True,
        n=90,
        baseline_mean=0.5,
        candidate_mean=0.6,
        mean_difference=0.1,
        interval=Interval(0.05, 0.15, 0.95),
        sd_difference=0.2,
        t=4.0,
        p_t=0.0001,
        p_permutation=0.0002,
        permutation_is_exact=False,
        p_holm=p_holm,
        d_z=0.5,
        wins=50,
        ties=30,
        losses=10,
        smallest_detectable=0.06,
        margin=0.02,
        p_equivalence=None,
        baseline_coverage=coverage(base_measured),
        candidate_coverage=coverage(measured),
        lost=(),
        gained=(),
        difference_bounds=Bounds(0.02, 0.12),
        could_be_worse=could_be_worse or verdict == "worse",
        verdict=verdict,
        reason="because",
    )


def comparison(*ones, not_compared=()):
    return Comparison(
        baseline="base",
        candidates=tuple(dict.fromkeys(each.candidate for each in ones)),
        metrics=tuple(dict.fromkeys(each.metric for each in ones)),
        comparisons=ones,
        pairings=(Pairing("new", 90, (), ()),),
        not_compared=not_compared,
        alpha=0.05,
        level=0.95,
        family_size=len(ones),
        min_coverage=0.9,
        permutations=1000,
        seed=0,
    )


@pytest.mark.parametrize(
    ("verdict", "worse", "not_equivalent", "not_better", "strict"),
    [
        ("better", 0, 0, 0, 0),
        ("equivalent", 0, 0, 3, 0),
        ("no difference shown", 0, 3, 3, 0),
        ("worse", 3, 3, 3, 3),
        ("cannot say", 0, 3, 3, 5),
    ],
)
def test_each_verdict(verdict, worse, not_equivalent, not_better, strict):
    found = comparison(one(verdict, p_holm=None if verdict == "cannot say" else 0.0003))
    assert gate(found).exit_code == worse
    assert gate(found, fail_on="not-equivalent").exit_code == not_equivalent
    assert gate(found, fail_on="not-better").exit_code == not_better
    assert gate(found, strict=True).exit_code == strict


def test_failures_that_might_hide_a_loss_keep_the_gate_shut():
    for strict in (False, True):
        assert gate(comparison(one("cannot say", could_be_worse=True)), strict=strict).exit_code == 4
        assert gate(comparison(one("cannot say", could_be_worse=True, p_holm=None)), strict=strict).exit_code == 4
    assert gate(comparison(one("equivalent", could_be_worse=True))).exit_code == 0


def test_failures_that_might_hide_a_gain_do_not():
    doubtful = comparison(one("cannot say"))
    assert gate(doubtful).exit_code == gate(doubtful, strict=True).exit_code == 0
    assert gate(doubtful, fail_on="not-equivalent").exit_code == gate(doubtful, fail_on="not-better").exit_code == 3


@pytest.mark.parametrize("sides", [{"measured": 89}, {"base_measured": 89}])
def test_too_little_measured_never_passes(sides):
    for verdict in ("better", "cannot say"):
        assert gate(comparison(one(verdict, **sides))).exit_code == 4
    assert gate(comparison(one("better", measured=90))).exit_code == 0


def test_a_metric_that_nothing_could_be_measured_with_is_no_lack_of_coverage():
    nothing = one("cannot say", p_holm=None)
    object.__setattr__(nothing, "candidate_coverage", Coverage(0, 0, 100, {"not_applicable": 100}))
    assert gate(comparison(nothing)).exit_code == 0
    assert gate(comparison(nothing), strict=True).exit_code == 5


def test_the_worst_of_all_checks_counts():
    low, lost = one("cannot say", measured=10), one("worse", metric="l")
    unknown = one("cannot say", metric="u", p_holm=None)
    assert gate(comparison(unknown, low, lost), strict=True).outcome == "regression"
    assert gate(comparison(unknown, low), strict=True).outcome == "coverage too low"
    assert gate(comparison(one("better"), unknown), strict=True).outcome == "cannot say"


def test_a_metric_that_only_one_has_is_shown_and_fails_when_strict():
    found = comparison(one("better"), not_compared=(("new", "faithfulness"),))
    assert [check.metric for check in gate(found).checks] == ["m", "faithfulness"]
    assert gate(found).exit_code == 0
    assert gate(found, strict=True).exit_code == 5


def test_nothing_to_check_is_no_pass():
    with pytest.raises(ConfigurationError, match="no metric of base"):
        gate(comparison(not_compared=(("new", "m"),)))


def test_an_unknown_condition():
    with pytest.raises(ConfigurationError, match="worse, not-equivalent, not-better"):
        gate(comparison(one("better")), fail_on="slower")


def test_without_a_margin_nothing_can_be_equivalent():
    without = one("no difference shown", metric="w")
    object.__setattr__(without, "margin", None)
    with pytest.raises(ConfigurationError, match="needs a margin"):
        gate(comparison(without), fail_on="not-equivalent")
    assert gate(comparison(one("equivalent"), without), fail_on="not-equivalent").exit_code == 3
