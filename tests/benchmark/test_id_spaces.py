"""Ids that can never meet are pointed out; a retriever that merely finds little is not."""

import warnings

import pytest

from fastrag import Document
from fastrag.benchmark import Benchmark, EvalSample
from fastrag.benchmark.metrics import NDCG, LatencyMs, RecallAtK


class Chunks:
    async def retrieve(self, question):
        return [Document(f"{question}#0", "", f"file:{question}", {"parent_id": question})]


SAMPLES = [EvalSample("a", ["a"]), EvalSample("b", ["b"]), EvalSample("c")]


async def test_disjoint_ids_are_pointed_out():
    with pytest.warns(
        UserWarning, match=r"ndcg@5, recall@5: not one of the 3 retrieved ids .* 'a#0', .* 'a'\..*parent_id"
    ):
        await Benchmark(Chunks(), SAMPLES, [NDCG(5), RecallAtK(5), LatencyMs()]).run("r")


async def test_disjoint_uris_too():
    with pytest.warns(UserWarning, match="'file:a'"):
        await Benchmark(Chunks(), SAMPLES, [NDCG(5, match="uri")]).run("r")


@pytest.mark.parametrize(
    ("samples", "metrics"),
    [
        (SAMPLES, [NDCG(5, match="parent_id")]),
        (SAMPLES, [LatencyMs()]),
        ([EvalSample("a", ["a"]), EvalSample("b", ["a#0"])], [NDCG(5)]),  # never right, but from one id space
    ],
)
async def test_nothing_to_say(samples, metrics):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        await Benchmark(Chunks(), samples, metrics).run("r")
