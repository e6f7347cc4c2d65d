"""Retrieval metrics: how well the sources that came back match the sample's relevant ids.

The definitions are trec_eval's, and every score lies in [0, 1]. R is the number of relevant documents, retrieved or
not; a document is relevant if its gain is above 0. Where nothing is relevant (R = 0) a score is None; where something
is but nothing relevant came back, it is 0. What counts as a hit is said in `fastrag.benchmark.metrics.ranking`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, Literal, TypeAlias

from fastrag._support.checks import require_positive_int, require_text
from fastrag.benchmark.metrics.base import QueryOutcome
from fastrag.benchmark.metrics.computed import ComputedMetric
from fastrag.benchmark.metrics.ranking import Gain, HitView, find_hits
from fastrag.benchmark.metrics.relevance import prepare_relevance
from fastrag.benchmark.samples import EvalSample
from fastrag.document import Document
from fastrag.errors import ConfigurationError

Match: TypeAlias = Literal["id", "uri", "parent_id"]
NothingRelevant: TypeAlias = Literal["missing", "zero"]


def document_keys(documents: Iterable[Document], match: Match = "id") -> list[str | None]:
    """What stands for each Document when it is compared with relevant ids.

    With "id" it is the id; with "uri" the uri, None (which matches nothing) where there is none; with
    "parent_id" ``metadata["parent_id"]``, or the id where there is none, a whole file being its own parent.

    >>> document_keys([Document("a-1", "", metadata={"parent_id": "a"}), Document("b", "")], "parent_id")
    ['a', 'b']
    """
    return list(map(_KEYS[match], documents))


def _parent_or_self(document: Document) -> Any:
    parent = document.metadata.get("parent_id")
    return document.id if parent is None else parent


_KEYS: dict[str, Callable[[Document], Any]] = {
    "id": attrgetter("id"),
    "uri": attrgetter("uri"),
    "parent_id": _parent_or_self,
}


class RetrievalMetric(ComputedMetric):
    """Base of the metrics over ranked sources, and what they have in common.

    Args:
        k: How many sources from the top count; None, where a metric allows it, means all.
        match: What of a source is compared with the relevant ids: its "id", its "uri", or the "parent_id" in its
            ``metadata`` (see `document_keys`). A second chunk of the same parent earns nothing.
        nothing_relevant: The score where the relevant ids are a mapping without any gain above 0: "missing"
            gives None, "zero" gives 0.0, as trec_eval does, for comparing with means it computed. Where there
            are no relevant ids at all, the score is None either way.
        name: The metric's name in results, where it is not to be the usual one.

    Raises:
        ConfigurationError: ``k`` is not a whole number of at least 1, or another argument is none of these.
    """

    needs_relevant_ids = True

    label: str
    """The usual name without the cutoff."""

    def __init__(
        self,
        k: int | None = None,
        *,
        match: Match = "id",
        nothing_relevant: NothingRelevant = "missing",
        name: str | None = None,
    ) -> None:
        if match not in _KEYS:
            raise ConfigurationError(f"match must be 'id', 'uri' or 'parent_id', not {match!r}")
        if nothing_relevant not in ("missing", "zero"):
            raise ConfigurationError(f"nothing_relevant must be 'missing' or 'zero', not {nothing_relevant!r}")
        self.k = None if k is None else require_positive_int("k", k)
        self.match = match
        self.nothing_relevant = nothing_relevant
        usual_name = self.label if k is None else f"{self.label}@{k}"
        self._name = usual_name if name is None else require_text("name", name)

    @property
    def name(self) -> str:
        """The name given, or the usual one: the measure and, where there is a cutoff, ``@k``."""
        return self._name

    @property
    def depth(self) -> int | None:
        """How many sources from the top the metric looks at; None means all."""
        return self.k

    def compute(self, sample: EvalSample, outcome: QueryOutcome) -> float | None:
        """The score of the outcome's sources, in their order.

        Raises:
            ConfigurationError: ``sample.relevant_ids`` is neither a list of ids nor a mapping id -> gain.
        """
        relevance = prepare_relevance(sample.relevant_ids)
        if not relevance.ids:
            return self.score_without_relevant(judged=relevance.judged)
        keys = document_keys(outcome.sources[: self.depth], self.match)
        score: float = self.measure(find_hits(keys, relevance))
        return score

    def score_without_relevant(self, *, judged: bool) -> float | None:
        """The score where nothing is relevant, though something may have been judged."""
        return 0.0 if judged and self.nothing_relevant == "zero" else None

    def missing_reason(self, sample: EvalSample, outcome: QueryOutcome) -> str:
        """Why the score is None."""
        return "no gain above 0 in relevant_ids" if sample.relevant_ids else "no relevant_ids"

    @abstractmethod
    def measure(self, hits: HitView) -> Any:
        """The score from the hits in the top `depth` at least, where something is relevant: one number, or an array.

        Plain arithmetic on what the `HitView` gives serves both.
        """


class _CutoffMetric(RetrievalMetric):
    """A retrieval metric that has no meaning without a cutoff."""

    k: int

    def __init__(
        self,
        k: int,
        *,
        match: Match = "id",
        nothing_relevant: NothingRelevant = "missing",
        name: str | None = None,
    ) -> None:
        super().__init__(require_positive_int("k", k), match=match, nothing_relevant=nothing_relevant, name=name)


class PrecisionAtK(_CutoffMetric):
    """``precision@k``: hits in the top k, divided by k, also where fewer came back. See `RetrievalMetric`.

    >>> PrecisionAtK(5).name
    'precision@5'
    """

    label = "precision"

    def measure(self, hits: HitView) -> Any:
        """Hits in the top k / k."""
        return hits.found(self.k) / self.k


class RecallAtK(_CutoffMetric):
    """``recall@k``: hits in the top k, divided by the number of relevant documents. See `RetrievalMetric`.

    >>> sample = EvalSample("?", relevant_ids=["a", "b"])
    >>> RecallAtK(5).compute(sample, QueryOutcome("", [Document("x", ""), Document("a", "")], 1.0))
    0.5
    """

    label = "recall"

    def measure(self, hits: HitView) -> Any:
        """Hits in the top k / R."""
        return hits.found(self.k) / hits.relevant


class HitRateAtK(_CutoffMetric):
    """``hit_rate@k``: 1.0 if there is a hit in the top k, else 0.0. See `RetrievalMetric`."""

    label = "hit_rate"

    def measure(self, hits: HitView) -> Any:
        """1.0 for at least one hit in the top k, else 0.0."""
        return (hits.found(self.k) > 0) * 1.0


class F1AtK(_CutoffMetric):
    """``f1@k``: the harmonic mean of precision@k and recall@k, 0.0 where both are. See `RetrievalMetric`."""

    label = "f1"

    def measure(self, hits: HitView) -> Any:
        """2 * hits in the top k / (k + R)."""
        # 2PR/(P+R) with P = found/k and R = found/relevant, but with one rounding instead of four.
        return 2 * hits.found(self.k) / (self.k + hits.relevant)


class MRR(RetrievalMetric):
    """``mrr`` or ``mrr@k``: 1 / rank of the first hit, 0.0 where the top k have none. See `RetrievalMetric`.

    The score of one sample is its reciprocal rank; the mean over samples is the MRR.

    >>> MRR().name, MRR(10).name
    ('mrr', 'mrr@10')
    """

    label = "mrr"

    def measure(self, hits: HitView) -> Any:
        """1 / rank of the first hit in the top k, or 0.0."""
        return hits.reciprocal_rank(self.k)


class MAP(RetrievalMetric):
    """``map`` or ``map@k``: average precision of the top k. See `RetrievalMetric`.

    The divisor is the number of relevant documents, so that each one missed costs its share. The score of one
    sample is its average precision; the mean over samples is the MAP.
    """

    label = "map"

    def measure(self, hits: HitView) -> Any:
        """The precisions at the ranks of the hits in the top k, summed up, / R."""
        return hits.precision_sum(self.k) / hits.relevant


class NDCG(RetrievalMetric):
    """``ndcg`` or ``ndcg@k``: discounted cumulative gain of the top k over the largest there could be.

    The source at rank i adds gain / log2(i + 1). The largest sum is that of all relevant documents, retrieved or not,
    sorted by falling gain and cut at k. A ranking that attains it scores exactly 1.0.

    Args:
        k: How many sources from the top count; None means all.
        gain: "linear" counts a gain g as it is (trec_eval; Järvelin and Kekäläinen 2002). "exponential" counts
            2**g - 1 (Burges 2005) and is named ``ndcg_exp`` or ``ndcg_exp@k``; for gains of 0 and 1 the two agree.
        match: See `RetrievalMetric`, as for the others.
        nothing_relevant: See there.
        name: See there.

    >>> NDCG(10).name, NDCG(gain="exponential").name
    ('ndcg@10', 'ndcg_exp')
    """

    label = "ndcg"

    def __init__(
        self,
        k: int | None = None,
        *,
        gain: Gain = "linear",
        match: Match = "id",
        nothing_relevant: NothingRelevant = "missing",
        name: str | None = None,
    ) -> None:
        if gain not in ("linear", "exponential"):
            raise ConfigurationError(f"gain must be 'linear' or 'exponential', not {gain!r}")
        if gain == "exponential":
            self.label = "ndcg_exp"
        super().__init__(k, match=match, nothing_relevant=nothing_relevant, name=name)
        self.gain = gain

    def measure(self, hits: HitView) -> Any:
        """Gain attained in the top k / gain attainable there, both discounted by rank."""
        return hits.ndcg(self.k, self.gain)


class RPrecision(RetrievalMetric):
    """``r_precision``: hits in the top R, divided by R, the number of relevant documents. See `RetrievalMetric`."""

    label = "r_precision"

    def __init__(
        self,
        *,
        match: Match = "id",
        nothing_relevant: NothingRelevant = "missing",
        name: str | None = None,
    ) -> None:
        super().__init__(match=match, nothing_relevant=nothing_relevant, name=name)

    def measure(self, hits: HitView) -> Any:
        """Hits in the top R / R."""
        return hits.found(hits.relevant) / hits.relevant
