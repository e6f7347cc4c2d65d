"""What the tests of LanceStore run in processes of their own: ``lance_worker.py TASK FOLDER [NAME]``."""

import asyncio
import contextlib
import itertools
import os
import sys
from datetime import timedelta

import numpy as np

from fastrag.document import Document
from fastrag.errors import StoreError
from fastrag.store import And, Eq, LanceStore, Range
from fastrag.store.lance import indexes as lance_indexes


def batch(name, number, size=10):
    documents = [
        Document(f"{name}-{number}-{n}", f"cat {name} b{name}b{number}", metadata={"batch": f"{name}-{number}"})
        for n in range(size)
    ]
    return documents, np.random.default_rng(number).standard_normal((size, 16)).astype(np.float32)


async def write_until_killed(folder, name):
    store = LanceStore(folder)
    await store.bind("embedder", 16)
    for number in itertools.count():
        await store.upsert(*batch(name, number))
        say(f"{name}-{number}")


def tidy_at_every_write():
    lance_indexes._SHARE_OF_TIME = 0
    lance_indexes._MAX_UNINDEXED = 0
    lance_indexes._FEW_UNINDEXED = 0
    lance_indexes._KEEP_OLD_VERSIONS = timedelta(milliseconds=1)


async def tidy_until_killed(folder, name):
    """Write, replace, remove and index all the while, and say what is done."""
    tidy_at_every_write()
    store = LanceStore(folder, index_from=15)
    await store.bind("embedder", 16)
    for number in itertools.count():
        documents, vectors = batch(name, number)
        latest = Document("latest", f"latest {name} {number}", metadata={"n": int(name) * 1000 + number})
        await store.upsert([*documents, latest], np.vstack([vectors, vectors[:1]]))
        say(f"+ {name}-{number}")
        if number % 2:
            await store.delete(filter=Eq("batch", f"{name}-{number - 1}"))
            say(f"- {name}-{number - 1}")
        await store.optimize()


async def write_until_refused(folder, name):
    tidy_at_every_write()
    store = LanceStore(folder, index_from=15)
    await store.bind("embedder", 16)
    for number in itertools.count():
        documents, vectors = batch(name, number)
        latest = Document("latest", "latest", metadata={"n": number})
        try:
            await store.upsert([*documents, latest], np.vstack([vectors, vectors[:1]]))
        except StoreError as error:
            say(str(error))
            return
        say(f"+ {name}-{number}")


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def write_beside_others(folder, name):
    store = LanceStore(folder)
    for number in range(8):
        documents, vectors = batch(name, number)
        await store.upsert([*documents, Document("shared", name)], np.vstack([vectors, vectors[:1]]))
        assert await store.count(Eq("batch", f"{name}-{number}")) == 10
        await store.optimize()


async def run_out_of_space(folder, _):
    import resource

    store = LanceStore(folder)
    await store.upsert(*batch("kept", 0))
    # A write beyond this size fails, as it would on a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    try:
        await store.upsert(*batch("large", 1, size=5000))
    except StoreError as error:
        sys.stdout.write(type(error.__cause__).__name__)
    assert await store.count() == 10
    assert len(await store.search(text="cat", k=99)) == 10
    await store.upsert(*batch("small", 2))


async def use(store, name):
    await store.upsert(*batch(name, 0))
    assert len(await store.search(text=name, k=99)) == 10


async def everything(folder, _):
    store = LanceStore(folder)
    await store.bind("embedder", 16)

    async def use(name):
        for number in range(3):
            documents, vectors = batch(name, number)
            await store.upsert(documents, vectors)
            await store.search(text='cat "AND', embedding=vectors[0], filter=And([Range("batch", gte="a")]))
            await store.optimize()
        await store.delete(ids=["a-0-0"])

    async with asyncio.TaskGroup() as group:
        for name in ("a", "b", "c"):
            group.create_task(use(name))
    others = [LanceStore(folder) for _ in range(2)]
    with contextlib.suppress(StoreError):
        await asyncio.gather(
            *(other.optimize() for other in others), *(other.upsert(*batch("d", 1)) for other in others)
        )


def fork(folder, _):
    store = LanceStore(folder)
    asyncio.run(use(store, "parent"))
    child = os.fork()
    if child == 0:
        for other in (store, LanceStore(folder)):
            try:
                asyncio.run(other.count())
            except StoreError as error:
                sys.stdout.write(f"{error}\n")
        sys.stdout.flush()
        # As multiprocessing ends its children; at a normal exit LanceDB waits for threads that are not there.
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    asyncio.run(use(store, "again"))


def fork_before_use(folder, _):
    store = LanceStore(folder)
    child = os.fork()
    asyncio.run(use(store, "parent" if child else "child"))
    if child:
        assert os.waitpid(child, 0)[1] == 0
        assert asyncio.run(store.count()) == 20


if __name__ == "__main__":
    task, folder, *name = sys.argv[1:]
    result = globals()[task](folder, *(name or [""]))
    if result is not None:
        asyncio.run(result)
