import asyncio
import json
from collections.abc import AsyncGenerator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrag.document import Document
from fastrag.errors import ConfigurationError, EmbedderMismatchError, StoreError
from fastrag.store import InMemoryStore, LanceStore
from fastrag.store.base import Binding
from fastrag.store.copying import copy_store

RANDOM = np.random.default_rng(3)
ODD = Document(
    "ünï\x00😀",
    "text\x00 \ud7ff",
    "file:///a b",
    {"big": 2**80, "one": 1, "float": 1.0, "true": True, "none": None, "deep": {"b": [1, {"a.b": "1"}]}},
)


def some(count, start=0):
    documents = [Document(f"d{n}", f"cat number {n}", f"u{n}", {"n": n}) for n in range(start, start + count)]
    return documents, RANDOM.standard_normal((count, 8)).astype(np.float32)


async def filled(store, count=50):
    await store.bind("embedder", 8)
    documents, vectors = some(count)
    vectors[0] = 0
    await store.upsert(documents, vectors)
    await store.upsert([ODD, Document("words only", "walrus")])
    return store


async def contents(store):
    documents = [document async for document in store.scan()]
    vectors = await store.get_embeddings([document.id for document in documents])
    return {each.id: (each, json.dumps(each.metadata)) for each in documents}, vectors


async def assert_same(source, target):
    (documents, vectors), (copied, copied_vectors) = await contents(source), await contents(target)
    assert copied == documents
    assert copied_vectors.keys() == vectors.keys()
    for id, vector in vectors.items():
        np.testing.assert_allclose(copied_vectors[id], vector, atol=1e-6)
    assert await target.binding() == await source.binding()


class Watched(InMemoryStore):
    """Records what is written to it; may fail at a write, or do something when it is read."""

    def __init__(self):
        super().__init__()
        self.writes = []
        self.fail_at = None
        self.meanwhile = None

    async def upsert(self, documents, embeddings=None):
        if len(self.writes) == self.fail_at:
            raise StoreError("no more")
        self.writes.append([document.id for document in documents])
        await super().upsert(documents, embeddings)

    async def scan(self, filter=None):
        async for document in super().scan(filter):
            if self.meanwhile is not None:
                meanwhile, self.meanwhile = self.meanwhile, None
                await meanwhile()
            yield document


async def test_everything_is_copied_between_engines(tmp_path):
    memory, again = await filled(InMemoryStore()), InMemoryStore()
    lance = LanceStore(tmp_path)
    seen = []
    report = await copy_store(memory, lance, batch_size=20, progress=seen.append)
    assert (report.read, report.written, report.unchanged, report.compared) == (52, 52, 0, 52)
    assert (report.extra, report.pruned, report.source_count, report.target_count) == (0, 0, 52, 52)
    assert report.verified
    assert [(each.read, each.total, each.written) for each in seen] == [(20, 52, 20), (40, 52, 40), (52, 52, 52)]
    await assert_same(memory, lance)
    assert [each.id for each in await lance.search(text="walrus")] == ["words only"]
    await copy_store(lance, again)
    await assert_same(memory, again)
    assert "52 Documents: 52 written" in str(report)
    assert "verified by counts and by comparing 52" in str(report)


async def test_a_copy_that_was_broken_off_goes_on_where_it_stopped():
    source, target = await filled(InMemoryStore()), Watched()
    target.fail_at = 2
    with pytest.raises(StoreError, match="no more"):
        await copy_store(source, target, batch_size=10)
    target.fail_at, target.writes = None, []
    report = await copy_store(source, target, batch_size=10)
    assert (report.unchanged, report.written) == (20, 32)
    assert sum(map(len, target.writes)) == 32
    assert report.verified
    await assert_same(source, target)


async def test_only_what_has_changed_is_written_again():
    source, target = await filled(InMemoryStore()), Watched()
    await copy_store(source, target)
    changes = [
        Document("d1", "another text", "u1", {"n": 1}),
        Document("d2", "cat number 2", "another uri", {"n": 2}),
        Document("d3", "cat number 3", "u3", {"n": 3.0}),
        Document("d4", "cat number 4", "u4", {"n": True}),
    ]
    vectors = await source.get_embeddings(["d1", "d2", "d3", "d4"])
    await source.upsert(changes, np.array([vectors[each.id] for each in changes]))
    await source.upsert([Document("d5", "cat number 5", "u5", {"n": 5})])
    await source.upsert([Document("words only", "walrus")], np.ones((1, 8)))
    almost = (await source.get_embeddings(["d6"]))["d6"]
    almost[0] += 1e-3
    await source.upsert([Document("d6", "cat number 6", "u6", {"n": 6})], almost[np.newaxis])
    target.writes = []
    report = await copy_store(source, target)
    assert sorted(target.writes[0]) == ["d1", "d2", "d3", "d4", "d5", "d6", "words only"]
    assert report.written == 7
    await assert_same(source, target)


async def test_what_only_the_target_has_is_told_and_kept_unless_pruned():
    source, target = await filled(InMemoryStore()), InMemoryStore()
    await target.upsert([Document(f"more {n}", "") for n in range(30)])
    report = await copy_store(source, target, batch_size=10)
    assert (report.extra, report.pruned, report.target_count) == (30, 0, 82)
    assert len(report.extra_ids) == 10
    assert all(id.startswith("more ") for id in report.extra_ids)
    assert report.verified, "what was there before is no fault of the copy"
    report = await copy_store(source, target, batch_size=10, prune=True)
    assert (report.extra, report.extra_ids, report.pruned, report.written) == (0, (), 30, 0)
    await assert_same(source, target)


async def test_an_empty_source_prunes_nothing():
    target = await filled(InMemoryStore())
    with pytest.raises(ConfigurationError, match="source is empty"):
        await copy_store(InMemoryStore(), target, prune=True)
    assert await target.count() == 52
    report = await copy_store(InMemoryStore(), target)
    assert (report.read, report.extra) == (0, 52)


async def test_another_embedder_is_refused_before_anything_is_written():
    unnamed = InMemoryStore()
    await unnamed.upsert(*some(3))
    for source, binding in (
        (await filled(InMemoryStore()), ("another", 8)),
        (await filled(InMemoryStore()), ("embedder", 7)),
        (unnamed, ("embedder", 8)),
    ):
        target = Watched()
        await target.bind(*binding)
        with pytest.raises(EmbedderMismatchError):
            await copy_store(source, target)
        assert target.writes == []
        assert await target.binding() == Binding(*binding)


async def test_vectors_of_an_embedder_that_was_not_named():
    source, target = InMemoryStore(), InMemoryStore()
    await source.upsert(*some(3))
    assert (await copy_store(source, target)).verified
    await assert_same(source, target)
    assert (await copy_store(source, target)).unchanged == 3


async def test_a_store_without_vectors():
    source, target = InMemoryStore(), InMemoryStore()
    await source.upsert([Document("a", "cat")])
    assert (await copy_store(source, target)).verified
    await assert_same(source, target)
    assert await target.binding() is None


async def test_a_source_that_is_written_to_meanwhile_is_noticed():
    source = Watched()
    await filled(source)
    source.meanwhile = lambda: source.upsert([Document("new", "")])
    report = await copy_store(source, InMemoryStore())
    assert not report.verified
    assert "held 52 Documents at the start, gave 52, and holds 53 now" in report.problems[0]
    source.meanwhile = lambda: source.delete(ids=["new", "d3"])
    report = await copy_store(source, InMemoryStore())
    assert not report.verified
    assert "NOT verified" in str(report)


async def test_a_target_that_keeps_something_else_is_not_verified():
    class Forgetful(InMemoryStore):
        async def upsert(self, documents, embeddings=None):
            changed = [Document(each.id, each.text[:9], each.uri, each.metadata) for each in documents]
            await super().upsert(changed, embeddings)

    source = await filled(InMemoryStore())
    report = await copy_store(source, Forgetful())
    assert not report.verified
    assert "50 of the 52 Documents that were compared" in report.problems[0]
    assert "'d1'" in report.problems[0]

    class Lossy(InMemoryStore):
        async def upsert(self, documents, embeddings=None):
            await super().upsert(documents[1:], None if embeddings is None else embeddings[1:])

    report = await copy_store(source, Lossy(), sample=0)
    assert report.compared == 0
    assert report.problems == ("the target holds 51 Documents in place of 52",)


async def test_the_sample_is_drawn_from_all_and_the_same_every_time():
    source = await filled(InMemoryStore(), 400)
    compared = []

    class Asked(InMemoryStore):
        async def get(self, ids):
            compared.extend(ids)
            return await super().get(ids)

    for _ in range(2):
        report = await copy_store(source, Asked(), sample=120, batch_size=50)
        assert report.compared == 120
    first, second = compared[:120], compared[120:]
    assert first == second
    assert len(set(first)) == 120
    positions = sorted(int(id[1:]) for id in first if id[1:].isdecimal())
    assert positions[0] < 40
    assert positions[-1] > 360


async def test_long_texts_make_small_batches():
    source, target = InMemoryStore(), Watched()
    await source.upsert([Document(str(n), "x" * 3_000_000) for n in range(7)])
    await copy_store(source, target)
    assert [len(ids) for ids in target.writes] == [3, 3, 1]


async def test_reading_goes_on_while_a_batch_is_written_but_not_far():
    source, target = Watched(), Watched()
    await source.upsert(*some(2000))
    read = []
    get_embeddings, upsert = source.get_embeddings, target.upsert

    async def reading(ids):
        read.append(len(ids))
        return await get_embeddings(ids)

    ahead = []

    async def writing(documents, embeddings=None):
        for _ in range(50):
            await asyncio.sleep(0)
        ahead.append(len(read) - len(target.writes))
        await upsert(documents, embeddings)

    source.get_embeddings, target.upsert = reading, writing
    await copy_store(source, target, batch_size=100, sample=0)
    assert max(ahead) > 1
    assert max(ahead) <= 4, "a batch that is written, two that wait, and one that is read"


async def test_a_cancelled_copy_leaves_stores_that_work():
    source, target = await filled(InMemoryStore()), InMemoryStore()
    for steps in range(0, 60, 7):
        task = asyncio.create_task(copy_store(source, target, batch_size=5))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
    assert (await copy_store(source, target)).verified
    await assert_same(source, target)


async def test_a_scan_that_is_left_is_closed():
    closed = []

    class Cursor(AsyncGenerator):
        """No generator of Python's own, which asyncio would close some time by itself."""

        def __init__(self, scanned):
            self._scanned = scanned

        async def asend(self, value):
            return await self._scanned.asend(value)

        async def athrow(self, *error):
            return await self._scanned.athrow(*error)

        async def aclose(self):
            closed.append(self)
            await self._scanned.aclose()

    class Scanned(InMemoryStore):
        def scan(self, filter=None):
            return Cursor(super().scan(filter))

    source, target = await filled(Scanned()), Watched()
    target.fail_at = 0
    with pytest.raises(StoreError):
        await copy_store(source, target, batch_size=5)
    assert len(closed) == 1
    await copy_store(source, InMemoryStore())
    assert len(closed) == 2


async def test_the_target_is_tidied_up_when_all_is_written_and_compared_afterwards():
    source = await filled(InMemoryStore())

    class Tidied(InMemoryStore):
        async def optimize(self):
            assert await self.count() == 52
            await source.delete(ids=["d1", "d2"])

    report = await copy_store(source, Tidied())
    assert "2 of the 52 Documents that were compared have left the source" in report.problems[0]
    assert report.source_count == 50


async def test_arguments_that_make_no_sense():
    store = await filled(InMemoryStore())
    with pytest.raises(ConfigurationError, match="same store"):
        await copy_store(store, store)
    for wrong in ({"batch_size": 0}, {"batch_size": True}, {"sample": -1}, {"sample": 0.5}, {"sample": True}):
        with pytest.raises(ConfigurationError, match=next(iter(wrong))):
            await copy_store(store, InMemoryStore(), **wrong)


@settings(max_examples=30, deadline=None, database=None)
@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)), st.integers(1, 40), st.integers(0, 40), st.booleans())
def test_whatever_the_target_had_it_has_the_source_afterwards(in_source, in_target, batch_size, sample, prune):
    async def scenario():
        source, target = InMemoryStore(), InMemoryStore()
        await source.upsert([Document(str(n), f"source {n % 2}") for n in sorted(in_source)])
        await target.upsert([Document(str(n), "source 0") for n in sorted(in_target)])
        prune_it = prune and bool(in_source)
        report = await copy_store(source, target, batch_size=batch_size, sample=sample, prune=prune_it)
        assert report.verified
        already = {n for n in in_source & in_target if n % 2 == 0}
        assert (report.read, report.unchanged) == (len(in_source), len(already))
        extra = in_target - in_source
        assert (report.extra, report.pruned) == ((0, len(extra)) if prune_it else (len(extra), 0))
        texts = {document.id: document.text async for document in target.scan()}
        for n in in_source:
            assert texts.pop(str(n)) == f"source {n % 2}"
        assert texts.keys() == (set() if prune_it else {str(n) for n in extra})

    asyncio.run(scenario())
