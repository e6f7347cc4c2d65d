"""Asking a judge for a verdict on each of several items, from texts of any length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from fastrag._support.concurrency import run_together
from fastrag.benchmark.judging.judge import Asking
from fastrag.benchmark.judging.opinions import JudgedClaim
from fastrag.benchmark.metrics.judged.material import material
from fastrag.benchmark.metrics.judged.portions import pack

PORTION_CHARACTERS = 24_000
"""Most characters of sources in one call: some 6,000 tokens of English."""

ITEMS_PER_CALL = 20
"""Most items in one call: a longer list of verdicts is where models lose count."""

OVERLAP = 400
"""Characters of a source cut in two that stand in both pieces."""

AT_ONCE = 4
"""Most calls at one time for one opinion and check."""


@dataclass(frozen=True, slots=True)
class Check:
    """What is asked of each item.

    Attributes:
        item: What an item is called in the prompt: "claim".
        instructions: The system message, without how to reply.
        written: How to reply in writing, to be added to ``instructions``.
        verdicts: The words of a verdict, which begin differently; where two portions of the sources give different
            ones, the earlier here is the verdict.
        form: Of a written reply: ``findings``, each with ``number``, ``reason``, ``verdict`` and, if the check tells
            the sources, ``sources``.
        sourced: The verdicts that have to name their sources; empty where the check does not tell them.
    """

    item: str
    instructions: str
    written: str
    verdicts: tuple[str, ...]
    form: type[msgspec.Struct]
    sourced: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Finding:
    """What one portion of the sources says of an item."""

    verdict: str
    sources: tuple[int, ...]
    reason: str


_Portion = list[tuple[int, str]]


def key_of(text: str) -> str:
    """What is the same of two texts that say the same in the same words."""
    return " ".join(text.casefold().split()).rstrip(".")


def distinct(texts: Iterable[str]) -> list[str]:
    """``texts`` in order, each once, stripped; texts that differ in case, white space or a full stop are one.

    >>> distinct(["Nile is long.", " ", "The sky is blue", "nile  is long"])
    ['Nile is long.', 'The sky is blue']
    """
    first: dict[str, str] = {}
    for text in texts:
        key = key_of(text)
        if key:
            first.setdefault(key, text.strip())
    return list(first.values())


async def check_each(
    asking: Asking, check: Check, items: Sequence[str], sources: Sequence[str], *, apart: bool = False
) -> list[JudgedClaim]:
    """A verdict for each of ``items``, from ``sources``.

    Equal items are asked about once. The sources are read in portions of at most `PORTION_CHARACTERS`, so that none is
    lost; a verdict takes the strongest word that any portion gives, and the numbers of the sources that gave it. What
    follows only from sources of different portions together is not seen. With a judge that reads choices off
    log-probabilities each item is asked about by itself, and the sources are known only where a portion has one.

    Args:
        asking: Who is asked.
        check: What for.
        items: The order of the result.
        sources: Numbered from 1; blank ones are passed over. Where all are, every item gets the weakest verdict,
            unasked.
        apart: Whether each source is asked about by itself.

    Raises:
        UnreadableReplyError: A reply could not be read.
        ServiceError: The endpoint failed.
    """
    asked = distinct(items)
    portions = pack(sources, PORTION_CHARACTERS, OVERLAP, apart=apart)
    size = 1 if asking.by_logprobs else ITEMS_PER_CALL
    batches = [asked[start : start + size] for start in range(0, len(asked), size)]
    find = _chosen if asking.by_logprobs else _written
    calls = [find(asking, check, batch, portion) for batch in batches for portion in portions]
    replies = iter(await run_together(*calls, at_once=AT_ONCE))
    findings: dict[str, list[_Finding]] = {key_of(item): [] for item in items}
    for batch in batches:
        for _ in portions:
            for item, finding in zip(batch, next(replies), strict=True):
                findings[key_of(item)].append(finding)
    return [_combined(check, item, findings[key_of(item)]) for item in items]


def _combined(check: Check, item: str, findings: Sequence[_Finding]) -> JudgedClaim:
    given = {finding.verdict for finding in findings}
    verdict = next((word for word in check.verdicts if word in given), check.verdicts[-1])
    deciding = [finding for finding in findings if finding.verdict == verdict]
    numbers = sorted({number for finding in deciding for number in finding.sources})
    return JudgedClaim(item, verdict, tuple(numbers), deciding[0].reason if deciding else "")


async def _written(asking: Asking, check: Check, batch: Sequence[str], portion: _Portion) -> list[_Finding]:
    numbers = {number for number, _ in portion}
    reply: Any = await asking.ask(
        f"{check.instructions}\n{check.written}",
        _content(check, batch, portion),
        check.form,
        problem=_problem(check, len(batch), numbers),
    )
    by_number = {finding.number: finding for finding in reply.findings}
    only = tuple(numbers) if len(numbers) == 1 else ()
    found = []
    for number in range(1, len(batch) + 1):
        finding = by_number[number]
        # Sources of a verdict that names none would say nothing; with one source to choose from it need not be named.
        named = tuple(finding.sources) or only if finding.verdict in check.sourced else ()
        found.append(_Finding(finding.verdict, named, finding.reason))
    return found


async def _chosen(asking: Asking, check: Check, batch: Sequence[str], portion: _Portion) -> list[_Finding]:
    choice = await asking.choose(check.instructions, _content(check, batch, portion), check.verdicts)
    numbers = {number for number, _ in portion}
    known = tuple(numbers) if len(numbers) == 1 and choice.option in check.sourced else ()
    sure = f"chosen with probability {choice.probabilities[choice.option]:.2f}"
    return [_Finding(choice.option, known, choice.reason or sure)]


def _content(check: Check, batch: Sequence[str], portion: _Portion) -> str:
    numbered = [(f"source {number}", text) for number, text in portion]
    numbered += [(f"{check.item} {number}", item) for number, item in enumerate(batch, start=1)]
    return material(*numbered)


def _problem(check: Check, count: int, numbers: set[int]) -> Callable[[Any], str | None]:
    def problem(reply: Any) -> str | None:
        given = [finding.number for finding in reply.findings]
        if sorted(given) != list(range(1, count + 1)):
            return f"it must have one finding for each {check.item} from 1 to {count}, not for {_some(given)}"
        for finding in reply.findings:
            if finding.verdict not in check.sourced:
                continue
            strange = [number for number in finding.sources if number not in numbers]
            if strange:
                return f"{check.item} {finding.number} names source {strange[0]}, and there is none of that number"
            if not finding.sources and len(numbers) > 1:
                return f"{check.item} {finding.number} is {finding.verdict} and names no source"
        return None

    return problem


def _some(numbers: Sequence[int]) -> str:
    """A few of ``numbers`` for people."""
    some = ", ".join(map(str, numbers[:30]))
    return f"{some}, ..." if len(numbers) > 30 else some or "none"
