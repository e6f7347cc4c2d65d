"""Answering without a model: the sentences of the sources that fit the question best, quoted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

from fastrag._support.checks import require_positive_int
from fastrag.document import Document
from fastrag.ingest import SentenceChunker
from fastrag.llm.base import LLM, Completion, CompletionDelta, Prompt
from fastrag.store import InMemoryStore


class ExtractiveLLM(LLM):
    """Quotes the passage of the prompt's sources that fits its question best, with the source's number.

    No model, no network, no cost: a baseline that any model has to beat. Each source is cut into passages of
    whole sentences, which compete by BM25; an early source weighs a little more than a late one. The answer is
    ``"<passage> [<number of its source>]"``, or ``""`` where no passage shares a word with the question. Token
    counts are None: nothing was counted.

    Args:
        passages: How many passages to quote, at least 1; they stand in the order in which they fit.
        max_characters: Most characters of one passage, at least 1; longer sentences are cut between words.
        language: ISO 639-1 code, for where sentences end and which word endings to take off.

    Raises:
        ConfigurationError: An argument is out of range.
        MissingDependencyError: The extras ``chunking`` and ``memory`` are not installed.

    >>> import asyncio
    >>> sources = (Document("tea", "Tea is a drink. Green tea is steeped at 80 degrees."), Document("milk", "Milk."))
    >>> prompt = Prompt((), question="How hot should green tea be?", sources=sources)
    >>> asyncio.run(ExtractiveLLM(max_characters=40).complete(prompt)).text
    'Green tea is steeped at 80 degrees. [1]'
    """

    def __init__(self, *, passages: int = 1, max_characters: int = 160, language: str = "en") -> None:
        self._passages = require_positive_int("passages", passages)
        self._max_characters = max_characters
        self._chunker = SentenceChunker(size=max_characters, language=language)
        self._language = language
        InMemoryStore(language=language)  # refuses a language without a stemmer now rather than at the first answer

    @property
    def id(self) -> str:
        """See `LLM.id`."""
        return f"extractive:{self._passages}:{self._max_characters}:{self._language}"

    async def complete(self, prompt: Prompt) -> Completion:
        """See `LLM.complete`. Raises nothing but what the arguments' checks did."""
        passages = await asyncio.to_thread(self._cut, prompt.sources)
        if not passages or not prompt.question.strip():
            return Completion("")
        store = InMemoryStore(language=self._language)
        await store.upsert(passages)
        found = await store.search(text=prompt.question, k=4 * self._passages)
        found.sort(key=_weighted_score, reverse=True)
        quotes = [f"{_as_quote(passage.text)} [{passage.metadata['source']}]" for passage in found[: self._passages]]
        return Completion(" ".join(quotes))

    async def stream(self, prompt: Prompt) -> AsyncIterator[CompletionDelta]:
        """See `LLM.stream`; the whole answer is one piece."""
        completion = await self.complete(prompt)
        yield CompletionDelta(completion.text, completion)

    def _cut(self, sources: tuple[Document, ...]) -> list[Document]:
        return [
            Document(passage.id, passage.text, metadata={"source": number})
            for number, source in enumerate(sources, start=1)
            for passage in self._chunker.chunk(Document(str(number), source.text))
        ]


def _weighted_score(passage: Document) -> float:
    # What the retriever put first is likelier to hold the answer, but only among passages that fit about as well.
    score: float = passage.metadata["score"]
    source: int = passage.metadata["source"]
    return score * (1 + 1 / source)


def _as_quote(text: str) -> str:
    # On one line, and with its own "[2]" (a footnote, an index) made into "(2)": only the answerer cites.
    return re.sub(r"\[([\d\s,;]+)\]", r"(\1)", " ".join(text.split()))
