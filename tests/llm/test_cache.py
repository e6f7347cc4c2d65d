from __future__ import annotations

import asyncio
import logging
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrag import Document
from fastrag.errors import ConfigurationError, ServiceUnavailableError
from fastrag.llm import LLM, CachedLLM, Completion, CompletionDelta, Message, OpenAICompatibleLLM, Prompt
from fastrag.llm.cache import answer_key, default_cache_path
from fastrag.testing import Fault, LLMConformance, OpenAICompatibleServer, ScriptedLLM

PROMPT = Prompt((Message("user", "What is a tuple?"),))
FULL = Completion("Yes \ud800", 3, 1, "m", {"Yes": -0.1, "No": -float("inf")})


class Counting(LLM):
    """Answers with how often it was asked, once ``may_answer``; fails first with each of ``errors``."""

    def __init__(self, *errors: Exception, id: str = "counting", answer: Completion | None = None) -> None:
        self.errors = list(errors)
        self.asked = 0
        self.cancelled = 0
        self.began = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self._id = id
        self._answer = answer

    @property
    def id(self) -> str:
        return self._id

    @property
    def model(self) -> str:
        return "counter"

    @property
    def endpoint(self) -> str:
        return "http://counter"

    async def complete(self, prompt: Prompt) -> Completion:
        self.asked += 1
        self.began.set()
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.errors:
            raise self.errors.pop(0)
        return self._answer or Completion(str(self.asked), 5, 1, "m")

    async def stream(self, prompt: Prompt) -> AsyncIterator[CompletionDelta]:
        completion = await self.complete(prompt)
        for letter in completion.text:
            yield CompletionDelta(letter)
        yield CompletionDelta("", completion)


class TestCachedLLM(LLMConformance):
    @pytest.fixture(autouse=True)
    def _server(self, tmp_path: Path) -> Any:
        self.path = tmp_path / "answers.sqlite"
        with OpenAICompatibleServer('{"answer": "80 degrees"}') as self.server:
            yield

    def make_llm(self) -> CachedLLM:
        return CachedLLM(OpenAICompatibleLLM("m", base_url=self.server.base_url), self.path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "answers.sqlite"


async def streamed(llm: LLM, prompt: Prompt = PROMPT) -> list[CompletionDelta]:
    return [delta async for delta in llm.stream(prompt)]


async def test_an_answer_is_paid_for_once_and_comes_back_whole(path: Path) -> None:
    inner = Counting(answer=FULL)
    llm = CachedLLM(inner, path)
    assert await llm.complete(PROMPT) == FULL
    assert await llm.complete(PROMPT) == replace(FULL, cached=True)
    later = CachedLLM(inner, path)
    assert await later.complete(PROMPT) == replace(FULL, cached=True)
    assert (inner.asked, llm.hits, llm.misses, later.hits, later.misses) == (1, 1, 1, 1, 0)


async def test_it_is_the_model_within_to_everybody_else(path: Path) -> None:
    llm = CachedLLM(Counting(), path)
    assert (llm.id, llm.model, llm.endpoint, llm.is_repeatable) == ("counting", "counter", "http://counter", True)


async def test_another_model_does_not_get_these_answers(path: Path) -> None:
    await CachedLLM(Counting(id="one"), path).complete(PROMPT)
    other = Counting(id="two")
    assert not (await CachedLLM(other, path).complete(PROMPT)).cached
    assert other.asked == 1


async def test_errors_are_not_kept(path: Path) -> None:
    llm = CachedLLM(Counting(ServiceUnavailableError("down")), path)
    with pytest.raises(ServiceUnavailableError):
        await llm.complete(PROMPT)
    assert await llm.complete(PROMPT) == Completion("2", 5, 1, "m")
    assert (llm.hits, llm.misses) == (0, 2)


@pytest.mark.parametrize("llm", [ScriptedLLM("Yes."), None, "gpt"])
def test_what_cannot_be_cached_is_refused(path: Path, llm: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"must not be kept|must be an LLM"):
        CachedLLM(llm, path)


class TestStreaming:
    async def test_a_stream_is_passed_on_and_kept_and_then_one_piece(self, path: Path) -> None:
        inner = Counting(answer=Completion("abc", 5, 1, "m"))
        llm = CachedLLM(inner, path)
        assert [delta.text for delta in await streamed(llm)] == ["a", "b", "c", ""]
        kept = Completion("abc", 5, 1, "m", cached=True)
        assert await streamed(llm) == [CompletionDelta("abc", kept)]
        assert await llm.complete(PROMPT) == kept
        assert (inner.asked, llm.hits, llm.misses) == (1, 2, 1)

    async def test_a_stream_that_breaks_or_is_left_is_not_kept(self, path: Path) -> None:
        async with OpenAICompatibleServer("one two three") as server:
            llm = CachedLLM(OpenAICompatibleLLM("m", base_url=server.base_url), path)
            server.fail_next(Fault(end_after=2))
            with pytest.raises(Exception, match="ended the stream"):
                await streamed(llm)
            async for _ in llm.stream(PROMPT):
                break
            assert not (await llm.complete(PROMPT)).cached
            await llm.close()

    async def test_leaving_with_the_last_piece_keeps_the_answer(self, path: Path) -> None:
        llm = CachedLLM(Counting(), path)
        async for delta in llm.stream(PROMPT):
            if delta.completion is not None:
                break
        assert (await llm.complete(PROMPT)).cached


class TestEqualPromptsAtOnce:
    async def test_they_are_asked_once_and_paid_for_once(self, path: Path) -> None:
        inner = Counting()
        llm = CachedLLM(inner, path)
        answers = await asyncio.gather(*(llm.complete(PROMPT) for _ in range(5)))
        assert {answer.text for answer in answers} == {"1"}
        assert sorted(answer.cached for answer in answers) == [False, True, True, True, True]
        assert (inner.asked, llm.hits, llm.misses) == (1, 4, 1)

    async def test_others_are_asked_by_themselves(self, path: Path) -> None:
        inner = Counting()
        llm = CachedLLM(inner, path)
        await asyncio.gather(*(llm.complete(replace(PROMPT, take=take)) for take in range(3)))
        assert inner.asked == 3

    async def test_a_caller_who_gives_up_leaves_the_others_alone(self, path: Path) -> None:
        inner = Counting()
        inner.may_answer.clear()
        llm = CachedLLM(inner, path)
        first, second = (asyncio.create_task(llm.complete(PROMPT)) for _ in range(2))
        await inner.began.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        inner.may_answer.set()
        # The tokens are counted with the one who was told first, though another had asked.
        assert await second == Completion("1", 5, 1, "m")
        assert (inner.asked, inner.cancelled) == (1, 0)

    async def test_with_the_last_caller_the_call_is_cancelled(self, path: Path) -> None:
        inner = Counting()
        inner.may_answer.clear()
        llm = CachedLLM(inner, path)
        callers = [asyncio.create_task(llm.complete(PROMPT)) for _ in range(3)]
        await inner.began.wait()
        for caller in callers:
            caller.cancel()
        await asyncio.wait(callers)
        assert inner.cancelled == 1, "before the last caller is told"
        inner.may_answer.set()
        assert await llm.complete(PROMPT) == Completion("2", 5, 1, "m")

    async def test_an_error_goes_to_all_who_waited_and_to_nobody_after(self, path: Path) -> None:
        inner = Counting(ServiceUnavailableError("down"))
        llm = CachedLLM(inner, path)

        async def twice() -> str:
            with pytest.raises(ServiceUnavailableError):
                await llm.complete(PROMPT)
            return (await llm.complete(PROMPT)).text

        assert await asyncio.gather(*(twice() for _ in range(3))) == ["2", "2", "2"]

    def test_a_call_left_by_an_ended_loop_is_in_nobodys_way(self, path: Path) -> None:
        inner = Counting()
        inner.may_answer.clear()
        llm = CachedLLM(inner, path)

        async def give_up() -> None:
            caller = asyncio.create_task(llm.complete(PROMPT))
            await inner.began.wait()
            assert not caller.done()

        asyncio.run(give_up())
        inner.may_answer = asyncio.Event()
        inner.may_answer.set()
        assert asyncio.run(llm.complete(PROMPT)).text == "2"


_texts = st.text(st.characters(exclude_categories=()), max_size=8)
_messages = st.lists(st.builds(Message, st.sampled_from(["system", "user", "assistant"]), _texts), max_size=3)
_sources = st.lists(st.builds(Document, _texts.filter(bool), _texts, st.none() | _texts), max_size=2)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | _texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_texts, inner, max_size=2),
    max_leaves=4,
)
_fields = {
    "messages": _messages.map(tuple),
    "question": _texts,
    "sources": _sources.map(tuple),
    "schema": st.none() | st.dictionaries(_texts, _json, max_size=2),
    "top_logprobs": st.integers(0, 20),
    "take": st.integers(0, 9),
}


class TestKeys:
    @given(st.fixed_dictionaries(_fields), st.sampled_from(sorted(_fields)), st.data())
    def test_prompts_that_differ_in_one_field_have_different_keys(
        self, fields: dict[str, Any], name: str, data: st.DataObject
    ) -> None:
        prompt = Prompt(**fields)
        other = replace(prompt, **{name: data.draw(_fields[name])})
        # Not by ==: to Python 1 and True are equal, in a schema they are not.
        assert (answer_key("m", prompt) == answer_key("m", other)) == (repr(prompt) == repr(other))

    @given(st.fixed_dictionaries(_fields), _texts, _texts)
    def test_models_have_different_keys(self, fields: dict[str, Any], one: str, two: str) -> None:
        assert (answer_key(one, Prompt(**fields)) == answer_key(two, Prompt(**fields))) == (one == two)

    def test_text_that_moves_from_one_message_to_the_next_makes_another_prompt(self) -> None:
        one = Prompt((Message("user", "ab"), Message("user", "c")))
        two = Prompt((Message("user", "a"), Message("user", "bc")))
        assert answer_key("m", one) != answer_key("m", two)

    def test_the_order_of_a_schemas_fields_counts_but_not_its_kind_of_mapping(self) -> None:
        def key(schema: Mapping[str, Any]) -> bytes:
            return answer_key("m", replace(PROMPT, schema=schema))

        assert key({"a": {"x": 1}, "b": 2}) != key({"b": 2, "a": {"x": 1}})
        assert key({"a": {"x": 1}}) == key(MappingProxyType({"a": MappingProxyType({"x": 1})}))

    def test_scores_of_the_sources_do_not_count(self) -> None:
        one, two = (Prompt((), sources=(Document("a", "A.", metadata={"score": score}),)) for score in (0.1, 0.2))
        assert answer_key("m", one) == answer_key("m", two)

    def test_a_key_is_the_same_tomorrow(self) -> None:
        assert answer_key("m", PROMPT).hex().startswith("d7a4359a9ab1c1d6")

    def test_a_schema_that_is_not_json_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="must be JSON: set is none of its types"):
            answer_key("m", replace(PROMPT, schema={"a": {1, 2}}))


WORKER = """
import asyncio, sys
from fastrag.llm import CachedLLM, Message, OpenAICompatibleLLM, Prompt

async def main():
    llm = CachedLLM(OpenAICompatibleLLM("m", base_url=sys.argv[1], timeout_s=120), sys.argv[2])
    prompts = [Prompt((Message("user", f"question {i}"),)) for i in range(40)]
    print("ready", flush=True)
    while True:
        answers = await asyncio.gather(*map(llm.complete, prompts))
        assert [answer.text for answer in answers] == [f"question {i}" for i in range(40)]
        if len(sys.argv) == 3:
            break
        prompts = [Prompt((Message("user", f"question {i}"),), take=prompts[0].take + 1) for i in range(40)]
    await llm.close()

asyncio.run(main())
"""


class TestProcesses:
    async def test_four_write_one_file(self, path: Path) -> None:
        async with OpenAICompatibleServer() as server:
            arguments = [sys.executable, "-c", WORKER, server.base_url, str(path)]
            workers = [await asyncio.create_subprocess_exec(*arguments, stdout=subprocess.DEVNULL) for _ in range(4)]
            assert [await worker.wait() for worker in workers] == [0, 0, 0, 0]
            asked = len(server.requests)
            llm = CachedLLM(OpenAICompatibleLLM("m", base_url=server.base_url), path)
            for i in range(40):
                assert (await llm.complete(Prompt((Message("user", f"question {i}"),)))).cached
            assert len(server.requests) == asked

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
    async def test_one_that_is_killed_while_it_writes_damages_nothing(self, path: Path) -> None:
        async with OpenAICompatibleServer() as server:
            for _ in range(3):
                before = len(server.requests)
                arguments = [sys.executable, "-c", WORKER, server.base_url, str(path), "on and on"]
                worker = await asyncio.create_subprocess_exec(*arguments, stdout=subprocess.PIPE)
                assert worker.stdout is not None
                await worker.stdout.readline()
                while len(server.requests) < before + 60 and worker.returncode is None:
                    await asyncio.sleep(0.01)
                worker.send_signal(signal.SIGKILL)
                assert await worker.wait() == -signal.SIGKILL
            kept = read_all(path)
            assert len(kept) >= 20
            llm = CachedLLM(OpenAICompatibleLLM("m", base_url=server.base_url), path)
            for i in range(40):
                answer = await llm.complete(Prompt((Message("user", f"question {i}"),)))
                assert answer.text == f"question {i}"
            with sqlite3.connect(path) as connection:
                assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            connection.close()

    @pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on the size of files")
    @pytest.mark.parametrize("limit", [0, 60_000])
    def test_a_full_disk_is_an_error_at_once_or_later_a_warning(self, path: Path, limit: int) -> None:
        code = (
            "import asyncio, resource, sys; from fastrag import Document, ExtractiveLLM\n"
            "from fastrag.llm import CachedLLM, Prompt\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))\n"
            "llm = CachedLLM(ExtractiveLLM(max_characters=4000), sys.argv[1])\n"
            "for i in range(40):\n"
            "    sources = (Document('a', f'Answer {i} ' + 'and more of it ' * 250),)\n"
            "    answer = asyncio.run(llm.complete(Prompt((), question='Answer?', sources=sources)))\n"
            "    assert answer.text.startswith(f'Answer {i} '), answer\n"
            "print(llm.misses)\n"
        )
        arguments = [sys.executable, "-c", code, str(path), str(limit)]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
        if limit == 0:
            assert "ConfigurationError: the cache of answers" in done.stderr
        else:
            assert done.stdout == "40\n", done.stderr
            assert done.stderr.count("answers are no longer kept") == 1
            assert done.stderr.count("\n") == 1


def read_all(path: Path) -> list[tuple[bytes, bytes]]:
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT key, answer FROM answers").fetchall()
    connection.close()
    return rows


def change(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()


class TestDamage:
    @pytest.mark.parametrize("content", [b"not a database" * 100, b"SQLite format 3\x00" + b"\xff" * 5000])
    def test_a_file_that_is_no_cache_is_left_alone(self, path: Path, content: bytes) -> None:
        path.parent.mkdir()
        path.write_bytes(content)
        with pytest.raises(ConfigurationError, match=r"answers\.sqlite cannot be used: .* delete it"):
            CachedLLM(Counting(), path)
        assert path.read_bytes() == content

    def test_what_cannot_be_a_file_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("in the way")
        for path in (tmp_path, tmp_path / "file" / "answers.sqlite"):
            with pytest.raises(ConfigurationError, match="the cache of answers"):
                CachedLLM(Counting(), path)

    @pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="nothing is read-only to this user")
    def test_a_file_that_is_read_only_is_refused(self, path: Path) -> None:
        CachedLLM(Counting(), path)
        path.chmod(0o400)
        with pytest.raises(ConfigurationError, match="readonly"):
            CachedLLM(Counting(), path)

    @pytest.mark.parametrize(
        "damage",
        ["substr(answer, 1, 9)", "x''", "7", "'text'", "replace(CAST(answer AS TEXT), 'Yes', 'No!')", "answer || 'a'"],
    )
    async def test_a_damaged_row_is_asked_again_and_mended(self, path: Path, damage: str) -> None:
        inner = Counting(answer=FULL)
        await CachedLLM(inner, path).complete(PROMPT)
        change(path, f"UPDATE answers SET answer = CAST({damage} AS BLOB)")
        llm = CachedLLM(inner, path)
        assert await llm.complete(PROMPT) == FULL
        assert (await llm.complete(PROMPT)).cached
        assert inner.asked == 2

    async def test_a_row_of_another_prompt_is_not_taken_for_this_ones(self, path: Path) -> None:
        await CachedLLM(Counting(), path).complete(PROMPT)
        [(_, answer)] = read_all(path)
        other = replace(PROMPT, take=1)
        with sqlite3.connect(path) as connection:
            connection.execute("INSERT INTO answers VALUES (?, ?)", (answer_key("counting", other), answer))
        connection.close()
        assert not (await CachedLLM(Counting(), path).complete(other)).cached

    @pytest.mark.parametrize("damage", ["DROP TABLE answers", "DROP TABLE answers; VACUUM"])
    async def test_a_table_that_is_gone_is_made_again(
        self, path: Path, damage: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        llm = CachedLLM(Counting(), path)
        for statement in damage.split(";"):
            change(path, statement)
        assert [(await llm.complete(PROMPT)).cached for _ in range(2)] == [False, True]

    async def test_a_file_that_goes_bad_during_a_run_loses_no_answer(
        self, path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        inner = Counting()
        llm = CachedLLM(inner, path)
        await llm.complete(PROMPT)
        for file in path.parent.iterdir():
            file.unlink()
        path.write_bytes(b"not a database" * 1000)
        with caplog.at_level(logging.WARNING, "fastrag"):
            assert [(await llm.complete(PROMPT)).text for _ in range(3)] == ["2", "3", "4"]
        [record] = caplog.records
        assert "not a database" in record.getMessage()

    async def test_neither_prompts_nor_keys_are_in_the_file(self, path: Path) -> None:
        async with OpenAICompatibleServer("An answer.", api_key="sk-secret") as server:
            llm = CachedLLM(OpenAICompatibleLLM("m", base_url=server.base_url, api_key="sk-secret"), path)
            await llm.complete(Prompt((Message("user", "a private secret"),)))
            await llm.close()
        contents = [file.read_bytes() for file in path.parent.iterdir()]
        assert any(b"An answer." in content for content in contents)
        assert all(b"secret" not in content for content in contents)

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
    def test_only_its_owner_can_read_it(self, path: Path) -> None:
        CachedLLM(Counting(), path)
        assert path.stat().st_mode & 0o077 == 0


def test_the_default_place_is_in_the_users_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: str(tmp_path))
    assert default_cache_path() == tmp_path / "judgements.sqlite"
