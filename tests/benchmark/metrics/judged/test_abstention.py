"""Right and wrong refusals."""

import json

import pytest

from fastrag import demo
from fastrag.benchmark import EvalSample, QueryOutcome
from fastrag.benchmark.estimate import Assumptions
from fastrag.benchmark.metric_ranges import range_of
from fastrag.benchmark.metrics.judged import Abstention
from fastrag.benchmark.metrics.judged.abstention import is_answerable
from fastrag.errors import ConfigurationError
from fastrag.testing import ScriptedLLM


def judge(word):
    return ScriptedLLM(json.dumps({"reason": "because", "verdict": word}))


def sample(answerable):
    return EvalSample("Why?", metadata={"answerable": answerable})


@pytest.mark.parametrize(
    ("word", "answerable", "score", "verdict"),
    [
        ("refuses", False, 1.0, "refused_unanswerable"),
        ("answers", False, 0.0, "answered_unanswerable"),
        ("refuses", True, 0.0, "refused_answerable"),
        ("answers", True, 1.0, "answered_answerable"),
    ],
)
async def test_the_four_cells(word, answerable, score, verdict):
    judgement = await Abstention(judge(word)).judge(sample(answerable), QueryOutcome("Hm.", [], 1.0))
    [claim] = judgement.opinions[0].opinion.claims
    assert (judgement.score, claim.verdict, claim.reason) == (score, verdict, "because")


@pytest.mark.parametrize(("answerable", "score"), [(False, 1.0), (True, 0.0)])
async def test_an_empty_answer_is_a_refusal_unasked(answerable, score):
    llm = ScriptedLLM([])
    assert await Abstention(llm).score(sample(answerable), QueryOutcome(" ", [], 1.0)) == score
    assert llm.prompts == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, None),
        ({"metadata": {"answerable": True}}, True),
        ({"metadata": {"answerable": False, "kind": "plain"}, "relevant_ids": ["a"]}, False),
        ({"metadata": {"answerable": "no"}, "relevant_ids": ["a"]}, None),
        ({"metadata": {"kind": "unanswerable"}}, False),
        ({"metadata": {"kind": "plain"}}, None),
        ({"relevant_ids": ["a"]}, True),
        ({"relevant_ids": {"a": 0.0}}, None),
        ({"reference_answer": "The documents do not tell."}, None),
    ],
)
def test_what_a_sample_says_of_itself(fields, expected):
    assert is_answerable(EvalSample("Why?", **fields)) is expected


def test_every_question_of_the_demonstration_is_measurable():
    known = [is_answerable(sample) for sample in demo.samples()]
    assert (known.count(True), known.count(False), known.count(None)) == (202, 24, 0)


async def test_unknown_is_not_applicable_and_says_why():
    llm = ScriptedLLM([])
    judgement = await Abstention(llm).judge(EvalSample("Why?"), QueryOutcome("Hm.", [], 1.0))
    assert (judgement.score, judgement.missing.kind, llm.prompts) == (None, "not_applicable", [])
    judgement = await Abstention(llm).judge(sample("no"), QueryOutcome("Hm.", [], 1.0))
    assert "'no'" in judgement.missing.detail


async def test_a_function_knows_better():
    metric = Abstention(judge("refuses"), answerable=lambda sample: sample.reference_answer is not None)
    assert await metric.score(sample(True), QueryOutcome("No.", [], 1.0)) == 1.0
    metric = Abstention(judge("refuses"), answerable=lambda sample: None)
    assert (await metric.judge(sample(True), QueryOutcome("No.", [], 1.0))).missing.kind == "not_applicable"


async def test_mistakes():
    with pytest.raises(ConfigurationError, match="answerable must be a function"):
        Abstention(judge("refuses"), answerable=True)
    with pytest.raises(ConfigurationError, match="True, False or None, not 1"):
        await Abstention(judge("refuses"), answerable=lambda sample: 1).score(sample(True), QueryOutcome("", [], 1.0))


def test_needs_and_range():
    assert Abstention.needs_answer
    assert range_of("abstention") == (0.0, 1.0)


@pytest.mark.parametrize(("said", "least", "calls"), [(None, 50, (0, 0)), (True, 50, (1, 1)), (False, 0, (0, 1))])
def test_the_estimate_of_calls(said, least, calls):
    assumed = Assumptions(answer_characters=(least, 100))
    assert Abstention(judge("refuses")).estimated_calls(sample(said), assumed) == calls
