"""Chunkers, one file each: by characters, by sentences, by tokens, by Markdown headings."""

from __future__ import annotations

from fastrag.ingest.chunking.characters import CharacterChunker
from fastrag.ingest.chunking.markdown import MarkdownChunker
from fastrag.ingest.chunking.sentences import SentenceChunker
from fastrag.ingest.chunking.tokens import TokenChunker

__all__ = ["CharacterChunker", "MarkdownChunker", "SentenceChunker", "TokenChunker"]
