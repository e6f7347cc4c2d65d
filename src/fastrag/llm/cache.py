"""A cache on disk around any language model, so that no prompt is paid for twice."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from fastrag._support.kept_rows import KeptRows
from fastrag.errors import ConfigurationError
from fastrag.llm.base import LLM, Completion, CompletionDelta, Prompt

_log = logging.getLogger(__name__)
_KEY_FORMAT = "fastrag answer 1"  # part of every key: another way to make keys gets another number


class _Kept(msgspec.Struct, forbid_unknown_fields=True):
    """What the file has of a `Completion`, as JSON."""

    text: str
    input_tokens: int | None
    output_tokens: int | None
    model: str | None
    first_token: dict[str, float]


@dataclass(slots=True)
class _Call:
    """An answer that is on its way, and who waits for it."""

    task: asyncio.Task[Completion]
    waiting: int = 0
    told: bool = False


class CachedLLM(LLM):
    """Asks ``llm`` only for what is not in the file ``path`` yet.

    Answers are kept under a digest of the model's `LLM.id` and of everything in the prompt that an answer can depend
    on (of the sources their ids, URIs and texts, not their metadata), so one file serves any number of models. Only
    the answers themselves are in the file: no prompt, no document, no key. Several processes may use it at once. It
    only grows; delete it to start anew. Errors are never kept.

    An answer from the file, or from a call that somebody else has asked for, comes with ``cached=True``. Equal prompts
    at one time are asked once, and each caller may be cancelled without harm to the others; with the last one the
    call is cancelled, too. A stream of a kept answer is one piece; any other is passed on as it comes, and kept once
    it is complete.

    Meant for judges. Leave the pipeline under test without it: a benchmark that finds its answers in a cache measures
    latencies that nobody will ever see, and one answer per question however much the model's answers vary.

    Where the file can no longer be read or written during a run, a warning is logged once and the model is asked:
    an answer that was paid for is not lost to a full disk.

    Attributes:
        hits: How many answers came without a call of their own.
        misses: How often the model was asked.

    Args:
        llm: Answers what is missing; closed together with this one.
        path: An SQLite file, made if absent, with its folder; see `default_cache_path`.

    Raises:
        ConfigurationError: The file cannot be made, read or written, or is not a cache; or ``llm`` is not repeatable
            (`LLM.is_repeatable`).

    >>> import asyncio, tempfile
    >>> from fastrag import Document, ExtractiveLLM
    >>> prompt = Prompt((), question="How hot?", sources=(Document("tea", "Tea is steeped hot."),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     llm = CachedLLM(ExtractiveLLM(), f"{folder}/answers.sqlite")
    ...     answers = [asyncio.run(llm.complete(prompt)) for _ in range(2)]
    >>> [(answer.text, answer.cached) for answer in answers]
    [('Tea is steeped hot. [1]', False), ('Tea is steeped hot. [1]', True)]
    >>> llm.hits, llm.misses
    (1, 1)
    """

    def __init__(self, llm: LLM, path: str | os.PathLike[str]) -> None:
        if not isinstance(llm, LLM):
            raise ConfigurationError(f"llm must be an LLM, not {llm!r}")
        if not llm.is_repeatable:
            raise ConfigurationError(f"{llm!r} says that its answers must not be kept (is_repeatable is False)")
        self._llm = llm
        self._rows = KeptRows(path, what="the cache of answers", table="answers", column="answer")
        self._calls: dict[tuple[asyncio.AbstractEventLoop, bytes], _Call] = {}
        self._warned = False
        self.hits = 0
        self.misses = 0

    def __repr__(self) -> str:
        return f"CachedLLM({self._llm!r}, {str(self._rows.path)!r})"

    @property
    def id(self) -> str:
        """The id of the model within: the answers are the same."""
        return self._llm.id

    @property
    def model(self) -> str | None:
        """That of the model within."""
        return self._llm.model

    @property
    def endpoint(self) -> str | None:
        """That of the model within."""
        return self._llm.endpoint

    async def complete(self, prompt: Prompt) -> Completion:
        """Answer ``prompt`` from the file, or else ask.

        Raises:
            ConfigurationError: The prompt's schema is not JSON.
            FastRAGError: From the model within.
        """
        place = asyncio.get_running_loop(), answer_key(self.id, prompt)
        call = self._calls.get(place)
        if call is None or call.task.done():
            call = self._calls[place] = _Call(asyncio.create_task(self._answer(place[1], prompt)))
        call.waiting += 1
        try:
            completion = await asyncio.shield(call.task)
        finally:
            call.waiting -= 1
            if not call.waiting:
                if self._calls.get(place) is call:
                    del self._calls[place]
                if not call.task.done():
                    call.task.cancel()
                    await asyncio.wait([call.task])
        if call.told:
            completion = replace(completion, cached=True)  # its tokens are counted where it was told first
        call.told = True
        self.hits += completion.cached
        return completion

    async def stream(self, prompt: Prompt) -> AsyncIterator[CompletionDelta]:
        """Answer ``prompt`` piece by piece; what is in the file is one piece.

        Raises:
            ConfigurationError: The prompt's schema is not JSON.
            FastRAGError: From the model within, at the start or in the middle.
        """
        key = answer_key(self.id, prompt)
        kept = await self._kept(key)
        if kept is not None:
            self.hits += 1
            yield CompletionDelta(kept.text, kept)
            return
        self.misses += 1
        deltas = self._llm.stream(prompt)
        try:
            async for delta in deltas:
                if delta.completion is not None:  # kept before it is given: the consumer may leave with it
                    await self._keep(key, delta.completion)
                yield delta
        finally:
            # Left early, the model's connection is released now and not when the garbage is collected.
            if isinstance(deltas, AsyncGenerator):
                await deltas.aclose()

    async def close(self) -> None:
        """Close the model within."""
        await self._llm.close()

    async def _answer(self, key: bytes, prompt: Prompt) -> Completion:
        kept = await self._kept(key)
        if kept is not None:
            return kept
        self.misses += 1
        completion = await self._llm.complete(prompt)
        await self._keep(key, completion)
        return completion

    async def _kept(self, key: bytes) -> Completion | None:
        try:
            rows = await asyncio.to_thread(self._rows.read, [key])
        except ConfigurationError as error:
            self._warn(error)
            return None
        return _completion(rows[key]) if key in rows else None

    async def _keep(self, key: bytes, completion: Completion) -> None:
        try:
            await asyncio.to_thread(self._rows.write, {key: _as_json(completion)})
        except ConfigurationError as error:
            self._warn(error)

    def _warn(self, error: ConfigurationError) -> None:
        if not self._warned:
            self._warned = True
            _log.warning("answers are no longer kept, or not found again: %s", error)


def default_cache_path() -> Path:
    """``fastrag/judgements.sqlite`` in the user's cache folder: where judges keep what they were told.

    >>> default_cache_path().name
    'judgements.sqlite'
    """
    import platformdirs

    return Path(platformdirs.user_cache_dir("fastrag", appauthor=False)) / "judgements.sqlite"


def answer_key(llm_id: str, prompt: Prompt) -> bytes:
    """A digest of all that an answer to ``prompt`` depends on; 32 bytes.

    Raises:
        ConfigurationError: The prompt's schema is not JSON.
    """
    parts = [
        _KEY_FORMAT,
        llm_id,
        [[message.role, message.content] for message in prompt.messages],
        prompt.question,
        [[source.id, source.uri, source.text] for source in prompt.sources],
        prompt.schema,  # with its keys in their order: a server writes the answer's fields in that order
        prompt.top_logprobs,
        prompt.take,
    ]
    try:
        text = json.dumps(parts, ensure_ascii=False, default=_as_dict)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"a prompt's schema must be JSON: {error}") from error
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest()


def _as_dict(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is none of its types")


def _as_json(completion: Completion) -> bytes:
    kept = {name: getattr(completion, name) for name in _Kept.__struct_fields__}
    return json.dumps(kept, default=_as_dict).encode()


def _completion(kept: bytes) -> Completion | None:
    """The completion, or None where another program wrote the row."""
    try:
        read = msgspec.convert(json.loads(kept), type=_Kept)
    except (ValueError, msgspec.ValidationError):
        return None
    return Completion(**msgspec.structs.asdict(read), cached=True)
