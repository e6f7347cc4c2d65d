"""What all judged metrics share: making one score of several opinions."""

import pytest

from fastrag.benchmark import EvalSample, QueryOutcome
from fastrag.benchmark.metrics.judged import Judge, Rubric
from fastrag.errors import ServiceUnavailableError
from fastrag.testing import ScriptedLLM

YES, NO = (f'{{"reason": "So it is.", "verdict": "{word}"}}' for word in ("yes", "no"))
DOWN = ServiceUnavailableError("no connection")
SAMPLE, OUTCOME = EvalSample("Why?"), QueryOutcome("Because.", [], 1.0)


def judged(*replies):
    jury = [ScriptedLLM(reply) for reply in replies]
    return Rubric(Judge(jury, cache=False), "It is polite.", name="polite").judge(SAMPLE, OUTCOME)


async def test_the_score_is_the_mean_of_the_jury():
    judgement = await judged(YES, YES, NO)
    assert (judgement.score, judgement.spread) == (2 / 3, 1.0)


async def test_one_whose_endpoint_is_down_does_not_take_the_others_opinions_along():
    judgement = await judged(YES, DOWN, NO)
    assert judgement.score == 0.5
    assert [each.opinion.missing and each.opinion.missing.kind for each in judgement.opinions] == [
        None,
        "metric_error",
        None,
    ]


async def test_fewer_than_half_of_the_opinions_are_no_score():
    judgement = await judged(YES, DOWN, "no JSON")
    assert judgement.score is None
    assert "no connection" in judgement.missing.detail


async def test_a_jury_that_is_down_as_a_whole_is_an_error():
    with pytest.raises(ServiceUnavailableError, match="no connection"):
        await judged(DOWN, DOWN)


async def test_an_endless_answer_is_not_judged():
    endless = QueryOutcome("word " * 30_000, [], 1.0)
    llm = ScriptedLLM(YES)
    judgement = await Rubric(llm, "It is polite.", name="polite").judge(SAMPLE, endless)
    assert "150,000 characters, more than the 100,000" in judgement.missing.detail
    assert llm.prompts == []


async def test_an_endless_reason_is_kept_in_part():
    llm = ScriptedLLM(YES.replace("So it is.", "so " * 100_000))
    judgement = await Rubric(llm, "It is polite.", name="polite").judge(SAMPLE, OUTCOME)
    assert judgement.score == 1.0
    assert len(judgement.opinions[0].opinion.reason) < 3_000
