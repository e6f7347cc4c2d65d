"""Source numbers in square brackets: finding them in an answer, and reading it without them."""

from __future__ import annotations

import re

_CITATION = re.compile(r"\[\s*(\d{1,6}(?:\s*[,;]\s*\d{1,6})*)\s*\]")


def cited_sources(answer: str, count: int) -> list[int]:
    """Numbers from 1 to ``count`` that ``answer`` cites in square brackets, each once, in order of first mention.

    >>> cited_sources("So [2][1, 3], surely [2]; not [9].", 3)
    [2, 1, 3]
    """
    numbers = [int(number) for match in _CITATION.finditer(answer) for number in re.findall(r"\d+", match[1])]
    return list(dict.fromkeys(number for number in numbers if 1 <= number <= count))


def without_citations(answer: str, count: int) -> str:
    """``answer`` without the brackets that cite one of ``count`` sources, and without the blanks before these.

    >>> without_citations("So it is [2], as in row[0].", 3)
    'So it is, as in row[0].'
    """
    cut, end = [], 0
    for match in _CITATION.finditer(answer):
        if cited_sources(match[0], count):
            cut.append(answer[end : match.start()].rstrip())
            end = match.end()
    return "".join([*cut, answer[end:]])
