"""Agreement with RAGChecker (Ru et al. 2024): its published numbers, from its own verdicts where it tells them."""

import gzip
import json

import pytest

from fastrag.benchmark.judging.opinions import JudgedClaim
from fastrag.benchmark.metrics.judged.claims import share
from fastrag.benchmark.metrics.judged.context_use import origin, use_of, utilization
from fastrag.benchmark.metrics.judged.correctness import f1

# The two worked examples of the public repository amazon-science/RAGChecker (examples/checking_outputs.json). A letter
# stands for each claim: entailed, neutral, contradicted. Sources are a list with a word of letters for each claim.
NILE = {
    "answer_by_reference": "NEEEEEEEENC",
    "reference_by_answer": "EEEEEECNEENNNNNENNNNEE",
    "answer_by_sources": "NENN NNNN NNNN NNNN NNNN NNNN NENN NNNN ENNE NNNE NNNN",
    "reference_by_sources": "NENN NNNN NNNN ENNN EENN ENNE CCNN NNNN NNNN NNNN NNNN NNNN NNNN NNNN NNNN NNNN NNNN NNNN "
    "NNNN NNNN NNNN NENN",
    "published": {
        "precision": 0.7272727272727273,
        "recall": 0.5,
        "f1": 0.5925925925925926,
        "claim_recall": 0.22727272727272727,
        "faithfulness": 0.36363636363636365,
        "context_utilization": 1.0,
        "noise_sensitivity_in_relevant": 0.18181818181818182,
        "noise_sensitivity_in_irrelevant": 0.0,
        "hallucination": 0.09090909090909091,
        "self_knowledge": 0.5454545454545454,
    },
}
FLAG = {
    "answer_by_reference": "NEEEE",
    "reference_by_answer": "EECENEEE",
    "answer_by_sources": "NEN NEE CEE ENE CEE",
    "reference_by_sources": "NEN NEE NEN CEE NNE ENE EEE NEE",
    "published": {
        "precision": 0.8,
        "recall": 0.75,
        "f1": 0.7741935483870969,
        "claim_recall": 1.0,
        "faithfulness": 1.0,
        "context_utilization": 0.75,
        "noise_sensitivity_in_relevant": 0.2,
        "noise_sensitivity_in_irrelevant": 0.0,
        "hallucination": 0.0,
        "self_knowledge": 0.0,
    },
}


def by_text(letters):
    words = {"E": "supported", "C": "contradicted", "N": "not_found"}
    return [JudgedClaim(str(n), words[letter]) for n, letter in enumerate(letters)]


def by_sources(rows):
    claims = []
    for n, row in enumerate(rows.split()):
        supporting = tuple(number for number, letter in enumerate(row, start=1) if letter == "E")
        claims.append(JudgedClaim(str(n), "supported" if supporting else "not_found", supporting))
    return claims


@pytest.mark.parametrize("case", [NILE, FLAG], ids=["nile", "flag"])
def test_published_examples(case):
    answer_by_reference, reference_by_answer = (
        by_text(case["answer_by_reference"]),
        by_text(case["reference_by_answer"]),
    )
    answer_by_sources, reference_by_sources = (
        by_sources(case["answer_by_sources"]),
        by_sources(case["reference_by_sources"]),
    )
    relevant = {number for claim in reference_by_sources for number in claim.sources}
    origins = [origin(*pair, relevant) for pair in zip(answer_by_reference, answer_by_sources, strict=True)]
    used = [use_of(*pair) for pair in zip(reference_by_sources, reference_by_answer, strict=True)]
    precision, recall = share(answer_by_reference, "supported"), share(reference_by_answer, "supported")
    assert {
        "precision": precision,
        "recall": recall,
        "f1": f1(precision, recall),
        "claim_recall": share(reference_by_sources, "supported"),
        "faithfulness": share(answer_by_sources, "supported"),
        "context_utilization": utilization(used),
        "noise_sensitivity_in_relevant": share(origins, "noise_of_relevant"),
        "noise_sensitivity_in_irrelevant": share(origins, "noise_of_irrelevant"),
        "hallucination": share(origins, "hallucination"),
        "self_knowledge": share(origins, "self_knowledge"),
    } == pytest.approx(case["published"], abs=1e-12)


@pytest.mark.shared
def test_f1_of_its_meta_evaluation(shared):
    # Of 560 answers it tells precision ("correctness"), recall ("completeness") and F1 ("overall"), no verdicts.
    with gzip.open(shared / "data" / "ragchecker_meta" / "raw" / "baseline_ragchecker.json.gz", "rt") as file:
        pairs = json.load(file)
    answers = [pair[model]["ragchecker"] for pair in pairs for model in ("model1", "model2")]
    assert len(answers) == 560
    for told in answers:
        ours = f1(told["correctness_label"], told["completeness_label"])
        assert ours == pytest.approx(told["overall_label"], abs=1e-12)
