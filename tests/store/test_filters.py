import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrag.errors import ConfigurationError
from fastrag.store.filters import (
    MAX_CONDITIONS,
    MAX_DEPTH,
    And,
    Contains,
    Eq,
    Exists,
    In,
    Not,
    Or,
    Range,
    check_filter,
    flatten,
    join,
    lookup,
    matches,
)

METADATA = {
    "n": 3,
    "x": 3.5,
    "t": "text",
    "empty": "",
    "yes": True,
    "none": None,
    "big": 2**53 + 1,
    "tags": ["a", 1, True, None, "b"],
    "deep": {"n": 7, "deeper": {"t": "x"}, "": 1},
    "a.b": "dotted",
    "a": {"b": "nested", "c": "reached"},
}

TABLE = [
    (Eq("n", 3), True),
    (Eq("n", 3.0), True),
    (Eq("n", "3"), False),
    (Eq("n", True), False),
    (Eq("x", 3.5), True),
    (Eq("t", "text"), True),
    (Eq("t", "Text"), False),
    (Eq("empty", ""), True),
    (Eq("yes", True), True),
    (Eq("yes", False), False),
    (Eq("yes", 1), False),
    (Eq("yes", "true"), False),
    (Eq("none", ""), False),
    (Eq("none", 0), False),
    (Eq("missing", ""), False),
    (Eq("tags", "a"), False),
    (Eq("deep", "x"), False),
    (Eq("big", 2**53 + 1), True),
    (Eq("big", float(2**53)), False),
    (Eq("deep.n", 7), True),
    (Eq("deep.deeper.t", "x"), True),
    (Eq("deep.", 1), True),
    (Eq("deep.missing", 7), False),
    (Eq("t.n", 7), False),
    (Eq("a.b", "dotted"), True),
    (Eq("a.b", "nested"), False),
    (Eq("a.c", "reached"), True),
    (In("n", [1, 3.0]), True),
    (In("n", []), False),
    (In("n", [True, "3"]), False),
    (In("none", ["", 0, False]), False),
    (In("yes", [0, True]), True),
    (Range("n", gte=3), True),
    (Range("n", gt=3), False),
    (Range("n", lte=3.0), True),
    (Range("n", lt=3), False),
    (Range("n", gte=1, lt=10), True),
    (Range("n"), True),
    (Range("t"), True),
    (Range("yes"), False),
    (Range("tags"), False),
    (Range("none"), False),
    (Range("missing"), False),
    (Range("yes", gte=0), False),
    (Range("n", gte="0"), False),
    (Range("t", gte=0), False),
    (Range("n", gte=0, lt="z"), False),
    (Range("t", gte="te", lt="tf"), True),
    (Range("t", gte="Z"), True),
    (Range("empty", lte=""), True),
    (Range("big", gt=float(2**53)), True),
    (Range("big", lte=2**53), False),
    (Exists("n"), True),
    (Exists("empty"), True),
    (Exists("tags"), True),
    (Exists("deep"), True),
    (Exists("none"), False),
    (Exists("missing"), False),
    (Contains("tags", "a"), True),
    (Contains("tags", 1.0), True),
    (Contains("tags", True), True),
    (Contains("tags", False), False),
    (Contains("tags", "1"), False),
    (Contains("t", "t"), False),
    (Contains("deep", "n"), False),
    (Contains("missing", "a"), False),
    (And([]), True),
    (Or([]), False),
    (And([Eq("n", 3), Eq("t", "text")]), True),
    (And([Eq("n", 3), Eq("t", "no")]), False),
    (Or([Eq("n", 4), Eq("t", "text")]), True),
    (Or([Eq("n", 4), Eq("t", "no")]), False),
    (Not(Eq("n", 3)), False),
    (Not(Eq("missing", 3)), True),
    (Not(Not(Exists("n"))), True),
    (Not(And([])), False),
    (Not(Or([])), True),
]


@pytest.mark.parametrize(("filter", "expected"), TABLE, ids=[str(filter) for filter, _ in TABLE])
def test_what_a_filter_means(filter, expected):
    check_filter(filter)
    assert matches(filter, METADATA) is expected


KEYS = st.sampled_from(["a", "b", "", ".", "a.b", "a."])
TREES = st.dictionaries(
    KEYS,
    st.recursive(st.integers(), lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=6),
    max_size=4,
)


@given(TREES, st.lists(st.sampled_from(["a", "b", "", "."]), min_size=1, max_size=4).map(".".join))
def test_flatten_lists_exactly_what_lookup_finds(metadata, field):
    fields = flatten(metadata)
    assert fields.get(field) == lookup(metadata, field)
    for each, value in fields.items():
        assert lookup(metadata, each) == value


BAD = [
    "n = 3",
    {"n": 3},
    [Eq("n", 3)],
    Eq,
    Eq("", 3),
    Eq(3, 3),
    Eq("lone \ud800", 3),
    Eq("n", None),
    Eq("n", [3]),
    Eq("n", float("nan")),
    Eq("n", float("inf")),
    Eq("n", "lone \ud800"),
    Eq("n", b"3"),
    In("n", "abc"),
    In("n", 3),
    In("n", [3, None]),
    In("n", {3, 4}),
    Range("n", gte=float("nan")),
    Range("n", lt=float("inf")),
    Range("n", lt=True),
    Range("n", gt=[1]),
    Exists(""),
    Exists(None),
    Contains("n", ["a"]),
    And("ab"),
    And(Eq("n", 3)),
    Or([Eq("n", 3), None]),
    Not(None),
    Not(Not(Eq("n", None))),
    And([Eq("n", each) for each in range(MAX_CONDITIONS + 1)]),
    Or([And([Eq("n", each)] * 100) for each in range(11)]),
]


@pytest.mark.parametrize("filter", BAD, ids=range(len(BAD)))
def test_what_no_store_could_answer_is_refused(filter):
    with pytest.raises(ConfigurationError, match=r"filter|Range|In|And"):
        check_filter(filter)


def test_the_limits_of_size_and_depth():
    check_filter(None)
    check_filter(And([Eq("n", each) for each in range(MAX_CONDITIONS)]))
    check_filter(In("n", range(100_000)))
    filter = Eq("n", 3)
    for _ in range(MAX_DEPTH - 1):
        filter = Not(filter)
    check_filter(filter)
    with pytest.raises(ConfigurationError, match=f"nested {MAX_DEPTH} deep"):
        check_filter(Not(filter))


def test_matches_refuses_what_is_no_filter():
    with pytest.raises(ConfigurationError, match="is one of Eq, In"):
        matches("n = 3", METADATA)


def test_join():
    one, two = Eq("a", 1), Eq("b", 2)
    assert join() is None
    assert join(None, one) is one
    assert join(one, None, two) == And([one, two])
