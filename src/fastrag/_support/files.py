"""Writing files so that a reader sees the old one or the new one, never half of either."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO


def write_atomically(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` through a temporary file in the same folder, fsync and rename.

    An existing file keeps its permissions; a symbolic link is followed, so the link stays. The folder is
    created if absent. On any failure the old file is untouched and the temporary one removed.

    Raises:
        OSError: The folder or file cannot be written.
    """
    write_chunks_atomically(path, (data,))


def write_chunks_atomically(path: Path, chunks: Iterable[bytes]) -> None:
    """Write ``chunks`` one after the other as `write_atomically` does, so that a large file is never in memory whole.

    Raises:
        OSError: The folder or file cannot be written.
    """
    with written_atomically(path) as file:
        for chunk in chunks:
            file.write(chunk)


@contextlib.contextmanager
def written_atomically(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of ``path`` as `write_atomically` does when the block ends.

    Raises:
        OSError: The folder or file cannot be written.
    """
    if "\0" in str(path):
        # A ValueError, or none before the file is to be put in its place, would be no error of writing to who calls.
        raise OSError(errno.EINVAL, "a name cannot have NUL in it", str(path))
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file, and will not be replaced by one", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    # The name is kept short: a suffix on a 255-byte file name would be refused.
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            with contextlib.suppress(FileNotFoundError):
                os.chmod(temporary, path.stat().st_mode & 0o7777)  # noqa: PTH101
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    # The file is in its place by now: a folder that cannot be opened or synced does not make that undone.
    with contextlib.suppress(OSError):
        fsync_folder(path.parent)


def fsync_folder(folder: Path) -> None:
    """Make the names in ``folder`` durable: what was created, renamed or removed there.

    Raises:
        OSError: The folder cannot be opened.
    """
    # Windows cannot open a folder; there a name is as durable as it gets.
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
