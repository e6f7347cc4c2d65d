import json

import pytest

from fastrag.benchmark.judging.judge import Judge
from fastrag.benchmark.judging.opinions import JudgedClaim, Missing
from fastrag.benchmark.metrics.judged import Faithfulness
from fastrag.benchmark.samples import EvalSample
from fastrag.testing import ScriptedLLM

SAMPLE = EvalSample("What of it?")


async def test_share_of_supported_claims(exact_reader, outcome_of):
    reader = exact_reader()
    judgement = await Faithfulness(reader.judge).judge(SAMPLE, outcome_of("f1\nf2\nf3\nf4", "f1\nno f2", "f4\nno f4"))
    assert judgement.score == 0.5
    [given] = judgement.opinions
    assert given.opinion.claims == (
        JudgedClaim("f1", "supported", (1,), "read"),
        JudgedClaim("f2", "contradicted", (1,), "read"),
        JudgedClaim("f3", "not_found", (), "read"),
        JudgedClaim("f4", "supported", (2,), "read"),
    )
    assert given.calls == 2


async def test_saying_a_thing_twice_does_not_count_twice(exact_reader, outcome_of):
    metric = Faithfulness(exact_reader().judge)
    assert await metric.score(SAMPLE, outcome_of("f1\nf2\nF1.\nf1", "f1")) == 0.5


@pytest.mark.parametrize(
    ("answer", "sources", "missing", "calls"),
    [
        ("", ["f1"], Missing("not_measured", "the answer is empty"), None),
        (" \n\t", ["f1"], Missing("not_measured", "the answer is empty"), None),
        ("f1", [], Missing("not_measured", "no source was retrieved"), None),
        ("f1", [" ", ""], Missing("not_measured", "no source was retrieved"), None),
        ("- I do not know.", ["f1"], Missing("not_measured", "the answer makes no claims"), 1),
    ],
)
async def test_where_there_is_nothing_to_measure(exact_reader, outcome_of, answer, sources, missing, calls):
    reader = exact_reader()
    judgement = await Faithfulness(reader.judge).judge(SAMPLE, outcome_of(answer, *sources))
    assert (judgement.score, judgement.missing) == (None, missing)
    assert [given.calls for given in judgement.opinions] == ([] if calls is None else [calls])


async def test_an_endless_answer_is_not_judged_by_its_beginning(exact_reader, outcome_of):
    reader = exact_reader()
    judgement = await Faithfulness(reader.judge).judge(SAMPLE, outcome_of("f1\n" * 400_000, "f1"))
    assert judgement.missing.kind == "not_measured"
    assert judgement.missing.detail == "the answer has 1,200,000 characters, more than the 100,000 that are judged"
    assert reader.llm.prompts == []


async def test_what_of_too_many_claims_was_judged_is_said(exact_reader, outcome_of):
    metric = Faithfulness(exact_reader().judge)
    judgement = await metric.judge(SAMPLE, outcome_of("\n".join(f"f{n}" for n in range(160)), "f0\nf2"))
    assert judgement.score == 2 / 80
    assert judgement.opinions[0].opinion.reason == "80 of 160 were judged, evenly spread over the text"


async def test_each_of_a_jury_is_asked_for_its_own(exact_reader, outcome_of):
    strict = ScriptedLLM(
        lambda prompt: (
            '{"claims": ["f1"]}'
            if "claims" in prompt.schema["properties"]
            else json.dumps({"findings": [{"number": 1, "reason": "", "verdict": "not_found", "sources": []}]})
        )
    )
    judgement = await Faithfulness(Judge([exact_reader().llm, strict], cache=False)).judge(
        SAMPLE, outcome_of("f1", "f1")
    )
    assert (judgement.score, judgement.spread) == (0.5, 1.0)


async def test_a_reply_that_cannot_be_read_is_no_score(outcome_of):
    judgement = await Faithfulness(ScriptedLLM("It looks faithful to me: 10/10")).judge(SAMPLE, outcome_of("f1", "f1"))
    assert (judgement.score, judgement.missing.kind) == (None, "judge_unparseable")
    assert judgement.opinions[0].calls == 2


async def test_everything_foreign_stands_between_marks(exact_reader, outcome_of):
    reader = exact_reader()
    question, answer, source = "QUESTION?", "ANSWER", "SOURCE"
    await Faithfulness(reader.judge).score(EvalSample(question), outcome_of(answer, source))
    for prompt in reader.llm.prompts:
        system, user = prompt.messages
        assert not any(word in system.content for word in (question, answer, source))
        rest = user.content
        for _, text in reader.quoted(prompt):
            rest = rest.replace(f"\n{text}\n", "")
        assert not any(word in rest for word in (question, answer, source))
