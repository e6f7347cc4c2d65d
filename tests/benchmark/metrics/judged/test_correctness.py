import pytest

from fastrag.benchmark.judging.opinions import Missing
from fastrag.benchmark.metrics.judged import AnswerCorrectness, ContextRecall
from fastrag.benchmark.samples import EvalSample
from fastrag.errors import ConfigurationError

PARTS = ("precision", "recall", "f1")


async def scores(reader, sample, outcome):
    return [await AnswerCorrectness(reader.judge, part).score(sample, outcome) for part in PARTS]


async def test_worked_by_hand(exact_reader, outcome_of):
    # Of the answer's four claims the reference has two; of the reference's five the answer has two.
    sample = EvalSample("?", reference_answer="f1\nf2\nno f3\nf5\nf6")
    outcome = outcome_of("f1\nf2\nf3\nf4", "a source is not read")
    assert await scores(exact_reader(), sample, outcome) == [0.5, 0.4, pytest.approx(2 * 0.5 * 0.4 / 0.9)]


async def test_verdicts_tell_whose_claim_it_is_and_what_became_of_it(exact_reader, outcome_of):
    sample = EvalSample("?", reference_answer="f1\nno f3\nf5")
    judgement = await AnswerCorrectness(exact_reader().judge).judge(sample, outcome_of("f1\nf3\nf4\nno f5"))
    claims = judgement.opinions[0].opinion.claims
    assert [(claim.text, claim.verdict) for claim in claims] == [
        ("f1", "correct"),
        ("f3", "contradicted"),
        ("f4", "not_in_reference"),
        ("no f5", "not_in_reference"),
        ("f1", "covered"),
        ("no f3", "missing"),
        ("f5", "denied"),
    ]
    assert {claim.sources for claim in claims} == {()}


async def test_the_three_parts_and_context_recall_share_their_prompts(exact_reader, outcome_of):
    reader = exact_reader()
    sample = EvalSample("?", reference_answer="f1\nf2")
    await scores(reader, sample, outcome_of("f1\nf3"))
    prompts = {prompt.messages for prompt in reader.llm.prompts}
    assert len(reader.llm.prompts) == 3 + 3 + 4
    assert len(prompts) == 4
    await ContextRecall(reader.judge).score(sample, outcome_of("", "f1"))
    # One more: the same claims of the same reference, but other sources.
    assert len({prompt.messages for prompt in reader.llm.prompts}) == 5


async def test_a_refusal_covers_nothing_and_has_no_precision(exact_reader, outcome_of):
    sample = EvalSample("?", reference_answer="f1\nf2")
    assert await scores(exact_reader(), sample, outcome_of("- That is not known.")) == [None, 0.0, 0.0]


async def test_a_wrong_answer_is_zero(exact_reader, outcome_of):
    assert await scores(exact_reader(), EvalSample("?", reference_answer="f1"), outcome_of("f2")) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    ("reference", "answer", "missing"),
    [
        (None, "f1", Missing("not_applicable", "no reference_answer")),
        (" ", "f1", Missing("not_applicable", "the reference_answer is empty")),
        ("- Unknown.", "f1", Missing("not_applicable", "the reference_answer makes no claims")),
        ("f1", "", Missing("not_measured", "the answer is empty")),
    ],
)
async def test_where_there_is_nothing_to_measure(exact_reader, outcome_of, part, reference, answer, missing):
    metric = AnswerCorrectness(exact_reader().judge, part)
    judgement = await metric.judge(EvalSample("?", reference_answer=reference), outcome_of(answer))
    assert (judgement.score, judgement.missing) == (None, missing)


def test_names(exact_reader):
    judge = exact_reader().judge
    assert [AnswerCorrectness(judge, part=part).name for part in PARTS] == [
        "answer_correctness_precision",
        "answer_correctness_recall",
        "answer_correctness",
    ]
    assert AnswerCorrectness(judge).name == "answer_correctness"
    with pytest.raises(ConfigurationError, match="part must be one of 'f1', 'precision', 'recall', not 'f2'"):
        AnswerCorrectness(judge, "f2")
