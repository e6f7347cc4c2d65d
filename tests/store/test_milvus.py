from fastrag.store.milvus import MilvusStore
from fastrag.testing.store_conformance import DurableStoreConformance


class TestMilvusStoreOnAFile(DurableStoreConformance):
    def make_store(self, folder, namespace="default"):
        return MilvusStore(folder / "store.db", namespace=namespace)
