from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from fastrag.document import Document
from fastrag.store.filters import And, Contains, Eq, Exists, In, Not, Or, Range, matches
from fastrag.store.memory.columns import _MAX_COLUMNS, Columns

NUMBERS = st.sampled_from([0, 1, -1, 1.0, 0.5, 2**53, 2**53 + 1, float(2**53), 10**400, -(10**400), 1e308, 5e-324])
SCALARS = NUMBERS | st.sampled_from(["", "1", "a", "b", "ä", "a\0"]) | st.booleans()
VALUES = SCALARS | st.none() | st.lists(SCALARS | st.none() | st.lists(SCALARS), max_size=4) | st.just({"b": 1})
FILTERS = st.one_of(
    st.builds(Eq, st.just("a"), SCALARS),
    st.builds(Contains, st.just("a"), SCALARS),
    st.builds(In, st.just("a"), st.lists(SCALARS, max_size=4)),
    st.sampled_from([Exists("a"), Exists("a.b"), Eq("a.b", 1)]),
    st.builds(Range, st.just("a"), *[st.none() | NUMBERS | st.sampled_from(["a", "b"])] * 4),
)


@given(st.lists(VALUES, max_size=30), st.lists(VALUES, max_size=9), st.lists(FILTERS, max_size=5))
def test_it_says_what_matches_says(values, later, filters):
    documents = [Document(str(n), "", metadata={"a": value}) for n, value in enumerate(values)]
    columns = Columns(documents)
    before = len(documents)
    for filter in [*filters, And(filters), Or(filters), Not(And(filters)), And([]), Or([])]:
        assert columns.matching(filter, before).tolist() == [matches(filter, each.metadata) for each in documents]
    documents.extend(Document(str(n), "", metadata={"a": value}) for n, value in enumerate(later, start=before))
    for filter in filters:
        expected = [matches(filter, each.metadata) for each in documents]
        assert columns.matching(filter, before).tolist() == expected[:before]
        assert columns.matching(filter, len(documents)).tolist() == expected
        assert columns.matching(filter, before).tolist() == expected[:before], "of an earlier moment"


def test_it_keeps_the_fields_used_last():
    documents = [Document(str(n), "", metadata={f"f{n}": 1}) for n in range(3 * _MAX_COLUMNS)]
    columns = Columns(documents)
    for n in range(len(documents)):
        for field in (n, 0):
            found = columns.matching(Exists(f"f{field}"), len(documents))
            assert found.nonzero()[0].tolist() == [field]
    assert len(columns._columns) == _MAX_COLUMNS
    assert "f0" in columns._columns


def test_threads_share_it():
    documents = [Document(str(n), "", metadata={"n": n % 10, "t": [f"{n % 7}"]}) for n in range(5000)]
    columns = Columns(documents)

    def count(rows):
        filter = And([Range("n", lt=5), Contains("t", "3"), Not(Eq("n", 2))])
        return int(columns.matching(filter, rows).sum()), rows

    with ThreadPoolExecutor(8) as threads:
        for found, rows in threads.map(count, [*range(0, 5001, 50)] * 2):
            assert found == sum(n % 10 < 5 and n % 7 == 3 and n % 10 != 2 for n in range(rows))
