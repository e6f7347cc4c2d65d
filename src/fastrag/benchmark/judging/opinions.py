"""What judges said: claims with their verdicts, opinions, and the judgement that is made of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from fastrag.benchmark.reasons import Explanation


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """One thing that was judged by itself, most often a statement, and what was found of it.

    Attributes:
        text: The statement, as the judge took it out of a longer text; of some metrics a part of the question, a
            sentence of the answer, the whole answer, or a source's id.
        verdict: A word of the metric's own, such as "supported", "contradicted" or "not_found".
        sources: Numbers (from 1) of the sources that decided it; may be empty.
        reason: The judge's words, or why it was not asked, or how sure it was; may be empty.
    """

    text: str
    verdict: str
    sources: tuple[int, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there is no score.

    Attributes:
        kind: See `fastrag.benchmark.explain_missing`.
        detail: For people.
    """

    kind: Explanation
    detail: str


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one model found in one take.

    Attributes:
        score: None where it could not be measured.
        missing: Why, where ``score`` is None; else None.
        claims: What the score was made of, where it was made of claims.
        reason: The judge's words, or what is to be said of the claims (not all were judged, say); may be empty.
    """

    score: float | None
    missing: Missing | None = None
    claims: tuple[JudgedClaim, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class GivenOpinion:
    """An `Opinion`, by whom it was given, and what that took.

    Attributes:
        opinion: What was found.
        model: The model's name as its server gave it, or its `LLM.id` where none answered.
        take: Which of its votes, from 0.
        calls: How often the model was asked, cached answers included.
        cached_calls: How many of those a cache answered.
        input_tokens: Of the calls that were not cached; None where the server told none.
        output_tokens: The same.
        unreadable: Replies that did not fit what was asked for, as they came; each cut after 50,000 characters.
    """

    opinion: Opinion
    model: str
    take: int
    calls: int
    cached_calls: int
    input_tokens: int | None
    output_tokens: int | None
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judged metric made of one outcome.

    Attributes:
        metric: Its name.
        question: Of the sample.
        score: The mean of the opinions that have a score; None where fewer than half of them have one.
        spread: Highest minus lowest of those scores; None for fewer than two.
        missing: Why ``score`` is None.
        opinions: One for each model and vote, in their order; empty where nothing was asked.
    """

    metric: str
    question: str
    score: float | None
    spread: float | None
    missing: Missing | None
    opinions: tuple[GivenOpinion, ...]


@dataclass(slots=True)
class Judgements:
    """What the judges of one run said.

    Attributes:
        name: Of the run.
        created_at: When the run started.
        samples: How many samples it had.
        repeats: How often each was asked.
        by_position: Judgements by the position of their sample in the run's result, and by the metric's name. What was
            not judged, or where the judge's endpoint failed, is absent.
    """

    name: str
    created_at: datetime
    samples: int
    repeats: int
    by_position: dict[int, dict[str, Judgement]] = field(default_factory=dict)


def read_judgements(path: str | Path) -> Judgements:
    """Read what ``run(..., path=...)`` left in ``<path>.judgements.jsonl`` where it had judged metrics.

    Raises:
        ConfigurationError: ``path`` is no such file, or is damaged; the message says in which line.
    """
    from fastrag.benchmark.judging import judgement_file  # decoding is paid for only when a file is touched

    return judgement_file.read(Path(path))
