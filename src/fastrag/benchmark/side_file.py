"""A file of lines that grows beside a run's journal: a header that says which run it is, then one line a thing."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from fastrag.benchmark.json_form import encode
from fastrag.benchmark.line_file import LineFile, read_lines
from fastrag.benchmark.run_header import RunHeader, read_header
from fastrag.errors import ConfigurationError

_log = logging.getLogger(__name__)

Content = Literal["outcomes", "judgements"]


class SideFile:
    """One such file, open for appending.

    Args:
        path: Of the file.
        header: Of the run's journal.
        content: What its lines are.

    Raises:
        ConfigurationError: It cannot be opened.
    """

    def __init__(self, path: Path, header: RunHeader, content: Content) -> None:
        self.path = path
        self.header = header_of(header, content)
        self._content = content
        self._file = self._open()

    def is_empty(self) -> bool:
        """Whether not even a header is in it."""
        return self.path.stat().st_size == 0

    def begin(self) -> None:
        """Write the header, as the only line.

        Raises:
            ConfigurationError: It could not be written.
        """
        self._file.cut(0)
        self._append(encode(self.header))

    def go_on(self) -> bool:
        """Go on after the last whole line, if the file is this run's; says whether it is.

        Raises:
            ConfigurationError: It is damaged, or no such file at all.
        """
        header, size = read_side_header(self.path, self._content)
        if header != self.header:
            return False
        self._file.cut(size)
        return True

    def append(self, line: bytes) -> None:
        """Add one JSON object.

        Raises:
            ConfigurationError: It could not be written.
        """
        if self._file.was_lost:
            _log.warning("%s was removed while the run goes on; what was in it is lost", self.path)
            self._file.close()
            self._file = self._open()
            self._append(encode(self.header))
        self._append(line)

    def remove(self) -> None:
        """Delete the file."""
        self._file.remove()

    def close(self) -> None:
        """Everything that was added is in the file."""
        self._file.close()

    def _open(self) -> LineFile:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return LineFile(self.path)
        except OSError as error:
            raise ConfigurationError(
                f"{self.path}: {self._content} cannot be written: {error.strerror or error}"
            ) from error

    def _append(self, line: bytes) -> None:
        try:
            self._file.append(line)
        except OSError as error:
            raise ConfigurationError(
                f"{self.path}: {self._content} could not be written: {error.strerror or error}. The run was stopped; "
                "make the file writable again and run with resume=True"
            ) from error


def header_of(header: RunHeader, content: Content) -> RunHeader:
    """The header of the run's file of ``content``, from that of its journal."""
    return msgspec.structs.replace(header, kind=f"fastrag {content}")


def read_side_header(path: Path, content: Content) -> tuple[RunHeader, int]:
    """The header of a file of ``content``, and the bytes that its whole lines fill.

    Raises:
        ConfigurationError: It is none, or is damaged.
    """
    return read_side_file(path, content, lambda _, __: None)


def read_side_file(path: Path, content: Content, take: Callable[[RunHeader, bytes], None]) -> tuple[RunHeader, int]:
    """Hand every line after the header to ``take``, with the header; it raises ValueError where the line is none.

    Raises:
        ConfigurationError: The file is none of ``content``, or is damaged; the message says in which line.
    """
    headers: list[RunHeader] = []

    def take_line(number: int, data: bytes) -> None:
        try:
            if headers:
                take(headers[0], data)
            else:
                headers.append(read_header(data, f"fastrag {content}"))
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"{path}, line {number}: not a line of {content}: {error}") from error

    size = read_lines(path, take_line)
    if not headers:
        raise ConfigurationError(f"{path}: holds no {content}: it has no header")
    return headers[0], size
