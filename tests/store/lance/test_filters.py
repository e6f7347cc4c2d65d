import re

from hypothesis import given
from hypothesis import strategies as st

from fastrag.store.filters import And, Contains, Eq, Exists, In, Not, Or, Range
from fastrag.store.lance.filters import sql_of

SCALARS = st.one_of(st.text(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
NAMES = st.text(min_size=1)
FILTERS = st.recursive(
    st.one_of(
        st.builds(Eq, NAMES, SCALARS),
        st.builds(In, NAMES, st.lists(SCALARS)),
        st.builds(Range, NAMES, gte=st.one_of(st.none(), st.text()), lt=st.one_of(st.none(), st.floats(-9, 9))),
        st.builds(Exists, NAMES),
        st.builds(Contains, NAMES, SCALARS),
    ),
    lambda inner: st.one_of(st.builds(And, st.lists(inner)), st.builds(Or, st.lists(inner)), st.builds(Not, inner)),
)
LITERAL = re.compile(r"'\|?[0-9a-f]*[?=\[]?(?:[bns#][0-9a-fg]*)?\|?'")
WORDS = re.compile(
    r"array_has_any|array_has|make_array|split_part|starts_with|facts|sortable|AND|OR|NOT|true|false|[(),0-9<>= ]"
)


@given(FILTERS)
def test_no_character_of_a_caller_gets_into_the_sql(filter):
    without_literals = LITERAL.sub("", sql_of(filter))
    assert WORDS.sub("", without_literals) == ""


def test_brackets_only_where_they_are_needed():
    a, b, c = Exists("a"), Exists("b"), Exists("c")
    has_a, has_b, has_c = (f"array_has(facts, '{each}?')" for each in ("61", "62", "63"))
    assert sql_of(And([a, And([b, c])])) == f"{has_a} AND {has_b} AND {has_c}"
    assert sql_of(And([a, Or([b, c])])) == f"{has_a} AND ({has_b} OR {has_c})"
    assert sql_of(Not(Or([a, Not(b)]))) == f"NOT {has_a} AND {has_b}"
    assert sql_of(Or([And([Not(Not(a))])])) == has_a
    assert (sql_of(And([])), sql_of(Not(And([])))) == ("true", "false")
