"""What a store has of each source, and which sources a run has met, in a few bytes a source."""

from __future__ import annotations

import hashlib
import struct
from array import array
from collections.abc import Set
from dataclasses import dataclass

_HASH_BYTES = 16
# Hash of the source's id; hash of its digest; how many chunks that digest has, and how many of them are there; root.
_ENTRY = struct.Struct(f"<{_HASH_BYTES}s{_HASH_BYTES}sIII")
_NOTHING = bytes(_HASH_BYTES)
_FIRST_SLOTS = 1024
_MET, _GONE = 1, 2


@dataclass(frozen=True, slots=True)
class StoredSource:
    """What a store has of one source: chunks of one digest, or of several where a run was killed.

    Attributes:
        root: See `fastrag.ingest.bookkeeping.Notes.source_root`.
        chunk_count: The ids of its chunks are among those with numbers from 0 to below this.
    """

    root: str
    chunk_count: int
    _versions: dict[bytes, tuple[int, int]]

    def complete(self, digest: str) -> int:
        """How many chunks of this digest there are, if they are all there; else 0."""
        count, there = self._versions.get(_hashed(digest), (0, 0))
        return count if there == count else 0

    def ids_from(self, source_id: str, first: int) -> list[str]:
        """The ids that its chunks from number ``first`` on can have."""
        return [chunk_id(source_id, number) for number in range(first, self.chunk_count)]


class Ledger:
    """A hash table of sources by id: some 60 bytes each, where Python's own containers take several hundred.

    Ids and digests are kept as hashes of 128 bits, which nobody will see collide.
    """

    def __init__(self) -> None:
        self._entries = bytearray()
        self._states = bytearray()
        self._slots = array("I", bytes(4 * _FIRST_SLOTS))  # number of an entry, from 1; 0 for none
        self._roots: dict[str, int] = {}
        self._root_names: list[str] = []
        # Of the few sources that have chunks of more than one digest: those that are not in their entry.
        self._more: dict[int, dict[bytes, tuple[int, int]]] = {}

    def __len__(self) -> int:
        return len(self._states)

    @property
    def roots(self) -> Set[str]:
        """The roots of all sources that are stored."""
        return self._roots.keys()

    def note(self, source_id: str, *, root: str, digest: str, chunk_count: int) -> None:
        """Count one stored chunk; ``chunk_count`` is how many its digest has."""
        number = self._number(source_id, add=True)
        version = _hashed(digest)
        key, first, count, there, root_number = self._entry(number)
        if first == _NOTHING:
            first, root_number = version, self._root_number(root)
        if first == version:
            count, there = max(count, chunk_count), there + 1
            _ENTRY.pack_into(self._entries, number * _ENTRY.size, key, first, count, there, root_number)
        else:
            versions = self._more.setdefault(number, {})
            count, there = versions.get(version, (0, 0))
            versions[version] = max(count, chunk_count), there + 1

    def stored(self, source_id: str) -> StoredSource | None:
        """What the store has of a source; None where that is nothing."""
        number = self._number(source_id)
        if number < 0:
            return None
        _, first, count, there, root_number = self._entry(number)
        if first == _NOTHING:
            return None
        versions = {first: (count, there), **self._more.get(number, {})}
        return StoredSource(self._root_names[root_number], max(count for count, _ in versions.values()), versions)

    def meet(self, source_id: str) -> bool:
        """Remember that the run has met a source; False if it had met it before."""
        number = self._number(source_id, add=True)
        if self._states[number]:
            return False
        self._states[number] = _MET
        return True

    def is_met(self, source_id: str) -> bool:
        """Whether the run has met a source."""
        number = self._number(source_id)
        return number >= 0 and self._states[number] == _MET

    def give_up(self, source_id: str) -> bool:
        """Remember that a source which the run has not met is gone; False if that was known."""
        number = self._number(source_id, add=True)
        known = self._states[number] == _GONE
        self._states[number] = _GONE
        return not known

    def has_unmet(self, roots: Set[str]) -> bool:
        """Whether some source that is stored with one of ``roots`` has not been met."""
        numbers = {self._roots[root] for root in roots if root in self._roots}
        return bool(numbers) and any(
            state != _MET and first != _NOTHING and root in numbers
            for state, (_, first, _, _, root) in zip(self._states, _ENTRY.iter_unpack(self._entries), strict=True)
        )

    def _entry(self, number: int) -> tuple[bytes, bytes, int, int, int]:
        return _ENTRY.unpack_from(self._entries, number * _ENTRY.size)

    def _root_number(self, root: str) -> int:
        if root not in self._roots:
            self._roots[root] = len(self._root_names)
            self._root_names.append(root)
        return self._roots[root]

    def _number(self, source_id: str, *, add: bool = False) -> int:
        """Where a source's entry is; -1 if it has none, or one that is made now."""
        key = _hashed(source_id)
        slot = self._slot(key)
        if found := self._slots[slot]:
            return found - 1
        if not add:
            return -1
        self._entries += _ENTRY.pack(key, _NOTHING, 0, 0, 0)
        self._states.append(0)
        self._slots[slot] = len(self._states)
        if 3 * len(self._states) > 2 * len(self._slots):
            self._grow()
        return len(self._states) - 1

    def _slot(self, key: bytes) -> int:
        """The slot that has the entry of ``key``, or the free one for it."""
        mask = len(self._slots) - 1
        slot = int.from_bytes(key[:8], "little") & mask
        while found := self._slots[slot]:
            start = (found - 1) * _ENTRY.size
            if self._entries[start : start + _HASH_BYTES] == key:
                break
            slot = (slot + 1) & mask
        return slot

    def _grow(self) -> None:
        self._slots = array("I", bytes(8 * len(self._slots)))
        mask = len(self._slots) - 1
        for number, (key, *_) in enumerate(_ENTRY.iter_unpack(self._entries), start=1):
            slot = int.from_bytes(key[:8], "little") & mask
            while self._slots[slot]:
                slot = (slot + 1) & mask
            self._slots[slot] = number


def chunk_id(source_id: str, number: int) -> str:
    """The id that `fastrag.ingest.Chunker.chunk` gives chunk ``number`` of a Document."""
    return f"{source_id}#{number}"


def _hashed(text: str) -> bytes:
    # A Document whose id has half a surrogate pair is refused later, with its reason.
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=_HASH_BYTES).digest()
