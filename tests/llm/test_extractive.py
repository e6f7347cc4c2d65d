"""The extractive answerer quotes the passage that answers, says where from, and invents nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrag import Document, ExtractiveLLM
from fastrag.errors import ConfigurationError
from fastrag.llm import Completion, CompletionDelta, Prompt

TEA = Document("tea", "Tea comes from Asia. Green tea is steeped at 80 degrees. Black tea takes boiling water.")
ROUND = str.maketrans("[]", "()")
MILK = Document("milk", "Milk is white. It comes from cows.")


async def answer(question, *sources, **options):
    return (await ExtractiveLLM(**options).complete(Prompt((), question, sources))).text


async def test_quotes_the_sentence_and_its_source():
    assert await answer("What temperature for steeping green tea?", MILK, TEA, max_characters=40) == (
        "Green tea is steeped at 80 degrees. [2]"
    )


async def test_word_endings_do_not_matter():
    assert "cows" in await answer("which cow", TEA, MILK)


async def test_several_passages():
    text = await answer("green tea and black tea", TEA, max_characters=40, passages=2)
    assert text.count("[1]") == 2


async def test_nothing_shared_is_no_answer():
    assert await answer("xylophone", TEA, MILK) == ""
    assert await answer("tea") == ""
    assert await answer(" ", TEA) == ""
    assert await answer("?!", TEA) == ""
    assert await answer("tea", Document("empty", " ")) == ""


async def test_counts_no_tokens_and_names_no_model():
    completion = await ExtractiveLLM().complete(Prompt((), "tea", (TEA,)))
    assert (completion.input_tokens, completion.output_tokens, completion.model) == (None, None, None)


async def test_of_equal_passages_the_earlier_source_wins():
    assert (await answer("tea", Document("a", "Tea."), Document("b", "Tea."))).endswith("[1]")


async def test_an_answer_is_one_line():
    assert await answer("tea", Document("a", "Tea\nis\n  hot.")) == "Tea is hot. [1]"


async def test_a_footnote_is_no_citation():
    assert await answer("tea", Document("a", "Tea is hot [7] and [2, 3] rows[0] stay.")) == (
        "Tea is hot (7) and (2, 3) rows(0) stay. [1]"
    )


async def test_streams_one_piece():
    deltas = [delta async for delta in ExtractiveLLM().stream(Prompt((), "cows", (MILK,)))]
    assert len(deltas) == 1
    assert deltas[0] == CompletionDelta(deltas[0].text, Completion(deltas[0].text))


async def test_query_syntax_in_a_question_is_text():
    assert "80 degrees" in await answer('green AND "tea OR (steeped NOT [', TEA, max_characters=40)


@pytest.mark.parametrize("options", [{"passages": 0}, {"max_characters": 0}, {"language": "xx"}])
def test_bad_arguments_are_refused(options):
    with pytest.raises(ConfigurationError):
        ExtractiveLLM(**options)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(max_size=200), max_size=3), st.text(max_size=50))
async def test_any_text_is_quoted_not_invented(texts, question):
    sources = tuple(Document(str(i), text) for i, text in enumerate(texts))
    completion = await ExtractiveLLM().complete(Prompt((), question, sources))
    if completion.text:
        quote, _, number = completion.text.rpartition(" [")
        original = " ".join(texts[int(number[:-1]) - 1].split())
        assert quote.translate(ROUND) in original.translate(ROUND)
