"""How judgements reach whoever keeps them, so that a judged metric needs no path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from fastrag.benchmark.judging.opinions import Judgement

_current: ContextVar[list[Judgement] | None] = ContextVar("fastrag_judgements", default=None)


def record_judgement(judgement: Judgement) -> None:
    """Hand over what a metric found, to be kept beside the result of the run that it scores for.

    Outside a run it does nothing.
    """
    judgements = _current.get()
    if judgements is not None:
        judgements.append(judgement)


@contextmanager
def collecting_judgements() -> Iterator[list[Judgement]]:
    """Collect what is recorded in this context and in the tasks started from it."""
    judgements: list[Judgement] = []
    token = _current.set(judgements)
    try:
        yield judgements
    finally:
        # A coroutine that was left behind is closed in another context than it began in.
        with suppress(ValueError):
            _current.reset(token)
