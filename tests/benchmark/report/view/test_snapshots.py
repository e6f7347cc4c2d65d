"""Readings one after the other: what waits for what, and what is made once."""

import asyncio
import threading
from collections import Counter

import pytest

from fastrag.benchmark.report.view.folder import Listing
from fastrag.benchmark.report.view.snapshots import Snapshot, Snapshots
from fastrag.errors import ConfigurationError

LONG_S = 60


class Data:
    """A ReportData whose parts take until they are let go."""

    def __init__(self):
        self.made = Counter()
        self.let_go = {name: threading.Event() for name in ("comparison-0-1", "comparison-0-2", "details-0")}
        self.begun = {name: threading.Event() for name in self.let_go}

    def part(self, name):
        self.made[name] += 1
        if name in self.let_go:
            self.begun[name].set()
            assert self.let_go[name].wait(LONG_S)
        elif name not in ("overview", "questions"):
            raise KeyError(name)
        return name.encode()


async def begun(data, name):
    assert await asyncio.to_thread(data.begun[name].wait, LONG_S)


async def test_a_part_is_made_once_however_many_ask():
    data = Data()
    snapshot = Snapshot("t", data)
    asking = [asyncio.create_task(snapshot.part("comparison-0-1")) for _ in range(5)]
    await begun(data, "comparison-0-1")
    data.let_go["comparison-0-1"].set()
    assert await asyncio.gather(*asking) == [b"comparison-0-1"] * 5
    assert data.made["comparison-0-1"] == 1


async def test_who_goes_away_does_not_take_it_from_the_others():
    data = Data()
    snapshot = Snapshot("t", data)
    first, second = (asyncio.create_task(snapshot.part("comparison-0-1")) for _ in range(2))
    await begun(data, "comparison-0-1")
    first.cancel()
    data.let_go["comparison-0-1"].set()
    assert await second == b"comparison-0-1"
    assert data.made["comparison-0-1"] == 1


async def test_other_parts_do_not_wait_for_comparisons_even_for_many():
    data = Data()
    snapshot = Snapshot("t", data)
    comparing = [asyncio.create_task(snapshot.part(f"comparison-0-{i}")) for i in (1, 2, *range(3, 100))]
    await begun(data, "comparison-0-1")
    assert await snapshot.part("questions") == b"questions"
    assert snapshot.overview == await snapshot.part("overview") == b"overview"
    for event in data.let_go.values():
        event.set()
    first, second, *others = await asyncio.gather(*comparing, return_exceptions=True)
    assert (first, second) == (b"comparison-0-1", b"comparison-0-2")
    assert {type(other) for other in others} == {KeyError}


class Folder:
    """A ResultsFolder with nothing in it, which takes until it is let go."""

    def __init__(self):
        self.number = 0
        self.looks = 0
        self.reads = 0
        self.begun = threading.Event()
        self.let_go = threading.Event()
        self.let_go.set()
        self.error = None
        self.now_s = 0.0

    def later(self):
        """Something changes, and it is time to look."""
        self.number += 1
        self.now_s += 100

    def look(self):
        self.looks += 1
        return Listing({}, [f"warning {self.number}"])

    def read(self, listing):
        self.reads += 1
        self.begun.set()
        assert self.let_go.wait(LONG_S)
        if self.error is not None:
            raise self.error
        return [], listing.warnings


def snapshots(folder, patience_s=float(LONG_S)):
    return Snapshots(folder, samples=None, title="t", patience_s=patience_s, clock=lambda: folder.now_s)


async def test_what_did_not_change_is_the_same_reading():
    folder = Folder()
    all_of_them = snapshots(folder)
    first = await all_of_them.newest()
    folder.now_s += 100
    assert await all_of_them.newest() is first
    assert (folder.looks, folder.reads) == (2, 1)
    folder.later()
    second = await all_of_them.newest()
    assert second.token != first.token
    assert [all_of_them.find(snapshot.token) for snapshot in (first, second)] == [first, second]
    assert b'"warning 1"' in second.overview


async def test_many_who_ask_at_once_get_one_reading():
    folder = Folder()
    all_of_them = snapshots(folder)
    found = await asyncio.gather(*[all_of_them.newest() for _ in range(20)])
    assert len(set(map(id, found))) == folder.reads == 1


async def test_the_reading_before_is_shown_while_the_next_takes_long():
    folder = Folder()
    all_of_them = snapshots(folder, patience_s=0.0)
    first = await all_of_them.newest()
    folder.later()
    folder.begun.clear()
    folder.let_go.clear()
    assert await all_of_them.newest() is first
    assert await asyncio.to_thread(folder.begun.wait, LONG_S)
    assert await all_of_them.newest() is first
    assert await first.part("overview") == first.overview
    folder.let_go.set()
    while (second := await all_of_them.newest()) is first:
        await asyncio.sleep(0)
    assert b'"warning 1"' in second.overview


async def test_a_new_reading_is_not_made_before_its_time():
    folder = Folder()
    all_of_them = snapshots(folder)
    first = await all_of_them.newest()
    folder.number += 1
    for folder.now_s in (0.0, 1.0, 1.9):
        assert await all_of_them.newest() is first
    assert folder.looks == 1
    folder.now_s = 2.0
    assert await all_of_them.newest() is not first


async def test_what_took_long_is_not_made_again_before_as_long_went_by():
    class Slow(Folder):
        def read(self, listing):
            self.now_s += 30
            return super().read(listing)

    folder = Slow()
    all_of_them = snapshots(folder)
    first = await all_of_them.newest()
    folder.number += 1
    folder.now_s += 29
    assert await all_of_them.newest() is first
    folder.now_s += 1
    assert await all_of_them.newest() is not first


async def test_the_last_few_are_kept():
    folder = Folder()
    all_of_them = snapshots(folder)
    tokens = []
    for _ in range(6):
        folder.later()
        tokens.append((await all_of_them.newest()).token)
    assert [all_of_them.find(token) is not None for token in tokens] == [False, False, True, True, True, True]
    assert all_of_them.find("") is None


async def test_what_nothing_can_be_made_of_says_so_until_it_changes():
    folder = Folder()
    all_of_them = snapshots(folder)
    first = await all_of_them.newest()
    folder.error = ConfigurationError("these do not fit together")
    folder.later()
    frames = []
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="do not fit") as said:
            await all_of_them.newest()
        frames.append(len(said.traceback))
        folder.now_s += 100
    assert frames[0] == frames[1]
    assert folder.reads == 2
    assert all_of_them.find(first.token) is first
    folder.error = None
    folder.later()
    assert b'"warning 2"' in (await all_of_them.newest()).overview


async def test_a_bug_is_an_error_each_time():
    folder = Folder()
    all_of_them = snapshots(folder)
    folder.error = ZeroDivisionError()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            await all_of_them.newest()
    folder.error = None
    assert b'"warning 0"' in (await all_of_them.newest()).overview
