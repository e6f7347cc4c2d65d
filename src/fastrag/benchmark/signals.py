"""Stopping a run from outside: Ctrl-C and SIGTERM."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass(slots=True)
class Interruption:
    """Whether a signal stopped the run."""

    signal: int | None = None


@contextmanager
def stopping_on_signals(give_up: Callable[[], None]) -> Iterator[Interruption]:
    """Cancel the current task on the first SIGINT or SIGTERM; on a second call ``give_up`` and end on the spot.

    A signal that somebody else handles is left to them. asyncio.run handles SIGINT in the same way (it cancels its main
    task, and raises KeyboardInterrupt on the second), so that only ``give_up`` is added to what it does. Outside the
    main thread nothing is done.
    """
    interruption = Interruption()
    task = asyncio.current_task()
    if threading.current_thread() is not threading.main_thread() or task is None:
        yield interruption
        return
    loop = asyncio.get_running_loop()

    def stop(number: int, frame: FrameType | None) -> None:
        if interruption.signal is not None:
            give_up()
            raise KeyboardInterrupt
        interruption.signal = number
        # Wakes the loop, which a signal alone does not.
        loop.call_soon_threadsafe(task.cancel)

    sigint = signal.getsignal(signal.SIGINT)
    seen = 0

    def pass_on(number: int, frame: FrameType | None) -> None:
        nonlocal seen
        seen += 1
        if seen > 1:
            give_up()
        if callable(sigint):
            sigint(number, frame)

    ours: dict[signal.Signals, Callable[[int, FrameType | None], None]] = {}
    if sigint is signal.default_int_handler:
        ours[signal.SIGINT] = stop
    elif isinstance(getattr(getattr(sigint, "func", None), "__self__", None), asyncio.Runner):
        ours[signal.SIGINT] = pass_on
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        ours[signal.SIGTERM] = stop
    before = {number: signal.signal(number, handler) for number, handler in ours.items()}
    try:
        yield interruption
    finally:
        for number, handler in ours.items():
            if signal.getsignal(number) is handler:
                signal.signal(number, before[number])
