"""The indexes that keep searches of a large LanceDB table fast, and when to tidy them up.

Indexes do not know what was written after they were made: the engine looks at such rows one by one, and finds them all
the same. Tidying takes them in, and merges the files of many writes into few.

Measured on 2 cores, 100,000 rows of 384 numbers: comparing every vector takes 0.35 s, the approximate index 3 ms and
0.3 ms of work a row to make; filters by index 0.3 ms.
"""

from __future__ import annotations

import contextlib
import re
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from fastrag.store.lance.engine import lancedb

_IDS, _FACTS, _WORDS, _VECTORS = "id_idx", "facts_idx", "text_idx", "vector_idx"

_MAX_FRAGMENTS = 100
_MAX_VERSIONS = 500
_MAX_UNINDEXED = 1000
_MAX_SEGMENTS = 8
_FEW_FRAGMENTS = 16
_FEW_UNINDEXED = 256
_KEEP_OLD_VERSIONS = timedelta(minutes=10)
_ROWS_PER_GRAPH = 1_000_000

# Tidying while writing takes at most one part of the time in so many, by the estimates below.
_SHARE_OF_TIME = 10
_S_PER_ROW = 30e-6
_S_PER_VECTOR = 400e-6

_CONFLICT = re.compile("conflict|concurrent|contention", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class State:
    """What tells whether tidying up is worth its time.

    Attributes:
        version: Grows by one with every change.
        rows: How many there are.
        fragments: In how many files' sets they are.
        new_texts: How many the word index does not know yet.
        new_vectors: Likewise the vector index; all rows, where there is none; 0 in a table without vectors.
        segments: Of how many parts the vector index is; each is searched by itself.
        is_filter_indexed: Whether ids and facts are indexed.
    """

    version: int
    rows: int
    fragments: int
    new_texts: int
    new_vectors: int
    segments: int
    is_filter_indexed: bool


async def index_words(table: Any, language: str | None) -> None:
    """Make the word index, which lexical search needs, if it is not there."""
    if any(index.name == _WORDS for index in await table.list_indices()):
        return
    # No word is left out for being common: in "what does with do?" the word that matters is "with".
    words = lancedb("lancedb.index").FTS(
        language=(language or "english").capitalize(),
        stem=language is not None,
        remove_stop_words=False,
        max_token_length=255,
    )
    await table.create_index("text", config=words, name=_WORDS)


async def state_of(table: Any) -> State:
    """The present state of ``table``."""
    statistics = await table.stats()
    rows = int(statistics["num_rows"])
    indexes = {index.name: index for index in await table.list_indices()}
    words, vectors = indexes.get(_WORDS), indexes.get(_VECTORS)
    has_vectors = "vector" in (await table.schema()).names
    return State(
        version=int(await table.version()),
        rows=rows,
        fragments=int(statistics["fragment_stats"]["num_fragments"]),
        new_texts=rows if words is None else words.num_unindexed_rows,
        new_vectors=rows * has_vectors if vectors is None else vectors.num_unindexed_rows,
        segments=0 if vectors is None else vectors.num_segments,
        is_filter_indexed=indexes.keys() >= {_IDS, _FACTS},
    )


class Tidying:
    """Keeps the indexes of one table fresh.

    Args:
        index_from: From how many rows on vectors, ids and facts are indexed.
    """

    def __init__(self, index_from: int) -> None:
        self._index_from = index_from
        self._rested_since_s = time.monotonic()
        self._tidied_version: int | None = None
        self._removed_rows = 0
        self._counted_vectors: int | None = None

    async def after_write(self, table: Any, *, removed_rows: int, vectors: int = 0) -> None:
        """Tidy up if so much has piled up that searches are slow, and it takes but a small share of the time.

        Args:
            table: As it is after the write.
            removed_rows: How many rows the write has removed or replaced: until the files are written anew, they
                take room and weigh on the word statistics.
            vectors: How many vectors it has written.
        """
        self._removed_rows += removed_rows
        if self._counted_vectors is not None:
            self._counted_vectors += vectors
        # What was written is in, whatever becomes of this; a later write tries again.
        with contextlib.suppress(RuntimeError, ValueError):
            state = await state_of(table)
            if self._tidied_version is None:
                self._tidied_version = state.version
            if not self._is_untidy(state, state.version - self._tidied_version):
                return
            rested_s = time.monotonic() - self._rested_since_s
            if rested_s >= _SHARE_OF_TIME * self._expected_s(state):
                await self._tidy_and_rest(table, state)

    async def now(self, table: Any) -> None:
        """Tidy up unless there is nothing worth it.

        Raises:
            RuntimeError, ValueError: The engine failed otherwise than by giving way to another writer.
        """
        state = await state_of(table)
        few = min(_FEW_UNINDEXED, state.rows // 100)
        if max(state.new_texts, self._new_vectors(state), self._removed_rows) <= few and not (
            state.fragments > _FEW_FRAGMENTS or self._lacks_indexes(state)
        ):
            return
        try:
            await self._tidy_and_rest(table, state)
        except (RuntimeError, ValueError) as error:
            # What others write at the same time may win every time; their writes or a later call tidy up.
            if not _CONFLICT.search(str(error)):
                raise

    def _is_untidy(self, state: State, versions: int) -> bool:
        """Whether searches suffer.

        The bounds make the work of tidying grow with what is written, and not with its square.
        """
        many = max(_MAX_UNINDEXED, state.rows // 10)
        return (
            max(state.new_texts, self._new_vectors(state), self._removed_rows) > many
            or state.fragments > _MAX_FRAGMENTS
            or versions > _MAX_VERSIONS
            or self._lacks_indexes(state)
        )

    def _lacks_indexes(self, state: State) -> bool:
        return state.rows >= self._index_from and not state.is_filter_indexed

    def _new_vectors(self, state: State) -> int:
        """How many vectors the next tidying will index, at the most."""
        if state.segments:
            return state.new_vectors
        # A table may have many rows and few vectors, which are not counted at every write.
        known = state.rows if self._counted_vectors is None else self._counted_vectors
        return state.new_vectors if min(state.rows, known) >= self._index_from else 0

    def _expected_s(self, state: State) -> float:
        return state.rows * _S_PER_ROW + self._new_vectors(state) * _S_PER_VECTOR

    async def _tidy(self, table: Any, state: State) -> None:
        engine = lancedb("lancedb.index")
        # The engine takes new facts into their index, and moved rows, one fact after the other: where most are
        # different, anew is 40 times as fast.
        with contextlib.suppress(RuntimeError, ValueError):
            await table.drop_index(_FACTS)
        if state.segments > _MAX_SEGMENTS or (state.segments and 2 * state.new_vectors > state.rows):
            await _index_vectors(table, state.rows)
        # Takes new texts into their index, and new vectors into another segment of theirs.
        await table.optimize(cleanup_older_than=_KEEP_OLD_VERSIONS)
        if state.rows < self._index_from:
            return
        await table.create_index("id", config=engine.BTree(), name=_IDS, replace=True)
        await table.create_index("facts", config=engine.LabelList(), name=_FACTS, replace=True)
        if not state.segments and self._new_vectors(state):
            self._counted_vectors = int(await table.count_rows("vector IS NOT NULL"))
            if self._counted_vectors >= self._index_from:
                await _index_vectors(table, state.rows)

    async def _tidy_and_rest(self, table: Any, state: State) -> None:
        try:
            await self._tidy(table, state)
            # Only now: what has piled up is still there when tidying failed or gave way.
            self._removed_rows = 0
            self._tidied_version = int(await table.version())
        finally:
            self._rested_since_s = time.monotonic()


async def _index_vectors(table: Any, rows: int) -> None:
    # One graph is the fastest to search; its making needs memory for all vectors in it.
    graphs = lancedb("lancedb.index").HnswSq(
        distance_type="dot", num_partitions=max(1, rows // _ROWS_PER_GRAPH), m=16, ef_construction=100
    )
    await table.create_index("vector", config=graphs, name=_VECTORS, replace=True)
