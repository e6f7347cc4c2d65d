"""A judge: what it refuses, what it caches, what its models cost."""

import gc
import json
import math
from pathlib import Path

import pytest

from fastrag import OpenAICompatibleLLM
from fastrag.benchmark.judging.judge import Asking, Judge
from fastrag.benchmark.metrics import CostUsd
from fastrag.errors import ConfigurationError, UnreadableReplyError
from fastrag.llm import Completion
from fastrag.llm.cache import CachedLLM
from fastrag.testing import OpenAICompatibleServer, ScriptedLLM

from .conftest import Reply, said

CHEAP = CostUsd(input_usd_per_million_tokens=1, output_usd_per_million_tokens=2)


def local(model="m"):
    return OpenAICompatibleLLM(model, base_url="http://localhost:1/v1")


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ([[]], {}, "a judge is an LLM or a list of LLMs"),
        (["gpt"], {}, "a judge is an LLM"),
        ([7], {}, "a judge is an LLM"),
        ([ScriptedLLM("x")], {"votes": 0}, "votes"),
        ([ScriptedLLM("x")], {"cache": None}, "cache must be a path, True .* not None"),
        ([ScriptedLLM("x")], {"cache": ""}, "cache must be a path"),
        ([ScriptedLLM("x")], {"price": 0.1}, "price must be a CostUsd or a function"),
    ],
)
def test_what_it_refuses(arguments, options, message):
    with pytest.raises(ConfigurationError, match=message):
        Judge(*arguments, **options)


def models(judge):
    return [asking._llm for asking in judge.takes()]


def test_a_caches_path_may_begin_in_the_users_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    judge = Judge(local(), cache="~/own.sqlite")
    assert (tmp_path / "own.sqlite").exists()
    assert len(judge.takes()) == 1


def test_one_cache_for_each_model_and_file(judges_cache, tmp_path):
    one, other = local(), local()
    [first], [second] = models(Judge(one)), models(Judge(one, votes=1))
    assert first is second
    assert isinstance(first, CachedLLM)
    assert judges_cache.exists()
    assert models(Judge(other)) != [first]
    [elsewhere] = models(Judge(one, cache=tmp_path / "own.sqlite"))
    assert elsewhere is not first
    assert models(Judge(one, cache=str(tmp_path / "own.sqlite"))) == [elsewhere]
    assert models(Judge(one, cache=False)) == [one]
    assert models(Judge(first)) == [first]
    script = ScriptedLLM("x")
    assert models(Judge(script)) == [script]


def test_a_cache_goes_with_its_judges():
    from fastrag.benchmark.judging import judge

    Judge(local())
    gc.collect()
    assert not judge._cached_models


def test_a_path_that_cannot_be_used_is_refused_at_once(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(ConfigurationError):
        Judge(local(), cache=tmp_path / "file" / "cache.sqlite")


def test_prices():
    known = OpenAICompatibleLLM("gpt-4o-mini", base_url="https://api.openai.com/v1", api_key="k")
    [price] = Judge(known, cache=False).prices
    assert price(1_000_000, 0) == pytest.approx(CostUsd("gpt-4o-mini")(1_000_000, 0))
    # The same name on a machine of one's own is not sold at that price.
    judge = Judge([local("gpt-4o-mini"), ScriptedLLM("x")], cache=False)
    assert judge.prices == [None, None]
    assert len(judge.unpriced()) == 2
    assert judge.unpriced()[0] == "the price of gpt-4o-mini is not known; give Judge(..., price=CostUsd(...))"
    assert Judge([local(), ScriptedLLM("x")], price=CHEAP).prices == [CHEAP, CHEAP]
    assert Judge(local(), price=CHEAP).unpriced() == []


@pytest.mark.parametrize(
    "reply", [said("good"), f"```json\n{said('good')}\n```", f"```\n{said('good')}\n```", f" \n{said('good')}\n"]
)
async def test_replies_that_are_read(reply):
    asking = Asking(ScriptedLLM([reply]), 0)
    assert (await asking.ask("?", "text", Reply)).verdict == "good"
    assert asking.calls == 1


async def test_votes_are_asked_each_and_kept_apart(tmp_path):
    async with OpenAICompatibleServer(said("good")) as server:
        llm = OpenAICompatibleLLM("m", base_url=server.base_url)
        judge = Judge(llm, votes=3, cache=tmp_path / "c.sqlite")
        for _ in range(2):
            for asking in judge.takes():
                await asking.ask("?", "text", Reply)
        assert len(server.requests) == 3
        assert Path(tmp_path / "c.sqlite").exists()


async def test_an_endless_name_in_a_reply_is_not_repeated_in_the_error():
    asking = Asking(ScriptedLLM(json.dumps({"x" * 1_000_000: 1})), 0)
    with pytest.raises(UnreadableReplyError) as caught:
        await asking.ask("?", "text", Reply)
    assert len(str(caught.value)) < 5_000


@pytest.mark.parametrize(
    ("tokens", "calls"),
    [
        ({"poor": 0.55, "good": 0.44}, 2),  # of "good" or of "goodish"
        ({"poor": 0.6, "goodi": 0.39, "g": 0.005}, 1),
        ({"poor": 0.2, "goodi": 0.2}, 2),
    ],
)
async def test_a_token_that_may_begin_several_options_is_not_left_out(tokens, calls):
    told = Completion("poor", first_token={token: math.log(share) for token, share in tokens.items()})
    asking = Asking(ScriptedLLM([told, said("goodish")]), 0, by_logprobs=True)
    choice = await asking.choose("How good is it?", "text", ["poor", "good", "goodish"])
    assert (choice.option, asking.calls) == ("goodish" if calls == 2 else "poor", calls)


async def test_of_two_verdicts_none_is_taken():
    twice = '{"verdict": "bad", "reason": "So.", "verdict": "good"}'
    asking = Asking(ScriptedLLM([twice, said("bad")]), 0)
    assert (await asking.ask("?", "text", Reply)).verdict == "bad"
    assert asking.unreadable == [twice]
