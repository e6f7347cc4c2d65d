"""What every report does to names and numbers before it shows them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from fastrag.benchmark.comparison_records import Bounds, Coverage
from fastrag.benchmark.statistics import Interval

ABSENT = "-"

# Joiners have no width and change nothing but how their neighbours are drawn; Persian, Hindi and emoji need them.
_JOINERS = "\u200c\u200d"
_CUT = " ... "


def one_line(text: str, *, most: int = 160) -> str:
    r"""``text`` on one line of at most ``most`` characters, whatever cannot be seen written as its escape.

    Names and errors come from pipelines and files: they must neither steer a terminal nor look like something else
    (as a bidi override makes them). What is too long loses its middle: ends tell names apart.

    >>> print(one_line("red\x1b[31m\nalert \u202etxt.exe"))
    red\x1b[31m\nalert \u202etxt.exe
    >>> one_line("hybrid-with-a-long-name-1", most=18)
    'hybrid-w ... ame-1'
    """
    shown = text if text.isprintable() else "".join(map(_visible, text))
    if len(shown) <= most:
        return shown
    tail = (most - len(_CUT)) * 2 // 5
    return f"{shown[: most - len(_CUT) - tail]}{_CUT}{shown[-tail:]}"


def short(name: str) -> str:
    """A name as it stands in sentences: on one line of at most 80 characters."""
    return one_line(name, most=80)


def _visible(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    if unicodedata.category(character) == "Zs":
        return " "
    return character.encode("unicode_escape").decode("ascii")


def number_format(extremes: Sequence[float], typical: Sequence[float]) -> str:
    """The format that numbers of this size are shown in.

    Three decimals for scores from 0 to 1, fewer for milliseconds and token counts, more for fractions of a cent; powers
    of ten for what would need too many digits.

    >>> number_format([0.0, 1.0], [0.5]), number_format([3.0, 4000.0], [25.0]), number_format([0.0, 3e-9], [1e-9])
    ('.3f', '.1f', '.1e')
    """
    largest = max(map(abs, extremes))
    if largest >= 1e7 or 0 < largest < 1e-4:
        return ".1e"
    if largest <= 1:
        return ".3f" if largest >= 0.01 or largest == 0 else ".6f"
    size = max(map(abs, typical))
    return ".0f" if size >= 1000 else ".1f" if size >= 10 else ".2f"


def number(value: float | None, form: str, *, sign: str = "") -> str:
    """``value`` in ``form``; a sign of ``"+"`` shows that of positive numbers too.

    >>> number(0.25, ".3f"), number(0.25, ".3f", sign="+"), number(None, ".3f")
    ('0.250', '+0.250', '-')
    """
    return ABSENT if value is None else f"{value:{sign}{form}}"


def span(ends: Interval | Bounds | None, form: str, *, sign: str = "") -> str:
    """An interval, or what a number would be at its worst and best.

    >>> span(Bounds(worst=0.75, best=0.5), ".2f"), span(None, ".2f")
    ('0.75..0.50', '-')
    """
    if ends is None:
        return ABSENT
    first, last = (ends.low, ends.high) if isinstance(ends, Interval) else (ends.worst, ends.best)
    return f"{first:{sign}{form}}..{last:{sign}{form}}"


def percentage(coverage: Coverage) -> str:
    """Measured of measurable, rounded down: 999 of 1000 is not all of them.

    >>> percentage(Coverage(measured=999, measurable=1000, asked=1200, reasons={}))
    '99%'
    """
    return f"{100 * coverage.measured // coverage.measurable}%" if coverage.measurable else ABSENT


def lower_is_better(metrics: Iterable[str]) -> list[str]:
    """What a legend says of metrics whose direction is not the usual one.

    >>> lower_is_better(["latency_ms", "cost_usd"]), lower_is_better([])
    (['Lower is better: latency_ms, cost_usd.'], [])
    """
    names = ", ".join(map(short, metrics))
    return [f"Lower is better: {names}."] if names else []


def questions(count: int) -> str:
    """So many questions.

    >>> questions(1), questions(2)
    ('1 question', '2 questions')
    """
    return "1 question" if count == 1 else f"{count} questions"


def listed(names: Iterable[str], *, most: int = 5) -> str:
    """Some names, and how many more there are.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    every = list(names)
    more = len(every) - most
    return ", ".join(every[:most]) + (f" and {more} more" if more > 0 else "")
