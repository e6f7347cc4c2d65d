"""What a benchmark measures, whichever of its two shapes it has, and reading what it returns."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from contextvars import copy_context
from typing import Any

from fastrag.benchmark.metrics.base import QueryOutcome
from fastrag.document import Document
from fastrag.errors import FastRAGError


class ReplyError(FastRAGError):
    """A target returned something that is not what its shape promises; recorded as the sample's error."""


class Target:
    """A pipeline under test: one that answers (``query``) or one that only retrieves (``retrieve``).

    A target that has both is asked to answer. A method that is no coroutine function runs in a thread, so that it
    cannot block the other questions.
    """

    def __init__(self, target: object) -> None:
        """Raises nothing; ask `problem` first."""
        self._target = target
        self._failure: str | None = None
        method = self._found("query")
        self.answers = method is not None
        self._method = method or self._found("retrieve")
        self._blocks = self._method is not None and not _is_coroutine_function(self._method)

    def problem(self) -> str | None:
        """What is wrong with the target, None where it can be benchmarked."""
        if isinstance(self._target, type):
            return (
                f"the target is the class {self._target.__name__}; give an object of it: {self._target.__name__}(...)"
            )
        if self._failure is not None:
            return self._failure
        if self._method is None:
            return (
                f"the target must have an async method query(question) or retrieve(question); "
                f"{type(self._target).__name__} has neither"
            )
        return None

    def _found(self, name: str) -> Callable[[str], Any] | None:
        try:
            method = getattr(self._target, name, None)
        except Exception as error:  # noqa: BLE001 - the target is a stranger's code
            self._failure = f"{type(self._target).__name__}.{name} cannot be read: {type(error).__name__}: {error}"
            return None
        return method if callable(method) else None

    def __str__(self) -> str:
        return type(self._target).__name__

    def ask(self, question: str, executor: Executor) -> Awaitable[Any]:
        """Start one call of the pipeline."""
        if self._method is None:
            raise ReplyError(f"{self} has neither query() nor retrieve()")
        if self._blocks:
            return self._ask_in_thread(self._method, question, executor)
        reply: Awaitable[Any] = self._method(question)
        return reply

    async def _ask_in_thread(self, method: Callable[[str], Any], question: str, executor: Executor) -> Any:
        loop = asyncio.get_running_loop()
        reply = await loop.run_in_executor(executor, copy_context().run, method, question)
        # A plain function may hand back the coroutine of an async one (a decorator, functools.partial, a lambda).
        return await reply if inspect.isawaitable(reply) else reply

    def read(self, reply: Any, latency_ms: float) -> QueryOutcome:
        """What came back, as a metric sees it.

        Raises:
            ReplyError: It is not a list of Documents, or not a QueryResult.
        """
        if not self.answers:
            return QueryOutcome("", _documents("retrieve()", reply), latency_ms)
        try:
            answer, sources = reply.answer, reply.sources
        except AttributeError:
            raise ReplyError(
                f"query() returned a {type(reply).__name__}; it must return a fastrag.QueryResult "
                "(or an object with answer and sources)"
            ) from None
        if not isinstance(answer, str):
            raise ReplyError(f"query() returned an answer that is a {type(answer).__name__}, not a str")
        return QueryOutcome(
            answer,
            _documents("query().sources", sources),
            latency_ms,
            _tokens("input_tokens", reply),
            _tokens("output_tokens", reply),
        )


def _is_coroutine_function(method: Callable[[str], Any]) -> bool:
    # The second is for an object whose class has an async __call__.
    return inspect.iscoroutinefunction(method) or inspect.iscoroutinefunction(type(method).__call__)


def _documents(what: str, value: object) -> list[Document]:
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise ReplyError(f"{what} must be a list of Documents, not a {type(value).__name__}")
    for position, document in enumerate(value):
        # What is as it should be is told by its types at once.
        if (
            type(document) is Document
            and type(document.id) is str
            and type(document.text) is str
            and (document.uri is None or type(document.uri) is str)
            and type(document.metadata) is dict
        ):
            continue
        if problem := _document_problem(document):
            raise ReplyError(f"{what}[{position}]{problem}")
    return list(value)


def _document_problem(document: object) -> str | None:
    if not isinstance(document, Document):
        return f" is a {type(document).__name__}, not a fastrag.Document"
    id, text, uri, metadata = (getattr(document, name) for name in ("id", "text", "uri", "metadata"))
    if not isinstance(id, str):
        return f".id must be a text, not {id!r}"
    if not isinstance(text, str):
        return f".text must be a text, not {text!r}"
    if uri is not None and not isinstance(uri, str):
        return f".uri must be a text or None, not {uri!r}"
    if not isinstance(metadata, dict):
        return f".metadata must be a dict, not {metadata!r}"
    return None


def _tokens(name: str, reply: object) -> int | None:
    value = getattr(reply, name, None)
    if value is None or (type(value) is int and value >= 0):
        return value
    raise ReplyError(f"query().{name} must be a whole number of at least 0 or None, not {value!r}")
