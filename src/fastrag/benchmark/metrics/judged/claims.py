"""Claims: taking them out of a text, and checking them against sources.

Every metric that is made of claims asks through here, with the same prompts for the same texts, so that a cache of the
judge's answers pays for several metrics once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from fastrag._support.concurrency import run_together
from fastrag.benchmark.judging.judge import Asking
from fastrag.benchmark.judging.opinions import JudgedClaim
from fastrag.benchmark.metrics.judged.checking import AT_ONCE, Check, check_each, distinct
from fastrag.benchmark.metrics.judged.material import MATERIAL, material
from fastrag.benchmark.metrics.judged.portions import cut

MAX_CLAIMS = 80
"""Most claims of one text that are checked."""

MAX_TEXT_CHARACTERS = 100_000
"""The longest text that claims are taken out of."""

TEXT_PORTION_CHARACTERS = 12_000
"""Most characters of a text that claims are taken out of in one call."""

_MAX_CLAIM_CHARACTERS = 1_000

EXTRACT = f"""\
You list the claims that a text makes, which is an answer to a question.
{MATERIAL}
A claim is one statement of fact that can be checked by itself:
- One fact each: split a sentence that states several.
- Understandable without the question and the text: put names in place of pronouns, and take from the question what a \
short answer leaves out ("Yes." claims what the question asks).
- As the text has it: keep its numbers, dates, names, conditions and degrees of certainty, add nothing, correct \
nothing, and list wrong statements like right ones.
- Each once.
These are not claims: questions, greetings, advice where to look, words about the text itself or its sources, marks of \
citation such as [1], and statements that the answer is not known or not found. If nothing else is left, the list is \
empty.
Reply with JSON: {{"claims": ["...", "..."]}}.\
"""

CHECK = f"""\
You check claims against sources.
{MATERIAL}
Judge by the sources alone, not by what you know. The verdict of a claim is
- supported: the sources state all of it, or it follows from what they state; one source may do, or several together;
- contradicted: no source supports it, and at least one says something that cannot be true together with it;
- not_found: anything else, also where the sources state only a part of it, or are merely about the same thing.
A number, name, date, condition or degree of certainty that differs is a difference. Where sources disagree, a claim \
that one of them supports is supported.\
"""

CHECK_IN_WRITING = """\
Reply with JSON: {"findings": [...]}, one finding for each claim, each with "number" (of the claim), "reason" (one \
sentence), "verdict" ("supported", "contradicted" or "not_found") and "sources" (the numbers of all sources that \
support it, or that contradict it; an empty list for not_found).\
"""


class _Claims(msgspec.Struct, forbid_unknown_fields=True):
    claims: list[str]


class _Finding(msgspec.Struct, forbid_unknown_fields=True):
    number: int
    reason: str
    verdict: Literal["supported", "contradicted", "not_found"]
    sources: list[int]


class _Findings(msgspec.Struct, forbid_unknown_fields=True):
    findings: list[_Finding]


_CHECK = Check(
    item="claim",
    instructions=CHECK,
    written=CHECK_IN_WRITING,
    verdicts=("supported", "contradicted", "not_found"),
    form=_Findings,
    sourced=frozenset({"supported", "contradicted"}),
)


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a text, or other items that were taken out of one.

    Attributes:
        texts: In the order of the text, each once; at most `MAX_CLAIMS`.
        found: How many there were.
    """

    texts: tuple[str, ...]
    found: int

    @property
    def note(self) -> str:
        """What is to be said of a score made of them; empty where all are there."""
        if self.found == len(self.texts):
            return ""
        return f"{len(self.texts)} of {self.found} were judged, evenly spread over the text"


def too_long(name: str, text: str) -> str:
    """Why ``text`` is not judged, which has more than `MAX_TEXT_CHARACTERS`; ``name`` is our name for it."""
    return f"the {name} has {len(text):,} characters, more than the {MAX_TEXT_CHARACTERS:,} that are judged"


async def extract_claims(asking: Asking, question: str, text: str) -> Claims:
    """The claims that ``text`` makes: statements that can be understood and checked by themselves.

    Refusals, greetings and questions make none. Claims that differ in case, white space or a full stop are one. Of
    more than `MAX_CLAIMS` that many are taken, evenly spread. A long text is read in portions, none of it left out.

    Args:
        asking: Who is asked: once for every `TEXT_PORTION_CHARACTERS`; of a blank text not at all.
        question: What ``text`` answers; a claim is complete with what it says.
        text: An answer, of the pipeline or the sample; at most `MAX_TEXT_CHARACTERS`, which `ClaimMetric` sees to.

    Raises:
        UnreadableReplyError: A reply could not be read.
        ServiceError: The endpoint failed.
    """
    portions = cut(text, TEXT_PORTION_CHARACTERS)
    lists = await run_together(*(_extract(asking, question, portion) for portion in portions), at_once=AT_ONCE)
    return bounded([claim for claims in lists for claim in claims])


async def check_claims(
    asking: Asking, claims: Sequence[str], sources: Sequence[str], *, apart: bool = False
) -> list[JudgedClaim]:
    """Each of ``claims`` as "supported", "contradicted" or "not_found" by ``sources``, with their numbers.

    A claim is supported if any source supports it, whatever others say; else contradicted if any contradicts it. How
    long lists of claims and sources are asked about: see `check_each`.

    Raises:
        UnreadableReplyError: A reply could not be read.
        ServiceError: The endpoint failed.
    """
    return await check_each(asking, _CHECK, claims, sources, apart=apart)


def bounded(claims: Sequence[str]) -> Claims:
    """``claims`` each once, and no more than `MAX_CLAIMS` of them."""
    different = distinct(claims)
    found = len(different)
    if found > MAX_CLAIMS:
        different = [different[position * found // MAX_CLAIMS] for position in range(MAX_CLAIMS)]
    return Claims(tuple(different), found)


def share(claims: Sequence[JudgedClaim], *verdicts: str) -> float:
    """The share of ``claims``, of which there is at least one, that have one of ``verdicts``."""
    return sum(claim.verdict in verdicts for claim in claims) / len(claims)


async def _extract(asking: Asking, question: str, text: str) -> list[str]:
    content = material(("question", question), ("text", text))
    return (await asking.ask(EXTRACT, content, _Claims, problem=_longest_claim)).claims


def _longest_claim(reply: _Claims) -> str | None:
    longest = max(map(len, reply.claims), default=0)
    if longest <= _MAX_CLAIM_CHARACTERS:
        return None
    return f"a claim has {longest:,} characters, and the most is {_MAX_CLAIM_CHARACTERS:,}: split it"
