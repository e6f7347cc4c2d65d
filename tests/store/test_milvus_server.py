"""MilvusStore on a real server, of version 2.3.5: one without the BM25 function, and so without lexical search."""

import sys

import pytest

from fastrag.store import MilvusStore
from fastrag.testing.store_conformance import DurableStoreConformance

if sys.platform != "linux":
    pytest.skip("the server's package is for Linux", allow_module_level=True)
pytest.importorskip("milvus", reason="the server's package is not installed")
pymilvus = pytest.importorskip("pymilvus")

from .milvus_server import RunningMilvus  # noqa: E402


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    running = RunningMilvus(tmp_path_factory.mktemp("milvus"))
    try:
        running.start()
        running.set_password()
        yield running
    finally:
        running.kill()


def store_of(server, **options):
    return MilvusStore(server.url, token=server.token, **options)


@pytest.fixture
def empty(server):
    """Removes what a test left behind."""
    client = pymilvus.MilvusClient(server.url, token=server.token, dedicated=True)

    def remove_all():
        for name in client.list_collections():
            client.drop_collection(name)

    remove_all()
    yield remove_all
    client.close()


class TestMilvusStoreOnAServer(DurableStoreConformance):
    has_lexical_search = False

    @pytest.fixture(autouse=True)
    def _place(self, server, empty):
        self.server, self.empty, self.folder = server, empty, None

    def make_store(self, folder, namespace="default"):
        if folder != self.folder:
            self.empty()
            self.folder = folder
        return store_of(self.server, namespace=namespace)
