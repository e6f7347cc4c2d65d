"""One judge with a cache, many metrics: what they have in common is paid for once."""

import json

from fastrag.benchmark import Benchmark, EvalSample
from fastrag.benchmark.judging.judge import Judge
from fastrag.benchmark.metrics.judged import (
    AnswerCorrectness,
    Completeness,
    ContextRecall,
    ContextUtilization,
    Faithfulness,
    Hallucination,
    NoiseSensitivity,
    SelfKnowledge,
)
from fastrag.document import Document
from fastrag.llm import OpenAICompatibleLLM
from fastrag.query import QueryResult
from fastrag.testing import OpenAICompatibleServer


class OneAnswer:
    async def query(self, question):
        sources = [Document("a", "The Nile is 6,650 km long."), Document("b", "The Amazon is in Brazil.")]
        return QueryResult("About 6,650 km, and it is in Brazil.", sources)


def reply(messages):
    system, content = messages[0]["content"], messages[1]["content"]
    if '"claims"' in system:
        length, place = "The Nile is 6,650 km long.", "The Nile is in Brazil."
        return json.dumps({"claims": [length, place] if "Brazil" in content else [length]})
    if '"parts"' in system:
        return json.dumps({"parts": ["How long is the Nile?"]})
    if '"not_answered"' in system:
        return json.dumps({"findings": [{"number": 1, "reason": "", "verdict": "answered"}]})
    findings = [{"number": 1, "reason": "stated", "verdict": "supported", "sources": [1]}]
    if " claim 2>" in content:
        findings.append({"number": 2, "reason": "not stated", "verdict": "not_found", "sources": []})
    return json.dumps({"findings": findings})


async def test_twelve_metrics_take_eight_calls(tmp_path):
    sample = EvalSample("How long is the Nile?", reference_answer="It is 6,650 km long.", id="nile")
    async with OpenAICompatibleServer(reply) as server:
        llm = OpenAICompatibleLLM("judge", base_url=server.base_url, api_key="test")
        judge = Judge(llm, cache=tmp_path / "judge.sqlite")
        metrics = [
            Faithfulness(judge),
            *(AnswerCorrectness(judge, part) for part in ("f1", "precision", "recall")),
            ContextRecall(judge),
            ContextUtilization(judge),
            *(NoiseSensitivity(judge, part) for part in ("all", "relevant", "irrelevant")),
            Hallucination(judge),
            SelfKnowledge(judge),
            Completeness(judge),
        ]
        result = await Benchmark(OneAnswer(), [sample], metrics).run("one")
        await llm.close()
    assert result.samples[0].status == "successful", result.samples[0].error
    scores = result.samples[0].scores
    assert {name: scores[name] for name in (metric.name for metric in metrics)} == {
        "faithfulness": 0.5,
        "answer_correctness": 2 / 3,
        "answer_correctness_precision": 0.5,
        "answer_correctness_recall": 1.0,
        "context_recall": 1.0,
        "context_utilization": 1.0,
        "noise_sensitivity": 0.0,
        "noise_sensitivity_relevant": 0.0,
        "noise_sensitivity_irrelevant": 0.0,
        "hallucination": 0.5,
        "self_knowledge": 0.0,
        "completeness": 1.0,
    }
    # Claims of two texts, each checked against two; the question's parts, and whether they are answered.
    assert len(server.requests) == 8
