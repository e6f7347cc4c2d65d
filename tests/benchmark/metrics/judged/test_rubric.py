"""Criteria of the user's own."""

import json
import math

import pytest

from fastrag import Document
from fastrag.benchmark import EvalSample, QueryOutcome
from fastrag.benchmark.judging.judge import Judge
from fastrag.benchmark.metrics.judged import Rubric
from fastrag.errors import ConfigurationError
from fastrag.llm import Completion
from fastrag.testing import ScriptedLLM

LEVELS = {"rude": "It scolds.", "curt": "It is bare.", "civil": "It is polite.", "kind": "It is warm."}
SAMPLE = EvalSample("Why?", reference_answer="Therefore.")
OUTCOME = QueryOutcome("Because.", [Document("a", "A source."), Document("b", "Another.")], 1.0)


def judge(word):
    return ScriptedLLM(json.dumps({"reason": "so", "verdict": word}))


@pytest.mark.parametrize(("word", "score"), [("yes", 1.0), ("no", 0.0)])
async def test_yes_or_no(word, score):
    judgement = await Rubric(judge(word), "It is short.", name="brevity").judge(SAMPLE, OUTCOME)
    assert (judgement.metric, judgement.score, judgement.opinions[0].opinion.reason) == ("brevity", score, "so")


@pytest.mark.parametrize(("word", "score"), [("rude", 0), ("curt", 1 / 3), ("civil", 2 / 3), ("kind", 1)])
async def test_levels(word, score):
    metric = Rubric(judge(word), "How kind is it?", name="kindness", levels=LEVELS)
    assert await metric.score(SAMPLE, OUTCOME) == pytest.approx(score)


async def test_levels_by_log_probabilities():
    tokens = {"kind": math.log(0.6), "rude": math.log(0.2), "cur": math.log(0.2)}
    llm = ScriptedLLM(Completion("kind", first_token=tokens))
    metric = Rubric(Judge(llm, by_logprobs=True), "How kind is it?", name="kindness", levels=LEVELS)
    assert await metric.score(SAMPLE, OUTCOME) == pytest.approx(0.6 * 1 + 0.2 * 0 + 0.2 / 3)


@pytest.mark.parametrize(
    ("needs", "shown", "hidden"),
    [
        ({}, ["Why?", "Because."], ["Therefore.", "A source."]),
        ({"needs_reference_answer": True}, ["Because.", "Therefore."], ["A source."]),
        ({"needs_answer": False, "needs_sources": True}, ["A source.", "Another."], ["Because.", "Therefore."]),
    ],
)
async def test_the_judge_sees_what_is_asked_for(needs, shown, hidden):
    llm = judge("yes")
    await Rubric(llm, "It is fine.", name="fine", **needs).score(SAMPLE, OUTCOME)
    seen = llm.prompts[0].messages[1].content
    assert [text for text in ["It is fine.", *shown] if text not in seen] == []
    assert [text for text in hidden if text in seen] == []


async def test_the_criterion_stands_between_marks_too():
    llm = judge("curt")
    await Rubric(llm, "How kind is it?", name="kindness", levels=LEVELS).score(SAMPLE, OUTCOME)
    system, user = (message.content for message in llm.prompts[0].messages)
    assert "How kind" not in system
    assert "rude, curt, civil, kind" in system
    assert "rude: It scolds." in user


@pytest.mark.parametrize(
    ("needs", "sample", "outcome", "kind"),
    [
        ({}, SAMPLE, QueryOutcome(" ", [], 1.0), "not_measured"),
        ({"needs_reference_answer": True}, EvalSample("Why?"), OUTCOME, "not_applicable"),
        ({"needs_sources": True}, SAMPLE, QueryOutcome("Because.", [], 1.0), "not_measured"),
    ],
)
async def test_what_is_missing(needs, sample, outcome, kind):
    judgement = await Rubric(ScriptedLLM([]), "It is fine.", name="fine", **needs).judge(sample, outcome)
    assert (judgement.score, judgement.missing.kind) == (None, kind)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"criterion": " "}, "criterion"),
        ({"name": "two words"}, "white space"),
        ({"name": "a: b"}, "colon"),
        ({"levels": {"only": "One."}}, "from 2 to 10"),
        ({"levels": ["bad", "good"]}, "mapping"),
        ({"levels": {"bad": "Bad.", "ignore the above": "Good."}}, "one word"),
        ({"levels": {"bad": "Bad.", "good": ""}}, "'good'"),
        ({"levels": {"good": "Good.", "Good": "Very."}}, "case"),
        ({"needs_answer": False}, "nothing but questions"),
    ],
)
def test_mistakes(wrong, message):
    arguments = {"criterion": "It is fine.", "name": "fine"} | wrong
    with pytest.raises(ConfigurationError, match=message):
        Rubric(ScriptedLLM([]), **arguments)
