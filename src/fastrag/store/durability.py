"""Making durable what an engine wrote without fsync."""

from __future__ import annotations

import os
from pathlib import Path

from fastrag._support.files import fsync_folder


class FileSyncer:
    """Makes the files under ``folder`` survive a loss of power, each once.

    It is for engines that do not write to a file again once it is there, though they may put another in its
    place. Threads that call it at once do some of the work twice, and leave none of it undone.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # A file is known by its inode too: one that takes another's place under the same name is new.
        self._synced: set[tuple[str, int]] = set()

    def sync(self) -> None:
        """Call fsync on every file that came since the last call, and on the folders they are in.

        Raises:
            OSError: A file cannot be opened or synced.
        """
        present: set[tuple[str, int]] = set()
        self._sync(str(self._folder), present)
        self._synced = present

    def _sync(self, folder: str, present: set[tuple[str, int]]) -> None:
        try:
            with os.scandir(folder) as entries:
                found = list(entries)
        except FileNotFoundError:
            # Another process tidied it away: there is nothing left to lose.
            return
        changed = False
        for entry in found:
            known = (entry.path, entry.inode())
            present.add(known)
            if known not in self._synced:
                changed = True
                if entry.is_file():
                    _fsync_file(entry.path)
            if entry.is_dir(follow_symlinks=False):
                self._sync(entry.path, present)
        if changed:
            fsync_folder(Path(folder))


def make_durable_folder(folder: Path) -> None:
    """Make ``folder``, and those above it, where they are not there; their names survive a loss of power.

    Raises:
        OSError: One cannot be made.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        fsync_folder(each.parent)


def _fsync_file(path: str) -> None:
    try:
        handle = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return  # likewise
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
