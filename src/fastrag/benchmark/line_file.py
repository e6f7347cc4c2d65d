"""Files of JSON lines that grow while a run goes on: a line is there whole or not at all.

Every line ends in a checksum of itself, so that one cut short by a crash is told from one that was written. Each is
handed to the operating system the moment it is made: a killed process loses none. Pushing them on to the disk takes
milliseconds, so that it happens in a thread, after 50 lines or a second, whichever is sooner: that much a power cut
can cost.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import sys
import weakref
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

from fastrag.benchmark.threads import DaemonThreads
from fastrag.errors import ConfigurationError

_SYNC_AFTER_LINES = 50
_SYNC_AFTER_S = 1.0
_SYNC_RETRY_S = 0.1
_LONGEST_LINE = 1 << 28
# Windows alone changes the ends of lines otherwise.
_BINARY = getattr(os, "O_BINARY", 0)
# ,"crc32":"0123abcd"}
_SEAL_BYTES = 20


class LineFile:
    """One such file, open for appending and locked against every other run.

    Raises:
        BlockingIOError: Another run has it open.
        OSError: It cannot be opened or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = _open_locked(path)
        self._is_open = True
        _open_files.add(self)
        self._unsynced = 0
        self._timer: asyncio.TimerHandle | None = None
        self._syncing: Future[None] | None = None
        self._threads: DaemonThreads | None = None
        self._failure: OSError | None = None
        self.was_lost = False
        """Someone removed or replaced the file; noticed when it is pushed to the disk."""

    def append(self, line: bytes) -> None:
        """Write one JSON object, given without the end of its line.

        Raises:
            OSError: It could not be written; the file ends where it ended before.
        """
        if self._failure is not None:
            raise self._failure
        data = seal(line)
        written = os.write(self._handle, data)
        if written < len(data):
            self.cut(os.fstat(self._handle).st_size - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        self._unsynced += 1
        if self._unsynced >= _SYNC_AFTER_LINES:
            self._start_sync()
        if self._unsynced and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SYNC_AFTER_S, self._sync_in_time)

    def cut(self, size: int) -> None:
        """Make the file end after ``size`` bytes, at the end of a line."""
        os.ftruncate(self._handle, size)

    def is_in_place(self) -> bool:
        """Whether the path still leads to this file; False once someone removed or replaced it."""
        with contextlib.suppress(OSError):
            return os.path.samestat(self.path.stat(), os.fstat(self._handle))
        return False

    def sync(self) -> None:
        """Push everything to the disk, now.

        Raises:
            OSError: The disk refused.
        """
        os.fsync(self._handle)

    def remove(self) -> None:
        """Delete the file, unless the path leads to another by now."""
        if not self.is_in_place():
            return
        if sys.platform == "win32":
            # An open file cannot be deleted there. Elsewhere the lock is kept until nobody can find the file.
            self.close()
        self.path.unlink()

    def close(self) -> None:
        """Give up the file and its lock; what was written stays. Harmless when called twice."""
        if not self._is_open:
            return
        self._is_open = False
        with contextlib.suppress(OSError):
            self.sync()
        if self._timer is not None:
            self._timer.cancel()
        if self._threads is not None:
            self._threads.shutdown()
        # A sync under way still needs the handle; closing it would let the number be used again.
        if self._syncing is not None and not self._syncing.done():
            self._syncing.add_done_callback(lambda _: os.close(self._handle))
        else:
            os.close(self._handle)

    def let_go(self) -> None:
        """In a forked child: close the handle, which would hold the lock for as long as the child lives."""
        if self._is_open:
            self._is_open = False
            os.close(self._handle)

    def _start_sync(self) -> None:
        if self._syncing is not None and not self._syncing.done():
            # Once that has ended; a line that is written meanwhile asks again, and must not pay for it.
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(_SYNC_RETRY_S, self._sync_in_time)
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._threads is None:
            self._threads = DaemonThreads("fastrag-sync")
        self._unsynced = 0
        self._syncing = self._threads.submit(self._sync_or_remember)

    def _sync_in_time(self) -> None:
        self._timer = None
        self._start_sync()

    def _sync_or_remember(self) -> None:
        try:
            self.sync()
            self.was_lost = not self.is_in_place()
        except OSError as error:
            self._failure = error


_open_files: weakref.WeakSet[LineFile] = weakref.WeakSet()


def _let_go_of_all() -> None:
    for file in list(_open_files):
        file.let_go()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_of_all)


def seal(line: bytes) -> bytes:
    """The JSON object ``line`` with its checksum and the end of the line.

    >>> unseal(seal(b'{"a":1}').removesuffix(b"\\n"))
    b'{"a":1}'
    """
    return b'%b,"crc32":"%08x"}\n' % (line[:-1], zlib.crc32(line))


def unseal(line: bytes) -> bytes | None:
    """The object that was sealed, None if the line is not what was written."""
    sealed = line[:-_SEAL_BYTES] + b"}"
    return sealed if seal(sealed) == line + b"\n" else None


def read_lines(path: Path, take: Callable[[int, bytes], None]) -> int:
    """Hand every whole line to ``take`` with its number, from 1; returns the bytes they fill.

    A last line that is not whole was cut short when the writer died, and is left out.

    Raises:
        ConfigurationError: The file cannot be read, or a line that is not the last is not whole.
    """
    end = 0
    broken: int | None = None
    try:
        with path.open("rb") as file:
            for number, line in enumerate(_bounded_lines(file.readline), start=1):
                if broken is not None and line.strip(b"\0\n"):
                    raise ConfigurationError(
                        f"{path}, line {broken}: damaged: its checksum does not match, and lines follow it"
                    )
                content = unseal(line[:-1]) if line.endswith(b"\n") else None
                if content is None:
                    broken = broken or number
                    continue
                take(number, content)
                end += len(line)
    except OSError as error:
        raise ConfigurationError(f"{path}: could not be read: {error.strerror or error}") from error
    return end


def _bounded_lines(readline: Callable[[int], bytes]) -> Iterator[bytes]:
    # A file without line ends (another format, a device) must not be read into memory whole.
    while line := readline(_LONGEST_LINE):
        yield line


def _open_locked(path: Path) -> int:
    while True:
        handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND | _BINARY, 0o666)
        try:
            _lock(handle)
            # The run that held the lock may have removed the file between our opening and our locking it.
            if path.exists() and os.path.samestat(path.stat(), os.fstat(handle)):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


if sys.platform == "win32":

    def _lock(handle: int) -> None:
        import msvcrt

        # Far behind the end: Windows keeps others from even reading what is locked.
        os.lseek(handle, 1 << 40, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(*error.args) from error

else:

    def _lock(handle: int) -> None:
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            # Some network file systems have no locks; a run there is better than none.
            if error.errno not in {errno.ENOTSUP, errno.ENOSYS, errno.ENOLCK}:
                raise
