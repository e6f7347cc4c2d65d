"""What a run will take, held against what it took."""

import json
from dataclasses import replace

import pytest

from fastrag import Document, OpenAICompatibleLLM
from fastrag.benchmark import Benchmark, EvalSample, Metric
from fastrag.benchmark.judging.judge import Judge
from fastrag.benchmark.metrics import CostUsd, ExactMatch, RecallAtK
from fastrag.benchmark.metrics.judged import AnswerCorrectness, AnswerRelevance, ContextRelevance, Faithfulness
from fastrag.errors import ConfigurationError
from fastrag.query import QueryResult
from fastrag.testing import OpenAICompatibleServer, ScriptedLLM

CHEAP = CostUsd(input_usd_per_million_tokens=1, output_usd_per_million_tokens=3)
SOURCES = ["The Nile is a long river in Africa that flows to the north. " * 5] * 3


class Pipeline:
    async def query(self, question):
        return QueryResult("It is a long river.", [Document(str(i), text) for i, text in enumerate(SOURCES)], 300, 6)


class Finder:
    async def retrieve(self, question):
        return []


def answer(messages):
    """A judge's reply of the form that is asked for, to each of the metrics here."""
    system = messages[0]["content"]
    if '"claims"' in system:
        return json.dumps({"claims": ["The Nile is a river.", "The Nile is long."]})
    if '"findings"' in system:
        finding = {"reason": "It says so.", "verdict": "supported", "sources": [1]}
        return json.dumps({"findings": [{"number": number, **finding} for number in (1, 2)]})
    named = system[system.rindex("one of ") :].split("'")[1]
    return json.dumps({"reason": "So it is.", "verdict": named})


def questions(count):
    return [EvalSample(f"What is the Nile, for the time {i}?", reference_answer="A long river.") for i in range(count)]


async def test_it_holds_what_a_run_takes():
    async with OpenAICompatibleServer(answer) as server:
        judge = Judge(OpenAICompatibleLLM("m", base_url=server.base_url), cache=False, votes=2, price=CHEAP)
        metrics = [AnswerRelevance(judge), Faithfulness(judge), AnswerCorrectness(judge), ContextRelevance(judge)]
        benchmark = Benchmark(Pipeline(), questions(5), metrics, price=CHEAP, repeats=2)
        # This server counts words, of which each has some six characters with its space.
        known = {"sources": 3, "source_characters": len(SOURCES[0]), "claims": 2, "answer_characters": (10, 30)}
        estimate = benchmark.estimate(**known, characters_per_token=(4, 8), reply_characters=(20, 400))
        assert benchmark.spent.judges.calls == len(server.requests) == 0
        result = await benchmark.run("r")
        assert result.status.successful == 10
        exact = {"answer_relevance": 1, "faithfulness": 2, "answer_correctness": 4, "context_relevance": 3}
        assert {name: part.calls for name, part in estimate.judges.items()} == {
            name: (20 * calls, 20 * calls) for name, calls in exact.items()
        }
        assert len(server.requests) == benchmark.spent.judges.calls == 20 * sum(exact.values())
    for field in ("input_tokens", "output_tokens", "cost_usd"):
        least = sum(getattr(part, field)[0] for part in estimate.judges.values())
        most = sum(getattr(part, field)[1] for part in estimate.judges.values())
        assert least <= getattr(benchmark.spent.judges, field) <= most
    target = estimate.target
    assert target.calls == (10, 10)
    assert target.input_tokens[0] <= benchmark.spent.target.input_tokens <= target.input_tokens[1]
    assert target.cost_usd[0] <= benchmark.spent.target.cost_usd <= target.cost_usd[1]
    assert estimate.cost_usd[0] <= benchmark.spent.target.cost_usd + benchmark.spent.judges.cost_usd
    assert "faithfulness" in str(estimate)


def test_by_hand():
    """10 characters a token; the pipeline reads 100 + 40 + 2 x 300 characters and writes 50."""
    samples = [EvalSample("q" * 40)]
    estimate = Benchmark(
        Pipeline(), samples, [AnswerRelevance(Judge(ScriptedLLM("x"), price=CHEAP))], price=CHEAP
    ).estimate(
        instruction_characters=100,
        sources=2,
        source_characters=300,
        answer_characters=50,
        reply_characters=200,
        characters_per_token=10,
    )
    assert estimate.target.input_tokens == (74, 74)
    assert estimate.target.output_tokens == (5, 5)
    assert estimate.target.cost_usd == pytest.approx((89e-6, 89e-6))
    judge = estimate.judges["answer_relevance"]
    # From the question alone to everything there is.
    assert (judge.calls, judge.input_tokens, judge.output_tokens) == ((1, 1), (14, 79), (20, 20))
    assert judge.cost_usd == pytest.approx((74e-6, 139e-6))
    assert estimate.cost_usd == pytest.approx((163e-6, 228e-6))


def test_what_is_not_known_is_none_and_says_why():
    metrics = [RecallAtK(1), AnswerRelevance(ScriptedLLM("x"))]
    samples = [EvalSample("q", ["a"])]
    estimate = Benchmark(Pipeline(), samples, metrics).estimate()
    assert estimate.target.cost_usd is estimate.judges["answer_relevance"].cost_usd is estimate.cost_usd is None
    assert "give Judge(..., price=CostUsd(...))" in estimate.judges["answer_relevance"].unknown
    assert "give Benchmark(..., price=CostUsd(...))" in str(estimate)
    found = Benchmark(Finder(), samples, [RecallAtK(1)]).estimate()
    assert (found.target.calls, found.target.input_tokens, found.target.cost_usd) == ((1, 1), None, None)
    assert "only retrieves" in found.target.unknown


def test_samples_that_cannot_be_judged_cost_nothing():
    samples = [*questions(3), EvalSample("No reference?")]
    estimate = Benchmark(Pipeline(), samples, [AnswerCorrectness(ScriptedLLM("x"))], max_attempts=3).estimate(claims=2)
    assert estimate.judges["answer_correctness"].calls == (12, 12)
    assert estimate.target.calls == (4, 12)


def test_a_metric_that_nobody_knows_is_named():
    class Own(Metric):
        name = "own"

        async def score(self, sample, outcome):
            return 1.0

    estimate = Benchmark(Pipeline(), questions(1), [Own(), ExactMatch()]).estimate()
    assert "own may ask a model; nobody knows how often." in estimate.notes
    assert not any("exact_match" in note for note in estimate.notes)


def test_more_never_costs_less():
    benchmark = Benchmark(Pipeline(), questions(2), [Faithfulness(Judge(ScriptedLLM("x"), price=CHEAP))], price=CHEAP)
    few = benchmark.estimate()
    assert few.assumed == replace(few.assumed, sources=(1, 10))
    more = benchmark.estimate(sources=(1, 50), claims=(1, 100))
    assert more.judges["faithfulness"].calls[1] > few.judges["faithfulness"].calls[1]
    assert more.cost_usd[1] > few.cost_usd[1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"sources": -1},
        {"sources": 1e300},
        {"claims": (3, 2)},
        {"claims": "3"},
        {"claims": (1, 2, 3)},
        {"characters_per_token": 0},
        {"characters_per_token": 1e-300},
    ],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        Benchmark(Pipeline(), questions(1), [ExactMatch()]).estimate(**wrong)


@pytest.mark.parametrize(
    ("price", "unknown"),
    [
        (lambda *_: 1 / 0, "the price raised ZeroDivisionError"),
        (lambda *_: "much", "the price raised ValueError"),
        (lambda *_: float("nan"), "the price gave nan"),
        (lambda *_: -1.0, "the price gave -1.0"),
    ],
)
def test_a_price_that_fails_leaves_the_cost_unknown(price, unknown):
    metrics = [AnswerRelevance(Judge(ScriptedLLM("x"), cache=False, price=price))]
    estimate = Benchmark(Pipeline(), questions(2), metrics, price=CHEAP).estimate()
    judged = estimate.judges["answer_relevance"]
    assert (judged.calls, judged.cost_usd, estimate.cost_usd) == ((2, 2), None, None)
    assert judged.unknown.startswith(unknown)
    assert unknown in str(estimate)
