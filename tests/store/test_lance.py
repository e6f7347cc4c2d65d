from fastrag.store import LanceStore
from fastrag.testing.store_conformance import DurableStoreConformance


class TestLanceStore(DurableStoreConformance):
    def make_store(self, folder):
        return LanceStore(folder)
