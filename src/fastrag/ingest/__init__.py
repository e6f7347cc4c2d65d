"""Ingest: files become Documents, Documents become chunks, chunks go into a store. Loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastrag.ingest.base import Chunker, Span
    from fastrag.ingest.chunking import CharacterChunker, MarkdownChunker, SentenceChunker, TokenChunker
    from fastrag.ingest.dead_letters import DeadLetter, read_dead_letters
    from fastrag.ingest.loaders import DEFAULT_MAX_BYTES, can_load, load_file
    from fastrag.ingest.report import IngestFailure, IngestProgress, IngestReport, IngestSkip
    from fastrag.ingest.run import ingest

__all__ = [
    "DEFAULT_MAX_BYTES",
    "CharacterChunker",
    "Chunker",
    "DeadLetter",
    "IngestFailure",
    "IngestProgress",
    "IngestReport",
    "IngestSkip",
    "MarkdownChunker",
    "SentenceChunker",
    "Span",
    "TokenChunker",
    "can_load",
    "ingest",
    "load_file",
    "read_dead_letters",
]

_HOMES = {
    "base": ("Chunker", "Span"),
    "chunking": ("CharacterChunker", "MarkdownChunker", "SentenceChunker", "TokenChunker"),
    "dead_letters": ("DeadLetter", "read_dead_letters"),
    "loaders": ("DEFAULT_MAX_BYTES", "can_load", "load_file"),
    "report": ("IngestFailure", "IngestProgress", "IngestReport", "IngestSkip"),
    "run": ("ingest",),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
