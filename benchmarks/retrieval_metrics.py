"""How fast fastrag scores ranked lists of ids, next to pytrec_eval, and whether both come to the same numbers.

    python benchmarks/retrieval_metrics.py [--json] [--rounds N] [--judged N]

nDCG@10, recall@100, MRR@10 and MAP of synthetic rankings. Both start from the same ranked lists and qrels, in one
process, taking turns; what counts is CPU time, the best of all rounds, with the garbage collector run before each and
off during it. pytrec_eval's time includes turning each list into the dict of scores it takes, by the quickest way
there is. It has no MRR@10: it computes the reciprocal rank over the whole list instead, which is cut off afterwards,
untimed. "Qrels prepared" leaves out what both can do once for many runs: building pytrec_eval's RelevanceEvaluator,
and fastrag's prepare_relevance.

Needs: pip install 'fastrag[benchmarks]'
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import platform
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import pytrec_eval

from fastrag.benchmark.metrics import MAP, MRR, NDCG, RecallAtK, evaluate_rankings, prepare_relevance

METRICS = [NDCG(10), RecallAtK(100), MRR(10), MAP()]
MEASURES = {"ndcg_cut.10", "recall.100", "recip_rank", "map"}
SHAPES = [(10_000, 100), (1_000, 1_000)]
TOLERANCE = 1e-12

Rankings = dict[str, list[str]]
Qrels = dict[str, dict[str, int]]


def make_workload(queries: int, depth: int, judged: int, seed: int = 0) -> tuple[Rankings, Qrels]:
    """Rankings without repeats, and qrels of which about half were retrieved, more often near the top."""
    rng = random.Random(seed)
    rankings, qrels = {}, {}
    for number in range(queries):
        ids = [f"doc-{i:07d}" for i in rng.sample(range(10_000_000), depth)]
        at = {min(int(rng.paretovariate(0.5)), depth) - 1 for _ in range(judged - judged // 2)}
        seen = [ids[i] for i in at] + [f"missed-{i}" for i in range(judged - len(at))]
        # Joined anew: ids read from two files are equal texts, but not the same objects.
        qrels[f"q{number}"] = {"".join(list(doc_id)): rng.choice((0, 1, 1, 1, 2, 3)) for doc_id in seen}
        rankings[f"q{number}"] = ids
    return rankings, qrels


def score_with_fastrag(rankings: Rankings, qrels: dict[str, Any]) -> dict[str, list[float | None]]:
    """From the lists to the numbers; the qrels may be prepared."""
    return evaluate_rankings(rankings, qrels, METRICS).scores


def score_with_pytrec_eval(rankings: Rankings, evaluator: pytrec_eval.RelevanceEvaluator) -> dict[str, Any]:
    """Lists to dicts of falling scores, then the numbers."""
    falling = [float(-rank) for rank in range(max(map(len, rankings.values())))]
    return evaluator.evaluate({query: dict(zip(ids, falling)) for query, ids in rankings.items()})  # noqa: B905


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of one call, the collector kept out."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        work()
        return time.process_time() - start
    finally:
        gc.enable()


def largest_difference(rankings: Rankings, qrels: Qrels) -> float:
    """The largest difference between the two in any score of any query; queries with nothing relevant are left out."""
    ours = score_with_fastrag(rankings, qrels)
    theirs = score_with_pytrec_eval(rankings, pytrec_eval.RelevanceEvaluator(qrels, MEASURES))
    largest = 0.0
    for position, query in enumerate(qrels):
        if ours["map"][position] is None:
            continue
        scores = theirs[query]
        reciprocal_rank = scores["recip_rank"] if scores["recip_rank"] >= 1 / 10 else 0.0
        expected = {
            "ndcg@10": scores["ndcg_cut_10"],
            "recall@100": scores["recall_100"],
            "mrr@10": reciprocal_rank,
            "map": scores["map"],
        }
        largest = max(largest, *(abs(ours[name][position] - value) for name, value in expected.items()))
    return largest


def measure(queries: int, depth: int, judged: int, rounds: int) -> dict[str, Any]:
    """One shape: the best times of both, their ratios, and the largest difference."""
    rankings, qrels = make_workload(queries, depth, judged)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, MEASURES)
    prepared = {query: prepare_relevance(relevant) for query, relevant in qrels.items()}
    contestants: dict[str, Callable[[], object]] = {
        "fastrag": lambda: score_with_fastrag(rankings, qrels),
        "pytrec_eval": lambda: score_with_pytrec_eval(rankings, pytrec_eval.RelevanceEvaluator(qrels, MEASURES)),
        "fastrag, qrels prepared": lambda: score_with_fastrag(rankings, prepared),
        "pytrec_eval, qrels prepared": lambda: score_with_pytrec_eval(rankings, evaluator),
    }
    best = dict.fromkeys(contestants, math.inf)
    for _ in range(rounds):
        for name, work in contestants.items():
            best[name] = min(best[name], cpu_seconds(work))
    return {
        "queries": queries,
        "depth": depth,
        "judged_per_query": judged,
        "rounds": rounds,
        "cpu_s": best,
        "ratio": best["pytrec_eval"] / best["fastrag"],
        "ratio_qrels_prepared": best["pytrec_eval, qrels prepared"] / best["fastrag, qrels prepared"],
        "largest_difference": largest_difference(rankings, qrels),
    }


def main() -> int:
    """Measure both shapes; 1 if the two disagree."""
    parser = argparse.ArgumentParser(description="fastrag's retrieval metrics next to pytrec_eval's.")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    parser.add_argument("--rounds", type=int, default=7, help="rounds to take the best of (default 7)")
    parser.add_argument("--judged", type=int, default=10, help="judged documents per query (default 10)")
    arguments = parser.parse_args()
    results = [measure(*shape, arguments.judged, arguments.rounds) for shape in SHAPES]
    if arguments.json:
        print(json.dumps({"python": platform.python_version(), "results": results}, indent=2))
    else:
        for result in results:
            cpu = result["cpu_s"]
            print(
                f"{result['queries']:,} x {result['depth']:,}: fastrag {cpu['fastrag']:.3f} s, "
                f"pytrec_eval {cpu['pytrec_eval']:.3f} s: {result['ratio']:.1f} times as fast "
                f"({result['ratio_qrels_prepared']:.1f} times with the qrels prepared); "
                f"largest difference {result['largest_difference']:.1e}"
            )
    agree = all(result["largest_difference"] <= TOLERANCE for result in results)
    if not agree:
        print(f"the two disagree by more than {TOLERANCE}", file=sys.stderr)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
