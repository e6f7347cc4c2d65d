"""What the commands write to the terminal. Names in answers, files and errors are others' words: they stay texts."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_LONGEST_LINE = 4_000
_LONGEST_ESCAPE = len("\\U0010ffff")


def console() -> Console:
    """Where tables go: the standard output, without codes for the terminal where they are not asked for."""
    from rich.console import Console

    # "auto" is none for files, pipes and dumb terminals.
    # Wrapped for a terminal only: a line that is piped is a line to search in.
    return Console(
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        soft_wrap=not sys.stdout.isatty(),
        highlight=False,
        markup=False,
        emoji=False,
    )


def print_line(text: str) -> None:
    """Print one line, whatever is in it."""
    from fastrag.benchmark.report.texts import one_line

    console().print(one_line(text, most=_LONGEST_LINE))


def print_lines(text: str) -> None:
    """Print a text that may have several lines."""
    from fastrag.benchmark.report.texts import one_line

    lines = text.replace("\r\n", "\n").expandtabs(4).split("\n")
    console().print("\n".join(one_line(line, most=_LONGEST_LINE) for line in lines))


def harmless(text: str) -> str:
    r"""A text of any length and number of lines, whose controls, other than ends of lines and tabs, are escapes.

    >>> harmless("a\tb\x1b[31m\rc\r\n")
    'a\tb\\x1b[31m\\rc\r\n'
    """
    from fastrag.benchmark.report.texts import one_line

    return re.sub(r"[^\t\r\n]+|\r(?!\n)", lambda found: one_line(found[0], most=len(found[0]) * _LONGEST_ESCAPE), text)


def print_json(value: Any) -> None:
    """Print JSON, in ASCII."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def counted(number: int, thing: str) -> str:
    """So many things.

    >>> counted(1, "run"), counted(1200, "run")
    ('1 run', '1,200 runs')
    """
    return f"1 {thing}" if number == 1 else f"{number:,} {thing}s"


def say(text: str) -> None:
    """Write one line to stderr, whatever is in it."""
    from fastrag.benchmark.report.texts import one_line

    sys.stderr.write(f"fastrag: {one_line(text, most=_LONGEST_LINE)}\n")
