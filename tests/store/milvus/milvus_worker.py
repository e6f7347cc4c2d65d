"""What the tests of MilvusStore run in processes of their own: ``milvus_worker.py TASK URI [NAME]``.

The token of a server is in the environment's MILVUS_TOKEN.
"""

import asyncio
import itertools
import os
import sys

import numpy as np

from fastrag.document import Document
from fastrag.errors import StoreError
from fastrag.store import And, MilvusStore, Range


def batch(name, number, size=10):
    documents = [
        Document(f"{name}-{number}-{n}", f"cat {name}", metadata={"batch": f"{name}-{number}"}) for n in range(size)
    ]
    return documents, np.random.default_rng(number).standard_normal((size, 16)).astype(np.float32)


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def write_until_killed(uri, name):
    store = MilvusStore(uri)
    await store.bind("embedder", 16)
    for number in itertools.count():
        await store.upsert(*batch(name, number))
        if number % 7 == 3:
            await store.delete(ids=[f"{name}-{number - 1}-0"])
            say(f"without {name}-{number - 1}-0")
        if number % 20 == 19:
            await store.optimize()
        say(f"{name}-{number}")


async def hold(uri, _):
    store = MilvusStore(uri)
    await store.upsert([Document("a", "cat")])
    say("open")
    await asyncio.to_thread(sys.stdin.readline)
    await store.close()
    say("closed")
    await asyncio.to_thread(sys.stdin.readline)


async def everything(uri, _):
    """Much at once, and what fails; the store is left open."""
    store = MilvusStore(uri)
    await store.bind("embedder", 16)

    async def use(name):
        for number in range(3):
            documents, vectors = batch(name, number)
            await store.upsert(documents, vectors)
            await store.search(embedding=vectors[0], filter=And([Range("batch", gte="a")]))
            if uri.endswith(".db"):
                await store.search(text='cat "AND', embedding=vectors[0])
        await store.delete(ids=["a-0-0"])

    async with asyncio.TaskGroup() as group:
        for name in ("a", "b", "c"):
            group.create_task(use(name))
    await store.optimize()
    other = MilvusStore(uri, namespace="other")
    await other.upsert([Document("a", "cat")])
    await other.drop()
    assert await other.count() == 0
    assert await store.count() == 89
    try:
        await MilvusStore("http://127.0.0.1:1").count()
    except StoreError:
        return
    raise AssertionError("there is no server")


def fork(uri, _):
    store = MilvusStore(uri)
    asyncio.run(store.upsert(*batch("a", 0)))
    child = os.fork()
    if child == 0:
        for other in (store, MilvusStore(uri)):
            for call in (other.count, other.drop, other.optimize):
                try:
                    asyncio.run(call())
                except StoreError as error:
                    say(error)
        asyncio.run(store.close())
        # A normal exit, which must not stop what the parent serves.
        sys.exit()
    assert os.waitpid(child, 0)[1] == 0
    assert asyncio.run(store.count()) == 10
    asyncio.run(store.close())


if __name__ == "__main__":
    task, uri, *name = sys.argv[1:]
    result = globals()[task](uri, *(name or [""]))
    if result is not None:
        asyncio.run(result)
