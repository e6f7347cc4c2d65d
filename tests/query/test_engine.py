"""QueryEngine: what it asks, what it returns, and what it leaves alone."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrag import Document, ExtractiveLLM, InMemoryStore, LexicalRetriever, QueryEngine
from fastrag.errors import ConfigurationError, ServiceUnavailableError
from fastrag.llm import LLM, Completion, CompletionDelta
from fastrag.query import QueryDelta, QueryTarget
from fastrag.query.citations import cited_sources
from fastrag.store import Eq

COMPLETION = Completion("So it is [2].", 11, 4, "tiny")


class Replying(LLM):
    """Gives one completion, in pieces if streamed, and keeps the prompts it got."""

    id = "replying"

    def __init__(self, completion=COMPLETION, fails=None):
        self.completion, self.fails, self.prompts = completion, fails, []

    async def complete(self, prompt):
        self.prompts.append(prompt)
        if self.fails:
            raise self.fails
        return self.completion

    async def stream(self, prompt):
        completion = await self.complete(prompt)
        for word in completion.text.split(" "):
            yield CompletionDelta(word)
        yield CompletionDelta("", completion)


@pytest.fixture
async def retriever():
    store = InMemoryStore()
    texts = {"tea": "Green tea is steeped at 80 degrees.", "pot": "A tea pot holds the tea.", "milk": "Milk is white."}
    await store.upsert([Document(id, text, metadata={"kind": id}) for id, text in texts.items()])
    return LexicalRetriever(store, k=10)


async def test_a_whole_answer(retriever):
    llm = Replying()
    result = await QueryEngine(retriever, llm).query("green tea?")
    assert (result.answer, result.input_tokens, result.output_tokens, result.model) == ("So it is [2].", 11, 4, "tiny")
    assert [source.id for source in result.sources] == ["tea", "pot"]
    assert result.citations == [2]
    assert [source.id for source in llm.prompts[0].sources] == ["tea", "pot"]
    assert llm.prompts[0].question == "green tea?"


async def test_it_is_a_query_target(retriever):
    assert isinstance(QueryEngine(retriever, Replying()), QueryTarget)


async def test_unknown_tokens_stay_unknown(retriever):
    result = await QueryEngine(retriever, Replying(Completion("yes"))).query("tea")
    assert (result.input_tokens, result.output_tokens, result.model) == (None, None, None)


async def test_k_and_filter_reach_the_retriever(retriever):
    assert len((await QueryEngine(retriever, Replying(), k=1).query("tea")).sources) == 1
    result = await QueryEngine(retriever, Replying()).query("tea", filter=Eq("kind", "pot"))
    assert [source.id for source in result.sources] == ["pot"]


async def test_without_sources_the_model_is_not_asked(retriever):
    llm = Replying()
    engine = QueryEngine(retriever, llm)
    result = await engine.query("xylophone")
    assert (result.answer, result.sources, result.citations) == ("", [], [])
    assert [delta async for delta in engine.stream("xylophone")] == [QueryDelta("", result)]
    assert llm.prompts == []


async def test_streaming_ends_with_the_same_result(retriever):
    engine = QueryEngine(retriever, Replying())
    deltas = [delta async for delta in engine.stream("green tea?")]
    assert [delta.text for delta in deltas] == ["So", "it", "is", "[2].", ""]
    assert deltas[-1].result == await engine.query("green tea?")
    assert all(delta.result is None for delta in deltas[:-1])


async def test_leaving_a_stream_early_ends_the_models(retriever):
    ended = []

    class Endless(Replying):
        async def stream(self, prompt):
            try:
                while True:
                    yield CompletionDelta("more")
            finally:
                ended.append(True)

    stream = QueryEngine(retriever, Endless()).stream("tea")
    await anext(stream)
    await stream.aclose()
    assert ended == [True]


async def test_a_failing_model_fails_the_question(retriever):
    engine = QueryEngine(retriever, Replying(fails=ServiceUnavailableError("down")))
    with pytest.raises(ServiceUnavailableError):
        await engine.query("tea")
    with pytest.raises(ServiceUnavailableError):
        _ = [delta async for delta in engine.stream("tea")]


@pytest.mark.parametrize("question", ["", " \n", None])
async def test_an_empty_question_is_refused(retriever, question):
    with pytest.raises(ConfigurationError, match="question"):
        await QueryEngine(retriever, Replying()).query(question)


@pytest.mark.parametrize("options", [{"k": 0}, {"max_source_characters": 0}, {"instructions": " "}])
def test_bad_arguments_are_refused(options):
    with pytest.raises(ConfigurationError):
        QueryEngine(None, Replying(), **options)


async def test_own_instructions_and_budget(retriever):
    llm = Replying()
    await QueryEngine(retriever, llm, instructions="Be brief.", max_source_characters=10).query("green tea")
    assert llm.prompts[0].messages[0].content == "Be brief."
    assert [len(source.text) for source in llm.prompts[0].sources] == [10]


async def test_a_source_that_was_not_quoted_is_not_cited(retriever):
    engine = QueryEngine(retriever, Replying(), max_source_characters=10)
    result = await engine.query("green tea")
    assert len(result.sources) == 2
    assert result.citations == []
    assert [delta.result async for delta in engine.stream("green tea")][-1] == result


async def test_with_the_extractive_answerer(retriever):
    result = await QueryEngine(retriever, ExtractiveLLM()).query("How hot is green tea steeped?")
    assert result.answer == "Green tea is steeped at 80 degrees. [1]"
    assert result.citations == [1]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("", []),
        ("No citation, list[0], [x], [1.5]", []),
        ("[1][1] [ 2 ]", [1, 2]),
        ("[3, 1;2]", [3, 1, 2]),
        ("[0] [4] [999999] [99999999999999999999]", []),
        ("[٣]", [3]),
    ],
)
def test_citations(answer, expected):
    assert cited_sources(answer, 3) == expected


@given(st.text(alphabet="[]0123456789,; x"), st.integers(0, 12))
def test_citations_are_numbers_of_sources_each_once(answer, count):
    numbers = cited_sources(answer, count)
    assert len(numbers) == len(set(numbers))
    assert all(1 <= number <= count for number in numbers)


async def test_many_at_once(retriever):
    engine = QueryEngine(retriever, ExtractiveLLM())
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(engine.query("How hot is green tea?")) for _ in range(8)]
    assert {task.result().answer for task in tasks} == {"Green tea is steeped at 80 degrees. [1]"}
