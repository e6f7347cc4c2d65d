"""Noticing that something holds up the event loop, so that measured latencies are not the pipeline's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import perf_counter

_EVERY_S = 0.05
# The harness itself yields every 10 ms to pipelines that wait for nothing.
_HARMLESS_MS = 25.0
_HARMLESS_SHARE = 0.1
# A single short delay may be the machine's.
_FEWEST = 5
_LONG_MS = 500.0


@dataclass(slots=True)
class LoopLag:
    """How much later than due the loop came back to a task that slept."""

    count: int = 0
    total_ms: float = 0.0
    worst_ms: float = 0.0

    @property
    def mean_ms(self) -> float:
        """Mean lag, 0 before there is any."""
        return self.total_ms / self.count if self.count else 0.0

    def problem(self, mean_latency_ms: float) -> str | None:
        """Why latencies of this mean are not to be trusted, None where they are."""
        if self.count < _FEWEST and self.total_ms < _LONG_MS:
            return None
        # Calls that short never gave the loop a turn, so that they cannot have waited for one.
        if mean_latency_ms < 1 or self.mean_ms <= max(_HARMLESS_MS, _HARMLESS_SHARE * mean_latency_ms):
            return None
        return (
            f"latencies are not to be trusted: something blocked the event loop for {self.mean_ms:,.0f} ms at a time "
            f"on average and {self.worst_ms:,.0f} ms at worst, which other questions had to wait out "
            f"(mean latency: {mean_latency_ms:,.0f} ms). Make the method that blocks a plain def, which runs in a "
            "thread, or ask one question at a time with concurrency=1"
        )

    def add(self, lag_ms: float) -> None:
        """Note one lag."""
        self.count += 1
        self.total_ms += lag_ms
        self.worst_ms = max(self.worst_ms, lag_ms)


@asynccontextmanager
async def measured_lag() -> AsyncIterator[LoopLag]:
    """Measure inside the ``async with``; complete after it."""
    lag = LoopLag()
    due = perf_counter() + _EVERY_S

    async def sample() -> None:
        nonlocal due
        while True:
            await asyncio.sleep(due - perf_counter())
            now = perf_counter()
            lag.add(max(0.0, now - due) * 1000)
            due = now + _EVERY_S

    task = asyncio.create_task(sample())
    try:
        yield lag
    finally:
        task.cancel()
        # A loop that was blocked to the end never came to the task.
        if (late_ms := (perf_counter() - due) * 1000) > 0:
            lag.add(late_ms)
