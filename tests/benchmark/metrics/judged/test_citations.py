"""Statements and the sources they cite."""

import json
import re

import pytest

from fastrag import Document
from fastrag.benchmark import EvalSample, QueryOutcome
from fastrag.benchmark.estimate import Assumptions
from fastrag.benchmark.metric_ranges import range_of
from fastrag.benchmark.metrics.judged import CitationPrecision, CitationRecall
from fastrag.benchmark.metrics.judged.citations import MAX_SENTENCES, cited_sentences
from fastrag.errors import ConfigurationError
from fastrag.testing import ScriptedLLM

SAMPLE = EvalSample("How is tea made?")
SOURCES = ["alpha", "beta", "gamma"]


def judge(supports, statements=()):
    """A judge that finds a statement supported by the sets of source numbers that ``supports`` lists for it."""

    def reply(prompt):
        shown = prompt.messages[1].content
        texts = dict(re.findall(r"<text-\w+ ([a-z]+(?: \d+)?)>\n(.*?)\n</text-", shown, re.DOTALL))
        if "sentence" in texts:
            word = "statement" if texts["sentence"] in statements else "other"
        else:
            numbers = {int(name.removeprefix("source ")) for name in texts if name.startswith("source ")}
            given = any(numbers >= needed for needed in supports.get(texts["statement"], []))
            word = "supported" if given else "unsupported"
        return json.dumps({"reason": "because", "verdict": word})

    return ScriptedLLM(reply)


def outcome(answer, sources=SOURCES):
    return QueryOutcome(answer, [Document(f"d{i}", text) for i, text in enumerate(sources)], 1.0)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("A is. [1] B is. [2][3]", [("A is.", [1]), ("B is.", [2, 3])]),
        ("A is [1]. B is [3, 2].", [("A is.", [1]), ("B is.", [3, 2])]),
        ("Dr. B is [2], and C [1].", [("Dr. B is, and C.", [2, 1])]),
        ("- A [1]\n- B [2]\n\n1. C\n2. D [3]", [("- A", [1]), ("- B", [2]), ("1. C", []), ("2. D", [3])]),
        ("A is.\n\n[1]", [("A is.", [1])]),
        ("[1]", []),
        ("In [2023] x[0] was 5 [9].", [("In [2023] x[0] was 5 [9].", [])]),
        ("茶は熱い[1]。牛乳は白い[2]。", [("茶は熱い。", [1]), ("牛乳は白い。", [2])]),
        ("", []),
    ],
)
def test_sentences_and_what_they_cite(answer, expected):
    assert [(sentence.text, sentence.citations) for sentence in cited_sentences(answer, 3)] == expected


ANSWER = "Here it comes: A is [1]. B is [2][3]. C is [1]. D is. Good luck!"
SUPPORTS = {"Here it comes: A is.": [{1}], "B is.": [{2, 3}], "C is.": []}


async def test_recall():
    judgement = await CitationRecall(judge(SUPPORTS, {"D is."})).judge(SAMPLE, outcome(ANSWER))
    assert [claim.verdict for claim in judgement.opinions[0].opinion.claims] == [
        *("supported", "supported", "unsupported", "uncited", "other")
    ]
    # A and B of A, B, C and D.
    assert judgement.score == 2 / 4


async def test_statements_that_cite_nothing_have_recall_0_and_no_precision():
    llm = judge({}, {"A is."})
    assert await CitationRecall(llm).score(SAMPLE, outcome("A is.")) == 0.0
    precision = await CitationPrecision(llm).judge(SAMPLE, outcome("A is."))
    assert (precision.score, precision.missing.kind) == (None, "not_measured")


async def test_an_answer_that_only_refuses_is_not_measured():
    judgement = await CitationRecall(judge({})).judge(SAMPLE, outcome("The sources do not say."))
    assert (judgement.score, judgement.missing.kind) == (None, "not_measured")
    assert [claim.verdict for claim in judgement.opinions[0].opinion.claims] == ["other"]


@pytest.mark.parametrize(
    ("supports", "cited", "verdicts"),
    [
        ([{1}], "[1]", ["needed"]),
        ([], "[1]", ["unsupported"]),
        ([], "[1][2]", ["unsupported", "unsupported"]),
        # Either alone would do: both are right.
        ([{1}, {2}], "[1][2]", ["needed", "needed"]),
        # Only the two together do.
        ([{1, 2}], "[1][2]", ["needed", "needed"]),
        ([{1}], "[1][2]", ["needed", "superfluous"]),
        ([{1, 2}], "[3][1, 2]", ["superfluous", "needed", "needed"]),
    ],
)
async def test_precision_of_one_sentence(supports, cited, verdicts):
    judgement = await CitationPrecision(judge({"A is.": supports})).judge(SAMPLE, outcome(f"A is {cited}."))
    assert [claim.verdict for claim in judgement.opinions[0].opinion.claims] == verdicts
    assert judgement.score == verdicts.count("needed") / len(verdicts)


async def test_precision_is_the_mean_over_citations_not_over_sentences():
    supports = {"A is.": [{1}], "B is.": []}
    # Needed: [1] of A. Not: [2] and [3] of A, [1] of B.
    assert await CitationPrecision(judge(supports)).score(SAMPLE, outcome("A is [1, 2, 3]. B is [1].")) == 1 / 4


async def test_recall_and_precision_ask_the_same_of_a_sentence():
    llm = judge(SUPPORTS)
    await CitationRecall(llm).score(SAMPLE, outcome("A is [1]. B is [2]."))
    recall, llm.prompts = llm.prompts, []
    await CitationPrecision(llm).score(SAMPLE, outcome("A is [1]. B is [2]."))
    assert llm.prompts == recall


@pytest.mark.parametrize("metric", [CitationRecall, CitationPrecision])
@pytest.mark.parametrize(
    "unmeasured",
    [
        outcome(" "),
        outcome("A is [1].", []),
        outcome("A is. " * (MAX_SENTENCES + 1)),
        outcome("A is [1][2][3]. " * (MAX_SENTENCES // 2)),
        outcome("A is " + "and is " * 20_000 + "[1]."),
    ],
    ids=["no answer", "no sources", "too many sentences", "too many citations", "too long"],
)
async def test_what_is_not_measured_costs_nothing(metric, unmeasured):
    llm = judge({})
    judgement = await metric(llm).judge(SAMPLE, unmeasured)
    assert (judgement.score, judgement.missing.kind, llm.prompts) == (None, "not_measured", [])


@pytest.mark.parametrize("metric", [CitationRecall, CitationPrecision])
def test_needs_ranges_and_arguments(metric):
    made = metric(judge({}))
    assert made.needs_answer
    assert range_of(made.name) == (0.0, 1.0)
    with pytest.raises(ConfigurationError, match="language"):
        metric(judge({}), language="")


async def test_the_estimate_of_calls_holds():
    assumed = Assumptions(answer_characters=(40, 60), sources=(3, 3))
    answer = outcome("A is [1, 2, 3]. B is [1, 2, 3]. C is [1, 2, 3].")
    # The others support each without it, and it does not alone: the most calls there can be.
    supports = {f"{letter} is.": [{1, 2}, {1, 3}, {2, 3}] for letter in "ABC"}
    for metric, calls in ((CitationRecall, 3), (CitationPrecision, 3 * (1 + 2 * 3))):
        llm = judge(supports)
        await metric(llm).score(SAMPLE, answer)
        least, most = metric(llm).estimated_calls(SAMPLE, assumed)
        assert len(llm.prompts) == calls
        assert least <= calls <= most
    endless = Assumptions(answer_characters=(0, 10**9), sources=(0, 50))
    assert CitationRecall(judge({})).estimated_calls(SAMPLE, endless) == (0, MAX_SENTENCES)
    assert CitationPrecision(judge({})).estimated_calls(SAMPLE, endless) == (0, 3 * MAX_SENTENCES)
