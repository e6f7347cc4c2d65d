"""Grades of answers and of sources."""

import json
import math

import pytest

from fastrag import Document
from fastrag.benchmark import EvalSample, QueryOutcome
from fastrag.benchmark.estimate import Assumptions
from fastrag.benchmark.judging.judge import Judge
from fastrag.benchmark.metric_ranges import range_of
from fastrag.benchmark.metrics.judged import AnswerRelevance, ContextRelevance
from fastrag.benchmark.metrics.judged.checking import PORTION_CHARACTERS
from fastrag.llm import Completion
from fastrag.testing import ScriptedLLM

SAMPLE = EvalSample("How hot is green tea steeped?")


def verdict(word, reason="because"):
    return json.dumps({"reason": reason, "verdict": word})


def outcome(answer="", sources=()):
    return QueryOutcome(answer, [Document(f"d{i}", text) for i, text in enumerate(sources)], 1.0)


@pytest.mark.parametrize(("word", "score"), [("fully", 1), ("mostly", 2 / 3), ("partly", 1 / 3), ("not", 0)])
async def test_grades_of_answers(word, score):
    judgement = await AnswerRelevance(ScriptedLLM(verdict(word))).judge(SAMPLE, outcome("80 degrees."))
    assert judgement.score == pytest.approx(score)
    assert judgement.opinions[0].opinion.reason == "because"


async def test_probabilities_weigh_the_grades():
    llm = ScriptedLLM(Completion("fully", first_token={"fully": math.log(0.5), " Mostly": math.log(0.25)}))
    score = await AnswerRelevance(Judge(llm, by_logprobs=True)).score(SAMPLE, outcome("80 degrees."))
    assert score == pytest.approx((0.5 * 1 + 0.25 * 2 / 3) / 0.75)


async def test_an_empty_answer_is_not_measured_and_costs_nothing():
    llm = ScriptedLLM([])
    judgement = await AnswerRelevance(llm).judge(SAMPLE, outcome(" \n"))
    assert (judgement.score, judgement.missing.kind, llm.prompts) == (None, "not_measured", [])


async def test_a_reply_that_is_no_grade():
    judgement = await AnswerRelevance(ScriptedLLM(verdict("excellent"))).judge(SAMPLE, outcome("80 degrees."))
    assert (judgement.score, judgement.missing.kind) == (None, "judge_unparseable")


def by_source(grades):
    """A judge that grades a source by a word in it."""

    def reply(prompt):
        shown = prompt.messages[1].content
        return verdict(next(grade for word, grade in grades.items() if word in shown))

    return ScriptedLLM(reply)


GRADES = {"alpha": "perfect", "beta": "highly", "gamma": "related", "delta": "irrelevant"}


async def test_the_share_of_sources_that_help():
    found = outcome(sources=["alpha", "gamma", "beta", "delta", "gamma"])
    judgement = await ContextRelevance(by_source(GRADES)).judge(SAMPLE, found)
    assert judgement.score == 2 / 5
    claims = judgement.opinions[0].opinion.claims
    assert [(claim.text, claim.sources, claim.verdict) for claim in claims] == [
        ("d0", (1,), "perfect"),
        ("d1", (2,), "related"),
        ("d2", (3,), "highly"),
        ("d3", (4,), "irrelevant"),
        ("d4", (5,), "related"),
    ]


async def test_graded():
    found = outcome(sources=["alpha", "gamma", "beta", "delta", "gamma"])
    metric = ContextRelevance(by_source(GRADES), graded=True)
    assert metric.name == "context_relevance_graded"
    assert await metric.score(SAMPLE, found) == pytest.approx((3 + 1 + 2 + 0 + 1) / 15)


async def test_each_source_is_judged_without_its_neighbours():
    llm = by_source(GRADES)
    await ContextRelevance(llm).score(SAMPLE, outcome(sources=["alpha", "beta"]))
    assert [("alpha" in p.messages[1].content, "beta" in p.messages[1].content) for p in llm.prompts] == [
        (True, False),
        (False, True),
    ]


@pytest.mark.parametrize("position", [0, 1])
async def test_the_best_piece_of_a_long_source_counts(position):
    pieces = ["delta " * (PORTION_CHARACTERS // 6), "delta " * 100]
    pieces[position] = "alpha " + pieces[position]
    llm = by_source(GRADES)
    assert await ContextRelevance(llm).score(SAMPLE, outcome(sources=["".join(pieces)])) == 1.0
    assert len(llm.prompts) == 2


async def test_sources_without_text_are_irrelevant_unasked():
    llm = by_source(GRADES)
    assert await ContextRelevance(llm).score(SAMPLE, outcome(sources=[" ", "alpha"])) == 0.5
    assert len(llm.prompts) == 1


async def test_no_sources_are_not_measured():
    judgement = await ContextRelevance(ScriptedLLM([])).judge(SAMPLE, outcome("An answer."))
    assert (judgement.score, judgement.missing.kind) == (None, "not_measured")


def test_needs_and_ranges():
    assert (AnswerRelevance.needs_answer, ContextRelevance.needs_answer) == (True, False)
    for metric in (AnswerRelevance(ScriptedLLM([])), *(ContextRelevance(ScriptedLLM([]), graded=g) for g in (0, 1))):
        assert range_of(metric.name) == (0.0, 1.0)


async def test_the_estimate_of_calls_holds():
    assumed = Assumptions(sources=(2, 5), source_characters=(1, 100))
    assert ContextRelevance(ScriptedLLM([])).estimated_calls(SAMPLE, assumed) == (2, 5)
    assert AnswerRelevance(ScriptedLLM([])).estimated_calls(SAMPLE, assumed) == (1, 1)
    assumed = Assumptions(sources=(1, 1), source_characters=(2 * PORTION_CHARACTERS, 2 * PORTION_CHARACTERS))
    least, most = ContextRelevance(ScriptedLLM([])).estimated_calls(SAMPLE, assumed)
    llm = by_source(GRADES)
    await ContextRelevance(llm).score(SAMPLE, outcome(sources=["delta " * (PORTION_CHARACTERS // 3)]))
    assert least <= len(llm.prompts) <= most
