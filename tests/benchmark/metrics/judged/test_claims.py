import json

import pytest

from fastrag.benchmark.judging.judge import Asking
from fastrag.benchmark.metrics.judged import checking, claims
from fastrag.benchmark.metrics.judged.claims import check_claims, extract_claims
from fastrag.benchmark.metrics.judged.portions import pack
from fastrag.errors import UnreadableReplyError
from fastrag.testing import ScriptedLLM


def found(*findings):
    keys = ("number", "verdict", "sources")
    return json.dumps({"findings": [{"reason": "why", **dict(zip(keys, each, strict=True))} for each in findings]})


def verdicts(judged):
    return [(claim.verdict, claim.sources) for claim in judged]


async def test_claims_come_each_once_and_stripped():
    llm = ScriptedLLM('{"claims": [" It rains. ", "it  rains", "", "It snows"]}')
    extracted = await extract_claims(Asking(llm, 0), "Weather?", "It rains and snows.")
    assert (extracted.texts, extracted.found, extracted.note) == (("It rains.", "It snows"), 2, "")


async def test_a_blank_text_is_not_asked_about():
    llm = ScriptedLLM([])
    assert (await extract_claims(Asking(llm, 0), "Weather?", " \n")).texts == ()
    assert llm.prompts == []


async def test_of_too_many_claims_some_are_taken_from_everywhere_and_it_is_said():
    llm = ScriptedLLM(json.dumps({"claims": [f"claim {n}" for n in range(200)]}))
    extracted = await extract_claims(Asking(llm, 0), "?", "text")
    assert len(set(extracted.texts)) == claims.MAX_CLAIMS == 80
    assert extracted.texts[:3] == ("claim 0", "claim 2", "claim 5")
    assert extracted.texts[-1] == "claim 197"
    assert extracted.note == "80 of 200 were judged, evenly spread over the text"


async def test_a_long_text_is_read_to_its_end(exact_reader):
    reader = exact_reader()
    text = "\n".join(f"fact {n} of many, told at some length" for n in range(1_000))
    extracted = await extract_claims(reader.asking, "?", text)
    assert extracted.found == 1_000
    assert len(reader.llm.prompts) == 4
    assert all(len(prompt.messages[1].content) < claims.TEXT_PORTION_CHARACTERS + 200 for prompt in reader.llm.prompts)


async def test_a_claim_of_a_whole_page_is_sent_back():
    llm = ScriptedLLM([json.dumps({"claims": ["word " * 300]}), '{"claims": ["It rains."]}'])
    assert (await extract_claims(Asking(llm, 0), "?", "It rains.")).texts == ("It rains.",)
    assert "1,500 characters" in llm.prompts[1].messages[-1].content


async def test_verdicts_stand_by_their_numbers_in_the_order_of_the_claims():
    llm = ScriptedLLM(found((2, "contradicted", [1]), (1, "supported", [2, 1, 2]), (3, "not_found", [2])))
    judged = await check_claims(Asking(llm, 0), ["a", "b", "c"], ["one", "two"])
    assert [claim.text for claim in judged] == ["a", "b", "c"]
    # Sources of a claim that was not found would say nothing.
    assert verdicts(judged) == [("supported", (1, 2)), ("contradicted", (1,)), ("not_found", ())]
    assert judged[0].reason == "why"


async def test_equal_claims_are_asked_about_once_and_all_answered(exact_reader):
    reader = exact_reader()
    judged = await check_claims(reader.asking, ["x", "X.", "y", " x"], ["x\nno y"])
    assert [claim.text for claim in judged] == ["x", "X.", "y", " x"]
    assert [claim.verdict for claim in judged] == ["supported", "supported", "contradicted", "supported"]
    [prompt] = reader.llm.prompts
    assert [text for name, text in reader.quoted(prompt) if name.startswith("claim")] == ["x", "y"]


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        (found((1, "supported", [1])), "one finding for each claim from 1 to 2, not for 1"),
        (found((1, "supported", [1]), (1, "supported", [1])), "not for 1, 1"),
        (found((1, "supported", [1]), (2, "supported", [1]), (3, "supported", [1])), "not for 1, 2, 3"),
        (found((1, "supported", [3]), (2, "not_found", [])), "claim 1 names source 3"),
        (found((1, "supported", [0]), (2, "not_found", [])), "claim 1 names source 0"),
        (found((1, "not_found", []), (2, "contradicted", [])), "claim 2 is contradicted and names no source"),
        ('{"findings": []}', "not for none"),
        (found((1, "true", [1]), (2, "not_found", [])), "Invalid enum value 'true'"),
        (found(*((n, "not_found", []) for n in range(50))), "28, 29, ..."),
    ],
)
async def test_a_reply_that_does_not_fit_is_sent_back_and_then_refused(reply, wrong):
    llm = ScriptedLLM(reply)
    asking = Asking(llm, 0)
    with pytest.raises(UnreadableReplyError):
        await check_claims(asking, ["a", "b"], ["one", "two"])
    assert len(llm.prompts) == len(asking.unreadable) == 2
    assert wrong in llm.prompts[1].messages[-1].content


async def test_the_only_source_need_not_be_named():
    judged = await check_claims(Asking(ScriptedLLM(found((1, "supported", []))), 0), ["a"], ["", "two"])
    assert verdicts(judged) == [("supported", (2,))]


async def test_without_a_source_nothing_is_asked_or_found():
    llm = ScriptedLLM([])
    assert verdicts(await check_claims(Asking(llm, 0), ["a"], ["", " \n"])) == [("not_found", ())]
    assert await check_claims(Asking(llm, 0), [], ["text"]) == []
    assert llm.prompts == []


@pytest.mark.parametrize("by_logprobs", [False, True])
async def test_long_lists_of_sources_and_claims_are_read_whole(exact_reader, monkeypatch, by_logprobs):
    monkeypatch.setattr(checking, "PORTION_CHARACTERS", 40)
    monkeypatch.setattr(checking, "OVERLAP", 8)
    monkeypatch.setattr(checking, "ITEMS_PER_CALL", 3)
    reader = exact_reader(by_logprobs=by_logprobs)
    sources = ["filler " * 12 + "\nf1", "no f2\nf3", "", "f2", "no f4", "f1", "no f3", "\n".join(["..."] * 30 + ["f6"])]
    asked = ["f1", "f2", "f3", "f4", "f5", "f6", "f7"]
    judged = await check_claims(reader.asking, asked, sources)
    told = {claim.text: claim.verdict for claim in judged}
    # A source that supports comes before one that contradicts, whatever portion it is in.
    assert told == {
        "f1": "supported",
        "f2": "supported",
        "f3": "supported",
        "f4": "contradicted",
        "f5": "not_found",
        "f6": "supported",
        "f7": "not_found",
    }
    assert len(reader.llm.prompts) == (7 if by_logprobs else 3) * len(pack(sources, 40, 8)) > 20
    if not by_logprobs:
        assert {claim.text: claim.sources for claim in judged} == {
            "f1": (1, 6),
            "f2": (4,),
            "f3": (2,),
            "f4": (5,),
            "f5": (),
            "f6": (8,),
            "f7": (),
        }


async def test_by_log_probabilities_each_claim_is_chosen_for_by_itself(exact_reader):
    reader = exact_reader(by_logprobs=True)
    judged = await check_claims(reader.asking, ["x", "y", "z"], ["x", "no z"])
    # Both sources stand in one prompt, and a chosen word does not say which decided.
    assert verdicts(judged) == [("supported", ()), ("not_found", ()), ("contradicted", ())]
    assert judged[0].reason == "chosen with probability 1.00"
    assert len(reader.llm.prompts) == 3

    apart = exact_reader(by_logprobs=True)
    judged = await check_claims(apart.asking, ["x", "y", "z"], ["x", "no z"], apart=True)
    assert verdicts(judged) == [("supported", (1,)), ("not_found", ()), ("contradicted", (2,))]
    assert len(apart.llm.prompts) == 6


async def test_where_the_server_tells_no_log_probabilities_the_verdict_is_asked_for_in_writing():
    llm = ScriptedLLM(['"hm"', '{"reason": "stated", "verdict": "contradicted"}'])
    [judged] = await check_claims(Asking(llm, 0, by_logprobs=True), ["x"], ["no x"])
    assert (judged.verdict, judged.sources, judged.reason) == ("contradicted", (1,), "stated")


async def test_the_first_of_several_claims_that_fails_fails_the_check():
    llm = ScriptedLLM(lambda prompt: RuntimeError("out of order"))
    with pytest.raises(RuntimeError, match="out of order"):
        await check_claims(Asking(llm, 0, by_logprobs=True), [f"f{n}" for n in range(20)], ["text"])
