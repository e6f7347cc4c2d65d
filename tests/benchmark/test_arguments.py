"""A wrong argument is refused by name, with its value, whatever its type; never by an error from further down."""

import math

import numpy as np
import pytest

from fastrag._support.checks import require_number, shown
from fastrag.benchmark import (
    EvalSample,
    calibrate,
    compare,
    compare_slices,
    describe,
    detectable_difference,
    question_changes,
    question_groups,
    questions_needed,
    rank,
    rank_slices,
    repeats_of,
    slice_result,
    smallest_detectable,
    trade_offs,
)
from fastrag.benchmark.agreement import agreement, cohen_kappa, krippendorff_alpha
from fastrag.benchmark.statistics import bootstrap_interval, mean_interval, percentile_interval
from fastrag.errors import ConfigurationError

NOT_NUMBERS = ["a", "", b"x", True, [0.5], {}, object(), math.nan, math.inf, 10**400, 10**5000, np.array([0.5, 0.5])]
NOT_PROBABILITIES = [*NOT_NUMBERS, None, 0, 1, -0.1, 95, 1e-300, 1 - 1e-16]
NOT_SHARES = [*NOT_NUMBERS, None, -0.1, 90]
NOT_WHOLE = ["a", True, 2.5, None, math.nan, [1], np.float64(3)]
NOT_LISTS = ["ndcg@10", b"x", 5, {"ndcg@10": 1}, {"ndcg@10"}, object()]
NOT_RANGES = [
    *("x", 5, [("ndcg@10", (0, 1))], {"ndcg@10": (1,)}, {"ndcg@10": "01"}, {"ndcg@10": 1}, {"ndcg@10": (1, 0)}),
    *({"ndcg@10": (0, math.nan)}, {"ndcg@10": ("0", 1)}, {"ndcg@10": (False, True)}, {"ndcg@10": (0, 10**400)}),
]
NOT_MARGINS = [
    *("x", True, 0, -1, math.nan, math.inf, [0.1], {"ndcg@10": "x"}, {"ndcg@10": True}, {"ndgc@10": 0.1}, {1: 0.1})
]
NOT_GROUPS = [None, "x", 5, [("q0", "x")], {"q0": 1}, {0: "x"}, {"q0": ["x"]}, {("q0",): "x"}]
NOT_RESULTS = [None, "new.json", 5, {}, ["new.json"], object()]
NOT_METRICS = [None, "", 5, ["ndcg@10"], {"ndcg@10": 1}, "ndgc@10"]
NOT_SEEDS = [*NOT_WHOLE, -1]


@pytest.fixture(scope="module")
def functions(make_result):
    """Name -> function and sound arguments of it."""
    first, second = make_result("a", [0.1, 0.5, 0.3, 0.9]), make_result("b", [0.2, 0.4, 0.8, 0.9])
    both = make_result("c", mrr=[0.1, 0.4], latency_ms=[1.0, 2.0])
    groups = {f"q{i}": "odd" if i % 2 else "even" for i in range(4)}
    samples = [EvalSample("a", metadata={"topic": "x"})]
    judged, labels = [0.5, 1.0, 0.0, 0.5], [0.5, 1.0, 0.5, None]
    return {
        "compare": (
            lambda baseline=first, candidate=second, **options: compare(baseline, candidate, **options),
            {},
        ),
        "compare_slices": (
            lambda baseline=first, candidate=second, **options: compare_slices(baseline, candidate, **options),
            {"groups": groups},
        ),
        "rank": (rank, {"results": [first, second], "metric": "ndcg@10"}),
        "rank_slices": (rank_slices, {"results": [first, second], "metric": "ndcg@10", "groups": groups}),
        "slice_result": (slice_result, {"result": first, "groups": groups}),
        "trade_offs": (trade_offs, {"results": [both, both], "metrics": ["mrr", "latency_ms"]}),
        "describe": (describe, {"result": first}),
        "describe by bootstrap": (describe, {"result": first, "method": "bootstrap"}),
        "questions_needed": (questions_needed, {"effect": 0.2}),
        "detectable_difference": (detectable_difference, {"sd": 0.3, "n": 10}),
        "smallest_detectable": (smallest_detectable, {"result": first, "n": 10}),
        "question_changes": (question_changes, {"baseline": first, "candidate": second, "metric": "ndcg@10"}),
        "repeats_of": (repeats_of, {"result": first, "metric": "ndcg@10"}),
        "question_groups": (question_groups, {"samples": samples, "key": "topic"}),
        "calibrate": (calibrate, {"judged": judged, "labels": labels, "resamples": 10}),
        "agreement": (agreement, {"first": judged, "second": labels, "resamples": 10}),
        "cohen_kappa": (cohen_kappa, {"first": judged, "second": judged}),
        "krippendorff_alpha": (krippendorff_alpha, {"ratings": [judged, labels]}),
        "mean_interval": (mean_interval, {"scores": judged}),
        "bootstrap_interval": (bootstrap_interval, {"scores": judged}),
        "percentile_interval": (percentile_interval, {"scores": judged, "percentile": 50}),
    }


WRONG = {
    ("compare", "compare_slices", "question_changes"): {"baseline": NOT_RESULTS, "candidate": NOT_RESULTS},
    ("slice_result", "describe", "smallest_detectable", "repeats_of"): {"result": NOT_RESULTS},
    ("rank", "rank_slices", "trade_offs"): {"results": [*NOT_RESULTS, []]},
    ("compare", "compare_slices"): {
        "margin": NOT_MARGINS,
        "permutations": [*NOT_WHOLE, 0],
        "metrics": [*NOT_LISTS, [], [1], [["ndcg@10"]], ["ndgc@10"]],
    },
    ("trade_offs",): {"metrics": [*NOT_LISTS, None, [], ["mrr"], [1, 2], [["mrr"], "latency_ms"]]},
    ("describe", "smallest_detectable"): {"metrics": [*NOT_LISTS, [], [1], [["ndcg@10"]], ["ndgc@10"]]},
    ("rank", "rank_slices", "question_changes", "repeats_of"): {"metric": NOT_METRICS},
    ("compare", "compare_slices", "rank", "rank_slices"): {"alpha": NOT_PROBABILITIES},
    ("compare", "compare_slices", "rank", "rank_slices", "trade_offs"): {"min_coverage": NOT_SHARES},
    ("compare", "compare_slices", "rank", "rank_slices", "describe"): {"ranges": NOT_RANGES},
    ("compare_slices", "rank_slices", "slice_result"): {"groups": NOT_GROUPS},
    ("describe",): {"groups": NOT_GROUPS[1:], "method": ["x", 5, ["t"], np.array([1, 2])]},
    ("describe", "describe by bootstrap", "calibrate", "agreement"): {"level": NOT_PROBABILITIES, "seed": NOT_SEEDS},
    ("compare", "compare_slices", "bootstrap_interval"): {"seed": NOT_SEEDS},
    ("questions_needed",): {"effect": [*NOT_NUMBERS, None, 0, 1e-9]},
    ("questions_needed", "detectable_difference"): {"sd": [*NOT_NUMBERS, None, -1]},
    ("detectable_difference", "smallest_detectable"): {"n": [*NOT_WHOLE, 0, 10**400]},
    ("questions_needed", "detectable_difference", "smallest_detectable"): {
        "power": [*NOT_PROBABILITIES, 0.04],
        "alpha": NOT_PROBABILITIES,
        "comparisons": [*NOT_WHOLE, 0, 10**400],
    },
    ("smallest_detectable",): {"correlation": [*NOT_NUMBERS, None, -0.1, 1]},
    ("question_changes", "repeats_of"): {"passing": NOT_NUMBERS, "tolerance": [*NOT_NUMBERS, None, -1]},
    ("question_groups",): {
        "samples": [None, 5, "text", [], ["a"], [{"topic": "x"}], EvalSample("a"), [EvalSample("a", metadata=None)]],
        "key": [None, 5, "", ["topic"], "other"],
    },
    ("calibrate",): {
        "judged": [None, "half", 5, {"a": 1}, {0.5}, *([0, 1, 0, value] for value in NOT_NUMBERS), [1e200, 1, 1, 1]],
        "labels": [None, "half", 5, {"a": 1}, {0.5}, *([0, 1, value, None] for value in NOT_NUMBERS)],
    },
    ("agreement", "cohen_kappa"): {
        "first": [None, "half", 5, {"a": 1}, {0.5}, *([0, 1, 0, value] for value in NOT_NUMBERS)],
        "categories": [*NOT_LISTS, [], *([0, 0.5, 1, value] for value in NOT_NUMBERS)],
    },
    ("calibrate", "agreement", "cohen_kappa"): {"weights": [None, "cubic", 5, ["linear"], np.array([1, 2])]},
    ("calibrate", "agreement", "krippendorff_alpha"): {"scale": [None, "ratio", 5, ["nominal"], np.array([1, 2])]},
    ("calibrate", "agreement"): {"resamples": [*NOT_WHOLE, -1]},
    ("krippendorff_alpha",): {"ratings": [None, "ab", 5, [], [[1]], [1, 2], ["ab", "cd"], [[1, "x"], [1, 2]]]},
    ("mean_interval", "bootstrap_interval", "percentile_interval"): {
        "scores": [None, "half", 5, ["x"], [[0.5]], [object()]],
        "level": NOT_PROBABILITIES,
    },
    ("bootstrap_interval",): {"resamples": [*NOT_WHOLE, 99]},
    ("percentile_interval",): {"percentile": [*NOT_NUMBERS, None, 0, 100]},
}
CASES = [
    pytest.param(function, argument, values, id=f"{function}-{argument}")
    for functions_of, arguments in WRONG.items()
    for function in functions_of
    for argument, values in arguments.items()
]


@pytest.mark.parametrize(("function", "argument", "values"), CASES)
def test_a_wrong_argument_is_refused(functions, function, argument, values):
    call, sound = functions[function]
    call(**sound)
    for value in values:
        with pytest.raises(ConfigurationError) as caught:
            call(**sound | {argument: value})
        assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("function", "wrong", "message"),
    [
        ("compare", {"candidate": "new.json"}, "not 'new.json'; read a file with BenchmarkResult.load(path)"),
        ("compare", {"candidate": []}, "a result must be a BenchmarkResult, not []; give them one by one"),
        ("compare", {"alpha": "x"}, "alpha must be a number between 0 and 1, at least 1e-09 away from both, not 'x'"),
        ("compare", {"alpha": 1e-300}, "away from both, not 1e-300"),
        ("compare", {"min_coverage": 90}, "min_coverage must be a finite number from 0 to 1, not 90"),
        ("compare", {"margin": True}, "the margin of ndcg@10 must be a finite number above 0, not True"),
        ("compare", {"margin": {"x": 1}}, "a margin for 'x', which is not compared; those are: ndcg@10"),
        ("compare", {"metrics": "ndcg@10"}, "metrics must be a list of names, not 'ndcg@10'"),
        ("compare", {"metrics": ["x"]}, "a does not have the metric 'x'; it has: ndcg@10"),
        ("compare", {"ranges": {"mrr": (1,)}}, "the range of mrr must be a pair (lowest, highest), not (1,)"),
        ("compare", {"ranges": {"mrr": (2, 1)}}, "the range of mrr must go upwards, not from 2.0 to 1.0"),
        (
            "compare",
            {"ranges": {"mrr": (0, math.nan)}},
            "range of mrr that is no infinity must be a finite number, not",
        ),
        ("compare", {"permutations": 2.5}, "permutations must be a whole number of at least 1, not 2.5"),
        ("compare", {"seed": -1}, "seed must be a whole number of at least 0, not -1"),
        ("compare_slices", {"groups": [1]}, "question -> group, as question_groups() makes it of samples, not [1]"),
        ("compare_slices", {"groups": {"q0": 1}}, "groups must be texts, of questions that are texts, not 'q0': 1"),
        (
            "question_groups",
            {"samples": ["q0"]},
            "these samples cannot be grouped:\n- samples must be EvalSample objects; '0 (str)' of 1",
        ),
        ("describe", {"level": 95}, "level must be a number between 0 and 1"),
        ("describe", {"method": "magic"}, "method must be one of t, wilson, bootstrap, not 'magic'"),
        ("questions_needed", {"effect": 0}, "an effect of 0 is too small against sd=1.0 for any number of questions"),
        ("questions_needed", {"power": 0.01}, "power must be between alpha (0.05) and 1, not 0.01"),
        ("smallest_detectable", {"n": 1.5}, "n must be a whole number from 1 to 1000000000000, not 1.5"),
        ("smallest_detectable", {"correlation": 1}, "correlation must be a finite number of at least 0 and below 1"),
        ("calibrate", {"judged": [0, 1, "x", 1]}, "the score of 2 must be a finite number, not 'x'"),
        ("calibrate", {"labels": [0, True, 1, None]}, "the label of 1 must be a finite number, not True"),
        ("calibrate", {"judged": [0, 1e200, 1, 1]}, "the score of 1 must lie within 1e+150 of 0, not be 1e+200"),
        ("agreement", {"first": [0, 1, math.inf, 1]}, "a rating must be a finite number, not inf"),
        ("agreement", {"weights": "cubic"}, "weights must be one of none, linear, quadratic, not 'cubic'"),
    ],
)
def test_the_message_names_the_argument_and_its_value(functions, function, wrong, message):
    call, sound = functions[function]
    with pytest.raises(ConfigurationError) as caught:
        call(**sound | wrong)
    assert message in str(caught.value)


def test_a_run_without_samples_says_nothing_about_its_questions(make_result):
    result, empty = make_result("old", [0.1, 0.2]), make_result("new", [0.1])
    empty.samples = []
    for call in (
        lambda: compare(result, empty),
        lambda: describe(empty),
        lambda: question_changes(result, empty, "ndcg@10"),
        lambda: repeats_of(empty, "ndcg@10"),
        lambda: smallest_detectable(empty, 10),
    ):
        with pytest.raises(ConfigurationError, match="new has no samples, and so says nothing about single questions"):
            call()


def test_numbers_of_numpy_are_numbers(make_result):
    first, second = make_result("a", [0.1, 0.5, 0.3]), make_result("b", [0.2, 0.4, 0.8])
    found = compare(first, second, alpha=np.float32(0.05), margin=np.float64(0.1), min_coverage=np.int64(1))
    assert found.of("ndcg@10").margin == 0.1
    assert cohen_kappa(np.array([1, 0, 1]), np.array([1, 0, 0])) == cohen_kappa([1, 0, 1], [1, 0, 0])


def test_a_message_shows_no_more_than_it_can():
    class Nameless:
        def __repr__(self):
            raise KeyError("no")

    assert shown(Nameless()) == "a Nameless"
    assert shown(10**5000) == "a int"
    assert len(shown("x" * 10_000)) < 250
    with pytest.raises(ConfigurationError, match=r"x must be a finite number above 0 and of at most 2, not 3"):
        require_number("x", 3, above=0, at_most=2)
