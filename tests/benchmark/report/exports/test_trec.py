"""TREC files say the same to trec_eval's own code as the run said to fastrag's metrics."""

import asyncio
import random
from dataclasses import replace
from urllib.parse import unquote

import pytest
import pytrec_eval
from hypothesis import example, given
from hypothesis import strategies as st

from fastrag.benchmark import Benchmark, EvalSample, read_outcomes, write_trec_qrels, write_trec_run
from fastrag.benchmark.metrics import MRR, NDCG, RecallAtK
from fastrag.benchmark.report.exports.trec_files import trec_qrels, trec_run
from fastrag.document import Document
from fastrag.errors import ConfigurationError

MEASURES = {"ndcg@10": "ndcg_cut_10", "recall@5": "recall_5", "mrr": "recip_rank"}


class Finder:
    """Finds some of 30 documents, with ``again`` the same one several times; fails, or finds nothing, at times."""

    def __init__(self, score, again):
        self.score, self.again = score, again

    async def retrieve(self, question):
        chance = random.Random(question)
        if question.endswith("7"):
            raise ValueError("boom")
        if question.endswith("8"):
            return []
        ids = [f"doc {number}" for number in chance.sample(range(30), 15)]
        if self.again:
            ids[1:1] = ids[:2]
        return [Document(id, "text", metadata=self.score(place)) for place, id in enumerate(ids)]


def samples():
    chance = random.Random(0)
    return [
        EvalSample(
            f"question {number}",
            relevant_ids={f"doc {chance.randrange(30)}": float(chance.randrange(4)) for _ in range(6)} | {"doc 0": 1.0},
            id=f"q {number}",
        )
        for number in range(40)
    ]


def run(path, score=lambda place: {"score": 1 / (1 + place)}, repeats=1, again=False):
    metrics = [NDCG(10), RecallAtK(5), MRR()]
    benchmark = Benchmark(Finder(score, again), samples(), metrics, repeats=repeats)
    return asyncio.run(benchmark.run("a run", path=path, keep_outcomes=True))


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    path = tmp_path_factory.mktemp("trec") / "result.json"
    return run(path), read_outcomes(f"{path}.outcomes.jsonl")


@pytest.mark.parametrize("with_outcomes", [True, False])
def test_trec_eval_comes_to_the_same_scores(kept, with_outcomes, tmp_path):
    result, outcomes = kept
    write_trec_qrels(samples(), tmp_path / "qrels")
    write_trec_run(result, tmp_path / "run", samples=samples(), outcomes=outcomes if with_outcomes else None)
    with (tmp_path / "qrels").open() as qrels, (tmp_path / "run").open() as ranked:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(qrels), set(MEASURES.values()))
        found = evaluator.evaluate(pytrec_eval.parse_run(ranked))
    assert len(found) == 32
    for asked, sample in zip(samples(), result.samples, strict=True):
        theirs = found.get(asked.id.replace(" ", "%20"))
        if theirs is None:
            assert sample.status == "errored" or not sample.retrieved_ids
        else:
            ours = {MEASURES[name]: score for name, score in sample.scores.items()}
            assert theirs == pytest.approx(ours, abs=1e-9)


class ChunkFinder:
    """Finds chunks of documents, each document once; a few are no chunks, and are documents themselves."""

    async def retrieve(self, question):
        found = random.Random(question).sample(range(30), 15)
        return [self.chunk(number, place) for place, number in enumerate(found)]

    def chunk(self, number, place):
        metadata = {"score": 1 / (1 + place)} | ({"parent_id": f"doc {number}"} if number % 5 else {})
        id = f"doc {number}#3" if number % 5 else f"doc {number}"
        return Document(id, "text", uri=f"doc {number}" if number != 7 else None, metadata=metadata)


@pytest.fixture(scope="module")
def chunks(tmp_path_factory):
    path = tmp_path_factory.mktemp("chunks") / "result.json"
    metrics = [NDCG(10, match="parent_id"), RecallAtK(5, match="parent_id"), MRR(match="parent_id")]
    benchmark = Benchmark(ChunkFinder(), samples(), metrics)
    return asyncio.run(benchmark.run("chunks", path=path, keep_outcomes=True)), read_outcomes(f"{path}.outcomes.jsonl")


def test_trec_eval_comes_to_the_same_scores_where_chunks_stand_for_documents(chunks, tmp_path):
    result, outcomes = chunks
    write_trec_qrels(samples(), tmp_path / "qrels")
    write_trec_run(result, tmp_path / "run", samples=samples(), outcomes=outcomes, match="parent_id")
    with (tmp_path / "qrels").open() as qrels, (tmp_path / "run").open() as ranked:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(qrels), set(MEASURES.values()))
        found = evaluator.evaluate(pytrec_eval.parse_run(ranked))
    assert len(found) == 40
    for asked, sample in zip(samples(), result.samples, strict=True):
        ours = {MEASURES[name]: score for name, score in sample.scores.items()}
        assert found[asked.id.replace(" ", "%20")] == pytest.approx(ours, abs=1e-9)
    assert sum(sample.scores["ndcg@10"] for sample in result.samples) > 4


def test_parents_are_in_the_outcomes_only(chunks):
    result, outcomes = chunks
    with pytest.raises(ConfigurationError, match=r"needs the run's outcomes.* of question 1: run with keep_outcomes"):
        trec_run(result, match="parent_id")
    some = replace(outcomes, by_position={0: outcomes.by_position[0]})
    with pytest.raises(ConfigurationError, match=r"there are none of question 2"):
        trec_run(result, outcomes=some, match="parent_id")
    with pytest.raises(ConfigurationError, match="match must be 'id', 'uri' or 'parent_id', not 'parent'"):
        trec_run(result, match="parent")


def test_the_first_chunk_of_a_document_counts(kept):
    result, outcomes = kept
    halves = {
        place: replace(
            outcome,
            sources=[replace(source, metadata={"parent_id": i // 2}) for i, source in enumerate(outcome.sources)],
        )
        for place, outcome in outcomes.by_position.items()
    }
    found = trec_run(result, outcomes=replace(outcomes, by_position=halves), match="parent_id")
    assert [line[2:4] for line in ranking(found, 1)] == [[str(i), str(i + 1)] for i in range(8)]
    assert (found.again, found.documents) == (32 * 7, frozenset(map(str, range(8))))


def test_uris_stand_for_sources_that_have_one(chunks):
    result, outcomes = chunks
    found = trec_run(result, outcomes=outcomes, match="uri")
    uris = result.samples[0].retrieved_uris
    assert [unquote(line[2]) for line in ranking(found, 1)] == [uri for uri in uris if uri]
    assert found.without_uri == sum(sample.retrieved_uris.count("") for sample in result.samples) > 0
    bare = replace(result, samples=[replace(sample, retrieved_uris=[]) for sample in result.samples])
    assert (trec_run(bare, match="uri").lines, trec_run(bare, match="uri").without_sources) == ([], 40)


def test_what_has_no_lines_is_counted(kept):
    found = trec_run(kept[0])
    assert (found.questions, found.errored, found.without_sources, found.repeats, found.again) == (32, 4, 4, 0, 0)


def ranking(found, qid):
    return [line.split() for line in found.lines if line.startswith(f"{qid} ")]


def test_scores_are_those_that_were_kept(kept):
    result, outcomes = kept
    lines = ranking(trec_run(result, outcomes=outcomes), 1)
    assert lines[0] == ["1", "Q0", lines[0][2], "1", "1.0", "a%20run"]
    assert [line[2] for line in lines] == [id.replace(" ", "%20") for id in result.samples[0].retrieved_ids]


def test_a_document_has_its_first_line_only(tmp_path):
    result = run(tmp_path / "result.json", again=True)
    found = trec_run(result, outcomes=read_outcomes(tmp_path / "result.json.outcomes.jsonl"))
    ids = result.samples[0].retrieved_ids
    assert (ids[1], ids[2]) == (ids[0], ids[3])
    lines = ranking(found, 1)
    assert [unquote(line[2]) for line in lines] == [ids[0], ids[2], *ids[4:]]
    assert [line[3] for line in lines] == [str(rank) for rank in range(1, 16)]
    assert [float(line[4]) for line in lines[:3]] == [1, 1 / 3, 1 / 5]
    assert found.again == 2 * 32


@pytest.mark.parametrize(
    "score",
    [
        lambda place: {"score": 1.0},
        lambda place: {"score": place},
        lambda place: {"score": 1 - place * 1e-12},  # alike as 32-bit floats
        lambda place: {"score": "high"},
        lambda place: {"score": -place if place else 1e300},  # beyond 32-bit floats
        lambda place: {"score": 1.0 - place} if place else {},
    ],
)
def test_scores_that_do_not_fall_give_way_to_the_order(score, tmp_path):
    result = run(tmp_path / "result.json", score)
    outcomes = read_outcomes(tmp_path / "result.json.outcomes.jsonl")
    lines = ranking(trec_run(result, outcomes=outcomes), 1)
    assert [(line[3], line[4]) for line in lines] == [(str(i + 1), str(len(lines) - i)) for i in range(len(lines))]


def test_of_repeats_the_first_counts(tmp_path):
    found = trec_run(run(tmp_path / "result.json", repeats=3), samples=samples())
    assert (found.questions, found.errored, found.repeats) == (32, 4, 80)


def test_samples_and_outcomes_of_another_run_are_refused(kept):
    result, outcomes = kept
    with pytest.raises(ConfigurationError, match="a run has 40 samples"):
        trec_run(result, samples=samples()[1:])
    with pytest.raises(ConfigurationError, match="a run has 40 samples"):
        trec_run(result, samples=[])
    with pytest.raises(ConfigurationError, match="sample 0 asks 'question 39', but a run asked 'question 0' there"):
        trec_run(result, samples=samples()[::-1])
    other = replace(outcomes, by_position={0: outcomes.by_position[1]})
    with pytest.raises(ConfigurationError, match="the outcomes are not of this result"):
        trec_run(result, outcomes=other)


@given(id=st.text(min_size=1))
@example("100%25")
@example("a b\u2028c\ud800")
def test_an_id_is_one_field_that_gives_it_back(id):
    [line] = trec_qrels([EvalSample("q", relevant_ids=[id])])
    fields = line.encode("utf-8").decode("utf-8").split()
    assert len(fields) == 4
    assert unquote(fields[2], errors="surrogatepass") == id


def test_ids_and_gains_that_no_file_can_hold():
    with pytest.raises(ConfigurationError, match="a relevant id of sample x is empty"):
        list(trec_qrels([EvalSample("q", relevant_ids=[""], id="x")]))
    with pytest.raises(ConfigurationError, match=r"the gain of 'd' is 0\.5"):
        list(trec_qrels([EvalSample("q", relevant_ids={"d": 0.5})]))
    with pytest.raises(ConfigurationError, match="two samples have the id x:"):
        list(trec_qrels([EvalSample("q", id="x"), EvalSample("r", id="x")]))


def test_qrels_of_a_list_of_ids():
    assert list(trec_qrels([EvalSample("q", relevant_ids=["a", "b"]), EvalSample("r")])) == ["0 0 a 1\n", "0 0 b 1\n"]
