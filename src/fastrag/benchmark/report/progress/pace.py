"""How fast something goes, over the recent past."""

from __future__ import annotations

from collections import deque

_WINDOW_S = 30.0


class Pace:
    """Things a second, over the last half minute or since the beginning.

    >>> pace = Pace(100, 0.0)
    >>> pace.at(104, 2.0), pace.at(110, 42.0), pace.at(130, 74.0)
    (2.0, 0.15, 0.625)

    Args:
        done: How many were done at the beginning, in an earlier part of the work.
        now_s: When that is, by a clock that never goes back.
    """

    def __init__(self, done: int, now_s: float) -> None:
        self._seen = deque([(now_s, done)])

    def at(self, done: int, now_s: float) -> float | None:
        """The pace now that so many are done; None where no time has passed."""
        self._seen.append((now_s, done))
        # The first that is kept is the last from before the window: lines come at intervals as long as the window.
        while self._seen[1][0] <= now_s - _WINDOW_S:
            self._seen.popleft()
        since_s, before = self._seen[0]
        return (done - before) / (now_s - since_s) if now_s > since_s else None
