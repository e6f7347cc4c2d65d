"""Stopping a run from outside: Ctrl-C and SIGTERM."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass(slots=True)
class Interruption:
    """Whether a signal stopped the run."""

    signal: int | None = None


@contextmanager
def stopping_on_signals() -> Iterator[Interruption]:
    """Cancel the current task on the first SIGINT or SIGTERM; a second raises KeyboardInterrupt on the spot.

    A signal that somebody else handles is left to them. asyncio.run does so with SIGINT: it cancels its main task on
    the first, which stops the run just the same. Outside the main thread nothing is done.
    """
    interruption = Interruption()
    task = asyncio.current_task()
    if threading.current_thread() is not threading.main_thread() or task is None:
        yield interruption
        return
    loop = asyncio.get_running_loop()

    def stop(number: int, frame: FrameType | None) -> None:
        if interruption.signal is not None:
            raise KeyboardInterrupt
        interruption.signal = number
        # Wakes the loop, which a signal alone does not.
        loop.call_soon_threadsafe(task.cancel)

    replaced = {}
    for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) == default:
            replaced[number] = signal.signal(number, stop)
    try:
        yield interruption
    finally:
        for number, handler in replaced.items():
            if signal.getsignal(number) is stop:
                signal.signal(number, handler)
