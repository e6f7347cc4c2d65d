"""The mean that people would have given, against the values of ppi-python 0.2.3."""

import gzip
import json
import math
import random
import statistics

import pytest

from fastrag.benchmark.calibration import calibrate
from fastrag.errors import ConfigurationError

TRUE = [i * 37 % 11 / 10 for i in range(20)]
JUDGED = [min(1, (i * 37 % 11) / 10 * 0.7 + 0.2 + (i * 7 % 5) / 50) for i in range(20)]
REST = [(i * 29 % 17) / 16 for i in range(100)]
SUPPORT = {"supported": 1.0, "partially_supported": 0.5, "not_supported": 0.0}


def calibrated(true, judged, rest, **options):
    return calibrate([*judged, *rest], [*true, *[None] * len(rest)], **{"resamples": 0} | options)


@pytest.mark.parametrize(
    ("power_tuned", "mean", "low", "high"),
    [
        (False, 0.410625, 0.3349143547411467, 0.4863356452588533),
        (True, 0.4390715686795068, 0.35279461171522664, 0.525348525643787),
    ],
)
def test_estimate_and_interval(power_tuned, mean, low, high):
    found = calibrated(TRUE, JUDGED, REST, power_tuned=power_tuned)
    assert found.corrected_mean == pytest.approx(mean, abs=1e-12)
    assert (found.corrected_interval.low, found.corrected_interval.high) == pytest.approx((low, high), abs=1e-12)
    assert (found.labelled, found.unlabelled, found.unjudged) == (20, 100, 0)


def test_the_interval_holds_the_true_mean_as_often_as_it_says_though_the_judge_is_off():
    source, held, narrower = random.Random(5), 0, 0
    for _ in range(300):
        truth = [float(source.random() < 0.6) for _ in range(400)]
        judged = [0.25 + 0.7 * label + source.gauss(0, 0.1) for label in truth]
        found = calibrated(truth[:80], judged[:80], judged[80:])
        held += found.corrected_interval.low <= 0.6 <= found.corrected_interval.high
        width = found.corrected_interval.high - found.corrected_interval.low
        narrower += width < found.human_interval.high - found.human_interval.low
    assert 0.91 <= held / 300 <= 0.99
    assert narrower == 300


def test_a_judge_that_says_nothing_is_not_leaned_on():
    found = calibrated([0, 1, 0, 1, 1, 0], [0.5] * 6, [0.5] * 50)
    assert found.judge_weight == 0
    assert found.corrected_mean == found.human_mean == 0.5
    contrary = calibrated([0, 1, 0, 1, 1, 0], [1, 0, 1, 0, 0, 1], [0, 1] * 25)
    assert contrary.judge_weight == 0


def test_where_everything_is_labelled_the_labels_are_the_estimate():
    found = calibrated(TRUE, JUDGED, [])
    assert found.corrected_mean == pytest.approx(statistics.fmean(TRUE))
    assert found.judge_weight == 0


def test_items_pair_by_id_and_what_was_not_judged_is_counted():
    judged = {"a": 0.9, "b": 0.5, "c": None, "d": 0.7, "e": 0.8}
    found = calibrate(judged, {"d": 0.5, "a": 0.7, "c": 0.1}, resamples=0, power_tuned=False)
    assert (found.labelled, found.unlabelled, found.unjudged) == (2, 2, 1)
    assert found.bias == pytest.approx(0.2)
    assert found.corrected_mean == pytest.approx(0.65 - 0.2)


def test_the_order_of_items_does_not_matter():
    judged = dict(enumerate([*JUDGED, *REST]))
    labels = dict(enumerate(TRUE))
    there = calibrate(judged, labels, resamples=0)
    back = calibrate(dict(reversed(judged.items())), dict(reversed(labels.items())), resamples=0)
    assert there.corrected_mean == pytest.approx(back.corrected_mean, abs=1e-12)
    assert there.agreement.alpha.value == pytest.approx(back.agreement.alpha.value, abs=1e-12)


@pytest.mark.parametrize(
    ("judged", "labels", "message"),
    [
        ([0.5, 0.5], [1.0, None], "there are 1 among 2 judged"),
        ([0.5, None], [1.0, 1.0], "there are 1 among"),
        ([0.5, 0.5], [1.0], "2 judged items and 1 labels"),
        ({"a": 0.5, "b": 1.0}, {"a": 1, "z": 0}, "1 labels are of items that are not judged, as 'z'"),
        ({"a": 0.5}, [1.0], "both be mappings"),
        ([0.5, math.nan], [1.0, 1.0], "score of 1 must be a finite"),
        ([0.5, 0.5], [1.0, "good"], "label of 1 must be a finite number, not 'good'"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(judged, labels, message):
    with pytest.raises(ConfigurationError, match=message):
        calibrate(judged, labels)


def wice(shared, model):
    """Claim -> a model's score of how far it is supported, and claim -> what people said."""
    folder = shared / "data" / "wice"
    truth = {}
    with gzip.open(folder / "labels.jsonl.gz") as lines:
        for row in map(json.loads, lines):
            label = SUPPORT[row["human"]["support"]]
            truth[row["claim_id"]] = max(label, truth.get(row["claim_id"], label))
    scores = json.loads((folder / "raw" / f"model_scores.{model}.claim.test.json").read_text())
    return scores, {claim: truth[claim] for claim in scores}


@pytest.mark.shared
@pytest.mark.parametrize(
    ("model", "kappa", "weighted_kappa", "alpha"),
    [
        ("gpt-3.5-turbo-0613", 0.096757, 0.276474, 0.165777),
        ("gpt-4-0613", 0.433376, 0.549680, 0.550332),
        ("t5-3b-anli-wice", 0.148372, 0.401277, 0.491051),
    ],
)
def test_models_that_judge_support_of_claims(shared, model, kappa, weighted_kappa, alpha):
    judged, truth = wice(shared, model)
    found = calibrate(judged, truth, categories=[0, 0.5, 1], resamples=200).agreement
    values = [found.kappa.value, found.weighted_kappa.value, found.alpha.value]
    assert values == pytest.approx([kappa, weighted_kappa, alpha], abs=1e-6)
    assert found.kappa.interval.low < kappa < found.kappa.interval.high


@pytest.mark.shared
@pytest.mark.parametrize(
    ("model", "tuned", "plain"),
    [
        (
            "gpt-3.5-turbo-0613",
            (0.5781228227526882, 0.5013792971015334, 0.6548663484038431),
            (0.6383989145183174, 0.5078828776480212, 0.7689149513886137),
        ),
        (
            "gpt-4-0613",
            (0.5845164616741141, 0.5119789367346391, 0.657053986613589),
            (0.6567164179104478, 0.5421098174401126, 0.771323018380783),
        ),
        (
            "t5-3b-anli-wice",
            (0.5890214182542914, 0.5184295310206575, 0.6596133054879254),
            (0.6237306522971254, 0.5441720433691366, 0.7032892612251143),
        ),
    ],
)
def test_a_third_of_the_labels_corrects_the_judged_mean(shared, model, tuned, plain):
    judged, truth = wice(shared, model)
    some = dict(list(truth.items())[:33])
    everybody = statistics.fmean(truth.values())
    for expected, power_tuned in ((tuned, True), (plain, False)):
        found = calibrate(judged, some, power_tuned=power_tuned, resamples=0)
        interval = found.corrected_interval
        assert (found.corrected_mean, interval.low, interval.high) == pytest.approx(expected, abs=1e-12)
        assert interval.low < everybody < interval.high
    # 0.585 is what people say; the judges say 0.835, 0.62 and 0.40.
    assert abs(calibrate(judged, some, resamples=0).corrected_mean - everybody) < abs(
        statistics.fmean(judged.values()) - everybody
    )


def corrected(judged, truth, labelled, draws=200):
    """Of so many random draws of items to label: how often the interval holds what people say of all, how far off the
    corrected mean is at most times (the median), and how far off the judge is.
    """
    items, source, everybody = list(truth), random.Random(4), statistics.fmean(truth.values())
    held, off = 0, []
    for _ in range(draws):
        labels = {item: truth[item] for item in source.sample(items, labelled)}
        found = calibrate(judged, labels, resamples=0)
        held += found.corrected_interval.low <= everybody <= found.corrected_interval.high
        off.append(abs(found.corrected_mean - everybody))
    return held / draws, statistics.median(off), abs(found.judged_mean - everybody)


@pytest.mark.shared
@pytest.mark.parametrize("model", ["gpt-3.5-turbo-0613", "gpt-4-0613", "t5-3b-anli-wice"])
def test_whichever_claims_people_label_the_mean_comes_near_theirs(shared, model):
    judged, truth = wice(shared, model)
    held, off, judge_off = corrected(judged, truth, labelled=33)
    assert held >= 0.95
    assert off < 0.04
    assert off < judge_off


@pytest.mark.shared
def test_whichever_pairs_of_answers_people_label_the_mean_comes_near_theirs(shared):
    judged, people = ragchecker(shared)
    held, off, _ = corrected(dict(enumerate(judged)), dict(enumerate(people)), labelled=92)
    assert held >= 0.95
    assert off < 0.06  # of a scale from -2 to 2


def ragchecker(shared):
    """RAGChecker's verdict on each of 280 pairs of answers, and what two people say of them, from -2 to 2."""
    folder = shared / "data" / "ragchecker_meta"
    with gzip.open(folder / "labels.jsonl.gz") as lines:
        people = [statistics.fmean(json.loads(line)["human"]["overall"]) for line in lines]
    with gzip.open(folder / "raw" / "baseline_ragchecker.json.gz") as file:
        pairs = json.load(file)
    judged = [
        2 * (pair["model2"]["ragchecker"]["overall_label"] - pair["model1"]["ragchecker"]["overall_label"])
        for pair in pairs
    ]
    return judged, people


@pytest.mark.shared
def test_a_judge_of_pairs_of_answers(shared):
    judged, people = ragchecker(shared)
    drawn = set(random.Random(0).sample(range(280), 92))
    labels = [label if item in drawn else None for item, label in enumerate(people)]
    found = calibrate(judged, labels, resamples=200)
    assert found.corrected_interval.low < statistics.fmean(people) < found.corrected_interval.high
    # The judge goes with the people (Pearson 0.67 over all pairs), so leaning on it narrows what the labels say alone.
    assert found.judge_weight > 0.5
    alone = found.human_interval.high - found.human_interval.low
    assert found.corrected_interval.high - found.corrected_interval.low < 0.9 * alone
    assert 0.3 < found.agreement.alpha.value < 0.7
    assert found.agreement.kappa.value is None
