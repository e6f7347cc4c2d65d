"""Many calls at once, cancelled calls, another event loop."""

# ruff: noqa: D102 - the name of a test says what it checks

from __future__ import annotations

import asyncio
from pathlib import Path

from fastrag.document import Document
from fastrag.store.base import VectorStore
from fastrag.store.filters import Eq
from fastrag.testing.store_conformance.case import StoreCase, assert_ranked, unit


class InterruptionTests(StoreCase):
    """What happens when calls do not come one after the other."""

    def test_readers_and_writers_at_once(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            await store.bind("embedder", 4)

            async def write(writer: int) -> None:
                for version in range(5):
                    batch = [
                        Document(f"{writer}-{n}", "cat", metadata={"writer": writer, "version": version})
                        for n in range(5)
                    ]
                    await store.upsert(batch, unit(*[writer] * 5))

            async def read() -> None:
                for _ in range(5):
                    versions: dict[int, list[int]] = {}
                    async for document in store.scan():
                        versions.setdefault(document.metadata["writer"], []).append(document.metadata["version"])
                    for seen in versions.values():
                        assert len(seen) == 5, "a batch is there as a whole"
                        assert len(set(seen)) == 1, "and of one upsert"
                    assert_ranked(await store.search(**self.queries("cat", unit(0)[0])[-1], k=50))

            async with asyncio.TaskGroup() as group:
                for writer in range(3):
                    group.create_task(write(writer))
                for _ in range(3):
                    group.create_task(read())
            assert await store.count() == 15
            assert await store.count(Eq("version", 4)) == 15

        self.run(tmp_path, scenario)

    def test_cancelled_calls_leave_a_working_store(self, tmp_path: Path) -> None:
        async def scenario(store: VectorStore) -> None:
            documents = [Document(str(n), "cat " * 50) for n in range(500)]
            await store.upsert(documents, unit(*[0] * 500))
            for steps in range(8):
                calls = [
                    asyncio.create_task(call)
                    for call in (
                        *(store.search(**query) for query in self.queries("cat", unit(0)[0])),
                        store.upsert([Document(f"new{steps}-{n}", "dog") for n in range(10)], unit(*[1] * 10)),
                    )
                ]
                for _ in range(steps):
                    await asyncio.sleep(0)
                for task in calls:
                    task.cancel()
                outcomes = await asyncio.gather(*calls, return_exceptions=True)
                for outcome in outcomes:
                    assert not isinstance(outcome, BaseException) or isinstance(outcome, asyncio.CancelledError)
            await store.upsert([Document("last", "walrus")], unit(2))
            await self.check_found_by_words(store, "walrus", {"last"})
            assert [document.id for document in await store.search(embedding=unit(2)[0], k=1)] == ["last"]
            new = await store.count() - 501
            assert new % 10 == 0, "no part of a batch"

        self.run(tmp_path, scenario)

    def test_one_store_in_two_event_loops(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)

        async def write(start: int) -> None:
            async with asyncio.TaskGroup() as group:
                for n in range(start, start + 3):
                    group.create_task(store.upsert([Document(str(n), "cat")], unit(0)))

        async def read() -> None:
            assert await store.count() == 6
            assert len(await store.search(**self.queries("cat", unit(0)[0])[-1])) == 6
            await store.close()

        asyncio.run(write(0))
        asyncio.run(write(3))
        asyncio.run(read())
