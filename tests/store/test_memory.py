from fastrag.store import InMemoryStore
from fastrag.testing.store_conformance import StoreConformance


class TestInMemoryStore(StoreConformance):
    def make_store(self, folder):
        return InMemoryStore()
