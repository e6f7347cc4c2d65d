"""What TREC's tools read: a run file of one result, and the relevance judgments (qrels) of a sample set.

Both are lines of fields parted by blanks. Ids are written as they are but for blanks, what cannot be seen, and ``%``:
these become ``%`` and two hexadecimal digits an octet of their UTF-8, which `urllib.parse.unquote` turns back.
"""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args
from urllib.parse import quote

from fastrag.benchmark.arguments import require_samples
from fastrag.benchmark.checks import with_ids
from fastrag.benchmark.metrics.retrieval import Match, document_keys
from fastrag.benchmark.outcomes import Outcome, Outcomes
from fastrag.benchmark.report.exports.writing import write_text
from fastrag.benchmark.results import BenchmarkResult, SampleResult
from fastrag.benchmark.samples import EvalSample
from fastrag.errors import ConfigurationError

_ESCAPED = re.compile(r"[%\s\x00-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class TrecRun:
    """A run file, and what is not in it.

    Attributes:
        lines: ``qid Q0 docid rank score tag``, each with its end.
        questions: That have lines.
        errored: Questions without lines because the pipeline failed, or was not asked.
        without_sources: Questions without lines because nothing was found, or nothing that has a uri.
        repeats: Further answers to a question that was asked several times; only the first is in the file.
        again: Sources without a line because the same document has one higher up in the ranking.
        without_uri: Sources without a line because they have no uri, where the documents are uris.
        documents: The ids in the lines, as they were before blanks were escaped.
    """

    lines: list[str]
    questions: int
    errored: int
    without_sources: int
    repeats: int
    again: int
    without_uri: int
    documents: frozenset[str]


def write_trec_run(
    result: BenchmarkResult,
    path: str | Path,
    *,
    samples: Sequence[EvalSample] | None = None,
    outcomes: Outcomes | None = None,
    match: Match = "id",
) -> None:
    """Write the ranking of each question as a TREC run file, for trec_eval, ir_measures, pytrec_eval and the like.

    Programs that read run files sort by score, as a 32-bit float, and pass over the rank. So a question has the scores
    that its sources were kept with only if these fall from each source to the next; else the scores are n, n-1, ..., 1,
    which say no more than the order. A document has one line in a ranking, for the first place it has; what is
    below its others moves up, and may score higher than by fastrag's metrics, which leave it where it is. Questions
    that errored have no lines: ``trec_eval -c`` counts them as 0, its default leaves them out.

    Args:
        result: One with samples.
        path: Of the file, which is written atomically; an existing one is replaced.
        samples: Those that were asked: the qid is then a sample's id, and of repeats the first is taken. None: it is
            the position in the result, from 1.
        outcomes: Of the same run (`read_outcomes`), for the scores in ``metadata["score"]``.
        match: What the docid of a source is: its "id", its "uri", or the "parent_id" in the metadata that only
            ``outcomes`` hold, as of `fastrag.benchmark.metrics`: what the relevant ids are. A source without a uri
            has no line, and what is below it moves up.

    Raises:
        ConfigurationError: The result has no samples, they or the outcomes belong to another run, ``match`` is none of
            these or needs outcomes that are not there, an id is empty or not unique, or ``path`` cannot be written.

    >>> from datetime import UTC, datetime
    >>> from fastrag.benchmark import DistributionSummary, SampleResult, StatusCounts
    >>> samples = [SampleResult("Why?", "successful", {"mrr": 0.5}, answer="=1+1", retrieved_ids=["a", "b"])]
    >>> summary = {"mrr": DistributionSummary.of([0.5])}
    >>> result = BenchmarkResult("run", datetime.now(UTC), StatusCounts(1, 0, 0), summary, samples, 1.0)
    >>> write_trec_run(result, "ranking.run")
    >>> print(Path("ranking.run").read_text(encoding="utf-8"), end="")
    1 Q0 a 1 2 run
    1 Q0 b 2 1 run
    """
    write_text(path, trec_run(result, samples=samples, outcomes=outcomes, match=match).lines)


def write_trec_qrels(samples: Sequence[EvalSample], path: str | Path) -> None:
    """Write the relevant ids of samples as qrels: ``qid 0 docid gain``; a sample without any has no line.

    Args:
        samples: A gain has to be a whole number, as in all qrels.
        path: Of the file, which is written atomically; an existing one is replaced.

    Raises:
        ConfigurationError: A gain is no whole number, an id is empty or not unique, or ``path`` cannot be written.

    >>> write_trec_qrels([EvalSample("Why?", relevant_ids={"a": 2, "b c": 1}, id="q1")], "questions.qrels")
    >>> print(Path("questions.qrels").read_text(encoding="utf-8"), end="")
    q1 0 a 2
    q1 0 b%20c 1
    """
    write_text(path, trec_qrels(samples))


def trec_run(
    result: BenchmarkResult,
    *,
    samples: Sequence[EvalSample] | None = None,
    outcomes: Outcomes | None = None,
    match: Match = "id",
) -> TrecRun:
    """What `write_trec_run` writes."""
    require_samples(result)
    if match not in get_args(Match):
        raise ConfigurationError(f"match must be 'id', 'uri' or 'parent_id', not {match!r}")
    repeats = 1 if samples is None else _repeats(result, samples)
    qids = [str(i) for i in range(1, len(result.samples) + 1)] if samples is None else _qids(samples)
    tag = _field(result.name, "the result's name")
    lines: list[str] = []
    documents: set[str] = set()
    questions = errored = without_sources = again = without_uri = 0
    for place in range(0, len(result.samples), repeats):
        sample, qid = result.samples[place], qids[place // repeats]
        if sample.status == "errored":
            errored += 1
            continue
        kept = None if outcomes is None else _kept(outcomes, place, sample.question, sample.retrieved_ids)
        keys = _keys(sample, kept, match, place)
        named = [index for index, key in enumerate(keys) if key or match != "uri"]
        without_uri += len(sample.retrieved_ids) - len(named)
        if not named:
            without_sources += 1
            continue
        questions += 1
        first = {keys[index]: index for index in reversed(named)}
        places = sorted(first.values())
        again += len(named) - len(places)
        documents.update(first)
        scores = _scores(kept, places)
        for rank, (index, score) in enumerate(zip(places, scores, strict=True), start=1):
            document = _field(keys[index], f"source {index + 1} of question {place + 1}")
            lines.append(f"{qid} Q0 {document} {rank} {score!r} {tag}\n")
    left_out = len(result.samples) - len(result.samples) // repeats
    return TrecRun(lines, questions, errored, without_sources, left_out, again, without_uri, frozenset(documents))


def trec_qrels(samples: Sequence[EvalSample]) -> Iterator[str]:
    """What `write_trec_qrels` writes, line by line."""
    for qid, sample in zip(_qids(samples), samples, strict=True):
        relevant = sample.relevant_ids
        gains = relevant if isinstance(relevant, Mapping) else dict.fromkeys(relevant, 1.0)
        for document, gain in gains.items():
            if not float(gain).is_integer():
                raise ConfigurationError(
                    f"sample {qid}: the gain of {document!r} is {gain!r}; qrels have whole numbers"
                )
            yield f"{qid} 0 {_field(document, f'a relevant id of sample {qid}')} {int(gain)}\n"


def _repeats(result: BenchmarkResult, samples: Sequence[EvalSample]) -> int:
    """How often each sample was asked: those of the result stand in the order of the samples, repeats together."""
    repeats, rest = divmod(len(result.samples), len(samples) or len(result.samples) + 1)
    if rest or not repeats:
        raise ConfigurationError(f"{result.name} has {len(result.samples)} samples, which are not those {len(samples)}")
    for place, asked in enumerate(result.samples):
        if asked.question != (question := samples[place // repeats].question):
            raise ConfigurationError(
                f"sample {place // repeats} asks {question!r}, but {result.name} asked {asked.question!r} there"
            )
    return repeats


def _qids(samples: Sequence[EvalSample]) -> list[str]:
    qids = [_field(str(sample.id), "a sample's id") for sample in with_ids(samples)]
    if len(set(qids)) < len(qids):
        twice = next(qid for qid in qids if qids.count(qid) > 1)
        raise ConfigurationError(f"two samples have the id {twice}: a TREC file needs another for each")
    return qids


def _kept(outcomes: Outcomes, place: int, question: str, ids: Sequence[str]) -> Outcome | None:
    kept = outcomes.by_position.get(place)
    if kept is not None and (kept.question != question or [source.id for source in kept.sources] != list(ids)):
        raise ConfigurationError(f"the outcomes are not of this result: they differ in question {place + 1}")
    return kept


def _keys(sample: SampleResult, kept: Outcome | None, match: Match, place: int) -> Sequence[str]:
    """What stands for each source; "" for one that has no uri."""
    if match == "id":
        return sample.retrieved_ids
    if match == "uri":
        return sample.retrieved_uris[: len(sample.retrieved_ids)]
    if kept is None and sample.retrieved_ids:
        raise ConfigurationError(
            f"match='parent_id' needs the run's outcomes, which hold the sources' metadata, and there are none of "
            f"question {place + 1}: run with keep_outcomes=True, or take another match"
        )
    return [] if kept is None else list(map(str, document_keys(kept.sources, match)))


def _scores(kept: Outcome | None, places: Sequence[int]) -> Sequence[float]:
    """The scores of the sources at ``places``; whole numbers that fall where none are kept, or these do not."""
    by_rank = list(range(len(places), 0, -1))
    found = [] if kept is None else [kept.sources[place].metadata.get("score") for place in places]
    numbers = [float(score) for score in found if isinstance(score, float | int) and abs(score) < 1e38]
    if len(numbers) < len(places):
        return by_rank
    single = [struct.unpack("f", struct.pack("f", number))[0] for number in numbers]
    return numbers if all(a > b for a, b in itertools.pairwise(single)) else by_rank


def _field(text: str, what: str) -> str:
    """``text`` without blanks, from which it can be told."""
    if not text:
        raise ConfigurationError(f"{what} is empty: a field of a TREC file cannot be")
    return _ESCAPED.sub(lambda match: quote(match.group(), safe="", errors="surrogatepass"), text)
