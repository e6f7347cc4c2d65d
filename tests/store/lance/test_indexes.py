import time

import numpy as np
import pytest

from fastrag.document import Document
from fastrag.errors import ConfigurationError, StoreError
from fastrag.store import And, Contains, Eq, Exists, In, LanceStore, Not, Range
from fastrag.store.filters import matches
from fastrag.store.lance import indexes as lance_indexes
from fastrag.store.lance.filters import sql_of
from fastrag.store.lance.queries import has_id
from fastrag.testing.store_conformance import DurableStoreConformance

CLUSTERS, OF_EACH = 60, 50
INDEXES = {"id_idx", "facts_idx", "text_idx", "vector_idx"}


def tidy_at_every_write(monkeypatch):
    monkeypatch.setattr(lance_indexes, "_SHARE_OF_TIME", 0)
    monkeypatch.setattr(lance_indexes, "_MAX_UNINDEXED", 0)


async def opened(folder):
    import lancedb

    return await (await lancedb.connect_async(folder)).open_table("default")


async def state(folder):
    return await lance_indexes.state_of(await opened(folder))


def clustered(spread, seed=0):
    """Documents in clusters whose members lie ``spread`` from the centre, and their vectors."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((CLUSTERS, 48))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    noise = random.standard_normal((CLUSTERS * OF_EACH, 48)) * spread / np.sqrt(48)
    vectors = np.repeat(centres, OF_EACH, axis=0) + noise
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    order = random.permutation(len(vectors))
    documents = [
        Document(f"d{n}", f"word{n % 40} cat", metadata={"tenth": n % 10, "hundredth": n // 7 % 100, "n": n})
        for n in range(len(vectors))
    ]
    return documents, vectors[order].astype(np.float32)


class TestIndexedLanceStore(DurableStoreConformance):
    """A store whose every search is by index, and every write followed by tidying."""

    scans_a_snapshot = True

    @pytest.fixture(autouse=True)
    def indexed(self, monkeypatch):
        tidy_at_every_write(monkeypatch)

    def make_store(self, folder, namespace="default"):
        return LanceStore(folder, namespace=namespace, index_from=1)


async def test_recall_and_exact_scores_by_index(tmp_path):
    store = LanceStore(tmp_path, index_from=1000)
    for spread in (0.05, 0.3, 1.2):
        documents, vectors = clustered(spread)
        await store.upsert(documents, vectors)
        await store.optimize()
        assert (await state(tmp_path)).segments
        for filter in (Exists("n"), Eq("tenth", 3), Eq("hundredth", 7), Range("n", lt=150), Eq("n", 8)):
            kept = [n for n, document in enumerate(documents) if matches(filter, document.metadata)]
            found = right = 0
            for query in vectors[::150]:
                exact = vectors[kept] @ query
                best = np.argsort(-exact)[:10]
                result = await store.search(embedding=query, k=10, filter=filter if len(kept) < 3000 else None)
                ids = [document.id for document in result]
                assert len(ids) == min(10, len(kept))
                scores = [document.metadata["score"] for document in result]
                by_id = {documents[row].id: exact[place] for place, row in enumerate(kept)}
                assert scores == pytest.approx([by_id[id] for id in ids], abs=1e-6)
                assert scores == sorted(scores, reverse=True)
                right += len({documents[kept[place]].id for place in best} & set(ids))
                found += len(best)
            assert right / found >= 0.95, (spread, filter)
        await store.drop()


async def test_queries_use_the_indexes(tmp_path):
    store = LanceStore(tmp_path, index_from=1000)
    documents, vectors = clustered(0.3)
    await store.upsert(documents, vectors)
    await store.optimize()
    table = await opened(tmp_path)
    assert {index.name for index in await table.list_indices()} == INDEXES
    filters = (
        Eq("tenth", 3),
        In("tenth", [1, 2]),
        Exists("tenth"),
        Contains("tenth", 1),
        Not(Eq("tenth", 3)),
        And([Eq("tenth", 3), Not(Exists("x"))]),
    )
    for filter in filters:
        plan = await table.query().nearest_to(vectors[0]).where(sql_of(filter)).limit(3).explain_plan()
        assert "ScalarIndexQuery" in plan
        assert "facts_idx" in plan
        assert "ANNSubIndex: name=vector_idx" in plan
        assert "FilterExec: array_has" not in plan
    plan = await table.query().where(has_id(["d1", "d2"])).explain_plan()
    assert "id_idx" in plan


async def test_what_is_not_in_the_indexes_yet_is_found(tmp_path):
    store = LanceStore(tmp_path, index_from=1000)
    documents, vectors = clustered(0.3)
    await store.upsert(documents, vectors)
    await store.optimize()
    changed = vectors[::-1][:20].copy()
    await store.upsert([Document(f"d{n}", "walrus", metadata={"tenth": 77}) for n in range(20)], changed)
    assert (await state(tmp_path)).new_vectors == 20
    for n in range(20):
        # The other one is the Document that has had this vector all along.
        both = await store.search(embedding=changed[n], k=2)
        assert {document.id for document in both} == {f"d{n}", f"d{len(documents) - 1 - n}"}
        assert (await store.search(embedding=changed[n], k=1, filter=Eq("tenth", 77)))[0].id == f"d{n}"
        assert (await store.search(embedding=vectors[n], k=1))[0].id != f"d{n}", "the old vector is gone"
    assert len(await store.search(text="walrus", k=99)) == await store.count(Eq("tenth", 77)) == 20
    assert await store.delete(ids=[f"d{n}" for n in range(10)]) == 10
    assert len(await store.search(text="walrus", k=99)) == 10
    assert await store.search(embedding=changed[3], k=1, filter=Eq("tenth", 77)) != []


async def test_many_equal_vectors_are_in_the_order_written_by_index_too(tmp_path):
    store = LanceStore(tmp_path, index_from=100)
    documents, vectors = clustered(0.3)
    await store.upsert(documents, np.where(np.arange(len(vectors))[:, None] % 4 == 0, vectors[:1], vectors))
    await store.optimize()
    assert (await state(tmp_path)).segments
    for k in (1, 10, 99):
        found = await store.search(embedding=vectors[0], k=k)
        assert [document.id for document in found] == [f"d{4 * n}" for n in range(k)]


async def test_small_stores_and_those_without_vectors_have_no_vector_index(tmp_path):
    store = LanceStore(tmp_path, index_from=100)
    documents, vectors = clustered(0.3)
    await store.upsert(documents[:99], vectors[:99])
    await store.optimize()
    assert (await state(tmp_path)).segments == 0
    assert not (await state(tmp_path)).is_filter_indexed
    await store.upsert(documents[99:300])
    for _ in range(2):
        await store.optimize()
        assert (await state(tmp_path)).segments == 0, "too few have a vector"
        assert (await state(tmp_path)).is_filter_indexed
    await store.upsert(documents[99:300], vectors[99:300])
    await store.optimize()
    assert (await state(tmp_path)).segments == 1


async def test_optimizing_leaves_alone_what_is_not_worth_it(tmp_path):
    store = LanceStore(tmp_path, index_from=1000)
    documents, vectors = clustered(0.3)
    await store.upsert(documents, vectors)
    await store.optimize()
    version = (await state(tmp_path)).version
    await store.optimize()
    assert (await state(tmp_path)).version == version
    await store.upsert([Document("new", "cat")], vectors[:1])
    await store.optimize()
    assert (await state(tmp_path)).new_vectors == 1
    await store.upsert(documents[:50], vectors[:50])
    await store.optimize()
    assert (await state(tmp_path)).new_vectors == (await state(tmp_path)).new_texts == 0
    await store.delete(filter=Eq("tenth", 4))
    await store.optimize()
    assert (await state(tmp_path)).fragments == 2, "those of one segment of the vector index each"


async def test_a_vector_index_of_many_segments_is_made_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(lance_indexes, "_MAX_SEGMENTS", 2)
    store = LanceStore(tmp_path, index_from=1000)
    documents, vectors = clustered(0.3)
    await store.upsert(documents[:2000], vectors[:2000])
    await store.optimize()
    segments = []
    for start in range(2000, 2500, 100):
        await store.upsert(documents[start : start + 100], vectors[start : start + 100])
        await store.optimize()
        segments.append((await state(tmp_path)).segments)
    assert segments == [2, 3, 1, 2, 3]
    await store.upsert(documents, vectors)
    await store.optimize()
    assert (await state(tmp_path)).segments == 1, "most of it was new"


@pytest.mark.parametrize(
    ("constant", "value", "writes"),
    [("_MAX_FRAGMENTS", 3, 4), ("_MAX_UNINDEXED", 3, 4), ("_MAX_VERSIONS", 3, 5)],
)
async def test_writing_tidies_up_when_much_has_piled_up(tmp_path, monkeypatch, constant, value, writes):
    monkeypatch.setattr(lance_indexes, "_SHARE_OF_TIME", 0)
    monkeypatch.setattr(lance_indexes, constant, value)
    store = LanceStore(tmp_path)
    for n in range(writes - 1):
        await store.upsert([Document(str(n), "cat")])
    assert (await state(tmp_path)).fragments == (await state(tmp_path)).new_texts == writes - 1
    await store.upsert([Document("last", "cat")])
    assert ((await state(tmp_path)).fragments, (await state(tmp_path)).new_texts) == (1, 0)
    assert len(await store.search(text="cat", k=99)) == writes


async def test_removing_tidies_up_when_much_has_piled_up(tmp_path, monkeypatch):
    monkeypatch.setattr(lance_indexes, "_SHARE_OF_TIME", 0)
    store = LanceStore(tmp_path)
    documents, vectors = clustered(0.3)
    await store.upsert(documents, vectors)
    monkeypatch.setattr(lance_indexes, "_MAX_UNINDEXED", 500)
    await store.delete(filter=Eq("tenth", 1))
    await store.delete(filter=Eq("hundredth", 5))
    files = sum(path.stat().st_size for path in tmp_path.rglob("data/*"))
    monkeypatch.setattr(lance_indexes, "_KEEP_OLD_VERSIONS", lance_indexes._KEEP_OLD_VERSIONS / 1_000_000)
    await store.delete(filter=Range("n", lt=2800))
    assert sum(path.stat().st_size for path in tmp_path.rglob("data/*")) < files / 5


async def test_tidying_while_writing_takes_but_a_share_of_the_time(tmp_path, monkeypatch):
    now_s = time.monotonic()
    monkeypatch.setattr(lance_indexes.time, "monotonic", lambda: now_s)
    monkeypatch.setattr(lance_indexes, "_MAX_UNINDEXED", 0)
    monkeypatch.setattr(lance_indexes, "_S_PER_ROW", 1)
    store = LanceStore(tmp_path)
    await store.upsert([Document("a", "cat"), Document("b", "cat")])
    now_s += 19
    await store.upsert([Document("a", "dog")])
    assert (await state(tmp_path)).new_texts == 2
    now_s += 1
    await store.upsert([Document("b", "dog")])
    assert (await state(tmp_path)).new_texts == 0


async def test_a_write_is_done_although_tidying_fails(tmp_path, monkeypatch):
    import lancedb

    async def fail(*args, **kwargs):
        raise RuntimeError("lance error: LanceError(IO): No space left on device")

    tidy_at_every_write(monkeypatch)
    store = LanceStore(tmp_path)
    await store.upsert([Document("a", "cat")])
    monkeypatch.setattr(lancedb.table.AsyncTable, "optimize", fail)
    await store.upsert([Document("b", "cat")])
    assert await store.count() == 2


async def test_tidying_gives_way_to_other_writers(tmp_path, monkeypatch):
    import lancedb

    store = LanceStore(tmp_path)
    await store.upsert([Document("a", "cat")])
    said = ["lance error: Retryable commit conflict for version 3: This Rewrite transaction was preempted"]

    async def optimize(table, **_):
        raise RuntimeError(said[0])

    monkeypatch.setattr(lancedb.table.AsyncTable, "optimize", optimize)
    await store.optimize()
    said[0] = "lance error: LanceError(IO): No space left on device"
    with pytest.raises(StoreError, match="No space left"):
        await store.optimize()


async def test_what_was_removed_is_tidied_by_a_later_call_after_giving_way(tmp_path, monkeypatch):
    import lancedb

    async def give_way(table, **_):
        raise RuntimeError("lance error: Retryable commit conflict for version 3: This Rewrite was preempted")

    store = LanceStore(tmp_path)
    await store.upsert([Document(str(n), "cat") for n in range(100)])
    await store.optimize()
    await store.delete(ids=[str(n) for n in range(50)])
    files = {path.name for path in tmp_path.rglob("data/*")}
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(lancedb.table.AsyncTable, "optimize", give_way)
        await store.optimize()
    assert {path.name for path in tmp_path.rglob("data/*")} == files
    await store.optimize()
    assert {path.name for path in tmp_path.rglob("data/*")} > files


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "10", None])
def test_settings_that_cannot_be(tmp_path, wrong):
    with pytest.raises(ConfigurationError, match="index_from"):
        LanceStore(tmp_path, index_from=wrong)
    with pytest.raises(ConfigurationError, match="ef"):
        LanceStore(tmp_path, ef=wrong)
