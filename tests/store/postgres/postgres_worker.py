"""What the tests of PgVectorStore run in processes of their own: ``postgres_worker.py TASK CONNINFO [NAME]``."""

import asyncio
import itertools
import os
import sys

import numpy as np

from fastrag.document import Document
from fastrag.store import PgVectorStore
from fastrag.testing import HashEmbedder


def batch(name, number, size=10):
    documents = [
        Document(f"{name}-{number}-{n}", f"cat {name}", metadata={"batch": f"{name}-{number}"}) for n in range(size)
    ]
    return documents, np.random.default_rng(number).standard_normal((size, 16)).astype(np.float32)


async def write_until_killed(conninfo, name):
    store = PgVectorStore(conninfo)
    for number in itertools.count():
        await store.upsert(*batch(name, number))
        # Unbuffered, so that what is acknowledged is known.
        os.write(1, f"{name}-{number}\n".encode())


def fork_writers(conninfo, _):
    """For each line read, a child that writes until it is killed; its number is written first."""
    HashEmbedder()  # imports what takes long once, and not in every child
    for line in sys.stdin:
        name = line.strip()
        child = os.fork()
        if child == 0:
            os.write(1, f"{os.getpid()}\n".encode())
            asyncio.run(write_until_killed(conninfo, name))
        os.waitpid(child, 0)
        os.write(1, b"killed\n")


async def write_beside_others(conninfo, name):
    """Documents of its own, and some that every writer replaces, in an order of its own."""
    store = PgVectorStore(conninfo)
    shared = [f"shared{n}" for n in range(20)]
    random = np.random.default_rng(ord(name))
    for number in range(15):
        documents, vectors = batch(name, number)
        ids = random.permutation(shared)
        documents += [Document(str(id), name, metadata={"batch": f"{name}-{number}"}) for id in ids]
        await store.upsert(documents, np.vstack([vectors, vectors, vectors]))
        assert await store.count() >= 30
    await store.close()


if __name__ == "__main__":
    task, conninfo, *name = sys.argv[1:]
    result = globals()[task](conninfo, *(name or [""]))
    if result is not None:
        asyncio.run(result)
