import pytest

from fastrag.store import LanceStore, lance_indexes
from fastrag.testing.store_conformance import DurableStoreConformance


def tidy_at_every_write(monkeypatch):
    monkeypatch.setattr(lance_indexes, "_SHARE_OF_TIME", 0)
    monkeypatch.setattr(lance_indexes, "_MAX_UNINDEXED", 0)


async def opened(folder):
    import lancedb

    return await (await lancedb.connect_async(folder)).open_table("default")


class TestIndexedLanceStore(DurableStoreConformance):
    """A store whose every search is by index, and every write followed by tidying."""

    scans_a_snapshot = True

    @pytest.fixture(autouse=True)
    def indexed(self, monkeypatch):
        tidy_at_every_write(monkeypatch)

    def make_store(self, folder, namespace="default"):
        return LanceStore(folder, namespace=namespace, index_from=1)
