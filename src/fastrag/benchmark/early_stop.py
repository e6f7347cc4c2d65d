"""Noticing that a run is broken, before it has cost what a run costs."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Iterable

from fastrag.benchmark.reasons import describe_error
from fastrag.benchmark.results import SampleResult
from fastrag.errors import ServiceError

_log = logging.getLogger(__name__)

# A programming error does not go away; an endpoint's failure may.
_SAME_PROGRAMMING_ERRORS = 3
_LONGEST_REASON = 300
# What differs between two messages of one cause: quoted values, hexadecimal ids, numbers.
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|\b(?=[0-9a-f-]*\d)[0-9a-f-]{8,}\b|\d+", re.IGNORECASE)


class EarlyStop:
    """Watches the start of a run; ``reason`` says why it should stop, None while it should not.

    Args:
        after_alike: How many questions have to fail alike, before any did not; None never stops a run.
        metrics: Names of the metrics.
    """

    def __init__(self, after_alike: int | None, metrics: Iterable[str]) -> None:
        self.reason: str | None = None
        self._after_alike = after_alike
        self._watching_outcomes = after_alike is not None
        self._alike = 0
        self._first: str | None = None
        self.unproven = set(metrics) if after_alike is not None else set()
        """Metrics that have not given a score yet."""
        self.raising: dict[str, tuple[object, int]] = {}
        """Metrics whose last scoring raised: what, and how many times in a row."""

    def sample_ended(self, result: SampleResult) -> None:
        """Note how a question ended."""
        if not self._watching_outcomes or self._after_alike is None:
            return
        cause = alike(result.error or "") if result.status == "errored" else None
        if cause is None or (self._first is not None and cause != self._first):
            self._watching_outcomes = False
            return
        self._first = cause
        self._alike += 1
        if self._alike >= self._after_alike:
            self._watching_outcomes = False
            self._stop(f"the first {self._alike} questions all failed with {_brief(result.error or '')}")

    def metric_raised(self, name: str, error: BaseException) -> None:
        """Note that a metric raised instead of scoring."""
        if self._after_alike is None:
            return
        passing = isinstance(error, ServiceError | OSError | TimeoutError)
        cause = (type(error), None if passing else _place(error))
        before, times = self.raising.get(name, (cause, 0))
        times = times + 1 if before == cause else 1
        self.raising[name] = cause, times
        # An endpoint that has worked may come back; a line of code that raised three times will raise again.
        watched = name in self.unproven if passing else True
        if watched and times >= (self._after_alike if passing else _SAME_PROGRAMMING_ERRORS) and self.reason is None:
            self._stop(
                f"the metric {name} raised the same error {times} times in a row: {_brief(describe_error(error))}",
                error,
            )

    def metric_worked(self, name: str) -> None:
        """Note that a metric gave a score."""
        self.unproven.discard(name)
        self.raising.pop(name, None)

    def _stop(self, reason: str, error: BaseException | None = None) -> None:
        self.reason = reason
        _log.error("the run stops early: %s", reason, exc_info=error)


def alike(error: str) -> str:
    """``error`` without what differs between two failures of one cause.

    >>> alike("KeyError: 'chunk-17' of 30") == alike("KeyError: 'chunk-4' of 8")
    True
    """
    return _PARTICULAR.sub("#", error)


def _brief(text: str) -> str:
    # The reason stands on every sample that is not attempted.
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}..."


def _place(error: BaseException) -> tuple[str, int] | None:
    innermost = traceback.extract_tb(error.__traceback__, limit=-1)
    return (innermost[0].filename, innermost[0].lineno or 0) if innermost else None
