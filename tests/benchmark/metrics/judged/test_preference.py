"""Comparing two answers in both orders."""

import json
import re
import zlib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrag.benchmark import EvalSample, Outcome, Outcomes, QueryOutcome
from fastrag.benchmark.estimate import Assumptions
from fastrag.benchmark.metric_ranges import range_of
from fastrag.benchmark.metrics.judged import Preference
from fastrag.errors import ConfigurationError
from fastrag.testing import ScriptedLLM

QUESTION = "How hot is tea?"


def run(*answers, name="old", question=QUESTION):
    """A run that gave these answers to one question; an exception is a failure."""
    outcomes = {
        i: Outcome(
            *(str(i), question, None if isinstance(answer, Exception) else answer),
            *([], None, None, 1.0, 1, repr(answer) if isinstance(answer, Exception) else None),
        )
        for i, answer in enumerate(answers)
    }
    return Outcomes(name, datetime.now(UTC), len(answers), 1, outcomes)


def said(word):
    return json.dumps({"reason": f"said {word}", "verdict": word})


def ours(answer="Eighty degrees."):
    return QueryOutcome(answer, [], 1.0)


@pytest.mark.parametrize(
    ("shown_first", "shown_second", "score", "verdict"),
    [
        ("first", "second", 1.0, "better"),
        ("second", "first", 0.0, "worse"),
        ("tie", "tie", 0.5, "tie"),
        ("first", "first", 0.5, "position_bias"),
        ("second", "second", 0.5, "position_bias"),
        ("first", "tie", 0.5, "undecided"),
        ("tie", "second", 0.5, "undecided"),
        ("second", "tie", 0.5, "undecided"),
        ("tie", "first", 0.5, "undecided"),
    ],
)
async def test_only_a_win_in_both_orders_is_one(shown_first, shown_second, score, verdict):
    llm = ScriptedLLM([said(shown_first), said(shown_second)])
    judgement = await Preference(llm, run("Hot.")).judge(EvalSample(QUESTION), ours())
    [claim] = judgement.opinions[0].opinion.claims
    assert (judgement.score, claim.verdict) == (score, verdict)
    assert claim.reason == f"shown first: said {shown_first}\nshown second: said {shown_second}"


ANSWERS = st.text(min_size=1, max_size=20).filter(lambda text: text.strip())


def any_judge(seed):
    """A judge with an opinion of any pair of texts in any order, as good as random and always the same."""

    def reply(prompt):
        shown = re.sub(r"text-\w+", "text", prompt.messages[1].content)
        return said(("first", "second", "tie")[zlib.crc32(f"{seed}{shown}".encode()) % 3])

    return ScriptedLLM(reply)


@given(ANSWERS, ANSWERS, st.integers(0, 1000))
async def test_the_two_directions_add_up_to_one(one, other, seed):
    forth = await Preference(any_judge(seed), run(other)).judge(EvalSample(QUESTION), ours(one))
    back = await Preference(any_judge(seed), run(one)).judge(EvalSample(QUESTION), ours(other))
    assert forth.score + back.score == 1.0
    mirrored = {"better": "worse", "worse": "better"}
    verdicts = [judgement.opinions[0].opinion.claims[0].verdict for judgement in (forth, back)]
    assert verdicts[1] == mirrored.get(verdicts[0], verdicts[0])


async def test_the_same_text_is_a_tie_unasked():
    llm = ScriptedLLM([])
    assert await Preference(llm, run("Eighty degrees. ")).score(EvalSample(QUESTION), ours()) == 0.5
    assert llm.prompts == []


@pytest.mark.parametrize(
    ("over", "why"),
    [
        (run("Hot.", question="Another?"), "was not asked"),
        (run(ValueError("boom")), "boom"),
        (run(None), "only retrieves"),
        (run(" "), "empty answer"),
    ],
)
async def test_no_counterpart(over, why):
    judgement = await Preference(ScriptedLLM([]), over).judge(EvalSample(QUESTION), ours())
    assert (judgement.score, judgement.missing.kind) == (None, "not_applicable")
    assert why in judgement.missing.detail
    assert "'old'" in judgement.missing.detail


async def test_the_first_of_several_answers_counts():
    llm = ScriptedLLM([said("first"), said("second")])
    over = run(ValueError("boom"), "Hot.", "Cold.")
    assert await Preference(llm, over).score(EvalSample(QUESTION), ours()) == 1.0
    assert ["Hot." in prompt.messages[1].content for prompt in llm.prompts] == [True, True]


async def test_an_empty_answer_is_not_measured():
    judgement = await Preference(ScriptedLLM([]), run("Hot.")).judge(EvalSample(QUESTION), ours(""))
    assert (judgement.score, judgement.missing.kind) == (None, "not_measured")


def test_name_range_and_arguments():
    assert Preference.needs_answer
    name = Preference(ScriptedLLM([]), run("Hot.", name="BM25, k=5; v1.0")).name
    assert name == "preference_over_BM25_k_5_v1.0"
    assert range_of(name) == (0.0, 1.0)
    with pytest.raises(ConfigurationError, match="read_outcomes"):
        Preference(ScriptedLLM([]), "old.json")


@pytest.mark.parametrize(("over", "calls"), [(run("Hot."), (0, 2)), (run(None), (0, 0))])
def test_the_estimate_of_calls(over, calls):
    assert Preference(ScriptedLLM([]), over).estimated_calls(EvalSample(QUESTION), Assumptions()) == calls
