import re

from hypothesis import given
from hypothesis import strategies as st

from fastrag.store.filters import And, Contains, Eq, Exists, In, Not, Or, Range
from fastrag.store.milvus.filters import (
    EVERYTHING,
    MAX_KEY,
    NOTHING,
    ArrayExpressions,
    KeyExpressions,
    bounded_facts_of,
    has_key,
    is_key,
    items_of,
    key_name,
    keys_of,
    left_open,
    long_ranges,
)
from fastrag.store.milvus.rows import row_key

SCALARS = st.one_of(st.text(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
NAMES = st.text(min_size=1)
BOUNDS = st.one_of(st.none(), st.text(), st.floats(-9, 9), st.text(min_size=70))
FILTERS = st.recursive(
    st.one_of(
        st.builds(Eq, NAMES, SCALARS),
        st.builds(In, NAMES, st.lists(SCALARS)),
        st.builds(Range, NAMES, gte=BOUNDS, lt=BOUNDS),
        st.builds(Exists, NAMES),
        st.builds(Contains, NAMES, SCALARS),
    ),
    lambda inner: st.one_of(st.builds(And, st.lists(inner)), st.builds(Or, st.lists(inner)), st.builds(Not, inner)),
)
LITERAL = re.compile(r'"[0-9a-z#?=\[~_|%]*"')
WORDS = re.compile(
    r"array_contains_any|array_contains|facts|exists|\bid\b|\b[kc]_?[0-9a-f]+\b|\bnot\b|\bnull\b|\band\b|\bor\b|\bin\b"
    r"|\bis\b|\blike\b|[(),<>=!\[\] ]"
)


@given(FILTERS, st.booleans())
def test_no_character_of_a_caller_gets_into_an_expression(filter, has_columns):
    columns = {key_name("a"), key_name("0")} if has_columns else ()
    settled = {condition: [row_key("ü\"'"), row_key("x" * 500)] for condition in long_ranges(filter)}
    for kind in (ArrayExpressions, KeyExpressions):
        assert WORDS.sub("", LITERAL.sub("", kind(columns, settled).of(filter))) == ""
    for condition in settled:
        assert WORDS.sub("", LITERAL.sub("", left_open(condition))) == ""


@given(st.dictionaries(NAMES, st.one_of(SCALARS, st.lists(SCALARS, max_size=3)), max_size=3))
def test_what_is_stored_is_bounded_and_has_no_character_of_a_caller(metadata):
    keys, items = keys_of(metadata), items_of(metadata)
    assert all(re.fullmatch(r"[kc](_|[0-9a-f])[0-9a-f]*", name) for name in (*keys, *items))
    assert all(is_key(name) for name in keys)
    assert all(len(key) <= MAX_KEY for key in keys.values())
    assert all(len(fact) <= 400 for fact in bounded_facts_of(metadata))
    stored = "".join((*keys.values(), *items.values(), *bounded_facts_of(metadata)))
    assert re.fullmatch(r"[0-9a-gnsld#?=\[|]*", stored)


@given(st.text(min_size=1))
def test_keys_of_rows(id):
    assert re.fullmatch(r"h?[0-9a-f]{2,128}", row_key(id))


def test_expressions():
    of = ArrayExpressions().of
    assert of(Eq("a", 1)) == 'array_contains(facts, "61=n280000000")'
    assert of(Or([Eq("a", True), Contains("b", "x"), Or([])])) == (
        f'(array_contains_any(facts, ["61=b1", "62[s78"]) or {NOTHING})'
    )
    assert of(Not(And([Exists("a"), Not(Exists("b"))]))) == (
        '((not array_contains(facts, "61?")) or array_contains(facts, "62?"))'
    )
    assert of(Not(Range("a", gte="b"))) == '(((not (exists k61)) or k61 < "s") or (k61 >= "t" or k61 < "s62"))'
    assert of(And([Range("a", gte=1, lt="b"), In("a", [])])) == f"({NOTHING} and {NOTHING})"
    assert of(Not(In("a", []))) == of(And([])) == EVERYTHING
    of = KeyExpressions().of
    assert of(Not(Eq("a", "b"))) == '(k61 is null or k61 != "s62")'
    assert of(Contains("a", "b")) == 'c61 like "%|s62|%"'
    for kind in (ArrayExpressions, KeyExpressions):
        of = kind({key_name("a")}).of
        assert of(Not(Eq("a", "b"))) == 'k61 != "s62"'
        assert of(Exists("a")) == 'k61 != ""'
        assert of(In("a", ["b", "b", 0])) == 'k61 in ["s62", "n1"]'
        assert of(Not(Range("a", lt=0))) == '((k61 == "" or k61 < "n") or (k61 >= "o" or k61 >= "n1"))'
    assert has_key(["61", "62"]) == 'id in ["61", "62"]'


def test_many_conditions_are_a_tree_of_little_depth():
    def depth(expression):
        deepest = level = 0
        for character in expression:
            level += (character == "(") - (character == ")")
            deepest = max(deepest, level)
        return deepest

    many = Or([Range("n", gte=n, lt=n + 1) for n in range(1000)])
    assert depth(ArrayExpressions().of(many)) < 15
    assert depth(KeyExpressions().of(Not(many))) < 15
