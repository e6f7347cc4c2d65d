from hypothesis import example, given
from hypothesis import strategies as st

from fastrag.store.facts import facts_of, sort_key, sort_keys_of

NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.integers(-3, 3).map(float))


@given(NUMBERS, NUMBERS)
@example(2**53 + 1, float(2**53))
@example(2**53, float(2**53))
@example(-1, -1.5)
@example(-16, -17)
@example(5e-324, 0)
@example(-0.0, 0)
@example(10**4000, 1.7976931348623157e308)
def test_keys_of_numbers_compare_as_the_numbers_do(one, other):
    assert (sort_key(one) == sort_key(other)) is (one == other)
    assert (sort_key(one) < sort_key(other)) is (one < other)


@given(st.text(), st.text())
@example("a", "aa")
@example("\uffff", "\U0001f600")
@example("", "\x00")
def test_keys_of_texts_compare_as_the_texts_do(one, other):
    assert (sort_key(one) == sort_key(other)) is (one == other)
    assert (sort_key(one) < sort_key(other)) is (one < other)


def test_keys_of_unlike_values_differ():
    values = [True, False, 1, 0, "1", "0", "true", "", "b1", 1.5]
    assert len({sort_key(value) for value in values}) == len(values)


def test_long_texts_are_kept_once():
    long = "x" * 10_000
    metadata = {"a": long, "b": [long, long]}
    assert sum(map(len, facts_of(metadata))) < 500
    assert sum(map(len, sort_keys_of(metadata).values())) < 2 * 10_000 + 50
