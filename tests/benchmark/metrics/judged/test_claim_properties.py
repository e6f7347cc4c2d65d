"""The formulas, over all small worlds of facts: what an answer, its reference and its sources say."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrag.benchmark.metrics.judged import (
    AnswerCorrectness,
    ContextRecall,
    ContextUtilization,
    Faithfulness,
    Hallucination,
    NoiseSensitivity,
    SelfKnowledge,
)
from fastrag.benchmark.metrics.judged.correctness import f1
from fastrag.benchmark.samples import EvalSample

FACTS = st.lists(st.integers(0, 6).map(lambda n: f"f{n}"), max_size=7)
WORLDS = st.tuples(FACTS, FACTS, st.lists(FACTS, max_size=4))

METRICS = {
    "faithfulness": Faithfulness,
    "precision": lambda judge: AnswerCorrectness(judge, "precision"),
    "recall": lambda judge: AnswerCorrectness(judge, "recall"),
    "f1": AnswerCorrectness,
    "context_recall": ContextRecall,
    "context_utilization": ContextUtilization,
    "noise": NoiseSensitivity,
    "noise_of_relevant": lambda judge: NoiseSensitivity(judge, "relevant"),
    "noise_of_irrelevant": lambda judge: NoiseSensitivity(judge, "irrelevant"),
    "hallucination": Hallucination,
    "self_knowledge": SelfKnowledge,
}


@pytest.fixture(scope="module")
def scores_of(exact_reader, outcome_of):
    async def scores(world, by_logprobs):
        answer, reference, sources = ("\n".join(world[0]), "\n".join(world[1]), ["\n".join(each) for each in world[2]])
        judge = exact_reader(by_logprobs=by_logprobs).judge
        sample, outcome = EvalSample("?", reference_answer=reference), outcome_of(answer, *sources)
        return {name: await metric(judge).score(sample, outcome) for name, metric in METRICS.items()}

    return lambda world, by_logprobs=False: asyncio.run(scores(world, by_logprobs))


def by_sets(world):
    """The formulas of the papers, over sets; None where the denominator is empty or a text needed is."""
    answer, reference, sources = set(world[0]), set(world[1]), [set(source) for source in world[2]]
    held = set().union(*sources)
    of_relevant = set().union(*(source for source in sources if source & reference))
    scores = dict.fromkeys(METRICS)

    def share(of, among):
        return len(of & among) / len(among)

    if answer and held:
        scores["faithfulness"] = share(held, answer)
    if answer and reference:
        both = len(answer & reference)
        scores |= {"precision": share(reference, answer), "recall": share(answer, reference)}
        scores["f1"] = 2 * both / (len(answer) + len(reference))
    if reference and held:
        scores["context_recall"] = share(held, reference)
    if answer and reference & held:
        scores["context_utilization"] = share(answer, reference & held)
    if answer and reference and held:
        wrong = answer - reference
        scores |= {
            "noise": share(wrong & held, answer),
            "noise_of_relevant": share(wrong & of_relevant, answer),
            "noise_of_irrelevant": share(wrong & held - of_relevant, answer),
            "hallucination": share(wrong - held, answer),
            "self_knowledge": share(answer & reference - held, answer),
        }
    return scores


@given(WORLDS, st.booleans())
def test_agrees_with_the_papers_formulas(scores_of, world, by_logprobs):
    scores = scores_of(world, by_logprobs)
    assert scores == {name: value if value is None else pytest.approx(value) for name, value in by_sets(world).items()}
    assert all(score is None or 0.0 <= score <= 1.0 for score in scores.values())


@given(WORLDS)
def test_every_claim_of_the_answer_comes_from_one_place(scores_of, world):
    scores = scores_of(world)
    if scores["noise"] is not None:
        assert scores["noise"] == pytest.approx(scores["noise_of_relevant"] + scores["noise_of_irrelevant"])
        assert scores["hallucination"] + scores["self_knowledge"] == pytest.approx(1 - scores["faithfulness"])
        assert scores["noise"] + scores["hallucination"] == pytest.approx(1 - scores["precision"])


@given(WORLDS, st.randoms(use_true_random=False))
def test_order_and_repetition_change_nothing(scores_of, world, random):
    def shuffled(items):
        return random.sample(items, len(items))

    def repeated(facts):
        return shuffled(facts + [fact.upper() + "." for fact in facts])

    answer, reference, sources = world
    before = scores_of(world)
    assert scores_of((shuffled(answer), shuffled(reference), shuffled(sources))) == before
    # Case and full stops are dropped by both; the reader compares exactly, so a repetition only may differ so.
    again = scores_of((answer + repeated(answer), reference + repeated(reference), sources + sources))
    assert again == before


@given(st.fractions(0, 1), st.fractions(0, 1))
def test_f1_lies_between_its_parts(precision, recall):
    score = f1(float(precision), float(recall))
    assert min(precision, recall) - 1e-12 <= score <= max(precision, recall) + 1e-12 or score == 0.0 == min(
        precision, recall
    )
    assert f1(float(recall), float(precision)) == pytest.approx(score)
