"""The compact table of sources, against what Python's own containers say."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from fastrag.ingest import ledger as module
from fastrag.ingest.ledger import Ledger

ids = st.sampled_from([f"source-{number}" for number in range(6)] + ["", "\ud800", "ß"])
chunk = st.tuples(st.just("note"), ids, st.sampled_from("ab"))
steps = st.lists(st.one_of(chunk, st.tuples(st.sampled_from(["meet", "give_up"]), ids, st.none())), max_size=40)
COUNT = {"a": 2, "b": 3}


@given(steps)
def test_it_tells_what_it_was_told(todo: list[tuple[str, str, str | None]]) -> None:
    ledger = Ledger()
    there: dict[str, dict[str, int]] = {}
    states: dict[str, str] = {}
    for step, id, digest in todo:
        if digest is not None:
            ledger.note(id, root=f"/{id}", digest=digest, chunk_count=COUNT[digest])
            versions = there.setdefault(id, {})
            versions[digest] = versions.get(digest, 0) + 1
        elif step == "meet":
            assert ledger.meet(id) == (id not in states)
            states.setdefault(id, "met")
        else:
            assert ledger.give_up(id) == (states.get(id) != "gone")
            states[id] = "gone"
    assert set(ledger.roots) == {f"/{id}" for id in there}
    assert len(ledger) == len({*there, *states})
    for id in [*there, *states, "never seen"]:
        stored = ledger.stored(id)
        assert ledger.is_met(id) == (states.get(id) == "met")
        assert ledger.has_unmet({f"/{id}", "/nowhere"}) == (id in there and states.get(id) != "met")
        if id not in there:
            assert stored is None
            continue
        assert stored is not None
        assert stored.root == f"/{id}"
        assert stored.chunk_count == max(COUNT[digest] for digest in there[id])
        assert stored.ids_from(id, 1) == [f"{id}#{number}" for number in range(1, stored.chunk_count)]
        for digest, count in COUNT.items():
            assert stored.complete(digest) == (count if there[id].get(digest) == count else 0)


def test_it_finds_everything_however_much_there_is() -> None:
    ledger = Ledger()
    count = 5 * module._FIRST_SLOTS
    for number in range(count):
        ledger.note(f"d{number}", root="/r", digest=f"v{number}", chunk_count=1)
    assert len(ledger) == count
    assert all(ledger.meet(f"d{number}") for number in range(count - 1))
    assert ledger.has_unmet({"/r"})
    assert ledger.meet(f"d{count - 1}")
    assert not ledger.has_unmet({"/r"})
    for number in range(count):
        stored = ledger.stored(f"d{number}")
        assert stored is not None
        assert (stored.complete(f"v{number}"), stored.complete(f"v{number + 1}")) == (1, 0)


def test_a_source_takes_few_bytes() -> None:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        ledger = Ledger()
        for number in range(20_000):
            ledger.note(f"a-folder/of-many/document-{number}.md", root="/r", digest=str(number), chunk_count=1)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (after - before) / 20_000 < 80
