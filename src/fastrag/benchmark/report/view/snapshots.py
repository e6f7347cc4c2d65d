"""Readings of a folder, one after the other: pages go on asking one for its parts while the next is made."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fastrag.benchmark.report.view.folder import Listing, ResultsFolder
from fastrag.errors import FastRAGError

if TYPE_CHECKING:
    from fastrag.benchmark.report.html.data import ReportData
    from fastrag.benchmark.samples import EvalSample

_KEPT = 4
_PAUSE_S = 2.0
_PATIENCE_S = 1.0


class Snapshot:
    """One reading. Its parts are made in threads, each once however many ask for it at the same time."""

    def __init__(self, token: str, data: ReportData) -> None:
        self.token = token
        self.overview = data.part("overview")
        self._data = data
        self._asked: dict[str, asyncio.Task[bytes]] = {}
        # Comparisons share what they compute, and so do the others; a comparison takes long, and they need not wait.
        self._comparing, self._other = asyncio.Lock(), asyncio.Lock()

    async def part(self, name: str) -> bytes:
        """The part of that name, as JSON.

        Raises:
            KeyError: There is none.
        """
        if name == "overview":
            return self.overview
        making = self._asked.get(name)
        if making is None:
            making = self._asked[name] = asyncio.create_task(self._make(name))
            making.add_done_callback(lambda _: self._asked.pop(name))
        # Whoever goes away must not take it from the others.
        return await asyncio.shield(making)

    async def _make(self, name: str) -> bytes:
        # Waiting for a lock of asyncio takes none of the few threads.
        async with self._comparing if name.startswith("comparison-") else self._other:
            return await asyncio.to_thread(self._data.part, name)


class Snapshots:
    """The newest reading of a folder, and the last few.

    Args:
        folder: What is read.
        samples: Those that were asked; None where they are not known.
        title: Of the pages.
        patience_s: How long to wait for a new reading, in seconds, where there is an older one to show.
        clock: The time in seconds, from any beginning.
    """

    def __init__(
        self,
        folder: ResultsFolder,
        *,
        samples: Sequence[EvalSample] | None,
        title: str,
        patience_s: float = _PATIENCE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._samples = samples
        self._title = title
        self._patience_s = patience_s
        self._clock = clock
        self._kept: OrderedDict[str, Snapshot] = OrderedDict()
        self._making: asyncio.Task[None] | None = None
        self._read = ""
        """The token of the listing that was read last."""
        self._failed: FastRAGError | None = None
        """Why nothing can be made of that."""
        self._due = 0.0

    async def newest(self) -> Snapshot:
        """The newest reading; the one before it while that takes long to make.

        Raises:
            FastRAGError: Nothing can be made of what is there.
        """
        has_nothing = not self._kept and self._failed is None
        if self._making is None and (has_nothing or self._clock() >= self._due):
            self._making = asyncio.create_task(self._make())
            self._making.add_done_callback(self._made)
        if self._making is not None:
            done, _ = await asyncio.wait({self._making}, timeout=None if has_nothing else self._patience_s)
            for making in done:
                making.result()
        if self._failed is not None:
            # Raised as it was, it would hold on to every request that it has answered.
            raise self._failed.with_traceback(None)
        return next(reversed(self._kept.values()))

    def find(self, token: str) -> Snapshot | None:
        """The reading of that name, if it is one of the last few."""
        return self._kept.get(token)

    def _made(self, _: asyncio.Task[None]) -> None:
        self._making = None

    async def _make(self) -> None:
        listing = await asyncio.to_thread(self._folder.look)
        if listing.token == self._read:
            return
        started = self._clock()
        try:
            snapshot = await asyncio.to_thread(self._snapshot, listing)
        except FastRAGError as error:
            self._failed = error
        else:
            self._failed = None
            self._kept.pop(snapshot.token, None)
            self._kept[snapshot.token] = snapshot
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        finally:
            now = self._clock()
            # Whatever it takes, half of the time is left for the run that is under way.
            self._due = now + max(_PAUSE_S, now - started)
        self._read = listing.token

    def _snapshot(self, listing: Listing) -> Snapshot:
        from fastrag.benchmark.report.html.data import ReportData

        runs, warnings = self._folder.read(listing)
        data = ReportData(
            runs, samples=self._samples, title=self._title, live=True, snapshot=listing.token, warnings=warnings
        )
        return Snapshot(listing.token, data)
