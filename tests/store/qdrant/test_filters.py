import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fastrag.store.facts import facts_of, sort_key
from fastrag.store.filters import And, Eq, Exists, In, Not, Or, Range, matches
from fastrag.store.qdrant.filters import FACTS, SORT, Conditions, columns_of, long_bounds, range_paths

models = pytest.importorskip("qdrant_client").models

from qdrant_client.local.payload_filters import check_filter  # noqa: E402

# Around what one column and all columns hold: 6 and 48 bytes of a text, some 350 binary digits of a number.
LONG = "long text that is just as long as eight columns "
TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=8),
    st.builds(str.__add__, st.sampled_from([LONG, LONG[:-1], LONG[:6], "", "é"]), st.text("a\x00z", max_size=3)),
)
INTS = st.one_of(
    st.integers(-20, 20),
    st.builds(
        lambda power, more, sign: sign * (2**power + more),
        st.sampled_from([40, 52, 53, 140, 341, 400]),
        st.integers(-2, 2),
        st.sampled_from([1, -1]),
    ),
)
NUMBERS = st.one_of(INTS, INTS.map(float), st.floats(allow_nan=False, allow_infinity=False))
VALUES = st.one_of(TEXTS, NUMBERS)
BOUNDS = st.one_of(st.none(), VALUES)


def is_selected(filter, metadata):
    point = {FACTS: facts_of(metadata), SORT: columns_of(metadata)}
    point = json.loads(json.dumps(point))
    beyond = {}
    for bound in long_bounds(filter):
        alike = Conditions(models, {}).alike(bound)
        is_alike = check_filter(alike, point, point_id=1, has_vector={})
        beyond[bound] = [1] if is_alike and bound.holds(metadata) else []
    return check_filter(Conditions(models, beyond).of(filter), point, point_id=1, has_vector={})


def test_texts_as_long_as_the_columns():
    assert len(LONG.encode()) == 48


@settings(max_examples=400, deadline=None, database=None)
@given(VALUES, BOUNDS, BOUNDS, BOUNDS, BOUNDS)
@example(LONG, LONG, None, None, None)
@example(LONG + "a", None, LONG, None, None)
@example(LONG + "a", None, LONG + "b", None, None)
@example(LONG + "b", None, LONG + "a", None, None)
@example(LONG, None, None, None, LONG + "a")
@example("", "", None, "", None)
@example("", None, "", None, None)
@example("\x00", None, "", None, None)
@example("abcdef", "abcdef", None, None, "abcdef\x00")
@example(2**53 + 1, None, float(2**53), None, None)
@example(2**400 + 1, None, 2**400, None, 2**400 + 2)
@example(-(2**400) - 1, -(2**400) - 1, None, None, -(2**400))
@example(-0.0, 0, None, 0.0, None)
@example(5e-324, None, 0, None, None)
def test_ranges_are_exact(value, gte, gt, lte, lt):
    for within in (
        Range("v", gte, gt, lte, lt),
        Range("v", gte=gte),
        Range("v", gt=gt),
        Range("v", lte=lte),
        Range("v", lt=lt),
    ):
        for filter in (within, Not(within), And([within, Exists("v")]), Or([within, Eq("v", 0.5)])):
            assert is_selected(filter, {"v": value}) is matches(filter, {"v": value}), filter


@given(VALUES, VALUES)
def test_columns_are_ordered_as_the_values_are(one, other):
    if isinstance(one, str) == isinstance(other, str):
        [columns], [others] = columns_of({"v": one}).values(), columns_of({"v": other}).values()
        if max(len(columns), len(others)) <= 8:
            assert (list(columns.values()) < list(others.values())) is (one < other)
            assert (columns == others) is (one == other)


def test_columns_are_exact_as_floats_and_few():
    for value in ("\U0010ffff" * 100, "x" * 1_000_000, 10**4000, -(10**4000), 1.1e-300):
        [columns] = columns_of({"v": value}).values()
        assert len(columns) <= 9
        assert all(0 <= number < 2**53 and int(float(number)) == number for number in columns.values())


def test_what_is_no_number_or_text_has_no_columns():
    assert columns_of({"a": True, "b": None, "c": [1], "d": {}}) == {}
    assert columns_of({"d": {"e": 0}}).keys() == {"n" + b"d.e".hex()}
    assert range_paths("d.e") == ["sort.n642e65.c0", "sort.s642e65.c0"]


def test_only_long_bounds_need_a_look_at_the_points():
    for short in (2024, 0.1, -1e300, 2**53 + 1, "2026-11-30T12:34:56.123456+00:00", LONG):
        assert not long_bounds(Range("v", gte=short, lt=short))
    long = And([Not(Range("v", gt=LONG + "a")), Or([Range("w", lte=2**500 + 1), Eq("v", "x" * 1000), In("v", ["y"])])])
    assert {(bound.field, bound.or_equal) for bound in long_bounds(long)} == {("v", False), ("w", False)}


def test_no_fact_is_taken_for_never():
    assert not is_selected(Or([]), {"no fact is spelt like this": "no fact is spelt like this"})
    assert is_selected(And([]), {})
    assert not is_selected(In("v", []), {"v": 1})


def test_no_character_of_a_caller_is_in_a_path():
    nasty = "a.b[0]\"'\\ü\x00"
    written = Conditions(models, {}).of(And([Range(nasty, gt=nasty), Eq(nasty, nasty)])).model_dump_json()
    assert nasty.encode().hex() in written
    assert "[0]" not in written
    assert sort_key(nasty)[1:] in written
