"""Making durable what an engine wrote without fsync."""

from __future__ import annotations

import os
from pathlib import Path

from fastrag._support.files import fsync_folder


class FileSyncer:
    """Makes the files under ``folder`` survive a loss of power, each once.

    It is for engines that never change a file once it is written. Not safe for threads.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._synced: set[str] = set()

    def sync(self) -> None:
        """Call fsync on every file that came since the last call, and on the folders they are in.

        Raises:
            OSError: A file cannot be opened or synced.
        """
        present: set[str] = set()
        for folder, folders, files in os.walk(self._folder):
            new_files = _paths(folder, files) - self._synced
            new_folders = _paths(folder, folders) - self._synced
            present |= _paths(folder, files) | _paths(folder, folders)
            for path in new_files:
                _fsync_file(path)
            if new_files or new_folders:
                fsync_folder(Path(folder))
        self._synced = present


def _paths(folder: str, names: list[str]) -> set[str]:
    return {os.path.join(folder, name) for name in names}  # noqa: PTH118 - called for every file


def _fsync_file(path: str) -> None:
    try:
        handle = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        # Another process tidied it away: there is nothing left to lose.
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
