"""What every report does to names and numbers before it shows them."""

from __future__ import annotations

from collections.abc import Sequence


def one_line(text: str, *, most: int = 160) -> str:
    r"""``text`` on one line of at most ``most`` characters, without control characters.

    Names and errors come from pipelines and files: they must not steer a terminal.

    >>> one_line("red\x1b[31m\nalert")
    'red [31m alert'
    """
    return "".join(character if character.isprintable() else " " for character in text)[:most]


def decimals_for(extremes: Sequence[float], typical: Sequence[float]) -> int:
    """How many decimals numbers of this size are shown with.

    Three for scores from 0 to 1, fewer for milliseconds and token counts, more for fractions of a cent.

    >>> decimals_for([0.0, 1.0], [0.5]), decimals_for([3.0, 4000.0], [25.0])
    (3, 1)
    """
    largest = max(map(abs, extremes))
    if largest <= 1:
        return 3 if largest >= 0.01 or largest == 0 else 6
    size = max(map(abs, typical))
    return 0 if size >= 1000 else 1 if size >= 10 else 2
