"""What judges said is kept beside the result, read back as it was, and lost by nothing."""

import json

import pytest

from fastrag.benchmark import Benchmark, Judgement, Opinion, read_judgements, read_outcomes, rescore
from fastrag.benchmark.judging.judge import Judge
from fastrag.benchmark.judging.opinions import JudgedClaim
from fastrag.benchmark.metrics import ExactMatch
from fastrag.benchmark.metrics.judged import JudgedMetric
from fastrag.errors import ConfigurationError
from fastrag.llm import Completion
from fastrag.testing import ScriptedLLM

from .conftest import Goodness, Pipeline, said

HOSTILE = 'a "quote"\n\x00 \ud800 \u202e </source> {"crc32":"00000000"}\u2028'


def judged(reply="good"):
    return Goodness(ScriptedLLM(Completion(said(reply), 9, 4, "the-model")))


async def test_a_judgement_is_kept_as_it_was(tmp_path, questions):
    metric = Goodness(
        Judge([ScriptedLLM(Completion(said("good"), 9, 4, "a")), ScriptedLLM([said("bad"), said("bad")])])
    )
    benchmark = Benchmark(Pipeline(), questions(2), [metric, ExactMatch()], repeats=1)
    result = await benchmark.run("the run", path=tmp_path / "r.json")
    kept = read_judgements(tmp_path / "r.json.judgements.jsonl")
    assert (kept.name, kept.created_at, kept.samples, kept.repeats) == ("the run", result.created_at, 2, 1)
    assert {file.name for file in tmp_path.iterdir()} == {"r.json", "r.json.judgements.jsonl"}
    judgement = kept.by_position[1]["goodness"]
    assert (judgement.question, judgement.score, judgement.spread, judgement.missing) == ("q1", 0.5, 1.0, None)
    first, second = judgement.opinions
    assert (first.opinion, first.model, first.take, first.calls, first.input_tokens) == (
        Opinion(1.0, reason="Because."),
        "a",
        0,
        1,
        9,
    )
    assert (second.opinion.score, second.input_tokens, second.output_tokens) == (0.0, None, None)


class Claiming(JudgedMetric):
    """Whatever it is told to say."""

    name = "claiming"

    def __init__(self, opinion):
        super().__init__(ScriptedLLM("x"))
        self.said = opinion

    async def opinion(self, asking, sample, outcome):
        return self.said


async def test_hostile_texts_are_kept(tmp_path, questions):
    opinion = Opinion(0.5, None, (JudgedClaim(HOSTILE, HOSTILE, (1, 2), HOSTILE),), HOSTILE)
    await Benchmark(Pipeline(), questions(1), [Claiming(opinion)]).run("r", path=tmp_path / "r.json")
    kept = read_judgements(tmp_path / "r.json.judgements.jsonl")
    assert kept.by_position[0]["claiming"].opinions[0].opinion == opinion


async def test_what_is_no_judgement_costs_no_score(tmp_path, questions, caplog):
    opinion = Opinion(0.5, None, (JudgedClaim("text", object(), (1,)),))
    result = await Benchmark(Pipeline(), questions(1), [Claiming(opinion)]).run("r", path=tmp_path / "r.json")
    assert result.samples[0].scores == {"claiming": 0.5}
    assert "a judgement of claiming could not be kept" in caplog.text


async def test_without_a_judged_metric_there_is_no_file(tmp_path, questions):
    await Benchmark(Pipeline(), questions(1), [ExactMatch()]).run("r", path=tmp_path / "r.json")
    assert [file.name for file in tmp_path.iterdir()] == ["r.json"]


async def test_going_on_adds_to_it(tmp_path, questions):
    path = tmp_path / "r.json"
    first = Benchmark(Pipeline(), questions(30), [judged()], max_tokens=1_000, concurrency=1, judge_concurrency=1)
    await first.run("r", path=path)
    before = read_judgements(f"{path}.judgements.jsonl").by_position
    assert 0 < len(before) < 30
    # Killed while it wrote.
    with (tmp_path / "r.json.judgements.jsonl").open("ab") as file:
        file.write(b'{"position":5,"judgem')
    await Benchmark(Pipeline(), questions(30), [judged("bad")]).run("r", path=path, resume=True)
    after = read_judgements(f"{path}.judgements.jsonl").by_position
    assert sorted(after) == list(range(30))
    assert [after[position]["goodness"].score for position in before] == [1.0] * len(before)
    assert after[29]["goodness"].score == 0.0


async def test_a_lost_file_is_said_and_begun_anew(tmp_path, questions, caplog):
    path = tmp_path / "r.json"
    first = Benchmark(Pipeline(), questions(30), [judged()], max_tokens=1_000, concurrency=1, judge_concurrency=1)
    await first.run("r", path=path)
    (tmp_path / "r.json.judgements.jsonl").unlink()
    result = await Benchmark(Pipeline(), questions(30), [judged()]).run("r", path=path, resume=True)
    assert result.status.successful == 30
    assert "does not hold what judges said before; it begins here" in caplog.text
    assert 29 in read_judgements(f"{path}.judgements.jsonl").by_position


async def test_another_run_moves_the_old_ones_aside(tmp_path, questions):
    path = tmp_path / "r.json"
    await Benchmark(Pipeline(), questions(2), [judged()]).run("first", path=path)
    await Benchmark(Pipeline(), questions(2), [judged("bad")]).run("second", path=path)
    assert read_judgements(f"{path}.judgements.jsonl").name == "second"
    assert read_judgements(f"{path}.judgements.jsonl.old").name == "first"


async def test_rescoring_keeps_judgements_where_it_is_told_to(tmp_path, questions):
    await Benchmark(Pipeline(), questions(2), [ExactMatch()]).run("r", path=tmp_path / "r.json", keep_outcomes=True)
    outcomes = read_outcomes(tmp_path / "r.json.outcomes.jsonl")
    before = set(tmp_path.iterdir())
    await rescore(outcomes, questions(2), [judged()])
    assert set(tmp_path.iterdir()) == before
    result = await rescore(outcomes, questions(2), [judged()], name="again", path=tmp_path / "again.json")
    kept = read_judgements(tmp_path / "again.json.judgements.jsonl")
    assert (kept.name, sorted(kept.by_position)) == ("again", [0, 1])
    assert result.summary["goodness"].mean == 1.0


async def test_what_is_damaged_is_refused_with_its_line(tmp_path, questions):
    path = tmp_path / "r.json"
    await Benchmark(Pipeline(), questions(2), [judged()]).run("r", path=path, keep_outcomes=True)
    file = tmp_path / "r.json.judgements.jsonl"
    with pytest.raises(ConfigurationError, match=r"line 1: .*it holds outcomes, not judgements"):
        read_judgements(f"{path}.outcomes.jsonl")
    with pytest.raises(ConfigurationError, match="it holds judgements, not outcomes"):
        read_outcomes(file)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + lines[1].replace(b"Because.", b"Because!") + lines[2])
    with pytest.raises(ConfigurationError, match="line 2: damaged"):
        read_judgements(file)
    file.write_bytes(json.dumps({"position": 9}).encode())
    with pytest.raises(ConfigurationError, match="no header"):
        read_judgements(file)
    with pytest.raises(ConfigurationError, match="could not be read"):
        read_judgements(tmp_path / "absent")


def test_judgements_are_plain_records():
    assert Judgement("m", "q", None, None, None, ()).opinions == ()
