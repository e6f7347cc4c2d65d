"""A judge: one model or a jury of several, asked strictly."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, TypeVar

import msgspec

from fastrag._support.checks import require_positive_int
from fastrag.benchmark.budget import record_usage
from fastrag.benchmark.reasons import shorten
from fastrag.errors import ConfigurationError, FastRAGError
from fastrag.llm import LLM, Completion, Message, Prompt

T = TypeVar("T", bound=msgspec.Struct)

_ALTERNATIVES = 20
_LEAST_MASS = 0.5
_FENCED = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)


class UnreadableReplyError(FastRAGError):
    """A judge's reply did not fit what was asked for, and neither did the next; ``reply`` is the last one."""

    def __init__(self, problem: str, reply: str) -> None:
        super().__init__(f"{problem}; the reply: {shorten(reply)!r}")
        self.reply = reply


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen of several options, and how sure the judge was.

    Attributes:
        option: One of those offered.
        probabilities: Of each option; 1.0 for the chosen one where the judge said only which.
        reason: The judge's words; empty where it was asked for none.
    """

    option: str
    probabilities: Mapping[str, float]
    reason: str = ""


class Judge:
    """Whom judged metrics ask: a model, or a jury of several.

    Args:
        llm: The model; several are a jury, each asked of everything.
        votes: How often each model is asked of everything, at least 1. More than one only tells anything where
            its answers vary: above temperature 0.
        by_logprobs: Read a choice off the log-probabilities of its first token instead of from a written verdict,
            where the server tells them; where it does not, the verdict is asked for in writing.

    Raises:
        ConfigurationError: An argument is of another kind, or there is no model.
    """

    def __init__(self, llm: LLM | Sequence[LLM], *, votes: int = 1, by_logprobs: bool = False) -> None:
        models = [llm] if isinstance(llm, LLM) else list(llm)
        if not models or not all(isinstance(model, LLM) for model in models):
            raise ConfigurationError(f"a judge is an LLM or a list of LLMs, not {llm!r}")
        self._models = models
        self._votes = require_positive_int("votes", votes)
        self._by_logprobs = by_logprobs

    def takes(self) -> list[Asking]:
        """One for each model and vote: whoever wants an opinion asks each of them."""
        return [
            Asking(model, take, by_logprobs=self._by_logprobs) for take in range(self._votes) for model in self._models
        ]


class Asking:
    """One model in one take, asked for one opinion; it counts what that takes.

    Attributes:
        model: The name of the model that answered, its `LLM.id` before any has.
        take: Which vote.
        by_logprobs: See `Judge`.
        calls: So far.
        cached_calls: Of those, how many a cache answered.
        input_tokens: Of the others; None while no server has told any.
        output_tokens: The same.
        unreadable: Replies that did not fit, as they came.
    """

    def __init__(self, llm: LLM, take: int, *, by_logprobs: bool) -> None:
        self._llm = llm
        self.by_logprobs = by_logprobs
        self.model = llm.id
        self.take = take
        self.calls = 0
        self.cached_calls = 0
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.unreadable: list[str] = []

    async def ask(
        self, instructions: str, content: str, form: type[T], *, problem: Callable[[T], str | None] = lambda _: None
    ) -> T:
        """The judge's reply as ``form``.

        Args:
            instructions: The system message: what to do, in our words only.
            content: The user message; what others wrote stands in it between the marks of a `Quotation`.
            form: What the reply has to be; the server is held to its JSON Schema where it can be.
            problem: What is wrong with a reply of that form, None where nothing is.

        Raises:
            UnreadableReplyError: The reply was wrong, and the one to the remark what was wrong, too.
            ServiceError: The endpoint failed.
        """
        prompt = Prompt(_chat(instructions, content), schema=schema_of(form), take=self.take)
        reply = (await self._complete(prompt)).text
        found, wrong = _read(reply, form, problem)
        if found is None:
            self.unreadable.append(reply)
            remark = f"Your reply cannot be used: {wrong}. Reply once more, only with JSON of the form asked for."
            again = (*prompt.messages, Message("assistant", reply), Message("user", remark))
            reply = (await self._complete(replace(prompt, messages=again))).text
            found, wrong = _read(reply, form, problem)
        if found is None:
            self.unreadable.append(reply)
            raise UnreadableReplyError(wrong, reply)
        return found

    async def choose(self, instructions: str, content: str, options: Sequence[str]) -> Choice:
        """Which of ``options``, words that begin differently, the judge chooses.

        Args:
            instructions: What to choose by, without how to reply: that is added.
            content: See `ask`.
            options: At least two.

        Raises:
            UnreadableReplyError: See `ask`.
            ServiceError: The endpoint failed.
        """
        named = ", ".join(map(repr, options))
        if self.by_logprobs:
            one_word = f"{instructions}\nReply with one word and nothing else, one of {named}."
            prompt = Prompt(_chat(one_word, content), top_logprobs=_ALTERNATIVES, take=self.take)
            likely = _likely((await self._complete(prompt)).first_token, options)
            if likely is not None:
                return Choice(max(likely, key=likely.__getitem__), likely)
        written = f"{instructions}\nReply with JSON: your reason in a sentence, and your verdict, one of {named}."
        form = _verdict_form(tuple(options))
        said: Any = await self.ask(written, content, form)
        return Choice(said.verdict, {option: float(option == said.verdict) for option in options}, said.reason)

    async def _complete(self, prompt: Prompt) -> Completion:
        completion = await self._llm.complete(prompt)
        self.calls += 1
        self.model = completion.model or self.model
        if completion.cached:
            self.cached_calls += 1
            return completion
        record_usage(completion.input_tokens, completion.output_tokens)
        if completion.input_tokens is not None:
            self.input_tokens = (self.input_tokens or 0) + completion.input_tokens
        if completion.output_tokens is not None:
            self.output_tokens = (self.output_tokens or 0) + completion.output_tokens
        return completion


@lru_cache(maxsize=256)
def schema_of(form: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of ``form``, as constrained decoding wants it: an object at the top, nothing optional."""
    schema = msgspec.json.schema(form)
    definitions: dict[str, Any] = schema.pop("$defs", {})

    def inlined(part: Any) -> Any:
        if isinstance(part, dict):
            if "$ref" in part:
                return inlined(definitions[part["$ref"].removeprefix("#/$defs/")])
            return {key: inlined(value) for key, value in part.items() if key != "title"}
        return [inlined(item) for item in part] if isinstance(part, list) else part

    made: dict[str, Any] = inlined(schema)
    return made


@lru_cache(maxsize=256)
def _verdict_form(options: tuple[str, ...]) -> type[msgspec.Struct]:
    # The reason first: a verdict that is written after its reason rests on it.
    fields = [("reason", str), ("verdict", Literal[options])]
    return msgspec.defstruct("Verdict", fields, forbid_unknown_fields=True)


def _chat(instructions: str, content: str) -> tuple[Message, ...]:
    return Message("system", instructions), Message("user", content)


def _likely(first_token: Mapping[str, float], options: Sequence[str]) -> dict[str, float] | None:
    """How likely each option is, by the tokens that it may begin with; None where they are not most of the likely."""
    weights = dict.fromkeys(options, 0.0)
    for token, logprob in first_token.items():
        begun = token.strip().lower()
        fitting = [option for option in options if begun and option.lower().startswith(begun)]
        if len(fitting) == 1:
            weights[fitting[0]] += math.exp(logprob)
    total = sum(weights.values())
    return {option: weight / total for option, weight in weights.items()} if total >= _LEAST_MASS else None


def _read(reply: str, form: type[T], problem: Callable[[T], str | None]) -> tuple[T | None, str]:
    fenced = _FENCED.match(reply)
    try:
        found = msgspec.json.decode(fenced[1] if fenced else reply, type=form)
    except (msgspec.MsgspecError, UnicodeError) as error:
        return None, str(error)
    wrong = problem(found)
    return (found, "") if wrong is None else (None, wrong)
