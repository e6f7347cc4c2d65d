"""The corpus: made from seeds, a block at a time, so that a million rows never have to be in memory at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fastrag import Document

BLOCK = 5_000
PER_CLUSTER = 100
WORDS, ZIPF = 50_000, 1.1
TEXT_WORDS, LENGTH_SIGMA, MOST_WORDS = 100, 0.6, 600
FILTERS: dict[str, tuple[str, int] | None] = {"": None, " 10 %": ("tenth", 3), " 1 %": ("hundredth", 7)}
"""What is asked beside the vector: nothing, or a field's value that keeps so much."""


@dataclass(slots=True)
class Block:
    """Rows of the corpus: unit vectors, texts (empty for every second row), and the two fields that are filtered by."""

    start: int
    vectors: NDArray[np.float32]
    texts: list[str]
    tenth: NDArray[np.int64]
    hundredth: NDArray[np.int64]

    @property
    def ids(self) -> list[str]:
        return [f"doc-{self.start + i}" for i in range(len(self.texts))]

    def documents(self) -> list[Document]:
        return [
            Document(id, text, f"https://example.org/{id}", {"tenth": tenth, "hundredth": hundredth, "source": "made"})
            for id, text, tenth, hundredth in zip(
                self.ids, self.texts, self.tenth.tolist(), self.hundredth.tolist(), strict=True
            )
        ]


@dataclass(frozen=True)
class Corpus:
    """``n`` rows in clusters of 100; ``spread`` is how far a row lies from its cluster's centre, whose length is 1.

    0.3 makes tight clusters (cosine 0.92 inside of one, 0 between them), 1.2 loose ones (0.41).
    """

    n: int
    dimension: int
    spread: float
    seed: int = 7
    _words: NDArray[np.str_] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
        random = np.random.default_rng(self.seed)
        lengths = random.integers(4, 11, WORDS)
        words = np.array(["".join(letters[random.integers(0, 26, length)]) for length in lengths])
        object.__setattr__(self, "_words", words)

    @cached_property
    def _likelihoods(self) -> NDArray[np.float64]:
        weights = 1 / np.arange(1, WORDS + 1) ** ZIPF
        return np.cumsum(weights) / weights.sum()

    def _sentence(self, random: np.random.Generator, words: int) -> str:
        return " ".join(self._words[np.searchsorted(self._likelihoods, random.random(words))])

    def _centres(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """The centres of these clusters, made anew: they are many at a million rows."""
        made = {
            number: np.random.default_rng((self.seed, 1, number)).standard_normal(self.dimension, dtype=np.float32)
            for number in np.unique(numbers).tolist()
        }
        return np.stack([made[number] / np.linalg.norm(made[number]) for number in numbers.tolist()])

    def _around(self, random: np.random.Generator, clusters: NDArray[np.int64]) -> NDArray[np.float32]:
        noise = random.standard_normal((len(clusters), self.dimension), dtype=np.float32)
        rows = self._centres(clusters) + noise * np.float32(self.spread / np.sqrt(self.dimension))
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def blocks(self) -> Iterator[Block]:
        clusters = max(1, self.n // PER_CLUSTER)
        for start in range(0, self.n, BLOCK):
            random = np.random.default_rng((self.seed, 2, start))
            size = min(BLOCK, self.n - start)
            # Rows of one cluster lie apart, as in a corpus that was not sorted by subject.
            numbers = (np.arange(start, start + size) * 7919) % clusters
            lengths = np.clip(random.lognormal(np.log(TEXT_WORDS), LENGTH_SIGMA, size), 5, MOST_WORDS).astype(int)
            texts = [self._sentence(random, words) if i % 2 == 0 else "" for i, words in enumerate(lengths.tolist())]
            hundredth = random.integers(0, 100, size)
            yield Block(start, self._around(random, numbers), texts, random.integers(0, 10, size), hundredth)

    def questions(self, count: int) -> list[tuple[NDArray[np.float32], str]]:
        """Vectors near the clusters, each with one to five words."""
        random = np.random.default_rng((self.seed, 3))
        clusters = random.integers(0, max(1, self.n // PER_CLUSTER), count)
        texts = [self._sentence(random, int(random.integers(1, 6))) for _ in range(count)]
        return list(zip(self._around(random, clusters), texts, strict=True))

    def nearest(self, vectors: NDArray[np.float32], k: int) -> dict[str, list[set[str]]]:
        """By exact comparison, for each of `FILTERS`: the ids of the ``k`` rows nearest to each vector."""
        best = {name: np.full((len(vectors), k), -np.inf, dtype=np.float32) for name in FILTERS}
        which = {name: np.zeros((len(vectors), k), dtype=np.int64) for name in FILTERS}
        for block in self.blocks():
            scores = vectors @ block.vectors.T
            for name, condition in FILTERS.items():
                kept = np.arange(len(block.texts))
                if condition is not None:
                    kept = np.flatnonzero(getattr(block, condition[0]) == condition[1])
                both = np.hstack([best[name], scores[:, kept]])
                rows = np.hstack([which[name], np.broadcast_to(block.start + kept, (len(vectors), len(kept)))])
                top = np.argpartition(-both, k - 1, axis=1)[:, :k]
                best[name] = np.take_along_axis(both, top, axis=1)
                which[name] = np.take_along_axis(rows, top, axis=1)
        return {
            name: [
                {f"doc-{row}" for row, score in zip(*pair, strict=True) if np.isfinite(score)}
                for pair in zip(which[name].tolist(), best[name].tolist(), strict=True)
            ]
            for name in FILTERS
        }
