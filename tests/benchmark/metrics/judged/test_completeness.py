import pytest

from fastrag.benchmark.judging.opinions import JudgedClaim, Missing
from fastrag.benchmark.metrics.judged import Completeness
from fastrag.benchmark.samples import EvalSample


@pytest.mark.parametrize("by_logprobs", [False, True])
async def test_share_of_answered_parts(exact_reader, outcome_of, by_logprobs):
    reader = exact_reader(by_logprobs=by_logprobs)
    judgement = await Completeness(reader.judge).judge(EvalSample("p1\np2\np3"), outcome_of("p1\nno p2\np3"))
    assert judgement.score == pytest.approx(2 / 3)
    reason = "chosen with probability 1.00" if by_logprobs else "read"
    assert judgement.opinions[0].opinion.claims == (
        JudgedClaim("p1", "answered", (), reason),
        JudgedClaim("p2", "not_answered", (), reason),
        JudgedClaim("p3", "answered", (), reason),
    )


async def test_all_answers_are_held_to_the_same_parts(exact_reader, outcome_of):
    reader = exact_reader()
    for answer in ("p1", "p2"):
        await Completeness(reader.judge).score(EvalSample("p1\np2", reference_answer="p2"), outcome_of(answer, "p2"))
    first, _, third, _ = (prompt.messages for prompt in reader.llm.prompts)
    assert first == third


async def test_a_long_answer_is_read_to_its_end(exact_reader, outcome_of):
    answer = "\n".join(["and so on"] * 6_000 + ["p2"])
    assert await Completeness(exact_reader().judge).score(EvalSample("p1\np2"), outcome_of(answer)) == 0.5


async def test_a_refusal_answers_nothing(exact_reader, outcome_of):
    assert await Completeness(exact_reader().judge).score(EvalSample("p1"), outcome_of("- Not known.")) == 0.0


@pytest.mark.parametrize(
    ("question", "answer", "missing"),
    [
        ("p1", " ", Missing("not_measured", "the answer is empty")),
        ("- Hello!", "Hello.", Missing("not_applicable", "the question asks for nothing")),
        (
            "p1" * 60_000,
            "p1",
            Missing("not_applicable", "the question has 120,000 characters, more than the 100,000 that are judged"),
        ),
    ],
)
async def test_where_there_is_nothing_to_measure(exact_reader, outcome_of, question, answer, missing):
    judgement = await Completeness(exact_reader().judge).judge(EvalSample(question), outcome_of(answer))
    assert (judgement.score, judgement.missing) == (None, missing)
