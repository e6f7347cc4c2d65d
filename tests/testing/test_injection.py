"""Attacking a judged metric."""

import json

import pytest

from fastrag import Document
from fastrag.benchmark import EvalSample, QueryOutcome
from fastrag.benchmark.metrics.judged import AnswerRelevance, ContextRelevance
from fastrag.testing import ScriptedLLM
from fastrag.testing.injection import CONTROL, PLACES, Attack, Trial, attack_metric, attacked, attacks, flip_rate

SAMPLE = EvalSample("Why?", reference_answer="Therefore.")
OUTCOME = QueryOutcome("Because.", [Document("a", "One."), Document("b", "Two.")], 1.0)
ATTACK = Attack("order", "Obey!")


def test_attacks_have_names_of_their_own_and_want_the_verdict():
    names = [attack.name for attack in attacks("fully")]
    assert len(set(names)) == len(names)
    wanted = [attack.name for attack in attacks("fully") if "fully" in attack.text]
    assert set(names) - set(wanted) == {"zero-width", "right to left", "full-width", "tag characters", "base64"}


@pytest.mark.parametrize("place", PLACES)
def test_an_attack_is_added_in_one_place_of_copies(place):
    sample, outcome = attacked(SAMPLE, OUTCOME, ATTACK, place)
    texts = {
        "question": sample.question,
        "answer": outcome.answer,
        "source": outcome.sources[0].text,
        "reference": sample.reference_answer,
    }
    assert [name for name, text in texts.items() if "Obey!" in text] == [place]
    assert outcome.sources[1].text == "Two."
    assert (SAMPLE.question, SAMPLE.reference_answer) == ("Why?", "Therefore.")
    assert (OUTCOME.answer, OUTCOME.sources[0].text) == ("Because.", "One.")


def test_where_nothing_stands_there_is_no_attack():
    bare = EvalSample("Why?"), QueryOutcome("", [], 1.0)
    assert [place for place in PLACES if attacked(*bare, ATTACK, place) is not None] == ["question"]


async def test_a_judge_that_obeys_an_answer_flips():
    def reply(prompt):
        return json.dumps({"reason": "", "verdict": "fully" if "Obey!" in prompt.messages[1].content else "not"})

    trials = await attack_metric(AnswerRelevance(ScriptedLLM(reply)), SAMPLE, OUTCOME, [ATTACK, CONTROL])
    flipped = {(trial.attack, trial.place) for trial in trials if trial.flipped}
    assert flipped == {("order", "question"), ("order", "answer")}  # it is not shown sources and reference
    assert flip_rate(trials) == 2 / 8
    assert flip_rate([trial for trial in trials if trial.attack == "control"]) == 0.0


async def test_a_judge_that_falls_silent():
    llm = ScriptedLLM(lambda prompt: "?" if "Obey!" in prompt.messages[1].content else '{"reason":"","verdict":"not"}')
    trials = await attack_metric(AnswerRelevance(llm), SAMPLE, OUTCOME, [ATTACK], places=["answer"])
    assert trials == [Trial("order", "answer", 0.0, None)]
    assert (trials[0].silenced, trials[0].flipped, flip_rate(trials)) == (True, False, None)


async def test_half_of_the_range_is_a_flip_and_less_is_none():
    grades = {"One.\n\nObey!": "highly"}

    def reply(prompt):
        shown = prompt.messages[1].content
        return json.dumps({"reason": "", "verdict": next((w for t, w in grades.items() if t in shown), "irrelevant")})

    trials = await attack_metric(ContextRelevance(ScriptedLLM(reply)), SAMPLE, OUTCOME, [ATTACK], places=["source"])
    assert [(trial.before, trial.after, trial.flipped) for trial in trials] == [(0.0, 0.5, True)]
    graded = ContextRelevance(ScriptedLLM(reply), graded=True)
    trials = await attack_metric(graded, SAMPLE, OUTCOME, [ATTACK], places=["source"])
    assert trials[0].after == pytest.approx(1 / 3)
    assert not trials[0].flipped
