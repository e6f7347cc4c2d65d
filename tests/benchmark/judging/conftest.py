"""A small judged metric, a pipeline that answers at once, and a judge behind real HTTP."""

import json
from typing import Literal

import msgspec
import pytest

from fastrag import Document, OpenAICompatibleLLM
from fastrag.benchmark import EvalSample, Opinion
from fastrag.benchmark.judging.opinions import Missing
from fastrag.benchmark.metrics.judged import JudgedMetric
from fastrag.query import QueryResult


class Reply(msgspec.Struct, forbid_unknown_fields=True):
    reason: str
    verdict: Literal["good", "bad", "unclear"]


class Goodness(JudgedMetric):
    """1 for a good answer, 0 for a bad one; no score where the judge says that it is unclear."""

    name = "goodness"

    async def opinion(self, asking, sample, outcome):
        reply = await asking.ask("Is it good?", f"{sample.question}\n{outcome.answer}", Reply)
        if reply.verdict == "unclear":
            return Opinion(None, Missing("not_measured", reply.reason), reason=reply.reason)
        return Opinion(float(reply.verdict == "good"), reason=reply.reason)


class Pipeline:
    async def query(self, question):
        return QueryResult(f"answer to {question}", [Document("d", "text")], 80, 20)


def said(verdict, reason="Because."):
    return json.dumps({"reason": reason, "verdict": verdict})


@pytest.fixture
def questions():
    return lambda count: [EvalSample(f"q{i}", reference_answer="answer") for i in range(count)]


@pytest.fixture
def asking_at():
    """A model behind a local server, which is not asked again by its own client."""
    return lambda server, **options: OpenAICompatibleLLM(
        "judge", base_url=server.base_url, api_key="test", **({"max_retries": 0} | options)
    )
