"""Asking the pipeline one question: its clock, its deadline and its attempts."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from time import perf_counter

from fastrag.benchmark.checks import plain_text
from fastrag.benchmark.metrics.base import QueryOutcome
from fastrag.benchmark.reasons import describe_error
from fastrag.benchmark.results import SampleResult
from fastrag.benchmark.samples import EvalSample
from fastrag.benchmark.stopping import belongs_to_stranger
from fastrag.benchmark.target import Target
from fastrag.errors import ServiceTimeoutError, ServiceUnavailableError

# Of a client, a socket or the deadline set here: what may be gone the next time.
_PASSING = (ServiceUnavailableError, ServiceTimeoutError, ConnectionError, TimeoutError)
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
# A server that wants to be left alone for longer is down, as far as this question goes.
_LONGEST_RETRY_AFTER_S = 600.0


@dataclass(slots=True)
class Asked:
    """What came of a question."""

    outcome: QueryOutcome | None
    """None where the pipeline failed."""
    result: SampleResult
    """Without scores where there is an outcome to score."""
    attempts: int
    """Calls of the pipeline that this took, at least 1."""


class Asker:
    """Calls the pipeline; the only place where a question is asked again.

    Args:
        target: The pipeline.
        metrics: Names of the metrics, whose scores are None where the pipeline failed.
        executor: Runs the calls of a pipeline that blocks.
        timeout_s: For each attempt.
        max_attempts: For each question, whatever makes an attempt fail.
    """

    def __init__(
        self, target: Target, metrics: list[str], executor: Executor, timeout_s: float | None, max_attempts: int
    ) -> None:
        self._target = target
        self._metrics = metrics
        self._executor = executor
        self._timeout_s = timeout_s
        self._max_attempts = max_attempts

    async def ask(self, position: int, sample: EvalSample, may_call: Callable[[], bool]) -> Asked:
        """Ask until there is an answer, an error that will not pass, or no attempt left.

        Args:
            position: Of the sample's result; the pipeline does not see it.
            sample: What to ask.
            may_call: Whether another call may be started; asked before every attempt but the first.
        """
        attempt = 1
        while True:
            asked, error = await self._attempt(sample, attempt)
            if error is None:
                return asked
            if attempt == self._max_attempts or not may_call():
                break
            pause_s = _pause_s(error, attempt)
            if pause_s is None:
                break
            await asyncio.sleep(pause_s)
            if not may_call():
                break
            attempt += 1
        if attempt > 1:
            asked.result.error = f"{asked.result.error} (after {attempt} attempts)"
        return asked

    async def _attempt(self, sample: EvalSample, attempt: int) -> tuple[Asked, BaseException | None]:
        scope = asyncio.timeout(self._timeout_s)
        started = perf_counter()
        try:
            if self._timeout_s is None:
                reply = await self._target.ask(sample.question, self._executor)
            else:
                async with scope:
                    reply = await self._target.ask(sample.question, self._executor)
            latency_ms = (perf_counter() - started) * 1000
            if self._is_late(scope, latency_ms):
                raise TimeoutError
            outcome = self._target.read(reply, latency_ms)
        except BaseException as error:
            latency_ms = (perf_counter() - started) * 1000
            if not belongs_to_stranger(error):
                raise
            # A TimeoutError of the pipeline's own is not the deadline set here.
            if isinstance(error, TimeoutError) and self._is_late(scope, latency_ms):
                reason = f"TimeoutError: no answer within timeout_s={self._timeout_s:g}"
            else:
                reason = describe_error(error)
            return Asked(None, failed(sample, self._metrics, reason, latency_ms), attempt), error
        result = answered(sample, outcome, outcome.answer if self._target.answers else None)
        return Asked(outcome, result, attempt), None

    def _is_late(self, scope: asyncio.Timeout, latency_ms: float) -> bool:
        # A pipeline may swallow its cancellation, or block the loop so that nobody could cancel it.
        return self._timeout_s is not None and (scope.expired() or latency_ms > self._timeout_s * 1000)


def answered(sample: EvalSample, outcome: QueryOutcome, answer: str | None) -> SampleResult:
    """The result of a question that has an outcome; its scores are still to come."""
    sources = outcome.sources
    return SampleResult(
        sample.question,
        "successful",
        {},
        None if answer is None else plain_text(answer),
        _plain_texts([document.id for document in sources]),
        _plain_texts([document.uri or "" for document in sources]),
        outcome.latency_ms,
    )


def _plain_texts(texts: list[str]) -> list[str]:
    return texts if set(map(type, texts)) <= {str} else list(map(plain_text, texts))


def failed(sample: EvalSample, metrics: Iterable[str], error: str, latency_ms: float) -> SampleResult:
    """The result of a question that has no outcome."""
    return SampleResult(sample.question, "errored", dict.fromkeys(metrics), latency_ms=latency_ms, error=error)


def _pause_s(error: BaseException, attempt: int) -> float | None:
    """How long to wait before the next attempt, None where there should be none."""
    try:
        wanted = getattr(error, "retry_after_s", None)
        wanted_s = float(wanted) if isinstance(wanted, int | float) else math.nan
    except Exception:  # noqa: BLE001 - the exception is a stranger's code
        wanted_s = math.nan
    if wanted_s >= 0:
        return wanted_s if wanted_s <= _LONGEST_RETRY_AFTER_S else None
    if not isinstance(error, _PASSING):
        return None
    # Half of it by chance, so that questions that failed together do not come back together.
    longest = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** (attempt - 1))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
