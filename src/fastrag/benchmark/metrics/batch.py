"""Scoring many rankings at once, from ids alone: for run files, or a search engine outside any pipeline."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from fastrag.benchmark.metrics.relevance import Relevance, RelevantIds, prepare_relevance
from fastrag.benchmark.metrics.retrieval import RetrievalMetric
from fastrag.errors import ConfigurationError

if TYPE_CHECKING:
    from fastrag.benchmark.metrics.hit_table import HitTable

_T = TypeVar("_T")


@dataclass(slots=True)
class RankingScores:
    """The scores of many queries' rankings.

    Attributes:
        query_ids: The queries of the qrels, in their order.
        scores: Per metric name, one score per query, in the order of ``query_ids``; None where nothing is
            relevant. A metric's ``aggregate`` sums them up.
        unanswered: The queries without a ranking; they were scored as if nothing had come back.
        unjudged: The queries with a ranking that are not in the qrels; they were left out.
        repeats: How often a relevant document stood in a ranking again, earning nothing.
    """

    query_ids: list[str]
    scores: dict[str, list[float | None]]
    unanswered: list[str]
    unjudged: list[str]
    repeats: int


def evaluate_rankings(
    rankings: Mapping[Any, Iterable[Any]],
    qrels: Mapping[Any, RelevantIds | Relevance],
    metrics: Sequence[RetrievalMetric],
) -> RankingScores:
    """Score ranked lists of ids with several metrics, reading each list once.

    A query's score depends on its own ranking and relevant ids alone. Query ids, like document ids, are compared as
    ``str(id)``. The metrics' ``match`` plays no part.

    Args:
        rankings: Per query, the ids that were retrieved, best first.
        qrels: Per query, its relevant ids, or a mapping id -> gain; or what `prepare_relevance` made of them, which
            saves time where several runs are scored.
        metrics: At least one, of different names.

    Raises:
        ConfigurationError: There are no metrics, two have the same name, two query ids are the same as text, or
            a query's ids are not what `find_hits` and `prepare_relevance` take.

    >>> from fastrag.benchmark.metrics.retrieval import MRR, RecallAtK
    >>> result = evaluate_rankings(
    ...     {"q1": ["a", "b"], "q9": ["a"]}, {"q1": {"b": 1}, "q2": ["c"], "q3": {"d": 0}}, [MRR(), RecallAtK(1)]
    ... )
    >>> result.scores
    {'mrr': [0.5, 0.0, None], 'recall@1': [0.0, 0.0, None]}
    >>> result.unanswered, result.unjudged
    (['q2', 'q3'], ['q9'])
    """
    for metric in metrics:
        if not isinstance(metric, RetrievalMetric):
            raise ConfigurationError(f"metrics must be RetrievalMetric objects, not {metric!r}")
    names = [metric.name for metric in metrics]
    if not names or len(set(names)) < len(names):
        raise ConfigurationError(f"metrics must be at least one, each with a name of its own, not {names}")
    from fastrag.benchmark.metrics.hit_table import HitTable  # numpy is loaded only where rankings come in bulk

    rankings, qrels = _by_text("rankings", rankings), _by_text("qrels", qrels)
    depth = _common_depth(metrics)
    without_relevant: dict[str, Relevance] = {}

    def measurable() -> Iterator[tuple[Iterable[Any], Relevance]]:
        for query_id, relevant in qrels.items():
            known = relevant if isinstance(relevant, Relevance) else prepare_relevance(relevant)
            if known.ids:
                ranked_ids = rankings.get(query_id, ())
                yield (ranked_ids if depth is None else _top(ranked_ids, depth)), known
            else:
                without_relevant[query_id] = known

    table = HitTable(measurable())
    return RankingScores(
        query_ids=list(qrels),
        scores={metric.name: _scores(metric, table, qrels, without_relevant) for metric in metrics},
        unanswered=[query_id for query_id in qrels if query_id not in rankings],
        unjudged=[query_id for query_id in rankings if query_id not in qrels],
        repeats=table.repeats,
    )


def _scores(
    metric: RetrievalMetric, table: HitTable, query_ids: Collection[str], without_relevant: Mapping[str, Relevance]
) -> list[float | None]:
    measured: list[float | None] = metric.measure(table).tolist()
    if not without_relevant:
        return measured
    following = iter(measured)
    return [
        metric.score_without_relevant(judged=without_relevant[query_id].judged)
        if query_id in without_relevant
        else next(following)
        for query_id in query_ids
    ]


def _top(ranked_ids: Iterable[Any], depth: int) -> Iterable[Any]:
    return ranked_ids[:depth] if isinstance(ranked_ids, list) else ranked_ids


def _common_depth(metrics: Sequence[RetrievalMetric]) -> int | None:
    depths = [metric.depth for metric in metrics if metric.depth is not None]
    return max(depths) if len(depths) == len(metrics) else None


def _by_text(what: str, by_query: Mapping[Any, _T]) -> Mapping[str, _T]:
    if not isinstance(by_query, Mapping):
        raise ConfigurationError(f"{what} must be a mapping from query ids, not a {type(by_query).__name__}")
    try:
        "".join(by_query)
        return by_query
    except TypeError:
        pass
    by_text = {str(query_id): value for query_id, value in by_query.items()}
    if len(by_text) < len(by_query):
        raise ConfigurationError(f"two query ids in {what} are the same as text")
    return by_text
