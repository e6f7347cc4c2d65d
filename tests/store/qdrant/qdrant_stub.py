"""A real HTTP server on this machine that speaks the part of Qdrant's REST API that QdrantStore uses.

What it stores and how it searches is qdrant-client's own imitation of a server, and what comes over the wire is
checked by the client's records of the API. It fails on demand, and can be stopped and started with what it holds.
"""

import contextlib
import json
import re
import socket
import threading
import time
import warnings
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from pydantic import ValidationError
from pydantic_core import to_jsonable_python
from qdrant_client import QdrantClient, models

from fastrag.testing import Fault


class QdrantStub:
    """Serves on 127.0.0.1 until `stop`.

    Attributes:
        requests: Method and path of what has arrived, in order.
        limits: How many points each search asked for.
        keeps_metadata: False for a Qdrant before 1.16.
        adds_vectors: False for a Qdrant before 1.18.
    """

    def __init__(self, api_key=None):
        self.api_key = api_key
        self.requests = []
        self.limits = []
        self.keeps_metadata = True
        self.adds_vectors = True
        self._client = QdrantClient(":memory:")
        self._indexes = {}
        self._lock = threading.Lock()
        self._faults = deque()
        self._port = 0
        self._connections = set()
        self.start()

    def start(self):
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_):
                pass

            def setup(self):
                stub._connections.add(self.request)
                super().setup()

            def finish(self):
                super().finish()
                stub._connections.discard(self.request)

            def _serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                path = urlsplit(self.path)
                stub.requests.append(f"{self.command} {unquote(path.path)}")
                fault = stub._faults.popleft() if stub._faults else Fault()
                time.sleep(fault.delay_s)
                status, reply = (
                    stub._answer(self.command, path, self.headers, body)
                    if fault.status == 200
                    else (
                        fault.status,
                        {"status": {"error": "Service internal error: out of luck"}, "time": 0.0},
                    )
                )
                reply = reply if fault.edit is None else fault.edit(reply)
                content = json.dumps(reply).encode() if fault.body is None else fault.body
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    for name, value in fault.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Type", fault.content_type)
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content[: fault.cut_after])
                    if fault.cut_after is not None:
                        self.close_connection = True

            do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _serve

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._server.daemon_threads = True
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._port}"

    def stop(self):
        """Listen no more and break the connections there are."""
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def fail_next(self, *faults):
        self._faults.extend(faults)

    def no_more_faults(self):
        self._faults.clear()

    def collections(self):
        return {each.name for each in self._client.get_collections().collections}

    def create_foreign(self, collection):
        self._client.create_collection(collection, vectors_config={}, metadata={"mine": 1})

    def add_foreign_point(self, collection, payload):
        self._client.upsert(collection, [models.PointStruct(id=7, vector={}, payload=payload)])

    def mark(self, collection, metadata):
        self._client.update_collection(collection, metadata=metadata)

    def indexes(self, collection):
        return set(self._indexes[collection])

    def _answer(self, method, path, headers, body):
        if self.api_key is not None and headers.get("api-key") != self.api_key:
            # Some servers and proxies repeat what they were sent.
            return 401, {"status": {"error": f"Invalid API key {headers.get('api-key')}"}, "time": 0.0}
        routes = ((re.fullmatch(pattern, path.path), answer) for wanted, pattern, answer in _ROUTES if wanted == method)
        match, answer = next(((match, answer) for match, answer in routes if match), (None, None))
        if match is None:
            return 404, {}
        names = [unquote(name) for name in match.groups()]
        asked = {name: values[0] for name, values in parse_qs(path.query).items()}
        try:
            with self._lock, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = answer(self, names, asked, json.loads(body) if body else {})
        except (ValueError, ValidationError) as error:
            missing, there = "not found" in str(error), "already exists" in str(error)
            return (404 if missing else 409 if there else 400), {"status": {"error": str(error)}, "time": 0.0}
        return 200, {"result": to_jsonable_python(result), "status": "ok", "time": 0.0}

    def _collection(self, names, asked, body):
        info = self._client.get_collection(names[0])
        info.payload_schema = (
            {
                field: models.PayloadIndexInfo(data_type=schema["type"], points=0)
                for field, schema in self._indexes[names[0]].items()
            }
            if names[0] in self._indexes
            else {}
        )
        return info

    def _create(self, names, asked, body):
        given = models.CreateCollection.model_validate(body)
        self._client.create_collection(
            names[0],
            vectors_config=given.vectors,
            sparse_vectors_config=given.sparse_vectors,
            metadata=given.metadata if self.keeps_metadata else None,
        )
        self._indexes[names[0]] = {}
        return True

    def _add_vectors(self, names, asked, body):
        if not self.adds_vectors:
            raise ValueError("vectors cannot be added")
        config = models.DenseVectorNameConfig.model_validate(body)
        return self._client.create_vector_name(names[0], names[1], config)

    def _update(self, names, asked, body):
        return self._client.update_collection(names[0], metadata=models.UpdateCollection.model_validate(body).metadata)

    def _remove(self, names, asked, body):
        self._indexes.pop(names[0], None)
        return self._client.delete_collection(names[0])

    def _index(self, names, asked, body):
        given = models.CreateFieldIndex.model_validate(body)
        self._client.get_collection(names[0])
        self._indexes[names[0]][given.field_name] = body["field_schema"]
        return _done(asked)

    def _upsert(self, names, asked, body):
        self._client.upsert(names[0], models.PointsList.model_validate(body).points)
        return _done(asked)

    def _retrieve(self, names, asked, body):
        given = models.PointRequest.model_validate(body)
        return self._client.retrieve(
            names[0], given.ids, with_payload=given.with_payload, with_vectors=given.with_vector
        )

    def _scroll(self, names, asked, body):
        given = models.ScrollRequest.model_validate(body)
        points, after = self._client.scroll(
            names[0],
            scroll_filter=given.filter,
            limit=given.limit,
            offset=given.offset,
            with_payload=given.with_payload,
            with_vectors=given.with_vector,
        )
        return {"points": points, "next_page_offset": after}

    def _count(self, names, asked, body):
        given = models.CountRequest.model_validate(body)
        return self._client.count(names[0], count_filter=given.filter, exact=given.exact)

    def _delete(self, names, asked, body):
        kind = models.FilterSelector if "filter" in body else models.PointIdsList
        self._client.delete(names[0], kind.model_validate(body))
        return _done(asked)

    def _query(self, names, asked, body):
        given = models.QueryRequest.model_validate(body)
        self.limits.append(given.limit)
        return self._client.query_points(
            names[0],
            query=given.query,
            using=given.using,
            query_filter=given.filter,
            limit=given.limit,
            with_payload=given.with_payload,
            with_vectors=given.with_vector,
        )


def _done(asked):
    # What is only acknowledged may not be there for the next request.
    assert asked["wait"] == "true"
    assert asked.get("ordering", "weak") in ("weak", "medium", "strong")
    return models.UpdateResult(operation_id=0, status=models.UpdateStatus.COMPLETED)


_ROUTES = [
    ("GET", "/collections", lambda stub, names, asked, body: stub._client.get_collections()),
    ("GET", "/collections/([^/]+)", QdrantStub._collection),
    ("PUT", "/collections/([^/]+)", QdrantStub._create),
    ("PATCH", "/collections/([^/]+)", QdrantStub._update),
    ("DELETE", "/collections/([^/]+)", QdrantStub._remove),
    ("PUT", "/collections/([^/]+)/vectors/([^/]+)", QdrantStub._add_vectors),
    ("PUT", "/collections/([^/]+)/index", QdrantStub._index),
    ("PUT", "/collections/([^/]+)/points", QdrantStub._upsert),
    ("POST", "/collections/([^/]+)/points", QdrantStub._retrieve),
    ("POST", "/collections/([^/]+)/points/scroll", QdrantStub._scroll),
    ("POST", "/collections/([^/]+)/points/count", QdrantStub._count),
    ("POST", "/collections/([^/]+)/points/delete", QdrantStub._delete),
    ("POST", "/collections/([^/]+)/points/query", QdrantStub._query),
]
