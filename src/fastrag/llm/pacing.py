"""How many requests may wait for one server at a time, found out by what it refuses."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from fastrag._support.checks import require_positive_int
from fastrag._support.sdk_connection import unavailable

_FIRST_PAUSE_S = 0.5
_LONGEST_OWN_PAUSE_S = 8.0
_LONGEST_PAUSE_S = 600.0


@dataclass(slots=True)
class _Waiter:
    turn: asyncio.Future[float]  # its result is 0, or the seconds of a pause too long to wait for
    patience_s: float


@dataclass(slots=True)
class _Line:
    """Those of one event loop: futures cannot be shared between loops."""

    active: int = 0
    waiting: deque[_Waiter] = field(default_factory=deque)
    timer: asyncio.TimerHandle | None = None


class Pace:
    """A limit on the requests of one client that wait for a reply, which adapts to the server.

    Additive increase, multiplicative decrease, as TCP does against congestion (Chiu and Jain, 1989): a reply that asks
    for fewer requests (429, 503, 529) halves the limit, once for all requests that were sent before it was halved; as
    many replies as the limit is raise it by one, up to ``max_concurrency``. It starts there, so that nobody waits whom
    the server would have served. After a refusal nothing is sent for as long as ``Retry-After`` says, 10 minutes at
    the most; where it does not say, for half a second, doubled up to 8 s with every refusal in a row.

    Requests are sent in the order in which they came. One that was refused gives up its place and, when the SDK tries
    again, stands at the end of the line. A streamed answer holds its place until the server begins to answer, so that
    whoever reads it may ask further.

    Attributes:
        lowered: How often the limit was lowered so far.

    Args:
        place: The server, for messages.
        max_concurrency: The highest limit, at least 1.

    Raises:
        ConfigurationError: ``max_concurrency`` is out of range.

    >>> pace = Pace("http://localhost:8000/v1", 8)
    >>> pace.limit, pace.lowered, pace.paused_s
    (8, 0, 0.0)
    """

    def __init__(self, place: str, max_concurrency: int) -> None:
        self._place = place
        self._most = require_positive_int("max_concurrency", max_concurrency)
        self._limit = float(max_concurrency)
        self._round = 0  # a refusal of a request that was sent in an earlier round tells nothing new
        self._refusals_in_a_row = 0
        self._resume_at = 0.0  # in the time of time.monotonic()
        self._lines: dict[asyncio.AbstractEventLoop, _Line] = {}
        self.lowered = 0

    def __repr__(self) -> str:
        return f"Pace(limit={self.limit}, lowered={self.lowered}, paused_s={self.paused_s:.1f})"

    @property
    def limit(self) -> int:
        """How many requests may wait for a reply at present, at least 1; counted for each event loop by itself."""
        return int(self._limit)

    @property
    def paused_s(self) -> float:
        """For how many seconds from now no request is sent; 0.0 where none is held back."""
        return max(0.0, self._resume_at - time.monotonic())

    @asynccontextmanager
    async def turn(self, patience_s: float) -> AsyncIterator[Turn]:
        """Wait in line, and hold a place while inside.

        Raises:
            ServiceUnavailableError: The server asked for a pause longer than ``patience_s``.
        """
        turn = Turn(self, self._line())
        await turn.wait(patience_s)
        try:
            yield turn
        finally:
            turn.give_up()

    def _line(self) -> _Line:
        for loop in [loop for loop in self._lines if loop.is_closed()]:
            self._lines.pop(loop, None)
        return self._lines.setdefault(asyncio.get_running_loop(), _Line())

    async def _wait(self, line: _Line, patience_s: float) -> None:
        waiter = _Waiter(asyncio.get_running_loop().create_future(), patience_s)
        line.waiting.append(waiter)
        self._serve(line)
        try:
            pause_s = await waiter.turn
        except asyncio.CancelledError:
            if waiter.turn.done() and not waiter.turn.cancelled() and waiter.turn.result() == 0:
                self._leave(line)  # it was given a place in the very moment in which it was cancelled
            raise
        if pause_s:
            message = f"{self._place} asked for a pause, of which {pause_s:.1f} s are left: nothing was sent"
            raise unavailable(message, pause_s)

    def _serve(self, line: _Line) -> None:
        pause_s = self.paused_s
        if pause_s:
            for waiter in line.waiting:
                if waiter.patience_s <= pause_s and not waiter.turn.done():
                    waiter.turn.set_result(pause_s)
            line.waiting = deque(waiter for waiter in line.waiting if not waiter.turn.done())
            if line.timer is None and line.waiting:
                line.timer = asyncio.get_running_loop().call_later(pause_s, self._resume, line)
            return
        while line.waiting and line.active < self.limit:
            waiter = line.waiting.popleft()
            if not waiter.turn.done():
                line.active += 1
                waiter.turn.set_result(0.0)

    def _resume(self, line: _Line) -> None:
        line.timer = None
        self._serve(line)

    def _leave(self, line: _Line) -> None:
        line.active -= 1
        self._serve(line)

    def _slow_down(self, line: _Line, round_: int, pause_s: float | None) -> None:
        if round_ == self._round:
            self._round += 1
            lower = max(1, math.floor(self._limit / 2))
            self.lowered += lower < self.limit
            self._limit = float(lower)
            if pause_s is None:
                pause_s = min(_FIRST_PAUSE_S * 2.0**self._refusals_in_a_row, _LONGEST_OWN_PAUSE_S)
            self._refusals_in_a_row = min(self._refusals_in_a_row + 1, 16)
        if pause_s is not None:
            self._resume_at = max(self._resume_at, time.monotonic() + min(pause_s, _LONGEST_PAUSE_S))
        self._serve(line)

    def _speed_up(self, line: _Line, round_: int) -> None:
        if round_ == self._round:
            self._refusals_in_a_row = 0
            self._limit = min(float(self._most), self._limit + 1 / self._limit)
            self._serve(line)


class Turn:
    """The place of one call in the line, told of each of its attempts."""

    def __init__(self, pace: Pace, line: _Line) -> None:
        self._pace = pace
        self._line = line
        self._is_held = False
        self._round = 0

    async def wait(self, patience_s: float) -> None:
        """Wait for a place, unless it is held already."""
        if not self._is_held:
            await self._pace._wait(self._line, patience_s)
            self._is_held = True

    async def begin(self) -> None:
        """Before an attempt: a call that was refused waits again, for as long as its own time-out lets it."""
        await self.wait(math.inf)
        self._round = self._pace._round

    def passed(self) -> None:
        """The server took the request."""
        self._pace._speed_up(self._line, self._round)

    def refused(self, pause_s: float | None) -> None:
        """The server asked for fewer requests: leave the place to others, and slow down."""
        self._pace._slow_down(self._line, self._round, pause_s)
        self.give_up()

    def give_up(self) -> None:
        """Leave the place; harmless when none is held."""
        if self._is_held:
            self._is_held = False
            self._pace._leave(self._line)
