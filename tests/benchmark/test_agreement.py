"""Agreement beyond chance, against the values of scikit-learn 1.9 and krippendorff 0.9."""

import gzip
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrag.benchmark.agreement import agreement, cohen_kappa, krippendorff_alpha
from fastrag.errors import ConfigurationError

FIRST = [1, 2, 3, 3, 2, 1, 4, 1, 2, 5, 3, 3]
SECOND = [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 3, 1]
# Krippendorff's own example, with gaps.
THREE_RATERS = [
    [None, None, None, None, None, 3, 4, 1, 2, 1, 1, 3, 3, None, 3],
    [1, None, 2, 1, 3, 3, 4, 3, None, None, None, None, None, None, None],
    [None, None, 2, 1, 3, 4, 4, None, 2, 1, 1, 3, 3, None, 4],
]
ratings = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=30)


@pytest.mark.parametrize(
    ("weights", "expected"), [("none", 0.7798165137614679), ("linear", 0.8085106382978723), ("quadratic", 29 / 34)]
)
def test_kappa(weights, expected):
    assert cohen_kappa(FIRST, SECOND, weights=weights) == pytest.approx(expected, abs=1e-12)
    assert cohen_kappa(FIRST, SECOND, weights=weights, categories=range(1, 8)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("scale", "three", "two"),
    [
        ("nominal", 0.691358024691358, 0.7880184331797235),
        ("ordinal", 0.8067214199413153, 0.7999573841624051),
        ("interval", 0.8108448928121059, 0.8588957055214724),
    ],
)
def test_alpha(scale, three, two):
    assert krippendorff_alpha(THREE_RATERS, scale=scale) == pytest.approx(three, abs=1e-12)
    assert krippendorff_alpha([FIRST, SECOND], scale=scale) == pytest.approx(two, abs=1e-12)


def test_categories_between_the_values_that_occur_make_a_disagreement_larger():
    assert cohen_kappa([0, 0, 1, 5], [0, 1, 1, 5], weights="linear") == pytest.approx(0.7142857142857143)
    with_gap = cohen_kappa([0, 0, 1, 5], [0, 1, 1, 5], weights="linear", categories=[0, 1, 2, 3, 4, 5])
    assert with_gap == pytest.approx(0.875)


def test_what_does_not_exist_is_none():
    assert cohen_kappa([1, 1], [1, 1]) is None
    assert cohen_kappa([], []) is None
    for scale in ("nominal", "ordinal", "interval"):
        assert krippendorff_alpha([[0.1, 0.1], [0.1, 0.1]], scale=scale) is None
        assert krippendorff_alpha([[1, None], [None, 1]], scale=scale) is None


def test_raters_of_whom_one_never_changes_agree_no_better_than_chance():
    for weights in ("none", "linear", "quadratic"):
        assert cohen_kappa([1, 1, 1], [1, 2, 3], weights=weights) == 0
    assert cohen_kappa([0, 1], [1, 0]) == -1
    assert krippendorff_alpha([[0, 1], [1, 0]]) == -0.5


def test_a_single_item():
    assert cohen_kappa([1], [1]) is None
    assert cohen_kappa([1], [2]) == 0
    assert krippendorff_alpha([[1], [2]]) == 0
    same, different = agreement([1], [1]), agreement([1, None], [2, 5])
    assert (same.n, same.observed, same.kappa.value, same.alpha.value) == (1, 1.0, None, None)
    assert (different.n, different.observed, different.kappa.value, different.weighted_kappa.value) == (1, 0.0, 0, 0)
    assert different.kappa.interval is different.alpha.interval is None


def test_one_category_only():
    found = agreement([3] * 10, [3] * 10)
    assert (found.n, found.observed) == (10, 1.0)
    for coefficient in (found.kappa, found.weighted_kappa, found.alpha):
        assert coefficient.value is coefficient.interval is None
    assert agreement([3] * 10, [3] * 10, categories=[1, 2, 3]).kappa.value is None


def test_very_small_and_very_large_ratings():
    for unit in (1e-200, 1e149):
        scaled = [[None if value is None else value * unit for value in rater] for rater in THREE_RATERS]
        assert krippendorff_alpha(scaled) == pytest.approx(krippendorff_alpha(THREE_RATERS))


@given(ratings)
def test_kappa_is_what_its_definition_says_pair_by_pair(pairs):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    places = {value: place for place, value in enumerate(sorted({*first, *second}))}
    for weights, power in (("none", 0), ("linear", 1), ("quadratic", 2)):

        def apart(a, b, power=power):
            return abs(places[a] - places[b]) ** power if a != b else 0

        seen = sum(apart(a, b) for a, b in pairs) / len(pairs)
        by_chance = sum(apart(a, b) for a in first for b in second) / len(pairs) ** 2
        expected = pytest.approx(1 - seen / by_chance, abs=1e-12) if by_chance else None
        assert cohen_kappa(first, second, weights=weights) == expected


@given(st.lists(st.lists(st.integers(0, 4), min_size=0, max_size=4), min_size=1, max_size=12))
def test_alpha_is_what_its_definition_says_pair_by_pair(items):
    raters = [[item[i] if i < len(item) else None for item in items] for i in range(4)]
    items = [item for item in items if len(item) >= 2]
    pooled = [value for item in items for value in item]
    for scale, distance in (("nominal", lambda a, b: a != b), ("interval", lambda a, b: (a - b) ** 2)):
        seen = sum(distance(a, b) / (len(item) - 1) for item in items for a in item for b in item)
        by_chance = sum(distance(a, b) for a in pooled for b in pooled) / max(1, len(pooled) - 1)
        expected = pytest.approx(1 - seen / by_chance, abs=1e-12) if by_chance else None
        assert krippendorff_alpha(raters, scale=scale) == expected


@given(ratings)
def test_who_is_first_does_not_matter(pairs):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    for weights in ("none", "linear", "quadratic"):
        there, back = cohen_kappa(first, second, weights=weights), cohen_kappa(second, first, weights=weights)
        assert there == (None if back is None else pytest.approx(back, abs=1e-12))
    for scale in ("nominal", "ordinal", "interval"):
        there, back = krippendorff_alpha([first, second], scale=scale), krippendorff_alpha([second, first], scale=scale)
        assert there == (None if back is None else pytest.approx(back, abs=1e-12))


@given(ratings)
def test_agreeing_with_oneself_is_1(pairs):
    first = [a for a, _ in pairs]
    expected = None if len(set(first)) == 1 else 1.0
    assert cohen_kappa(first, first) == expected
    assert krippendorff_alpha([first, first]) == expected


def test_alpha_on_the_interval_scale_does_not_change_with_the_unit():
    moved = [[None if value is None else 1e6 + value / 7 for value in rater] for rater in THREE_RATERS]
    assert krippendorff_alpha(moved) == pytest.approx(krippendorff_alpha(THREE_RATERS), abs=1e-6)


def test_both_kappas_and_alpha_with_intervals_that_a_seed_repeats():
    found = agreement(FIRST * 5, SECOND * 5, seed=3, resamples=400)
    assert found == agreement(FIRST * 5, SECOND * 5, seed=3, resamples=400)
    assert found.kappa.interval != agreement(FIRST * 5, SECOND * 5, seed=4, resamples=400).kappa.interval
    assert found.n == 60
    assert found.observed == pytest.approx(10 / 12)
    for coefficient in (found.kappa, found.weighted_kappa, found.alpha):
        assert -1 <= coefficient.interval.low < coefficient.value < coefficient.interval.high <= 1
        assert coefficient.interval.level == 0.95


def test_the_interval_is_about_as_wide_as_the_large_sample_formula_says():
    # Kappa of a 2x2 table with cells 40, 10, 5, 45: 0.7; its standard error by Fleiss, Cohen and Everitt (1969) 0.0713.
    first, second = [0] * 50 + [1] * 50, [0] * 40 + [1] * 10 + [0] * 5 + [1] * 45
    kappa = agreement(first, second, resamples=4000).kappa
    assert kappa.value == pytest.approx(0.7)
    assert (kappa.interval.high - kappa.interval.low) / (2 * 1.96) == pytest.approx(0.0713, rel=0.06)


def test_items_only_one_rated_are_left_out():
    found = agreement([1, 2, None, 1], [1, None, 2, 2], resamples=0)
    assert (found.n, found.observed) == (2, 0.5)
    assert found.alpha.interval is None


def test_scores_that_are_no_categories_have_alpha_alone():
    scores = [i / 50 for i in range(50)]
    found = agreement(scores, scores[1:] + scores[:1], resamples=50)
    assert found.observed is None
    assert found.kappa.value is None
    assert found.weighted_kappa.value is None
    assert found.alpha.value == pytest.approx(krippendorff_alpha([scores, scores[1:] + scores[:1]]))
    binned = agreement(scores, scores[1:] + scores[:1], categories=[0, 0.5, 1], resamples=0)
    assert 0.9 < binned.observed < 1
    assert binned.alpha.value == found.alpha.value


def test_a_score_between_two_categories_is_the_nearest_and_of_two_the_lower():
    found = agreement([0.24, 0.25, 0.26, 0.75, 0.76], [0, 0, 0.5, 0.5, 1], categories=[0, 0.5, 1], resamples=0)
    assert found.observed == 1.0


def test_an_interval_that_resampling_leaves_undefined_is_absent():
    found = agreement([1] * 10 + [0], [1] * 10 + [0], resamples=200)
    assert found.kappa.value == 1.0
    assert found.kappa.interval is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: cohen_kappa([1], [1, 2]),
        lambda: cohen_kappa([1, 2], [1, 3], categories=[1, 2]),
        lambda: cohen_kappa([1, math.nan], [1, 2]),
        lambda: cohen_kappa([1, 2], [1, 2], weights="cubic"),
        lambda: krippendorff_alpha([[1, 2]]),
        lambda: krippendorff_alpha([[1, 2], [1]]),
        lambda: krippendorff_alpha([[1, 2], [1, 2]], scale="ratio"),
        lambda: agreement([1, None], [None, 1]),
        lambda: agreement([1, 2], [1]),
        lambda: agreement([1, 2], [1, 2], level=1),
        lambda: agreement([1, 2], [1, 2], categories=[]),
    ],
)
def test_what_cannot_be_measured_is_refused(call):
    with pytest.raises(ConfigurationError):
        call()


@pytest.mark.shared
@pytest.mark.parametrize(
    ("what", "kappas", "alphas"),
    [
        ("correctness", [0.311338, 0.471542, 0.633142], [0.309950, 0.586513, 0.633758]),
        ("completeness", [0.462600, 0.590945, 0.718376], [0.461742, 0.682837, 0.718784]),
        ("overall", [0.413254, 0.558689, 0.698500], [0.410711, 0.683596, 0.698837]),
    ],
)
def test_two_annotators_of_280_pairs_of_answers(shared, what, kappas, alphas):
    with gzip.open(shared / "data" / "ragchecker_meta" / "labels.jsonl.gz") as lines:
        labels = [json.loads(line)["human"][what] for line in lines]
    first, second = [a for a, _ in labels], [b for _, b in labels]
    found = [cohen_kappa(first, second, weights=weights) for weights in ("none", "linear", "quadratic")]
    assert found == pytest.approx(kappas, abs=1e-6)
    found = [krippendorff_alpha([first, second], scale=scale) for scale in ("nominal", "ordinal", "interval")]
    assert found == pytest.approx(alphas, abs=1e-6)
