"""Parsing files in processes of their own, as many at once as there are workers.

Python's threads share one core, and the parsers of PDF and DOCX, which are written in Python, take a hundred times as
long for a chunk as all that comes after them but embedding. A process of its own also keeps a parser that crashes from
taking the ingest along.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Protocol, cast

from fastrag.document import Document
from fastrag.errors import LoadError, MissingDependencyError
from fastrag.ingest.loaders.formats import Format, format_of, parse_file

# Without the current folder among the places of modules: it may be the one with the documents.
_COMMAND = [sys.executable, "-P", "-m", "fastrag.ingest.parsing"]
_LENGTH = struct.Struct("<Q")


class Parse(Protocol):
    """What `parse_file` does."""

    def __call__(self, path: Path, data: bytes, file_format: Format, *, id: str, max_bytes: int) -> Document:
        """The Document of a file whose bytes have been read."""


@contextlib.contextmanager
def parsing(workers: int) -> Iterator[Parse]:
    """How to parse with so many ``workers``, each a thread that parses for itself; slow formats in processes.

    With one worker there is no process. They are started when they are needed, and end with the ``with`` block: what
    they are parsing then fails.
    """
    if workers == 1 or not sys.executable:
        yield parse_file
        return
    processes = _Processes()
    try:
        yield processes.parse
    finally:
        processes.close()


class _Process:
    """One process, which parses one file after the other."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - this Python
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # What parsers have to say is said in what they raise.
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(place for place in sys.path if place)},
            # Ctrl-C is for who ingests, and ends these.
            start_new_session=True,
        )
        self._requests = cast(IO[bytes], self._process.stdin)
        self._replies = cast(IO[bytes], self._process.stdout)

    def ask(self, request: bytes, data: bytes) -> bytes:
        """The reply.

        Raises:
            EOFError, OSError: The process has ended.
        """
        _send(self._requests, request, data)
        return _received(self._replies)

    def kill(self) -> None:
        """End it, and the wait for a reply with it."""
        self._process.kill()
        self._process.wait()

    def close(self) -> int:
        """End it and let go of it; not while somebody asks. Gives its exit code."""
        self.kill()
        for pipe in (self._requests, self._replies):
            with contextlib.suppress(OSError):
                pipe.close()
        return self._process.returncode


class _Processes:
    """Processes that are started where none is idle; safe for threads, each of which uses one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._busy: set[_Process] = set()
        self._closed = False

    def parse(self, path: Path, data: bytes, file_format: Format, *, id: str, max_bytes: int) -> Document:
        """See `parse_file`.

        Raises:
            LoadError: As there, or the parser crashed.
            MissingDependencyError: As there.
        """
        if not file_format.is_slow:
            return parse_file(path, data, file_format, id=id, max_bytes=max_bytes)
        request = json.dumps([str(path), id, max_bytes]).encode()
        code = 0
        # A process may have ended while it was idle: only who crashes two of them is to blame.
        for _ in range(2):
            process = self._taken()
            try:
                reply = process.ask(request, data)
            except (EOFError, OSError):
                code = process.close()
                with self._lock:
                    self._busy.discard(process)
                continue
            self._give_back(process)
            return _document(json.loads(reply))
        raise LoadError(f"{path}: cannot be read: its parser crashed (exit code {code})")

    def close(self) -> None:
        """End them all; who waits for one gets a LoadError."""
        with self._lock:
            self._closed = True
            for process in self._busy:
                process.kill()
            for process in self._idle:
                process.close()

    def _taken(self) -> _Process:
        with self._lock:
            if self._closed:
                raise LoadError("the ingest has ended")
            process = self._idle.pop() if self._idle else _Process()
            self._busy.add(process)
            return process

    def _give_back(self, process: _Process) -> None:
        with self._lock:
            self._busy.discard(process)
            if not self._closed:
                self._idle.append(process)
        if self._closed:
            process.close()


def _document(reply: Any) -> Document:
    match reply:
        case ["document", id, text, uri, metadata]:
            return Document(id, text, uri, metadata)
        case ["missing", message]:
            raise MissingDependencyError(message)
        case [_, message]:
            raise LoadError(message)
    raise LoadError(f"a parser replied with {reply!r}")


def _send(stream: IO[bytes], *parts: bytes) -> None:
    for part in parts:
        stream.write(_LENGTH.pack(len(part)))
        stream.write(part)
    stream.flush()


def _received(stream: IO[bytes]) -> bytes:
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    return _exactly(stream, length)


def _exactly(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


def _serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    while True:
        try:
            request, data = _received(requests), _received(requests)
        except EOFError:
            return
        path, id, max_bytes = json.loads(request)
        reply: list[object]
        try:
            found = parse_file(Path(path), data, format_of(Path(path)), id=id, max_bytes=max_bytes)
            reply = ["document", found.id, found.text, found.uri, found.metadata]
        except MissingDependencyError as error:
            reply = ["missing", str(error)]
        except LoadError as error:
            reply = ["broken", str(error)]
        # As ASCII: a text may be one that is refused later, with half a surrogate pair in it.
        _send(replies, json.dumps(reply).encode())


if __name__ == "__main__":
    out = sys.stdout.buffer
    # Nothing that a library prints may come between the replies.
    sys.stdout = sys.stderr
    _serve(sys.stdin.buffer, out)
