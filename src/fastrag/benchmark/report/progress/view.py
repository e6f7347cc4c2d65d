"""What there is to say of a run under way, as texts; where they go is another's concern. Nothing is escaped here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fastrag.benchmark.report.spending import spending_parts
from fastrag.benchmark.report.texts import number, number_format
from fastrag.benchmark.run import RunProgress
from fastrag.benchmark.running_means import RunningMean

MEANS_SHOWN = 6


@dataclass(frozen=True, slots=True)
class MeanSoFar:
    """A metric's mean, and of how many scores it is."""

    metric: str
    mean: str
    n: str


@dataclass(frozen=True, slots=True)
class View:
    """A run at one moment.

    Attributes:
        name: Of the run, as it was given.
        done: Questions that have ended.
        total: All of them.
        pace: Rate and time left, or the time taken once the run is over, and its rate; empty while nothing is known.
        trouble: What failed, and why the run stopped; empty where there is nothing to tell.
        spent: What pipeline and judges took, apart; only what is known.
        means: Of every metric, in its order.
        is_over: Nothing more will come.
    """

    name: str
    done: int
    total: int
    pace: tuple[str, ...]
    trouble: tuple[str, ...]
    spent: tuple[str, ...]
    means: tuple[MeanSoFar, ...]
    is_over: bool


def view_of(
    name: str, total: int, earlier: int, state: RunProgress | None, rate: float | None, *, is_over: bool
) -> View:
    """The texts that show a run.

    Args:
        name: Of the run.
        total: Of its questions.
        earlier: How many had ended when it was resumed.
        state: What it reported last; None before any question ended.
        rate: Questions a second; None where that is not known.
        is_over: Whether it has ended, in whatever way.
    """
    if state is None:
        return View(name, earlier, total, (), (), (), (), is_over)
    pace = []
    if is_over:
        pace.append(f"in {duration(state.elapsed_s)}")
    if rate and state.stopped is None:
        pace.append(rate_text(rate))
    if not is_over:
        pace.append(f"ETA {duration((state.total - state.done) / rate)}" if rate else "ETA -")
    counts = {"errored": state.status.errored, "incomplete": state.status.incomplete}
    trouble = [f"{count} {status}" for status, count in counts.items() if count]
    if state.stopped is not None:
        trouble.append(f"stopped: {state.stopped}")
    return View(
        name=name,
        done=state.done,
        total=state.total,
        pace=tuple(pace),
        trouble=tuple(trouble),
        spent=tuple(spending_parts(state.spent)),
        means=_means(state.means),
        is_over=is_over,
    )


def rate_text(rate: float) -> str:
    """Questions a second, or a minute where that would be hardly any.

    >>> rate_text(1234.5), rate_text(2.25), rate_text(0.05)
    ('1,234/s', '2.2/s', '3.0/min')
    """
    if rate >= 100:
        return f"{rate:,.0f}/s"
    return f"{rate:.1f}/s" if rate >= 0.1 else f"{60 * rate:.1f}/min"


def duration(seconds: float) -> str:
    """Hours, minutes and seconds.

    >>> duration(7.6), duration(3723), duration(200 * 3600)
    ('0:08', '1:02:03', '200:00:00')
    """
    minutes, whole = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{whole:02}" if hours else f"{minutes}:{whole:02}"


def more_metrics(count: int, shown: int = MEANS_SHOWN) -> str:
    """Of so many metrics, those that are not shown.

    >>> more_metrics(6), more_metrics(7), more_metrics(13)
    ('', 'and 1 more metric', 'and 7 more metrics')
    """
    more = count - shown
    return f"and {more} more metric{'s' if more > 1 else ''}" if more > 0 else ""


def _means(means: Mapping[str, RunningMean]) -> tuple[MeanSoFar, ...]:
    return tuple(
        MeanSoFar(metric, number(mean, number_format([mean or 0.0], [mean or 0.0])), str(n))
        for metric, (n, mean) in means.items()
    )
