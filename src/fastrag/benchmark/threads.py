"""Threads that never hold up the end of the process, for pipelines that block."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from typing import Any


class DaemonThreads(Executor):
    """Runs each call in an idle thread, or in a new one where all are busy.

    concurrent.futures joins its threads when the process ends, so that one hung call would keep it alive for ever; it
    also has a fixed number of them, so that calls given up for lost would take the places of new ones. Here a hung
    thread is simply left behind. The caller bounds how many calls run at once.

    >>> DaemonThreads("example").submit(sum, [1, 2]).result()
    3
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._idle = 0
        self._started = 0
        self._lock = threading.Lock()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start ``fn`` at once and return its future."""
        future: Future[Any] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except (StopIteration, GeneratorExit) as error:
                # Signals between a coroutine and its caller: raised where the call is awaited, they would be taken for
                # that, and asyncio's futures do not take a StopIteration at all.
                failure = RuntimeError(f"the call raised {type(error).__name__}: {error}")
                failure.__cause__ = error
                future.set_exception(failure)
            except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the caller
                future.set_exception(error)
            else:
                future.set_result(result)

        with self._lock:
            if self._idle:
                self._idle -= 1
            else:
                self._started += 1
                threading.Thread(target=self._serve, name=f"{self._name}-{self._started}", daemon=True).start()
            self._work.put(run)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let threads end when their calls have; never waits, whatever ``wait`` says."""
        with self._lock:
            for _ in range(self._started):
                self._work.put(None)

    def _serve(self) -> None:
        while (run := self._work.get()) is not None:
            run()
            del run
            with self._lock:
                self._idle += 1
