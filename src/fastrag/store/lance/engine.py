"""Where LanceDB and pyarrow are imported, at first use."""

from __future__ import annotations

import os
from typing import Any

from fastrag._support.extras import import_extra
from fastrag.errors import StoreError

_used_in: int | None = None


def lancedb(module: str = "lancedb") -> Any:
    """The lancedb package, or a ``module`` of it.

    Raises:
        MissingDependencyError: It is not installed.
    """
    # It writes warnings of no concern to a caller straight to stderr, such as each retry beside another
    # writer. The variable is read once, at import; whoever wants the warnings sets it.
    os.environ.setdefault("LANCEDB_LOG", "error")
    return import_extra(module, extra="lance", purpose="the LanceDB store")


def pyarrow() -> Any:
    """The pyarrow package.

    Raises:
        MissingDependencyError: It is not installed.
    """
    return import_extra("pyarrow", extra="lance", purpose="the LanceDB store")


def refuse_after_fork() -> None:
    """Call before LanceDB is used; its threads and memory do not survive a fork, and using it crashes the
    child.

    Raises:
        StoreError: This process was forked from one that had used LanceDB.
    """
    global _used_in
    if _used_in is None:
        _used_in = os.getpid()
    if _used_in != os.getpid():
        raise StoreError(
            "this process was forked from one that had used LanceDB, which works in no such process: start processes "
            "with multiprocessing's 'spawn' or 'forkserver', or fork before the first use of a LanceStore"
        )
