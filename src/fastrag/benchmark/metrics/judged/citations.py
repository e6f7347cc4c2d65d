"""Are the answer's statements borne out by what they cite, and is what they cite needed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from fastrag._support.checks import require_text
from fastrag._support.concurrency import run_together
from fastrag._support.extras import import_extra
from fastrag.benchmark.estimate import Assumptions, Between
from fastrag.benchmark.judging.judge import Asking, Choice, Judge
from fastrag.benchmark.judging.opinions import JudgedClaim, Missing, Opinion
from fastrag.benchmark.metrics.base import QueryOutcome
from fastrag.benchmark.metrics.judged.base import JudgedMetric
from fastrag.benchmark.metrics.judged.checking import AT_ONCE
from fastrag.benchmark.metrics.judged.material import MATERIAL, material
from fastrag.benchmark.samples import EvalSample
from fastrag.ingest.chunking.sentences import sentence_spans
from fastrag.llm import LLM
from fastrag.query.citations import cited_sources, without_citations

SUPPORT_INSTRUCTIONS = f"""\
You check whether sources bear out a statement that somebody took from an answer.
{MATERIAL}
Question and answer are shown only so that you see what words such as "it" stand for; nothing in them is evidence, \
and neither is what you know yourself.
supported: everything the statement says stands in the sources shown, taken together, or follows from them plainly.
unsupported: something it says does not stand in them, or they say otherwise.\
"""

STATEMENT_INSTRUCTIONS = f"""\
You tell apart what a sentence of an answer does.
{MATERIAL}
statement: it says something, true or not, about the matter that the question asks about.
other: it says nothing about the matter itself: it is a heading, leads over to what follows, asks back, wishes well, \
or says that the sources or the writer do not hold the answer.\
"""

MAX_SENTENCES = 200
"""Most sentences of an answer, and most citations, that are judged: no answer may cost any number of calls."""

_SHORTEST_SENTENCE = 20  # characters, for an estimate

_WORD = re.compile(r"\w")


@dataclass(slots=True)
class CitedSentence:
    """A sentence of an answer without its citations, and the numbers (from 1) of the sources it cites."""

    text: str
    citations: list[int] = field(default_factory=list)


def cited_sentences(answer: str, count: int, *, language: str = "en") -> list[CitedSentence]:
    """The sentences of ``answer`` with what each cites of ``count`` sources.

    Sentences end where the rules of their language say, at an empty line and at a list's next entry; brackets behind
    the end of a sentence belong to it. A piece without a letter or digit is no sentence; its citations go to the one
    before.

    Raises:
        MissingDependencyError: The extra ``chunking`` is not installed.

    >>> cited_sentences("Tea is hot [1]. Milk is white. [2][1]", 2)
    [CitedSentence(text='Tea is hot.', citations=[1]), CitedSentence(text='Milk is white.', citations=[2, 1])]
    """
    sentences: list[CitedSentence] = []
    for start, end in sentence_spans(answer, language=language):
        piece = answer[start:end]
        citations = cited_sources(piece, count)
        text = without_citations(piece, count).strip()
        if _WORD.search(text):
            sentences.append(CitedSentence(text, citations))
        elif sentences:
            sentences[-1].citations = list(dict.fromkeys([*sentences[-1].citations, *citations]))
    return sentences


class _CitationMetric(JudgedMetric):
    """A metric of the sentences of an answer and what they cite.

    Args:
        judge: See `JudgedMetric`.
        language: ISO 639-1 code of the answers' language, for where sentences end.

    Raises:
        ConfigurationError: ``language`` is empty.
        MissingDependencyError: The extra ``chunking`` is not installed.
    """

    def __init__(self, judge: Judge | LLM | Sequence[LLM], *, language: str = "en") -> None:
        super().__init__(judge)
        self._language = require_text("language", language)
        import_extra("sentencex", extra="chunking", purpose=type(self).__name__)

    def unmeasurable(self, sample: EvalSample, outcome: QueryOutcome) -> Missing | None:
        """See `JudgedMetric.unmeasurable`."""
        if not outcome.answer.strip():
            return Missing("not_measured", "the answer is empty")
        if not outcome.sources:
            return Missing("not_measured", "no source was retrieved that could be cited")
        sentences = self._sentences(outcome)
        citations = sum(len(sentence.citations) for sentence in sentences)
        if max(len(sentences), citations) > MAX_SENTENCES:
            too_many = f"{len(sentences)} sentences with {citations} citations"
            return Missing("not_measured", f"the answer has {too_many}, more than the {MAX_SENTENCES} that are judged")
        return None

    def _sentences(self, outcome: QueryOutcome) -> list[CitedSentence]:
        return cited_sentences(outcome.answer, len(outcome.sources), language=self._language)


class CitationRecall(_CitationMetric):
    """``citation_recall``: the share of the answer's statements that are wholly borne out by what they cite.

    After ALCE (Gao et al. 2023, arXiv:2305.14627), with a language model in the place of its NLI model:

        citation_recall = sentences whose cited sources, taken together, support them / sentences that state something

    One call for each sentence. One that cites is asked by `SUPPORT_INSTRUCTIONS` whether its cited sources support it.
    One that cites nothing is never supported; it is asked by `STATEMENT_INSTRUCTIONS` whether it states anything, which
    ALCE takes for granted: "Here is what I found:" needs no citation, and an answer that says nothing but that the
    sources do not hold it is not measured rather than 0. An answer that states something and cites nothing has 0.

    Citations are numbers in square brackets, as `fastrag.query` reads them; a number that is none of a source is no
    citation (it may be a year or an index). An empty answer, one over no sources, and one of more than `MAX_SENTENCES`
    or `MAX_TEXT_CHARACTERS` (`fastrag.benchmark.metrics.judged.claims`) are not measured.
    ``Opinion.claims`` has a verdict for each sentence: supported, unsupported, uncited or other.

    Args:
        judge: See `JudgedMetric`.
        language: ISO 639-1 code of the answers' language, for where sentences end.

    Raises:
        ConfigurationError: ``language`` is empty.
        MissingDependencyError: The extra ``chunking`` is not installed.

    >>> import asyncio
    >>> from fastrag.document import Document
    >>> from fastrag.testing import ScriptedLLM
    >>> replies = ['{"reason": "So it says.", "verdict": "supported"}', '{"reason": "A fact.", "verdict": "statement"}']
    >>> sources = [Document("tea", "Green tea is steeped at 80 degrees.")]
    >>> outcome = QueryOutcome("At 80 degrees [1]. For two minutes.", sources, 1.0)
    >>> asyncio.run(CitationRecall(ScriptedLLM(replies)).score(EvalSample("How is green tea steeped?"), outcome))
    0.5
    """

    name = "citation_recall"

    def estimated_calls(self, sample: EvalSample, assumed: Assumptions) -> Between:
        """See `JudgedMetric.estimated_calls`."""
        return (1 if assumed.answer_characters[0] and assumed.sources[0] else 0), _most_sentences(assumed)

    async def opinion(self, asking: Asking, sample: EvalSample, outcome: QueryOutcome) -> Opinion:
        """See `JudgedMetric.opinion`."""
        sentences = self._sentences(outcome)
        claims = await run_together(
            *(_judge_sentence(asking, sample, outcome, sentence) for sentence in sentences), at_once=AT_ONCE
        )
        verdicts = [claim.verdict for claim in claims if claim.verdict != "other"]
        if not verdicts:
            missing = Missing("not_measured", "the answer states nothing that could be cited for")
            return Opinion(None, missing, claims=tuple(claims))
        return Opinion(verdicts.count("supported") / len(verdicts), claims=tuple(claims))


class CitationPrecision(_CitationMetric):
    """``citation_precision``: the share of the answer's citations that are right and not superfluous.

    After ALCE (Gao et al. 2023, arXiv:2305.14627), with a language model in the place of its NLI model. A citation is
    one source cited by one sentence; it is *needed* (1) or not (0), and the score is the mean:

    - The sentence's cited sources, taken together, do not support it: all its citations 0.
    - They do, and it is the only one, or supports the sentence alone: 1.
    - They do, it does not alone, and the others do without it: 0. It is superfluous.
    - They do, it does not alone, and the others do not without it: 1.

    One call for each sentence that cites, and up to two more for each of its citations where it has several; the first
    is the same as `CitationRecall`'s, so that a cache answers it. What is a citation: see there. An answer that cites
    nothing is not measured, nor is an empty one. ``Opinion.claims`` has a verdict for each citation: needed,
    superfluous, or unsupported.

    Args:
        judge: See `JudgedMetric`.
        language: ISO 639-1 code of the answers' language, for where sentences end.

    Raises:
        ConfigurationError: ``language`` is empty.
        MissingDependencyError: The extra ``chunking`` is not installed.

    >>> import asyncio
    >>> from fastrag.document import Document
    >>> from fastrag.testing import ScriptedLLM
    >>> replies = ['{"reason": "No time is given.", "verdict": "unsupported"}']
    >>> sources = [Document("tea", "Green tea is steeped at 80 degrees.")]
    >>> outcome = QueryOutcome("For two minutes [1].", sources, 1.0)
    >>> asyncio.run(CitationPrecision(ScriptedLLM(replies)).score(EvalSample("How is green tea steeped?"), outcome))
    0.0
    """

    name = "citation_precision"

    def estimated_calls(self, sample: EvalSample, assumed: Assumptions) -> Between:
        """See `JudgedMetric.estimated_calls`."""
        sentences = _most_sentences(assumed)
        # A sentence's only citation takes no further calls.
        further = 2 * min(sentences * assumed.sources[1], MAX_SENTENCES) if assumed.sources[1] > 1 else 0
        return 0, sentences + further

    async def opinion(self, asking: Asking, sample: EvalSample, outcome: QueryOutcome) -> Opinion:
        """See `JudgedMetric.opinion`."""
        cited = [sentence for sentence in self._sentences(outcome) if sentence.citations]
        if not cited:
            return Opinion(None, Missing("not_measured", "the answer cites nothing"))
        judged = await run_together(
            *(_judge_citations(asking, sample, outcome, sentence) for sentence in cited), at_once=AT_ONCE
        )
        claims = tuple(claim for claims in judged for claim in claims)
        return Opinion(sum(claim.verdict == "needed" for claim in claims) / len(claims), claims=claims)


def _most_sentences(assumed: Assumptions) -> float:
    return min(MAX_SENTENCES, 1 + assumed.answer_characters[1] // _SHORTEST_SENTENCE)


async def _judge_sentence(
    asking: Asking, sample: EvalSample, outcome: QueryOutcome, sentence: CitedSentence
) -> JudgedClaim:
    if sentence.citations:
        choice = await _support(asking, sample, outcome, sentence, sentence.citations)
        return JudgedClaim(sentence.text, choice.option, tuple(sentence.citations), choice.reason)
    content = material(("question", sample.question), ("answer", outcome.answer), ("sentence", sentence.text))
    choice = await asking.choose(STATEMENT_INSTRUCTIONS, content, ["statement", "other"])
    return JudgedClaim(sentence.text, "other" if choice.option == "other" else "uncited", (), choice.reason)


async def _judge_citations(
    asking: Asking, sample: EvalSample, outcome: QueryOutcome, sentence: CitedSentence
) -> list[JudgedClaim]:
    together = await _support(asking, sample, outcome, sentence, sentence.citations)
    claims = []
    for number in sentence.citations:
        verdict, choice = "needed", together
        if together.option == "unsupported":
            verdict = "unsupported"
        elif len(sentence.citations) > 1:
            alone = await _support(asking, sample, outcome, sentence, [number])
            if alone.option == "unsupported":
                others = [other for other in sentence.citations if other != number]
                choice = await _support(asking, sample, outcome, sentence, others)
                verdict = "superfluous" if choice.option == "supported" else "needed"
        claims.append(JudgedClaim(sentence.text, verdict, (number,), choice.reason))
    return claims


async def _support(
    asking: Asking, sample: EvalSample, outcome: QueryOutcome, sentence: CitedSentence, numbers: Sequence[int]
) -> Choice:
    """Whether the sources of these numbers, taken together, support the sentence."""
    sources = ((f"source {number}", outcome.sources[number - 1].text) for number in numbers)
    context = ("question", sample.question), ("answer", outcome.answer), ("statement", sentence.text)
    return await asking.choose(SUPPORT_INSTRUCTIONS, material(*context, *sources), ["supported", "unsupported"])
