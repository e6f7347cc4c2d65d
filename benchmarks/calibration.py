"""Judges' means against people's, and how near a third of the labels brings them: two sets of judged answers.

The folder holds ``ragchecker_meta`` (280 pairs of answers, compared by two people and by RAGChecker, -2 to 2) and
``wice`` (100 claims and their evidence, judged supported 1, partially 0.5 or not 0 by people and three models).

    python benchmarks/calibration.py PATH [--labelled 0.33] [--seed 0]
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastrag.benchmark.agreement import Coefficient, agreement
from fastrag.benchmark.calibration import calibrate
from fastrag.benchmark.statistics import Interval

SUPPORT = {"supported": 1.0, "partially_supported": 0.5, "not_supported": 0.0}
WICE_MODELS = ("gpt-3.5-turbo-0613", "gpt-4-0613", "t5-3b-anli-wice")
ROW = "{:34} {:>6} {:>6} {:>22} {:>22} {:>6}"


def records(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path) as lines:
        yield from map(json.loads, lines)


def ragchecker(folder: Path) -> Iterator[tuple[str, dict[str, float], dict[str, float], list[float]]]:
    people = {row["id"]: row["human"] for row in records(folder / "labels.jsonl.gz")}
    with gzip.open(folder / "raw" / "baseline_ragchecker.json.gz") as file:
        pairs = json.load(file)
    for what in ("correctness", "completeness", "overall"):
        scores = [[pair[model]["ragchecker"][f"{what}_label"] for model in ("model1", "model2")] for pair in pairs]
        # The difference of two scores from 0 to 1, on the people's scale from -2 to 2.
        judged = {item: 2 * (second - first) for item, (first, second) in zip(people, scores, strict=True)}
        labels = {item: statistics.fmean(human[what]) for item, human in people.items()}
        yield f"ragchecker, {what}", judged, labels, [-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2]


def wice(folder: Path) -> Iterator[tuple[str, dict[str, float], dict[str, float], list[float]]]:
    truth: dict[str, float] = {}
    for row in records(folder / "labels.jsonl.gz"):
        # Several rows a claim, one for each set of evidence: the best supported one counts.
        label = SUPPORT[row["human"]["support"]]
        truth[row["claim_id"]] = max(label, truth.get(row["claim_id"], label))
    for model in WICE_MODELS:
        judged = json.loads((folder / "raw" / f"model_scores.{model}.claim.test.json").read_text(encoding="utf-8"))
        yield f"wice, {model}", judged, {claim: truth[claim] for claim in judged}, [0, 0.5, 1]


def shown(value: float, interval: Interval | None) -> str:
    return f"{value:6.3f} {interval.low:6.3f}..{interval.high:6.3f}" if interval else f"{value:6.3f}"


def shown_coefficient(coefficient: Coefficient) -> str:
    return "-" if coefficient.value is None else shown(coefficient.value, coefficient.interval)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labelled", type=float, default=0.33, help="share of the items whose labels are used")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sets = [*ragchecker(options.folder / "ragchecker_meta"), *wice(options.folder / "wice")]

    print("Means of all items by people and by the judge; then by some labels alone, and by judge and labels together")
    print(ROW.format("", "people", "judge", "labels alone", "corrected", "weight"))
    for name, judged, labels, _ in sets:
        drawn = random.Random(options.seed).sample(sorted(labels), round(options.labelled * len(labels)))
        found = calibrate(judged, {item: labels[item] for item in drawn}, resamples=0)
        alone = shown(found.human_mean, found.human_interval)
        corrected = shown(found.corrected_mean, found.corrected_interval)
        everybody = statistics.fmean(labels.values())
        figures = f"{everybody:.3f}", f"{found.judged_mean:.3f}", alone, corrected, f"{found.judge_weight:.2f}"
        print(ROW.format(f"{name} ({found.labelled}/{len(judged)})", *figures))

    print("\nAgreement of judge and people over all items")
    print(f"{'':34} {'kappa':>22} {'weighted kappa':>22} {'alpha':>22}")
    for name, judged, labels, categories in sets:
        pairs = list(judged.values()), [labels[item] for item in judged]
        found_agreement = agreement(*pairs, categories=categories, seed=options.seed)
        coefficients = found_agreement.kappa, found_agreement.weighted_kappa, found_agreement.alpha
        print(f"{name:34}", *(f"{shown_coefficient(coefficient):>22}" for coefficient in coefficients))


if __name__ == "__main__":
    main()
