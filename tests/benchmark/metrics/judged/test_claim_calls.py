import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrag.benchmark.estimate import Assumptions
from fastrag.benchmark.metrics.judged import (
    AnswerCorrectness,
    Completeness,
    ContextRecall,
    ContextUtilization,
    Faithfulness,
    Hallucination,
    NoiseSensitivity,
)
from fastrag.benchmark.metrics.judged.checking import OVERLAP, PORTION_CHARACTERS
from fastrag.benchmark.metrics.judged.claim_calls import calls_of_checking, calls_of_extracting
from fastrag.benchmark.metrics.judged.claims import TEXT_PORTION_CHARACTERS
from fastrag.benchmark.metrics.judged.portions import cut, pack
from fastrag.benchmark.samples import EvalSample

METRICS = [
    AnswerCorrectness,
    lambda judge: AnswerCorrectness(judge, "precision"),
    lambda judge: AnswerCorrectness(judge, "recall"),
    Completeness,
    ContextRecall,
    ContextUtilization,
    Faithfulness,
    Hallucination,
    lambda judge: NoiseSensitivity(judge, "relevant"),
]


@pytest.mark.parametrize("by_logprobs", [False, True])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("count", [1, 30, 200])
async def test_what_is_asked_lies_within_the_estimate(exact_reader, outcome_of, metric, by_logprobs, count):
    facts = [f"fact {n} of so many, told at length, with all its whys and wherefores" for n in range(count)]
    answer, reference, sources = facts, facts[count // 2 :], [facts[n::7] for n in range(7)]
    answer, reference, *sources = ("\n".join(each) or "." for each in (answer, reference, *sources))
    reader = exact_reader(by_logprobs=by_logprobs)
    made = metric(reader.judge)
    sample = EvalSample("\n".join(facts), reference_answer=reference)
    lengths = [len(source) for source in sources]
    assumed = Assumptions(
        answer_characters=(len(answer), len(answer)),
        sources=(7, 7),
        source_characters=(min(lengths), max(lengths)),
        claims=(count - count // 2, count),
    )
    least, most = made.estimated_calls(sample, assumed)
    assert (await made.judge(sample, outcome_of(answer, *sources))).score is not None
    assert least <= len(reader.llm.prompts) <= most
    assert most <= 3 * len(reader.llm.prompts) + 3


@pytest.mark.parametrize("metric", METRICS)
def test_what_cannot_be_measured_costs_nothing(exact_reader, metric):
    made = metric(exact_reader().judge)
    if made.needs_reference_answer:
        assert made.estimated_calls(EvalSample("?", reference_answer=" "), Assumptions()) == (0, 0)
    sample = EvalSample("?", reference_answer="f1")
    nothing = Assumptions(answer_characters=(0, 500), sources=(0, 5))
    assert made.estimated_calls(sample, nothing)[0] == 0
    assert made.estimated_calls(sample, Assumptions())[0] >= 2


@given(st.integers(0, 100_000), st.sampled_from(["a", "a b. ", "\n"]))
@settings(max_examples=50)
def test_extracting(length, filling):
    text = (filling * length)[:length]
    least, most = calls_of_extracting((len(text.strip()), len(text)))
    assert least <= len(cut(text, TEXT_PORTION_CHARACTERS)) <= most


@given(st.lists(st.integers(1, 60_000), min_size=1, max_size=6), st.booleans())
@settings(max_examples=50)
def test_checking(lengths, apart):
    portions = len(pack(["x" * length for length in lengths], PORTION_CHARACTERS, OVERLAP, apart=apart))
    characters, sources = (min(lengths), max(lengths)), (len(lengths), len(lengths))
    least, most = calls_of_checking((1, 1), sources, characters, by_logprobs=False, apart=apart)
    assert least <= portions <= most
