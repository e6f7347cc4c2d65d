"""The engine of ``.db`` files, milvus-lite: served inside this process, over a socket that only its user can open.

pymilvus would start it too, but on a TCP port that every user of the machine can reach, and with several threads, which
may interleave two writes in the engine's log. Here one thread answers all calls one after the other.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastrag.errors import ConfigurationError, StoreError
from fastrag.store.milvus.engine import imported

# What is not flushed yet is searched row by row, in Python: less of it than the engine's own 128 MB.
_UNFLUSHED_BYTES = 16_000_000
_CLOSING_S = 60.0


@dataclass(slots=True)
class _Served:
    pid: int
    address: str
    folder: Path
    workers: ThreadPoolExecutor
    server: Any
    database: Any
    users: int = 0


_guard = threading.Lock()
_served: dict[str, _Served] = {}


def serve(path: Path) -> str:
    """The address at which ``path`` is served from now on, until as many calls of `leave`.

    Raises:
        ConfigurationError: ``path`` is a file of something else.
        MissingDependencyError: milvus-lite is not installed.
        StoreError: Another process has it open, or it cannot be opened.
    """
    place = os.path.realpath(path)
    with _guard:
        served = _served.get(place)
        if served is None:
            _served[place] = served = _started(place)
        served.users += 1
        return served.address


def leave(path: Path) -> None:
    """Stop serving ``path`` when nobody else uses it: calls under way are answered, then others may open it."""
    place = os.path.realpath(path)
    with _guard:
        served = _served[place]
        served.users -= 1
        if served.users:
            return
        del _served[place]
        served.server.stop(_CLOSING_S).wait()
        served.workers.shutdown()
        try:
            served.database.close()
        finally:
            shutil.rmtree(served.folder, ignore_errors=True)


def _started(place: str) -> _Served:
    # Read at import; whoever wants another sets it.
    os.environ.setdefault("MILVUS_LITE_MEMTABLE_MEMORY_LIMIT_BYTES", str(_UNFLUSHED_BYTES))
    lite = imported("milvus_lite")
    servicer = imported("milvus_lite.adapter.grpc.servicer")
    methods = imported("pymilvus.grpc_gen.milvus_pb2_grpc")
    grpc = imported("grpc")
    # Failed calls are logged with their tracebacks, and raise here as well.
    logging.getLogger("milvus_lite").addHandler(logging.NullHandler())
    database = _opened(lite, place)
    folder = Path(tempfile.mkdtemp(prefix="fastrag-milvus-"))
    try:
        workers = ThreadPoolExecutor(max_workers=1, thread_name_prefix="fastrag-milvus")
        unlimited = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        server = grpc.server(workers, options=unlimited)
        methods.add_MilvusServiceServicer_to_server(servicer.MilvusServicer(database), server)
        address = f"unix:{folder / 'socket'}"
        server.add_insecure_port(address)
        server.start()
    except BaseException as error:
        database.close()
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, RuntimeError):
            raise StoreError(f"{place} could not be served at {folder}: {error}") from error
        raise
    return _Served(os.getpid(), address, folder, workers, server, database)


def _opened(lite: Any, place: str) -> Any:
    try:
        return lite.MilvusLite(place)
    except lite.DataDirLockedError as error:
        raise StoreError(
            f"{place} is open in another process, and milvus-lite lets in one at a time: close it there, or run a "
            "Milvus server for both"
        ) from error
    except (FileExistsError, NotADirectoryError) as error:
        raise ConfigurationError(
            f"{place} is a file of something else, or of a milvus-lite older than 3: give another path"
        ) from error
    except (OSError, ValueError) as error:
        raise StoreError(f"{place} could not be opened: {error}") from error


@atexit.register
def _stop_all() -> None:
    # Nothing is flushed: what was acknowledged is in the engine's log, and read from there when it is opened again.
    for served in _served.values():
        if served.pid == os.getpid():
            served.server.stop(0)
            shutil.rmtree(served.folder, ignore_errors=True)
