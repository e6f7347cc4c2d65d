"""Why a score is missing: the text that goes into ``SampleResult.error``, and reading it back.

An errored sample's text is the exception: ``TimeoutError: no answer within 2.0 s``; or ``not attempted: REASON`` where
the run was stopped before the question was asked. An incomplete sample's text has one part a metric, joined by
``"; "``, each ``METRIC: KIND: DETAIL``:

================= ==================================================================================
kind              what it means
================= ==================================================================================
not_applicable    the sample lacks what the metric needs: nobody could be scored on it
not_measured      the metric returned None for another reason
invalid_score     the metric returned NaN, an infinity or something that is no number
metric_error      the metric raised
judge_unparseable the judge's reply did not fit what was asked for, and neither did its next one
not_attempted     the run was stopped, or its budget spent, before the metric was asked
================= ==================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Literal, get_args

from fastrag.benchmark.results import SampleResult
from fastrag.benchmark.stopping import belongs_to_stranger
from fastrag.errors import ConfigurationError

Kind = Literal["not_applicable", "not_measured", "invalid_score", "metric_error", "judge_unparseable", "not_attempted"]

Explanation = Literal["not_applicable", "not_measured", "metric_error", "judge_unparseable"]
"""What a metric may say of its own None."""

_MAX_CHARACTERS = 2_000

_current: ContextVar[list[tuple[Kind, str]] | None] = ContextVar("fastrag_explanations", default=None)


def explain_missing(kind: Explanation, detail: str) -> None:
    """Say why the score that a metric is about to return is None.

    A metric calls this inside its ``score``; the last call counts, and none where a score is returned. The reason
    stands in the sample's ``error``. Outside a run it does nothing.

    Args:
        kind: ``"not_applicable"``: the sample lacks what the metric needs, so that nobody could be scored on it, and
            the question does not count as measurable. ``"not_measured"``: this outcome gives nothing to measure.
            ``"judge_unparseable"``: a model's reply could not be read. ``"metric_error"``: what the metric needed
            failed.
        detail: For people; cut after 2,000 characters.

    Raises:
        ConfigurationError: ``kind`` is another.

    >>> explain_missing("not_measured", "the answer makes no claims")
    """
    if kind not in get_args(Explanation):
        raise ConfigurationError(f"kind must be one of {', '.join(get_args(Explanation))}, not {kind!r}")
    explained = _current.get()
    if explained is not None:
        explained.append((kind, shorten(str(detail))))


@contextmanager
def explanations() -> Iterator[list[tuple[Kind, str]]]:
    """Collect what `explain_missing` says in this context and in the tasks started from it."""
    explained: list[tuple[Kind, str]] = []
    token = _current.set(explained)
    try:
        yield explained
    finally:
        # A coroutine that was left behind is closed in another context than it began in.
        with suppress(ValueError):
            _current.reset(token)


def describe_error(error: BaseException) -> str:
    """The exception's type and message, at most 2,000 characters; never raises, whatever the exception does.

    >>> describe_error(KeyError("price"))
    "KeyError: 'price'"
    """
    try:
        message = str(error)
    except BaseException as failure:
        if not belongs_to_stranger(failure):
            raise
        message = f"<its message could not be read: {type(failure).__name__}>"
    if isinstance(error, BaseExceptionGroup):
        # The group's own message ("unhandled errors in a TaskGroup") says nothing; its members do.
        message += " [" + ", ".join(describe_error(member) for member in error.exceptions[:3]) + "]"
    name = type(error).__name__
    return shorten(f"{name}: {message}" if message else name)


def shorten(text: str, most: int = _MAX_CHARACTERS) -> str:
    """``text`` cut to so many characters, with the number left out said."""
    if len(text) <= most:
        return text
    return f"{text[:most]}... ({len(text) - most:,} more characters)"


def join_reasons(reasons: Mapping[str, tuple[Kind, str]]) -> str:
    """The ``error`` text of an incomplete sample, from metric name -> (kind, detail).

    >>> join_reasons({"ndcg@10": ("not_applicable", "no relevant_ids")})
    'ndcg@10: not_applicable: no relevant_ids'
    """
    # "; " parts the reasons, so that a detail (an exception's text, say) must not contain it.
    return "; ".join(f"{name}: {kind}: {detail.replace('; ', ', ')}" for name, (kind, detail) in reasons.items())


def is_not_applicable(sample: SampleResult, metric: str) -> bool:
    """Whether ``metric`` is missing on this sample because the sample lacks what it needs, whoever answers."""
    if sample.status == "errored" or sample.error is None or sample.scores.get(metric) is not None:
        return False
    return any(part.startswith(f"{metric}: not_applicable: ") for part in sample.error.split("; "))


def reason_of_missing(sample: SampleResult, metric: str) -> tuple[str, str]:
    """Why ``metric`` has no score on this sample: the kind, as of `kind_of_missing`, and the detail.

    The detail is the sample's whole ``error`` where that is of no one metric: the pipeline failed, or the kind is not
    known. It is empty where nothing was recorded.

    >>> sample = SampleResult("Why?", "incomplete", {"mrr": None}, error="mrr: not_applicable: no relevant_ids")
    >>> reason_of_missing(sample, "mrr")
    ('not_applicable', 'no relevant_ids')
    """
    error = sample.error or ""
    if sample.status == "errored":
        return "not_attempted" if error.startswith("not attempted: ") else "errored", error
    score = sample.scores.get(metric)
    if score is not None:
        return "invalid_score", f"the score is {score}"
    start = f"{metric}: "
    parts = (part.removeprefix(start) for part in error.split("; ") if part.startswith(start))
    kind, _, detail = next(parts, "").partition(":")
    return (kind, detail.removeprefix(" ")) if kind in get_args(Kind) else ("unknown", error)


def kind_of_missing(sample: SampleResult, metric: str) -> str:
    """Why ``metric`` has no score on this sample, in a word.

    ``"errored"`` where the pipeline failed, ``"not_attempted"`` where it was not asked, else a `Kind`;
    ``"invalid_score"`` of a score that is no finite number, ``"unknown"`` where no reason was recorded.

    >>> kind_of_missing(SampleResult("Why?", "errored", {"mrr": None}, error="not attempted: out of time"), "mrr")
    'not_attempted'
    """
    return reason_of_missing(sample, metric)[0]
