"""prepare_relevance: what relevant ids may be, and what is refused."""

import math
from collections import UserDict
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from fastrag.benchmark.metrics import prepare_relevance
from fastrag.errors import ConfigurationError


def test_a_list_means_gain_one():
    relevance = prepare_relevance(["b", "a", "b"])
    assert (relevance.ids, relevance.ideal, relevance.judged) == ({"a", "b"}, [1.0, 1.0], True)


@pytest.mark.parametrize("empty", [[], {}, (), set()])
def test_nothing_known(empty):
    relevance = prepare_relevance(empty)
    assert (relevance.ids, relevance.ideal, relevance.judged) == (frozenset(), [], False)


def test_gains_of_zero_and_below_are_judged_and_not_relevant():
    relevance = prepare_relevance({"a": 2, "b": 0, "c": -3, "d": 0.25, "e": -0.0})
    assert (relevance.ids, relevance.ideal, relevance.judged) == ({"a", "d"}, [2, 0.25], True)
    assert prepare_relevance({"a": 0, "b": -1}).judged
    assert prepare_relevance({"a": 0, "b": -1}).ideal == []


@pytest.mark.parametrize(
    "relevant",
    [
        {1: 2, 2: 0},
        {"1": 2.0, 2: -1},
        UserDict({"1": 2}),
        {np.int64(1): np.float32(2), np.str_("2"): np.int8(0)},
        {"1": Fraction(2), "2": Fraction(0)},
    ],
    ids=["int ids", "mixed ids", "another mapping", "numpy", "fractions"],
)
def test_ids_become_text_and_gains_numbers(relevant):
    relevance = prepare_relevance(relevant)
    assert relevance.ids == {"1"}
    assert relevance.ideal == [2.0]
    assert relevance.gains["1"] == 2.0


@pytest.mark.parametrize("relevant", [(1, "2"), {1, "2"}, frozenset([1, 2]), np.array([1, 2]), {"1": 1, "2": 1}.keys()])
def test_any_collection_of_ids(relevant):
    assert prepare_relevance(relevant).ids == {"1", "2"}


@pytest.mark.parametrize("gain", [math.nan, math.inf, -math.inf, "1", None, 1j, Decimal(1), 10**400, [1]])
@pytest.mark.parametrize("others", [{}, {"b": 1}, {"b": 0.5, "c": -1}])
def test_a_gain_that_is_no_finite_number_is_refused(gain, others):
    with pytest.raises(ConfigurationError, match=r"the gain of 'a' must be a finite number"):
        prepare_relevance({**others, "a": gain})


def test_huge_gains_that_cancel_out_are_refused_all_the_same():
    with pytest.raises(ConfigurationError, match="finite"):
        prepare_relevance({"a": 10**400, "b": -(10**400)})


@pytest.mark.parametrize("relevant", ["doc1", b"doc1", None, 5, iter(["a"])], ids=lambda value: type(value).__name__)
def test_what_is_no_collection_of_ids_is_refused(relevant):
    with pytest.raises(ConfigurationError, match="must be a list or a mapping id -> gain"):
        prepare_relevance(relevant)


@pytest.mark.parametrize("relevant", [["a", None], {None: 1}])
def test_none_is_no_id(relevant):
    with pytest.raises(ConfigurationError, match="must not be None"):
        prepare_relevance(relevant)


def test_two_gains_for_one_id_are_refused():
    with pytest.raises(ConfigurationError, match=r"same as text: \['1', '1', '2'\]"):
        prepare_relevance({1: 1, "1": 0, 2: 1})


def test_the_callers_data_stays_as_it_was():
    relevant = {"a": 2, "b": 0, 3: -1}
    prepare_relevance(relevant)
    assert relevant == {"a": 2, "b": 0, 3: -1}
