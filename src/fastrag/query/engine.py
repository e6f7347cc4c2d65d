"""QueryEngine: retrieve, prompt, generate."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

from fastrag._support.checks import require_positive_int, require_text
from fastrag.document import Document
from fastrag.llm import LLM, Completion, Prompt
from fastrag.query.base import QueryResult
from fastrag.query.citations import cited_sources
from fastrag.query.prompt import INSTRUCTIONS, build_prompt
from fastrag.retrieval import Retriever
from fastrag.store import Filter


@dataclass(frozen=True, slots=True)
class QueryDelta:
    """A piece of a streamed answer; the last one carries the whole `QueryResult`."""

    text: str
    result: QueryResult | None = None


class QueryEngine:
    """Answers questions from what a retriever finds, with citations and token counts.

    Where nothing is retrieved the answer is ``""`` and the model is not asked: there is nothing to answer from.

    Args:
        retriever: Finds the sources.
        llm: Writes the answer.
        k: How many sources to ask for, at least 1; None leaves it to the retriever.
        max_source_characters: Most characters of sources in a prompt, all together; at least 1.
        instructions: The system message, where it is not to be fastrag's own.

    Raises:
        ConfigurationError: An argument is out of range.

    >>> import asyncio
    >>> from fastrag import ExtractiveLLM, InMemoryStore, LexicalRetriever
    >>> async def example():
    ...     store = InMemoryStore()
    ...     await store.upsert([Document("tea", "Green tea is steeped at 80 degrees."), Document("milk", "White.")])
    ...     engine = QueryEngine(LexicalRetriever(store), ExtractiveLLM())
    ...     return await engine.query("How hot should green tea be?")
    >>> result = asyncio.run(example())
    >>> result.answer, result.citations, [source.id for source in result.sources]
    ('Green tea is steeped at 80 degrees. [1]', [1], ['tea'])
    """

    def __init__(
        self,
        retriever: Retriever,
        llm: LLM,
        *,
        k: int | None = None,
        max_source_characters: int = 12_000,
        instructions: str = INSTRUCTIONS,
    ) -> None:
        self._retriever = retriever
        self._llm = llm
        self._k = None if k is None else require_positive_int("k", k)
        self._max_source_characters = require_positive_int("max_source_characters", max_source_characters)
        self._instructions = require_text("instructions", instructions)

    async def query(self, question: str, *, filter: Filter | None = None) -> QueryResult:
        """Answer ``question`` from the Documents that satisfy ``filter``.

        Raises:
            ConfigurationError: The question is empty.
            FastRAGError: The store, the embedder or the model failed.
        """
        sources = await self._retrieve(question, filter)
        if not sources:
            return QueryResult("", [])
        prompt = self._prompt(question, sources)
        return _result(sources, prompt, await self._llm.complete(prompt))

    async def stream(self, question: str, *, filter: Filter | None = None) -> AsyncIterator[QueryDelta]:
        """Answer ``question`` piece by piece; the last delta's ``result`` is what `query` would have returned.

        Whoever may leave the loop early wraps it in `contextlib.aclosing`, which ends the model's work at once.

        Raises:
            ConfigurationError: The question is empty.
            FastRAGError: The store, the embedder or the model failed, at the start or in the middle.
        """
        sources = await self._retrieve(question, filter)
        if not sources:
            yield QueryDelta("", QueryResult("", []))
            return
        prompt = self._prompt(question, sources)
        deltas = self._llm.stream(prompt)
        try:
            async for delta in deltas:
                result = None if delta.completion is None else _result(sources, prompt, delta.completion)
                yield QueryDelta(delta.text, result)
        finally:
            # Left early, the model's connection is released now and not when the garbage is collected.
            if isinstance(deltas, AsyncGenerator):
                await deltas.aclose()

    async def _retrieve(self, question: str, filter: Filter | None) -> list[Document]:
        require_text("question", question)
        return await self._retriever.retrieve(question, k=self._k, filter=filter)

    def _prompt(self, question: str, sources: list[Document]) -> Prompt:
        return build_prompt(
            question, sources, max_source_characters=self._max_source_characters, instructions=self._instructions
        )


def _result(sources: list[Document], prompt: Prompt, completion: Completion) -> QueryResult:
    return QueryResult(
        completion.text,
        sources,
        completion.input_tokens,
        completion.output_tokens,
        # Not len(sources): what did not fit into the prompt cannot have been cited.
        cited_sources(completion.text, len(prompt.sources)),
        completion.model,
    )
