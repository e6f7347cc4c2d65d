"""The overview: every run and metric, the rankings, and what is traded for quality."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fastrag.benchmark.judging.opinions import Judgements
from fastrag.benchmark.metric_evidence import PERCENTILES, MetricEvidence
from fastrag.benchmark.metrics.base import DistributionSummary
from fastrag.benchmark.ranking import rank
from fastrag.benchmark.report.evidence import NO_METRIC, evidence_of
from fastrag.benchmark.report.html.catalogue import Catalogue
from fastrag.benchmark.report.html.histograms import bin_ends, histogram
from fastrag.benchmark.report.json_values import plain
from fastrag.benchmark.report.spending import spending_line
from fastrag.benchmark.report.texts import number_format
from fastrag.benchmark.statistics import Interval
from fastrag.benchmark.trade_offs import trade_offs
from fastrag.errors import ConfigurationError

MIN_COVERAGE = 0.9
ALPHA = 0.05

# Of one metric; any two are tested against each other.
_MOST_RANKED = 300
_PRICES = ("latency_ms", "cost_usd")
_MOST_VERDICTS = 50
_OTHER_VERDICTS = "(others)"


def metrics_and_runs(catalogue: Catalogue) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """``Metric`` and ``Run`` of frontend/src/model.ts: both at once, for all runs' scores share their bins."""
    evidence = [evidence_of(result, list(result.summary)) for result in catalogue.results]
    by_run: list[dict[str, Any]] = [{} for _ in catalogue.results]
    metrics = []
    for name in catalogue.metrics:
        scores = [catalogue.scores(run, name) for run in range(len(catalogue.results))]
        ends = bin_ends(np.concatenate(scores), catalogue.ranges[name])
        summaries = [result.summary[name] for result in catalogue.having(name)]
        metrics.append(
            {
                "name": name,
                "higher_is_better": catalogue.higher_is_better[name],
                "format": _format(summaries),
                "range": plain(catalogue.ranges[name]),
                "bins": ends,
            }
        )
        for run, result in enumerate(catalogue.results):
            if name in result.summary:
                by_run[run][name] = _evidence(evidence[run][name], result.summary[name], histogram(scores[run], ends))
    return metrics, [_run(catalogue, run, found) for run, found in enumerate(by_run)]


def rankings(catalogue: Catalogue) -> list[dict[str, Any]]:
    """``Ranking`` of frontend/src/model.ts, one a metric."""
    return [_ranking(catalogue, name) for name in catalogue.metrics]


def all_trade_offs(catalogue: Catalogue) -> list[dict[str, Any]]:
    """``TradeOffs`` of frontend/src/model.ts: each metric of which more is better, against what it may cost."""
    found = []
    for name in catalogue.metrics:
        having = catalogue.having(name)
        if name in _PRICES or not catalogue.higher_is_better[name] or not 2 <= len(having) <= _MOST_RANKED:
            continue
        measured = {
            price: [one for one in having if price in one.summary and one.summary[price].count] for price in _PRICES
        }
        # A price that some runs do not know would put these out of the comparison: only without another one.
        prices = [price for price in _PRICES if len(measured[price]) == len(having)]
        prices = prices or [price for price in _PRICES if measured[price]][:1]
        if prices:
            found.append(_trade_offs(catalogue, [name, *prices]))
    return found


def interval_dict(interval: Interval | None) -> dict[str, float] | None:
    """``Interval`` of frontend/src/model.ts."""
    return None if interval is None else {"low": interval.low, "high": interval.high}


def _run(catalogue: Catalogue, position: int, metrics: dict[str, Any]) -> dict[str, Any]:
    run, result = catalogue.runs[position], catalogue.results[position]
    return {
        "label": result.name,
        "created_at": result.created_at.isoformat(),
        "duration_s": result.duration_s if math.isfinite(result.duration_s) else 0.0,
        "samples": len(result.samples),
        "status": plain(result.status),
        "partial": None if run.partial is None else {"ended": run.partial[0], "total": run.partial[1]},
        "spent": "" if run.spent is None else spending_line(run.spent),
        "metrics": metrics,
        "keeps_sources": run.outcomes is not None,
        "keeps_judgements": run.judgements is not None,
        "verdicts": {} if run.judgements is None else _verdicts(run.judgements),
    }


def _evidence(evidence: MetricEvidence, summary: DistributionSummary, counts: list[int]) -> dict[str, Any]:
    return {
        "mean": plain(evidence.mean),
        "interval": interval_dict(evidence.interval),
        "questions": evidence.questions,
        "coverage": plain(evidence.coverage),
        "bounds": plain(evidence.bounds),
        "percentiles": {str(p): interval_dict(evidence.percentiles.get(p)) for p in PERCENTILES},
        "summary": plain(summary),
        "histogram": counts,
    }


def _format(summaries: Sequence[DistributionSummary]) -> str:
    known = [summary for summary in summaries if summary.count > 0]
    extremes = _finite(end for summary in known for end in (summary.min, summary.max))
    typical = _finite(middle for summary in known for middle in (summary.mean, summary.median))
    return number_format(extremes or [0.0], typical or [0.0])


def _finite(values: Iterable[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


def _verdicts(judgements: Judgements) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {}
    for by_metric in judgements.by_position.values():
        for name, judgement in by_metric.items():
            count = counts.setdefault(name, Counter())
            for given in judgement.opinions:
                count.update(claim.verdict for claim in given.opinion.claims)
    return {name: _bounded(count) for name, count in counts.items() if count}


def _bounded(count: Counter[str]) -> dict[str, int]:
    """The most frequent, in falling order: verdicts are words of a metric's own, and may be as many as claims."""
    found = dict(count.most_common(_MOST_VERDICTS))
    if others := count.total() - sum(found.values()):
        found[_OTHER_VERDICTS] = found.get(_OTHER_VERDICTS, 0) + others
    return found


def _ranking(catalogue: Catalogue, metric: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "metric": metric,
        "problem": None,
        "questions": None,
        "min_coverage": MIN_COVERAGE,
        "alpha": ALPHA,
        "entries": [],
    }
    if (having := len(catalogue.having(metric))) > _MOST_RANKED:
        return found | {"problem": f"{having} runs are too many to rank in a report: give at most {_MOST_RANKED}"}
    try:
        ranking = rank(catalogue.results, metric, min_coverage=MIN_COVERAGE, alpha=ALPHA)
    except ConfigurationError as error:
        return found | {"problem": str(error)}
    number = {label: run for run, label in enumerate(catalogue.labels)}
    entries = [
        {
            "run": number[entry.result.name],
            "rank": entry.rank,
            "mean": plain(entry.mean),
            "interval": interval_dict(entry.interval),
            "coverage": plain(entry.coverage),
            "bounds": plain(entry.bounds),
            "beaten_by": list(entry.beaten_by),
            "reason": entry.reason,
        }
        for entry in ranking.entries
    ]
    absent = dict.fromkeys(("rank", "mean", "interval", "coverage", "bounds"))
    entries += [
        {"run": run, **absent, "beaten_by": [], "reason": NO_METRIC}
        for run, result in enumerate(catalogue.results)
        if metric not in result.summary
    ]
    return found | {"questions": ranking.questions, "entries": entries}


def _trade_offs(catalogue: Catalogue, metrics: list[str]) -> dict[str, Any]:
    try:
        found = trade_offs(catalogue.results, metrics, min_coverage=MIN_COVERAGE)
    except ConfigurationError as error:
        return {"metrics": metrics, "problem": str(error), "entries": []}
    entries = [
        {
            "run": run,
            "means": plain(one.means),
            "on_front": one.on_front,
            "dominated_by": list(one.dominated_by),
            "reason": one.reason,
        }
        for run, one in enumerate(found)
    ]
    return {"metrics": metrics, "problem": None, "entries": entries}
