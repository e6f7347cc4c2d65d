"""A judge: one model or a jury of several, asked strictly."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar
from weakref import WeakValueDictionary

import msgspec

from fastrag._support.checks import require_positive_int
from fastrag.benchmark.budget import Price, record_usage
from fastrag.benchmark.metrics.operational import listed_price
from fastrag.benchmark.reasons import shorten
from fastrag.errors import ConfigurationError, UnreadableReplyError
from fastrag.llm import LLM, Completion, Message, Prompt
from fastrag.llm.cache import CachedLLM, default_cache_path

T = TypeVar("T", bound=msgspec.Struct)

_ALTERNATIVES = 20
_LEAST_MASS = 0.5
_MOST_UNCLEAR = 0.01  # the probability of tokens that several options may begin with
_LONGEST_KEPT = 50_000  # characters of an unreadable reply
_LONGEST_WRONG = 500  # characters of what is wrong with one


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

    def expected(self, values: Mapping[str, float]) -> float:
        """The mean of the options' ``values``, weighted by their probabilities, within the range of all values.

        >>> Choice("good", {"good": 0.75, "bad": 0.25}).expected({"good": 1.0, "bad": 0.0})
        0.75
        """
        mean = sum(values[option] * probability for option, probability in self.probabilities.items())
        # Probabilities add up to 1 but for rounding.
        return min(max(mean, min(values.values())), max(values.values()))


class Judge:
    """Whom judged metrics ask: a model, or a jury of several.

    Answers are kept in a file, so that no judge is asked the same twice: another run, a second metric, a resumed run
    find them there, at no cost, and are told the same. Equal prompts at one time are asked once. Without the file
    (``cache=False``) each is asked for itself.

    Args:
        llm: The model; several are a jury, each asked of everything.
        votes: How often each model is asked of everything, at least 1. More than one only tells anything where
            its answers vary: above temperature 0.
        by_logprobs: Read a choice off the log-probabilities of its first token instead of from a written verdict,
            where the server tells them; where it does not, or a token may begin several options, the verdict is asked
            for in writing.
        cache: Where answers are kept (`fastrag.llm.cache.CachedLLM`); True: in the user's cache folder; False:
            nowhere. A model that is cached already, or says that its answers may not be (`LLM.is_repeatable`), is left
            as it is.
        price: What the tokens of each of the models cost: a `CostUsd`, or a function of input and output tokens giving
            US dollars. None: what genai-prices (extra ``cost``) says of the model at its endpoint, and unknown where it
            says nothing.

    Attributes:
        votes: See above.
        by_logprobs: See above.
        prices: Of each model, in their order; None where it is not known.

    Raises:
        ConfigurationError: An argument is of another kind, there is no model, or the file cannot be used.
    """

    def __init__(
        self,
        llm: LLM | Sequence[LLM],
        *,
        votes: int = 1,
        by_logprobs: bool = False,
        cache: bool | str | Path = True,
        price: Price | None = None,
    ) -> None:
        models = [llm] if isinstance(llm, LLM) else list(llm) if isinstance(llm, Sequence) else []
        if not models or not all(isinstance(model, LLM) for model in models):
            raise ConfigurationError(f"a judge is an LLM or a list of LLMs, not {llm!r}")
        if not isinstance(cache, bool | str | Path) or cache == "":
            raise ConfigurationError(f"cache must be a path, True for the usual one, or False for none, not {cache!r}")
        if price is not None and not callable(price):
            raise ConfigurationError(f"price must be a CostUsd or a function of input and output tokens, not {price!r}")
        self.votes = require_positive_int("votes", votes)
        self.by_logprobs = by_logprobs
        # Now, for looking prices up takes the time of an import, which no question should wait for.
        self.prices = [price if price is not None else _listed(model) for model in models]
        self._models = models if cache is False else [_cached(model, cache) for model in models]

    def takes(self) -> list[Asking]:
        """One for each model and vote: whoever wants an opinion asks each of them."""
        return [
            Asking(model, take, by_logprobs=self.by_logprobs, price=price)
            for take in range(self.votes)
            for model, price in zip(self._models, self.prices, strict=True)
        ]

    def unpriced(self) -> list[str]:
        """What to do about each model whose price is not known."""
        return [
            f"the price of {model.model or model.id} is not known; give Judge(..., price=CostUsd(...))"
            for model, price in zip(self._models, self.prices, strict=True)
            if price is None
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
        unreadable: Replies that did not fit, as they came; each cut after 50,000 characters.
    """

    def __init__(self, llm: LLM, take: int, *, by_logprobs: bool = False, price: Price | None = None) -> None:
        self._llm = llm
        self._price = price
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
            self.unreadable.append(shorten(reply, _LONGEST_KEPT))
            remark = f"Your reply cannot be used: {wrong}. Reply once more, only with JSON of the form asked for."
            # A reply without end must not be paid for again as part of the question.
            again = (*prompt.messages, Message("assistant", shorten(reply)), Message("user", remark))
            reply = (await self._complete(replace(prompt, messages=again))).text
            found, wrong = _read(reply, form, problem)
        if found is None:
            self.unreadable.append(shorten(reply, _LONGEST_KEPT))
            raise UnreadableReplyError(f"{wrong}; the reply: {shorten(reply)!r}")
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
        written = f'{instructions}\nReply with JSON: {{"reason": "one sentence", "verdict": one of {named}}}.'
        form = _verdict_form(tuple(options))
        said: Any = await self.ask(written, content, form)
        return Choice(said.verdict, {option: float(option == said.verdict) for option in options}, said.reason)

    async def _complete(self, prompt: Prompt) -> Completion:
        completion = await self._llm.complete(prompt)
        self.calls += 1
        self.model = completion.model or self.model
        if completion.cached:
            self.cached_calls += 1
            record_usage(None, None, cached=True)
            return completion
        record_usage(completion.input_tokens, completion.output_tokens, price=self._price)
        if completion.input_tokens is not None:
            self.input_tokens = (self.input_tokens or 0) + completion.input_tokens
        if completion.output_tokens is not None:
            self.output_tokens = (self.output_tokens or 0) + completion.output_tokens
        return completion


# One for each model and file, however many judges share the model; they go with the last of those.
_cached_models: WeakValueDictionary[tuple[int, Path], CachedLLM] = WeakValueDictionary()


def _cached(model: LLM, cache: bool | str | Path) -> LLM:
    if isinstance(model, CachedLLM) or not model.is_repeatable:
        return model
    path = default_cache_path() if isinstance(cache, bool) else Path(cache).expanduser().absolute()
    found = _cached_models.get((id(model), path))
    if found is None:
        # It holds the model, so that no other can have its id meanwhile.
        found = _cached_models[id(model), path] = CachedLLM(model, path)
    return found


def _listed(model: LLM) -> Price | None:
    if model.model is None or model.endpoint is None:
        return None
    try:
        return listed_price(model.model, endpoint=model.endpoint)
    except ConfigurationError:
        return None


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
    """How likely each option is, by the tokens that it may begin with; None where they are not most of the likely, or
    where others may begin several."""
    weights = dict.fromkeys(options, 0.0)
    unclear = 0.0
    for token, logprob in first_token.items():
        begun = token.strip().lower()
        fitting = [option for option in options if begun and option.lower().startswith(begun)]
        if len(fitting) == 1:
            weights[fitting[0]] += math.exp(logprob)
        elif fitting:
            unclear += math.exp(logprob)
    if unclear > _MOST_UNCLEAR:  # "good" of "good" and "goodish": left out, the rest would look surer than it is
        return None
    total = sum(weights.values())
    return {option: weight / total for option, weight in weights.items()} if total >= _LEAST_MASS else None


def _read(reply: str, form: type[T], problem: Callable[[T], str | None]) -> tuple[T | None, str]:
    text = reply.strip()
    if text.startswith("```") and text.endswith("```"):
        # No regular expression: a hostile reply makes one that may give way slow.
        text = text[3:-3].removeprefix("json")
    try:
        found = msgspec.json.decode(text, type=form)
        json.loads(text, object_pairs_hook=_each_once)  # of two verdicts msgspec takes the last
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        # It may repeat a name out of the reply, however long.
        return None, shorten(str(error), _LONGEST_WRONG)
    wrong = problem(found)
    return (found, "") if wrong is None else (None, shorten(wrong, _LONGEST_WRONG))


def _each_once(pairs: list[tuple[str, Any]]) -> None:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError("a field stands twice in one object")
