import pytest

from fastrag.benchmark.judging.opinions import JudgedClaim, Missing
from fastrag.benchmark.metrics.judged import (
    ContextRecall,
    ContextUtilization,
    Hallucination,
    NoiseSensitivity,
    SelfKnowledge,
)
from fastrag.benchmark.samples import EvalSample
from fastrag.errors import ConfigurationError

ORIGINS = [
    NoiseSensitivity,
    lambda judge: NoiseSensitivity(judge, "relevant"),
    lambda judge: NoiseSensitivity(judge, "irrelevant"),
    Hallucination,
    SelfKnowledge,
]

SAMPLE = EvalSample("?", reference_answer="f1\nf2\nf3")
# Sources 1 and 3 are relevant, 2 is not. Of the answer, f1 and f2 are right and w1 to w4 wrong.
SOURCES = ("f1\nw1", "w1\nw2\nw3", "f3\nw3")
ANSWER = "f1\nf2\nw1\nw2\nw3\nw4"


async def test_context_recall_needs_no_answer(exact_reader, outcome_of):
    metric = ContextRecall(exact_reader().judge)
    judgement = await metric.judge(SAMPLE, outcome_of("", *SOURCES))
    assert judgement.score == pytest.approx(2 / 3)
    assert [(claim.verdict, claim.sources) for claim in judgement.opinions[0].opinion.claims] == [
        ("supported", (1,)),
        ("not_found", ()),
        ("supported", (3,)),
    ]
    assert not metric.needs_answer


async def test_context_utilization_blames_the_answer_only_for_what_the_sources_hold(exact_reader, outcome_of):
    judgement = await ContextUtilization(exact_reader().judge).judge(SAMPLE, outcome_of(ANSWER, *SOURCES))
    assert judgement.score == 0.5
    assert judgement.opinions[0].opinion.claims == (
        JudgedClaim("f1", "used", (1,), "read"),
        JudgedClaim("f2", "not_in_sources", (), "read"),
        JudgedClaim("f3", "not_used", (3,), "read"),
    )


async def test_context_utilization_where_retrieval_found_nothing(exact_reader, outcome_of):
    judgement = await ContextUtilization(exact_reader().judge).judge(SAMPLE, outcome_of("f1", "x", "no f1"))
    assert judgement.score is None
    assert judgement.missing == Missing("not_measured", "the sources support no claim of the reference_answer")
    assert {claim.verdict for claim in judgement.opinions[0].opinion.claims} == {"not_in_sources"}


@pytest.mark.parametrize("by_logprobs", [False, True])
async def test_where_each_claim_comes_from(exact_reader, outcome_of, by_logprobs):
    judge = exact_reader(by_logprobs=by_logprobs).judge
    outcome = outcome_of(ANSWER, *SOURCES)
    judgement = await NoiseSensitivity(judge, "relevant").judge(SAMPLE, outcome)
    verdicts = {claim.text: claim.verdict for claim in judgement.opinions[0].opinion.claims}
    assert verdicts == {
        "f1": "right_from_sources",
        "f2": "self_knowledge",
        "w1": "noise_of_relevant",
        "w2": "noise_of_irrelevant",
        "w3": "noise_of_relevant",
        "w4": "hallucination",
    }
    scores = [await metric(judge).score(SAMPLE, outcome) for metric in ORIGINS]
    assert scores == [pytest.approx(n / 6) for n in (3, 2, 1, 1, 1)]


async def test_a_source_that_contradicts_the_reference_is_not_relevant(exact_reader, outcome_of):
    outcome = outcome_of("w1", "no f1\nw1", "f2")
    assert await NoiseSensitivity(exact_reader().judge, "irrelevant").score(SAMPLE, outcome) == 1.0


async def test_what_needs_no_relevant_sources_does_not_pay_for_them(exact_reader, outcome_of):
    reader = exact_reader()
    for metric in (NoiseSensitivity, Hallucination, SelfKnowledge):
        await metric(reader.judge).score(SAMPLE, outcome_of(ANSWER, *SOURCES))
    assert len(reader.llm.prompts) == 12
    assert len({prompt.messages for prompt in reader.llm.prompts}) == 4


async def missing_of(metric, reader, reference, outcome):
    judgement = await metric(reader.judge).judge(EvalSample("?", reference_answer=reference), outcome)
    assert judgement.score is None
    return judgement.missing.kind, judgement.missing.detail.partition(",")[0]


@pytest.mark.parametrize("metric", [ContextRecall, ContextUtilization, *ORIGINS])
@pytest.mark.parametrize(
    ("reference", "sources", "missing"),
    [
        (None, ["f1"], ("not_applicable", "no reference_answer")),
        ("- Unknown.", ["f1"], ("not_applicable", "the reference_answer makes no claims")),
        ("f1" * 60_000, ["f1"], ("not_applicable", "the reference_answer has 120")),
        ("f1", [], ("not_measured", "no source was retrieved")),
    ],
)
async def test_without_reference_or_sources(exact_reader, outcome_of, metric, reference, sources, missing):
    assert await missing_of(metric, exact_reader(), reference, outcome_of("f1", *sources)) == missing


@pytest.mark.parametrize("metric", [ContextUtilization, *ORIGINS])
async def test_without_an_answer(exact_reader, outcome_of, metric):
    missing = ("not_measured", "the answer is empty")
    assert await missing_of(metric, exact_reader(), "f1", outcome_of("", "f1")) == missing


@pytest.mark.parametrize("metric", ORIGINS)
async def test_without_claims_of_the_answer(exact_reader, outcome_of, metric):
    missing = ("not_measured", "the answer makes no claims")
    assert await missing_of(metric, exact_reader(), "f1", outcome_of("- Unknown.", "f1")) == missing


async def test_a_refusal_uses_nothing_of_its_sources(exact_reader, outcome_of):
    assert await ContextUtilization(exact_reader().judge).score(SAMPLE, outcome_of("- Unknown.", *SOURCES)) == 0.0


def test_names_and_directions(exact_reader):
    judge = exact_reader().judge
    assert [(metric(judge).name, metric(judge).higher_is_better) for metric in ORIGINS] == [
        ("noise_sensitivity", False),
        ("noise_sensitivity_relevant", False),
        ("noise_sensitivity_irrelevant", False),
        ("hallucination", False),
        ("self_knowledge", False),
    ]
    assert ContextRecall(judge).higher_is_better
    assert ContextUtilization(judge).higher_is_better
    with pytest.raises(ConfigurationError, match="part must be one of 'all', 'relevant', 'irrelevant', not 'some'"):
        NoiseSensitivity(judge, "some")
