"""Results and journals with what lies beside them: what belongs together, and what does not."""

import json
import os
from pathlib import Path

import pytest

from fastrag import Document
from fastrag.benchmark import Benchmark, EvalSample, SampleResult, read_outcomes
from fastrag.benchmark.metrics import LatencyMs, RecallAtK, TotalTokens
from fastrag.benchmark.metrics.judged import Abstention
from fastrag.benchmark.report.html.runs import reported_run
from fastrag.errors import ConfigurationError
from fastrag.query import QueryResult
from fastrag.testing import ScriptedLLM

SAMPLES = [EvalSample(f"number {i}", relevant_ids=[f"d{i}"], metadata={"answerable": i % 2 == 0}) for i in range(6)]
ANSWERS = '{"reason": "It gives a number.", "verdict": "answers"}'


class Pipeline:
    async def query(self, question):
        number = question.split()[1]
        if number == "4":
            raise ValueError("four")
        return QueryResult(f"It is {number}.", [Document(f"d{number}", f"The text of {number}.")], 100, 10)


def benchmark(**limits):
    metrics = [RecallAtK(1), TotalTokens(), Abstention(ScriptedLLM(lambda prompt: ANSWERS))]
    return Benchmark(Pipeline(), SAMPLES, metrics, concurrency=1, **limits)


@pytest.fixture
async def path(tmp_path):
    path = tmp_path / "run.json"
    await benchmark().run("run", path=path, keep_outcomes=True)
    return path


@pytest.fixture
async def journal(tmp_path):
    """Of a run of which the questions 0, 2, 3 and 5 ended; two of each."""
    path = tmp_path / "run.json"
    await benchmark(repeats=2).run("whole", path=path, keep_outcomes=True)
    whole = reported_run(path)
    ended = [position for position in range(12) if position // 2 not in (1, 4)]
    header = json.loads(Path(f"{path}.outcomes.jsonl").read_text().splitlines()[0])
    found = tmp_path / "run.json.journal"
    lines = [header | {"kind": "fastrag journal"}]
    for position in reversed(ended):
        sample = whole.result.samples[position]
        fields = {name: getattr(sample, name) for name in SampleResult.__slots__}
        spent = {"calls": 1, "input_tokens": 110 * (len(lines))}
        lines.append(
            {"position": position, "elapsed_s": 1.0, "attempts": 1, "input_tokens": 1, "output_tokens": 1}
            | {"cost_usd": 0.5, "sample": fields, "target": spent, "judges": {}}
        )
    write_lines(found, lines)
    path.unlink()
    return found


def write_lines(path, lines):
    from fastrag.benchmark.line_file import seal

    contents = [{name: value for name, value in line.items() if name != "crc32"} for line in lines]
    path.write_bytes(b"".join(seal(json.dumps(line, separators=(",", ":")).encode()) for line in contents))


async def test_a_result_comes_with_what_was_kept_beside_it(path):
    run = reported_run(path)
    assert (run.partial, run.spent, run.warnings) == (None, None, ())
    assert run.outcomes.by_position[3].sources[0].text == "The text of 3."
    assert run.judgements.by_position[1]["abstention"].opinions[0].opinion.claims[0].verdict == "answered_unanswerable"
    assert run.result.samples[4].status == "errored"
    assert run.outcomes.by_position[4].error == "ValueError: four"


async def test_a_result_alone_has_neither(path):
    for name in ("outcomes", "judgements"):
        path.with_name(f"run.json.{name}.jsonl").unlink()
    run = reported_run(path)
    assert (run.outcomes, run.judgements, run.warnings) == (None, None, ())


async def test_a_link_is_followed_to_what_lies_beside_its_target(path, tmp_path):
    link = tmp_path / "elsewhere" / "latest.json"
    link.parent.mkdir()
    link.symlink_to(path)
    assert reported_run(link).outcomes is not None


@pytest.mark.parametrize("content", ["outcomes", "judgements"])
async def test_what_is_damaged_is_left_out_with_a_warning(path, content):
    beside = path.with_name(f"run.json.{content}.jsonl")
    data = beside.read_bytes()
    beside.write_bytes(data.replace(b'"position":1', b'"position":2', 1))
    run = reported_run(path)
    assert getattr(run, content) is None
    [warning] = run.warnings
    assert warning.startswith(f"Left out, for it cannot be read: run.json.{content}.jsonl, line ")
    assert str(path.parent) not in warning


@pytest.mark.parametrize("bad", [b"", b"\0" * 50, b"[]\n", b"\xff\xfe\n\n"])
async def test_what_is_no_such_file_is_left_out_with_a_warning(path, bad):
    path.with_name("run.json.outcomes.jsonl").write_bytes(bad)
    run = reported_run(path)
    assert run.outcomes is None
    assert len(run.warnings) == 1
    assert run.judgements is not None


async def test_a_folder_in_its_place_is_left_out_with_a_warning(path):
    beside = path.with_name("run.json.outcomes.jsonl")
    beside.unlink()
    beside.mkdir()
    assert len(reported_run(path).warnings) == 1


@pytest.mark.parametrize("content", ["outcomes", "judgements"])
async def test_a_pipe_in_its_place_is_not_waited_for(path, content):
    beside = path.with_name(f"run.json.{content}.jsonl")
    beside.unlink()
    os.mkfifo(beside)
    run = reported_run(path)
    assert getattr(run, content) is None
    assert run.warnings == (f"Left out: {beside.name} is no regular file",)


@pytest.mark.parametrize("change", [{"name": "other"}, {"samples": 5}, {"repeats": 2}, {"created_at": "2020-01-01"}])
async def test_what_is_of_another_run_is_left_out_with_a_warning(path, change):
    beside = path.with_name("run.json.judgements.jsonl")
    header, *lines = map(json.loads, beside.read_text().splitlines())
    write_lines(beside, [header | change, *(line for line in lines if line["position"] < 5)])
    run = reported_run(path)
    assert run.judgements is None
    assert run.warnings == ("Left out: run.json.judgements.jsonl belongs to another run than the result beside it",)


async def test_what_is_kept_is_found_by_position_in_the_partial_result(journal):
    run = reported_run(journal)
    assert run.partial == (8, 12)
    assert len(run.result.samples) == 8
    # Those of the questions that had not ended when the journal was read are left out.
    assert sorted(run.outcomes.by_position) == list(range(8))
    for position, sample in enumerate(run.result.samples):
        assert run.outcomes.by_position[position].question == sample.question
        assert run.judgements.by_position[position]["abstention"].question == sample.question
    assert (run.spent.target.calls, run.spent.target.input_tokens) == (1, 880)


async def test_an_old_journal_says_nothing_of_spending(journal):
    header, *entries = map(json.loads, journal.read_text().splitlines())
    write_lines(
        journal, [header, *({k: v for k, v in one.items() if k not in ("target", "judges")} for one in entries)]
    )
    assert reported_run(journal).spent is None


async def test_a_journal_that_has_just_begun_is_an_empty_partial_run(journal):
    journal.write_text(journal.read_text().splitlines(keepends=True)[0])
    run = reported_run(journal)
    assert (run.partial, run.result.samples, run.outcomes.by_position) == ((0, 12), [], {})


async def test_texts_that_are_alike_are_held_once(tmp_path):
    class Same:
        async def retrieve(self, question):
            return [Document("d", "The same text. " * 5)]

    path = tmp_path / "same.json"
    await Benchmark(Same(), SAMPLES, [LatencyMs()]).run("same", path=path, keep_outcomes=True)
    assert len({id(one.sources[0].text) for one in read_outcomes(f"{path}.outcomes.jsonl").by_position.values()}) == 6
    assert len({id(one.sources[0].text) for one in reported_run(path).outcomes.by_position.values()}) == 1


def test_what_is_neither_result_nor_journal_is_refused(tmp_path):
    for name in ("a.json", "a.json.journal"):
        with pytest.raises(ConfigurationError, match=name):
            reported_run(tmp_path / name)
        (tmp_path / name).write_text("{}\n")
        with pytest.raises(ConfigurationError, match=name):
            reported_run(tmp_path / name)
