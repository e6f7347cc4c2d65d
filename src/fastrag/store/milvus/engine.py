"""Where pymilvus is imported, at first use."""

from __future__ import annotations

import functools
import logging
import os
import sys
from typing import Any

from fastrag._support.extras import import_extra
from fastrag.errors import StoreError

_used_in: int | None = None


@functools.cache
def imported(module: str) -> Any:
    """A ``module`` that the extra ``milvus`` brings.

    Raises:
        MissingDependencyError: It is not installed.
    """
    return import_extra(module, extra="milvus", purpose="MilvusStore")


def pymilvus() -> Any:
    """The pymilvus package, without what it and gRPC write to stderr: each failed call with its traceback, each fork.

    Whoever imports pymilvus first sees its lines; its records go where the program sends them.

    Raises:
        MissingDependencyError: It is not installed.
    """
    if "pymilvus" in sys.modules:
        return imported("pymilvus")
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # read once, at import
    module = imported("pymilvus")
    for name in ("pymilvus", "pymilvus.milvus_client", "pymilvus.bulk_writer"):
        logger = logging.getLogger(name)
        for handler in list(logger.handlers):
            logger.removeHandler(handler)
        logger.addHandler(logging.NullHandler())
        logger.propagate = True
    return module


def refuse_after_fork() -> None:
    """Call before anything is asked: gRPC's threads and connections do not survive a fork.

    Raises:
        StoreError: This process was forked from one that had used Milvus.
    """
    global _used_in
    if _used_in is None:
        _used_in = os.getpid()
    if is_forked():
        raise StoreError(
            "this process was forked from one that had used Milvus, whose connections work in no such process: start "
            "processes with multiprocessing's 'spawn' or 'forkserver', or fork before the first use of a MilvusStore"
        )


def is_forked() -> bool:
    """Whether this process was forked from one that had used Milvus."""
    return _used_in is not None and _used_in != os.getpid()
