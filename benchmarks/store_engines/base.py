"""What every engine is measured through."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Any

from numpy.typing import NDArray

from store_engines.corpus import Block

Condition = tuple[str, int] | None
CANDIDATES = 100


class Engine(ABC):
    """An engine as somebody uses it who needs nothing but these rows and these questions.

    What the searches return is what the engine's own client returns, with all that a caller needs of each hit: id,
    text, URI and fields. ``has_words`` says whether there is a search by words.
    """

    has_words = True

    @abstractmethod
    async def add(self, block: Block) -> None:
        """Write rows in the fastest way that the engine's documentation names."""

    @abstractmethod
    async def finish(self) -> None:
        """Make the indexes, with the settings that the store uses."""

    @abstractmethod
    async def dense(self, vector: NDArray[Any], k: int, condition: Condition = None) -> list[Any]: ...

    @abstractmethod
    async def lexical(self, text: str, k: int) -> list[Any]: ...

    @abstractmethod
    def id(self, hit: Any) -> str: ...

    async def hybrid(self, vector: NDArray[Any], text: str, k: int) -> list[Any]:
        """Both searches at once, their ranks fused."""
        halves = await asyncio.gather(self.dense(vector, CANDIDATES), self.lexical(text, CANDIDATES))
        scores: dict[str, float] = {}
        hits: dict[str, Any] = {}
        for half in halves:
            for rank, hit in enumerate(half, start=1):
                id = self.id(hit)
                scores[id] = scores.get(id, 0.0) + 1 / (60 + rank)
                hits[id] = hit
        best = sorted(scores, key=lambda id: -scores[id])[:k]
        return [hits[id] for id in best]

    async def close(self) -> None:
        """Let go of everything."""
