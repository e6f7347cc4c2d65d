"""Outcomes kept beside a result score again as they did in the run, and no metric can change them."""

import asyncio
import json
import math
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

from fastrag import Document
from fastrag.benchmark import Benchmark, EvalSample, Metric, StatusCounts, read_outcomes, rescore
from fastrag.benchmark.metrics import ExactMatch, LatencyMs, RecallAtK, TokenF1, TotalTokens
from fastrag.benchmark.metrics.computed import ComputedMetric
from fastrag.errors import ConfigurationError, ServiceUnavailableError
from fastrag.query import QueryResult


class Pipeline:
    calls = 0

    async def query(self, question):
        Pipeline.calls += 1
        number = int(question[1:])
        if number == 3:
            raise ValueError("no answer")
        sources = [Document(f"d{number}", f"text \ud800 {number}", None, {"score": 0.1 + number, "rank": 1})]
        return QueryResult(f"answer {number}", sources, number or None, 2)


class Finder:
    async def retrieve(self, question):
        return [Document("d1", "text", "uri-1"), Document("d2", "", None)]


def questions(count=6):
    return [EvalSample(f"q{i}", ["d1", "d2"], reference_answer=f"the answer {i}") for i in range(count)]


METRICS = [RecallAtK(1), TokenF1(), ExactMatch(), LatencyMs(), TotalTokens()]


async def kept(tmp_path, target=None, metrics=METRICS, samples=None, **options):
    path = tmp_path / "r.json"
    result = await Benchmark(target or Pipeline(), samples or questions(), metrics, **options).run(
        "r", path=path, keep_outcomes=True
    )
    return result, read_outcomes(tmp_path / "r.json.outcomes.jsonl")


@pytest.mark.parametrize("repeats", [1, 2])
async def test_the_same_metrics_give_the_same_numbers_without_a_call(tmp_path, repeats):
    result, outcomes = await kept(tmp_path, repeats=repeats)
    before = Pipeline.calls
    again = await rescore(outcomes, questions(), METRICS)
    assert Pipeline.calls == before
    assert replace(again, duration_s=result.duration_s) == result


async def test_a_retrievers_outcomes(tmp_path):
    result, outcomes = await kept(tmp_path, Finder(), [RecallAtK(1)])
    again = await rescore(outcomes, questions(), [RecallAtK(1), RecallAtK(5)], name="deeper")
    assert again.name == "deeper"
    assert again.summary["recall@1"] == result.summary["recall@1"]
    assert again.summary["recall@5"].mean == 1.0
    assert again.samples[0].answer is None
    with pytest.raises(ConfigurationError, match="exact_match needs an answer"):
        await rescore(outcomes, questions(), [ExactMatch()])


async def test_other_judgments(tmp_path):
    _, outcomes = await kept(tmp_path)
    samples = [EvalSample(f"q{i}", [f"d{i}"]) for i in range(6)]
    again = await rescore(outcomes, samples, [RecallAtK(1)])
    assert again.status == StatusCounts(5, 1, 0)
    assert again.summary["recall@1"].mean == 1.0


async def test_what_is_kept(tmp_path):
    _, outcomes = await kept(tmp_path)
    assert (outcomes.name, outcomes.samples, outcomes.repeats) == ("r", 6, 1)
    one = outcomes.by_position[5]
    assert one.sources == [Document("d5", "text \ud800 5", None, {"score": 5.1, "rank": 1})]
    assert (one.sample_id, one.answer, one.input_tokens, one.output_tokens, one.attempts) == ("5", "answer 5", 5, 2, 1)
    failed = outcomes.by_position[3]
    assert (failed.answer, failed.sources, failed.error) == (None, [], "ValueError: no answer")


async def test_attempts_are_kept(tmp_path, monkeypatch):
    class Flaky(Pipeline):
        failures = 2

        async def query(self, question):
            if question == "q1" and Flaky.failures:
                Flaky.failures -= 1
                raise ServiceUnavailableError("503")
            return await super().query(question)

    monkeypatch.setattr("fastrag.benchmark.asking._FIRST_PAUSE_S", 0.001)
    result, outcomes = await kept(tmp_path, Flaky(), max_attempts=3)
    assert outcomes.by_position[1].attempts == 3
    assert outcomes.by_position[0].attempts == 1
    assert result.samples[1].status == "successful"
    lines = (tmp_path / "r.json.outcomes.jsonl").read_text().splitlines()
    assert len(lines) == 7
    assert all(json.loads(line) for line in lines)


async def test_metadata_of_any_kind_is_kept_as_well_as_it_can_be(tmp_path):
    class Odd:
        async def retrieve(self, question):
            metadata = {"np": np.float32(0.5), "when": datetime(2026, 1, 2), "object": object(), 3: "three", "set": {1}}  # noqa: DTZ001
            return [Document("d1", "", None, metadata)]

    _, outcomes = await kept(tmp_path, Odd(), [RecallAtK(1)], questions(1))
    metadata = outcomes.by_position[0].sources[0].metadata
    assert (metadata["np"], metadata["when"], metadata["3"]) == (0.5, "2026-01-02T00:00:00", "three")
    assert metadata["object"].startswith("<object object")


async def test_samples_of_another_run_are_refused(tmp_path):
    _, outcomes = await kept(tmp_path)
    with pytest.raises(ConfigurationError, match="the run had 6 samples, not 5"):
        await rescore(outcomes, questions(5), METRICS)
    with pytest.raises(ConfigurationError, match="sample 0 asks 'x', but the run asked 'q0' there"):
        await rescore(outcomes, [replace(sample, question="x") for sample in questions()], METRICS)
    with pytest.raises(ConfigurationError, match="there are no metrics"):
        await rescore(outcomes, questions(), [])


async def test_what_was_not_asked_is_not_scored(tmp_path):
    path = tmp_path / "r.json"
    await Benchmark(Pipeline(), questions(), [RecallAtK(1)], max_tokens=4, concurrency=1).run(
        "r", path=path, keep_outcomes=True
    )
    again = await rescore(read_outcomes(tmp_path / "r.json.outcomes.jsonl"), questions(), [RecallAtK(1)])
    assert again.samples[-1].error == "not attempted: the run did not come to it"
    assert again.status.errored >= 3


async def test_outcomes_of_an_earlier_run_are_not_overwritten(tmp_path):
    await kept(tmp_path)
    before = (tmp_path / "r.json.outcomes.jsonl").read_bytes()
    with pytest.raises(ConfigurationError, match="holds the outcomes of an earlier run"):
        await kept(tmp_path)
    assert (tmp_path / "r.json.outcomes.jsonl").read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["r.json", "r.json.outcomes.jsonl"]


async def test_outcomes_cannot_be_begun_in_the_middle(tmp_path):
    path = tmp_path / "r.json"
    await Benchmark(Pipeline(), questions(), [RecallAtK(1)], max_tokens=4, concurrency=1).run("r", path=path)
    with pytest.raises(ConfigurationError, match="begun without keep_outcomes=True"):
        await Benchmark(Pipeline(), questions(), [RecallAtK(1)]).run("r", path=path, resume=True, keep_outcomes=True)
    result = await Benchmark(Pipeline(), questions(), [RecallAtK(1)]).run("r", path=path, resume=True)
    assert len(result.samples) == 6


@pytest.mark.parametrize("content", [b"", b"my notes", b"my notes\n", b'{"kind":"fastrag journal"}\n'])
async def test_what_holds_no_outcomes(tmp_path, content):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"x\.jsonl"):
        read_outcomes(path)


# Metrics that do what they should not


class Vandal(ComputedMetric):
    name = "vandal"

    def compute(self, sample, outcome):
        outcome.answer = "forged"
        outcome.latency_ms = -1.0
        outcome.input_tokens = 0
        outcome.sources[0].text = "forged"
        outcome.sources[0].id = "forged"
        outcome.sources[0].metadata["score"] = 9
        outcome.sources[0].metadata["deep"][0]["x"] = 9
        outcome.sources.clear()
        return 1.0


class SlowVandal(Metric):
    name = "slow vandal"

    async def score(self, sample, outcome):
        await asyncio.sleep(0)
        return Vandal().compute(sample, outcome)


class Witness(ComputedMetric):
    name = "witness"

    def __init__(self):
        self.seen = []

    def compute(self, sample, outcome):
        self.seen.append(outcome)
        return 1.0


class SlowWitness(Metric):
    name = "slow witness"

    def __init__(self):
        self.seen = []

    async def score(self, sample, outcome):
        await asyncio.sleep(0.001)
        self.seen.append(outcome)
        return 1.0


async def test_a_metric_that_changes_the_outcome_changes_nothing_else(tmp_path):
    document = Document("d1", "text", "uri", {"score": 0.5, "deep": [{"x": 1}]})

    class Sharing:
        async def query(self, question):
            return QueryResult("answer", [document], 5, 2)

    witness, slow_witness = Witness(), SlowWitness()
    metrics = [Vandal(), SlowVandal(), witness, slow_witness, RecallAtK(1), TotalTokens()]
    result, outcomes = await kept(tmp_path, Sharing(), metrics, [EvalSample("q0", ["d1"])])
    original = Document("d1", "text", "uri", {"score": 0.5, "deep": [{"x": 1}]})
    assert document == original
    for seen in (*witness.seen, *slow_witness.seen):
        assert (seen.answer, seen.sources, seen.input_tokens) == ("answer", [original], 5)
    [sample] = result.samples
    assert (sample.answer, sample.retrieved_ids, sample.scores["recall@1"]) == ("answer", ["d1"], 1.0)
    assert sample.scores["total_tokens"] == 7
    assert outcomes.by_position[0].sources == [original]


class Raising(Metric):
    def __init__(self, error):
        self.error = error

    name = "raising"

    async def score(self, sample, outcome):
        raise self.error


class RaisingAtOnce(ComputedMetric):
    def __init__(self, error):
        self.error = error

    name = "raising"

    def compute(self, sample, outcome):
        raise self.error


class Rude(BaseException):
    pass


class Mute(Exception):
    def __str__(self):
        raise SystemExit(3)


@pytest.mark.parametrize("kind", [Raising, RaisingAtOnce])
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (SystemExit(3), "SystemExit: 3"),
        (Rude("x"), "Rude: x"),
        (asyncio.CancelledError(), "CancelledError"),
        (Mute(), "Mute: <its message could not be read: SystemExit>"),
        (ValueError("x" * 10_000_000), "ValueError: xxxxx"),
    ],
)
async def test_whatever_a_metric_raises_is_its_own_failure(kind, error, text):
    result = await Benchmark(Finder(), questions(2), [kind(error), RecallAtK(1)]).run("r")
    assert result.status == StatusCounts(0, 0, 2)
    assert result.samples[0].error.startswith(f"raising: metric_error: {text}")
    assert len(result.samples[0].error) < 3_000
    assert result.samples[1].scores["recall@1"] == 0.5


async def test_an_aggregate_that_wants_to_exit():
    class Exiting(Witness):
        def aggregate(self, scores):
            raise SystemExit(1)

    with pytest.warns(UserWarning, match="SystemExit"):
        result = await Benchmark(Finder(), questions(2), [Exiting()]).run("r")
    assert result.summary["witness"].count == 2


class Crooked:
    """A number that is none."""

    def __float__(self):
        raise SystemError("no")

    def __repr__(self):
        raise SystemError("no")


@pytest.mark.parametrize("value", [Crooked(), 10**400, math.nan, "1"])
async def test_a_score_that_cannot_be_read(value):
    class Odd(Witness):
        def compute(self, sample, outcome):
            return value

    result = await Benchmark(Finder(), questions(1), [Odd()]).run("r")
    assert result.samples[0].error.startswith("witness: invalid_score: returned")


class OddDocuments:
    async def retrieve(self, question):
        class Rude:
            def __str__(self):
                raise RuntimeError("no")

            __repr__ = __str__

        return [Document(np.str_("a"), np.str_("text"), np.str_("u"), {"x": Rude(), "y": {1, 2}})]


async def test_odd_documents_are_kept_as_texts(tmp_path):
    samples = [EvalSample("q", ["a"])]
    result = await Benchmark(OddDocuments(), samples, [RecallAtK(1)]).run(
        "r", path=tmp_path / "r.json", keep_outcomes=True
    )
    assert result.status.successful == 1
    outcomes = read_outcomes(tmp_path / "r.json.outcomes.jsonl")
    assert (await rescore(outcomes, samples, [RecallAtK(1)])).samples[0].scores == {"recall@1": 1.0}


@pytest.mark.parametrize("document", [Document("a", None), Document("a", 3), Document("a", "", None, None)])
async def test_documents_that_could_not_be_read_back_are_an_error(document, tmp_path):
    class Target:
        async def retrieve(self, question):
            return [document]

    result = await Benchmark(Target(), [EvalSample("q", ["a"])], [RecallAtK(1)]).run(
        "r", path=tmp_path / "r.json", keep_outcomes=True
    )
    assert result.samples[0].status == "errored"
    assert read_outcomes(tmp_path / "r.json.outcomes.jsonl").by_position[0].error == result.samples[0].error


async def test_outcomes_cannot_be_kept_of_one_part_only(tmp_path):
    class Stopping:
        async def query(self, question):
            return QueryResult("", [], 10, 0)

    samples = [EvalSample(str(i), ["a"]) for i in range(6)]
    path = tmp_path / "r.json"
    await Benchmark(Stopping(), samples, [RecallAtK(1)], max_tokens=20, concurrency=1).run(
        "r", path=path, keep_outcomes=True
    )
    with pytest.raises(ConfigurationError, match="begun with keep_outcomes=True"):
        await Benchmark(Stopping(), samples, [RecallAtK(1)]).run("r", path=path, resume=True)
