"""Running a command's coroutine."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


def run_async(work: Coroutine[object, object, object]) -> None:
    """`asyncio.run`, but for Ctrl-C, after which nothing is waited for."""
    runner = asyncio.Runner()
    try:
        runner.run(work)
    except KeyboardInterrupt:
        # Not closed: that would wait for the threads that the engines still run in.
        raise
    except BaseException:
        runner.close()
        raise
    runner.close()
