"""What there is to ingest: the files below the paths given, or the Documents given."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from fastrag.document import Document
from fastrag.errors import ConfigurationError
from fastrag.ingest.loaders import can_load
from fastrag.ingest.report import IngestFailure, IngestSkip

PathInput: TypeAlias = str | PathLike[str]
Sources: TypeAlias = PathInput | Iterable[PathInput] | Iterable[Document]

DOCUMENTS_ROOT = ""
"""Stands where a file's root folder would, for Documents that were given as such."""


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file that is to be loaded. ``id`` is its path below ``root``, with slashes."""

    id: str
    root: str

    @property
    def path(self) -> Path:
        """Where it is. Not kept: a Path is ten times as large as what it is made of."""
        return Path(self.root, self.id)

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A Document as the caller gave it."""

    id: str
    document: Document
    root: str = DOCUMENTS_ROOT

    def __str__(self) -> str:
        return self.id


Source: TypeAlias = FileSource | DocumentSource


@dataclass(slots=True)
class Plan:
    """What is to be ingested, and which part of the store is to become its mirror.

    Attributes:
        sources: In order. Where ``total`` is None, an iterator that makes them as it goes and does not see when an
            id comes twice; else it can be gone through again.
        total: How many there are, where that is known.
        mirrored: Roots of which the store is to keep nothing but what is in ``sources``.
        unreadable: (root, beginning of the ids) of folders that could not be listed.
        failures: What cannot even be tried.
        skipped: What is left out on purpose.
        nothing_found: What to say of folders without a document in them, unless some of theirs are stored.
    """

    sources: Iterable[Source]
    total: int | None = None
    mirrored: set[str] = field(default_factory=set)
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    failures: list[IngestFailure] = field(default_factory=list)
    skipped: list[IngestSkip] = field(default_factory=list)
    nothing_found: str = ""

    def take_over(self, root: str, old_root: str) -> None:
        """Mirror ``old_root``, from where the folder ``root`` was moved, as ``root`` is mirrored, if it is."""
        if root in self.mirrored:
            self.mirrored.add(old_root)
            self.unreadable += [(old_root, beginning) for of, beginning in self.unreadable if of == root]

    def keeps(self, root: str, id: str) -> bool:
        """Whether a Document that is in the store but not in ``sources`` is to stay."""
        if root not in self.mirrored:
            return True
        return any(root == of and id.startswith(beginning) for of, beginning in self.unreadable)


async def plan(sources: Sources, *, prune: bool) -> Plan:
    """Find out what ``sources`` are. Folders are listed; no file is opened.

    Raises:
        ConfigurationError: There is nothing to ingest and no folder given, a path does not exist, two files or
            two Documents have one id, or something is neither a path nor a Document.
    """
    if isinstance(sources, str | PathLike):
        return await asyncio.to_thread(_plan_files, [sources])
    if not isinstance(sources, Iterable):
        raise ConfigurationError(
            f"sources must be a path, paths or Documents, not {type(sources).__name__}; "
            "a single Document goes into a list"
        )
    items = iter(sources)
    try:
        first: Any = next(items)
    except StopIteration:
        raise ConfigurationError("sources is empty: there is no path and no Document in it") from None
    if isinstance(first, str | PathLike):
        return await asyncio.to_thread(_plan_files, [first, *items])
    mirrored = {DOCUMENTS_ROOT} if prune else set()
    if isinstance(sources, Sequence):
        # All are there, so what is wrong with them is found before anything is written.
        documents = _Documents(sources)
        _refuse_duplicates(documents)
        return Plan(documents, total=len(sources), mirrored=mirrored)
    return Plan(_checked_documents(chain([first], items)), mirrored=mirrored)


@dataclass(frozen=True, slots=True)
class _Documents:
    """Documents that can be gone through again."""

    items: Sequence[object]

    def __iter__(self) -> Iterator[DocumentSource]:
        return _checked_documents(self.items)


def _checked_documents(items: Iterable[object]) -> Iterator[DocumentSource]:
    for position, document in enumerate(items):
        if not isinstance(document, Document):
            raise ConfigurationError(
                f"sources[{position}] must be a Document like the first one, not {type(document).__name__}"
                if position
                else f"sources must hold paths or Documents, not {type(document).__name__}"
            )
        if not isinstance(document.id, str) or not document.id:
            raise ConfigurationError(f"sources[{position}] must have an id that is a text, not {document.id!r}")
        yield DocumentSource(document.id, document)


def _refuse_duplicates(documents: Iterable[DocumentSource]) -> None:
    seen: dict[str, int] = {}
    for position, source in enumerate(documents):
        if (first := seen.setdefault(source.id, position)) != position:
            raise ConfigurationError(
                f"two Documents have the id {source.id!r}: sources[{first}] and sources[{position}]"
            )


def _plan_files(paths: Sequence[object]) -> Plan:
    found: dict[str, FileSource] = {}
    result = Plan(found.values())
    # The same path given twice is one path.
    for path in dict.fromkeys(_absolute(path) for path in paths):
        for source in _files(path, result):
            other = found.setdefault(source.id, source)
            if other is not source:
                raise ConfigurationError(
                    f"two files have the id {source.id!r}: {other.path} and {source.path}; "
                    "ingest a folder above both, or each into a store of its own"
                )
    result.total = len(found)
    if not found and not result.failures:
        where = ", ".join(map(str, paths))
        skipped = f"; {len(result.skipped)} skipped, the first: {_shown(result.skipped[0])}" if result.skipped else ""
        result.nothing_found = f"no documents found in {where}{skipped}"
        if not result.mirrored:
            raise ConfigurationError(result.nothing_found)
    return result


def _absolute(path: object) -> Path:
    if not isinstance(path, str | PathLike):
        raise ConfigurationError(f"sources holds paths, and also something of type {type(path).__name__}")
    # Path.resolve would follow links; a link that is changed to another folder would then be another root.
    absolute = Path(os.path.abspath(path))  # noqa: PTH100
    try:
        str(absolute).encode()
        exists = absolute.exists()
    except (UnicodeEncodeError, OSError, ValueError) as error:
        raise ConfigurationError(f"{path!r}: not a path that can be used: {error}") from error
    if not exists:
        raise ConfigurationError(f"{path}: no such file or folder")
    return absolute


def _files(path: Path, result: Plan) -> Iterator[FileSource]:
    if not path.is_dir():
        yield from _file(path, path.parent, result)
        return
    root = str(path)
    result.mirrored.add(root)

    def on_error(error: OSError) -> None:
        folder = Path(error.filename)
        below = folder.relative_to(path).as_posix()
        result.unreadable.append((root, "" if folder == path else f"{below}/"))
        result.failures.append(IngestFailure(str(folder), f"cannot be listed: {error.strerror or error}"))

    for folder, subfolders, names in os.walk(path, onerror=on_error):
        here = Path(folder)
        # A link to a folder may lead in circles, or out of the root.
        links = [name for name in subfolders if (here / name).is_symlink()]
        result.skipped += [
            IngestSkip(str(here / name), "a link to a folder; links are not followed")
            for name in links
            if not _hidden(name)
        ]
        subfolders[:] = sorted(name for name in subfolders if not _hidden(name) and name not in links)
        for name in sorted(names):
            if not _hidden(name):
                yield from _file(here / name, path, result)


def _file(path: Path, root: Path, result: Plan) -> Iterator[FileSource]:
    id = path.relative_to(root).as_posix()
    try:
        id.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode(errors="replace")
        result.failures.append(IngestFailure(shown, "the file's name is not valid Unicode"))
        return
    if can_load(path):
        yield FileSource(id, str(root))
    else:
        extension = f"unknown extension {path.suffix!r}" if path.suffix else "no extension"
        result.skipped.append(IngestSkip(str(path), extension))


def _hidden(name: str) -> bool:
    return name.startswith(".")


def _shown(skip: IngestSkip) -> str:
    return f"{skip.source} ({skip.reason})"
