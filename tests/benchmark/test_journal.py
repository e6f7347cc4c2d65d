"""The journal: what ended is there, what is there is not asked again, and nothing is taken for what it is not."""

import asyncio
import errno
import json
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fastrag import Document
from fastrag.benchmark import Benchmark, BenchmarkResult, EvalSample, StatusCounts, read_outcomes, rescore
from fastrag.benchmark.journal import journal_path, read_journal, read_partial
from fastrag.benchmark.line_file import seal, unseal
from fastrag.benchmark.metrics import LatencyMs, RecallAtK, TotalTokens
from fastrag.cli import main
from fastrag.errors import ConfigurationError
from fastrag.query import QueryResult


class Pipeline:
    """Answers every question, or does what it is told; ``stop_after`` questions it cancels the run."""

    def __init__(self, stop_after=None, **special):
        self.asked = []
        self.stop_after = stop_after
        self.special = special

    async def query(self, question):
        if self.stop_after is not None and len(self.asked) >= self.stop_after:
            await asyncio.Event().wait()
        self.asked.append(question)
        special = self.special.get(question)
        if isinstance(special, BaseException):
            raise special
        return QueryResult(f"answer to {question}", [Document("a", "text a"), Document("b", "text b")], 10, 5)


def questions(count, **changes):
    return [EvalSample(f"q{i}", relevant_ids=["a"], **changes) for i in range(count)]


async def broken_off(path, samples, after, *, metrics=None, **options):
    """Leave the journal of a run that was cancelled after so many questions."""
    pipeline = Pipeline(stop_after=after)
    benchmark = Benchmark(pipeline, samples, metrics or [RecallAtK(1)], concurrency=1)
    run = asyncio.create_task(benchmark.run("r", path=path, **options))
    while len(pipeline.asked) < after:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    return pipeline


def comparable(result):
    """The result without what differs between any two runs."""
    return replace(
        result,
        created_at=None,
        duration_s=0,
        summary={name: summary for name, summary in result.summary.items() if name != "latency_ms"},
        samples=[
            replace(sample, latency_ms=0, scores={k: v for k, v in sample.scores.items() if k != "latency_ms"})
            for sample in result.samples
        ],
    )


async def test_a_finished_run_leaves_its_result_and_nothing_else(tmp_path):
    path = tmp_path / "deep" / "r.json"
    result = await Benchmark(Pipeline(), questions(5), [RecallAtK(1), LatencyMs()]).run("r", path=path)
    assert [file.name for file in path.parent.iterdir()] == ["r.json"]
    assert BenchmarkResult.load(path) == result


async def test_without_a_path_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    await Benchmark(Pipeline(), questions(5), [RecallAtK(1)]).run("r")
    assert list(tmp_path.iterdir()) == []


async def test_resuming_asks_only_what_is_missing(tmp_path):
    path = tmp_path / "r.json"
    first = await broken_off(path, questions(10), 4)
    second = Pipeline()
    result = await Benchmark(second, questions(10), [RecallAtK(1)]).run("r", path=path, resume=True)
    assert first.asked + second.asked == [f"q{i}" for i in range(10)]
    unbroken = await Benchmark(Pipeline(), questions(10), [RecallAtK(1)]).run("r")
    assert comparable(result) == comparable(unbroken)
    assert not path.with_name("r.json.journal").exists()


async def test_resume_with_nothing_there_begins(tmp_path):
    result = await Benchmark(Pipeline(), questions(2), [RecallAtK(1)]).run("r", path=tmp_path / "r.json", resume=True)
    assert result.status == StatusCounts(2, 0, 0)


async def test_a_complete_journal_needs_no_question(tmp_path):
    """A process killed between its last answer and its result."""
    path = tmp_path / "r.json"
    await broken_off(path, questions(3), 3)
    # The last question was answered, but the run was cancelled before it could end.
    pipeline = Pipeline()
    result = await Benchmark(pipeline, questions(3), [RecallAtK(1)]).run("r", path=path, resume=True)
    assert len(pipeline.asked) <= 1
    assert result.status == StatusCounts(3, 0, 0)


async def test_a_journal_is_never_overwritten_silently(tmp_path):
    path = tmp_path / "r.json"
    await broken_off(path, questions(10), 4)
    before = path.with_name("r.json.journal").read_bytes()
    with pytest.raises(ConfigurationError, match=r"r\.json\.journal: 4 of 10 questions .* pass resume=True"):
        await Benchmark(Pipeline(), questions(10), [RecallAtK(1)]).run("r", path=path)
    assert path.with_name("r.json.journal").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": "other"}, "its name is 'r', not 'other'"),
        ({"metrics": [RecallAtK(2)]}, r"its metrics are recall@1, not recall@2"),
        ({"samples": questions(9)}, "it has 10 samples, not 9"),
        ({"samples": [EvalSample(f"Q{i}", ["a"]) for i in range(10)]}, "the samples differ in their questions"),
        ({"samples": [EvalSample(f"q{i}", ["b"]) for i in range(10)]}, "the samples differ in their relevant_ids"),
        ({"samples": [EvalSample(f"q{i}", {"a": 2}) for i in range(10)]}, "differ in their relevant_ids"),
        ({"samples": [EvalSample(f"q{i}", ["a"], id=f"s{i}") for i in range(10)]}, "differ in their ids"),
        ({"samples": [EvalSample(f"q{i}", ["a"], "yes") for i in range(10)]}, "differ in their reference answers"),
        ({"repeats": 2}, "its repeats are 1, not 2"),
    ],
)  # fmt: skip
async def test_a_journal_of_another_run_is_refused(tmp_path, change, reason):
    path = tmp_path / "r.json"
    await broken_off(path, questions(10), 4)
    benchmark = Benchmark(
        Pipeline(),
        change.get("samples", questions(10)),
        change.get("metrics", [RecallAtK(1)]),
        repeats=change.get("repeats", 1),
    )
    with pytest.raises(ConfigurationError, match=reason):
        await benchmark.run(change.get("name", "r"), path=path, resume=True)


async def test_errored_samples_are_kept_or_asked_again_by_choice(tmp_path):
    path = tmp_path / "r.json"
    failing = Pipeline(stop_after=4, q1=ValueError("down"))
    run = asyncio.create_task(Benchmark(failing, questions(6), [RecallAtK(1)], concurrency=1).run("r", path=path))
    while len(failing.asked) < 4:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    run.cancel()
    await asyncio.wait([run])
    shutil.copy(tmp_path / "r.json.journal", tmp_path / "copy.json.journal")

    keeping, retrying = Pipeline(), Pipeline()
    kept = await Benchmark(keeping, questions(6), [RecallAtK(1)]).run("r", path=path, resume=True)
    assert keeping.asked == ["q4", "q5"]
    assert kept.samples[1].error == "ValueError: down"
    again = await Benchmark(retrying, questions(6), [RecallAtK(1)]).run(
        "r", path=tmp_path / "copy.json", resume=True, retry_errored=True
    )
    assert retrying.asked == ["q1", "q4", "q5"]
    assert again.status == StatusCounts(6, 0, 0)


async def test_a_finished_result_is_not_resumed(tmp_path):
    path = tmp_path / "r.json"
    benchmark = Benchmark(Pipeline(), questions(2), [RecallAtK(1)])
    await benchmark.run("r", path=path)
    with pytest.raises(ConfigurationError, match="that run is finished"):
        await benchmark.run("r", path=path, resume=True)
    assert [file.name for file in tmp_path.iterdir()] == ["r.json"]
    await benchmark.run("again", path=path)
    assert BenchmarkResult.load(path).name == "again"


@pytest.mark.parametrize("options", [{"resume": True}, {"keep_outcomes": True}])
async def test_options_that_need_a_path(options):
    with pytest.raises(ConfigurationError, match="need a path"):
        await Benchmark(Pipeline(), questions(1), [RecallAtK(1)]).run("r", **options)


async def test_retry_errored_needs_resume(tmp_path):
    with pytest.raises(ConfigurationError, match="needs resume=True"):
        await Benchmark(Pipeline(), questions(1), [RecallAtK(1)]).run("r", path=tmp_path / "r", retry_errored=True)


async def test_time_and_start_go_on_over_a_pause(tmp_path):
    path = tmp_path / "r.json"
    await broken_off(path, questions(3), 2)
    journal = read_journal(tmp_path / "r.json.journal")
    assert 0 < journal.elapsed_s < 30
    result = await Benchmark(Pipeline(), questions(3), [RecallAtK(1)]).run("r", path=path, resume=True)
    assert result.created_at.isoformat() == journal.header.created_at
    assert result.duration_s >= journal.elapsed_s


# Reading


async def test_a_journal_is_a_partial_result(tmp_path, capsys):
    await broken_off(tmp_path / "r.json", questions(10), 4)
    path = tmp_path / "r.json.journal"
    partial = read_partial(path)
    assert [sample.question for sample in partial.samples] == ["q0", "q1", "q2", "q3"]
    assert partial.status == StatusCounts(4, 0, 0)
    assert partial.summary["recall@1"].count == 4
    assert partial.higher_is_better == {"recall@1": True}
    assert main(["show", str(path)]) == 0
    assert f"r (partial): 4 of 10 questions have ended, as {path} says" in "".join(
        capsys.readouterr().out.splitlines()
    ).replace("  ", " ")


@pytest.mark.parametrize("torn", [b"", b"{", b'{"position":3,"el', b"\0" * 100, b"x" * 50 + b"\n", b"\0\0\n"])
async def test_a_torn_last_line_is_left_out(tmp_path, torn):
    path = tmp_path / "r.json"
    await broken_off(path, questions(6), 3)
    journal = tmp_path / "r.json.journal"
    data = journal.read_bytes()
    journal.write_bytes(data + torn)
    assert len(read_partial(journal).samples) == 3
    pipeline = Pipeline()
    result = await Benchmark(pipeline, questions(6), [RecallAtK(1)]).run("r", path=path, resume=True)
    assert pipeline.asked == ["q3", "q4", "q5"]
    assert result.status == StatusCounts(6, 0, 0)


async def test_every_length_a_journal_can_be_cut_to_is_a_whole_number_of_samples(tmp_path):
    path = tmp_path / "r.json"
    await broken_off(path, questions(3), 3)
    journal = tmp_path / "r.json.journal"
    data = journal.read_bytes()
    header_end = data.index(b"\n") + 1
    for length in range(len(data)):
        journal.write_bytes(data[:length])
        if length < header_end:
            with pytest.raises(ConfigurationError, match="no header"):
                read_partial(journal)
        else:
            assert len(read_partial(journal).samples) == data[:length].count(b"\n") - 1


@pytest.mark.parametrize("kept", [b"", b"{", b'{"kind":"fastrag journal","sch', b"\0\0\0"])
async def test_a_run_killed_in_its_header_begins_anew(tmp_path, kept):
    (tmp_path / "r.json.journal").write_bytes(kept)
    result = await Benchmark(Pipeline(), questions(2), [RecallAtK(1)]).run("r", path=tmp_path / "r.json")
    assert result.status == StatusCounts(2, 0, 0)


@pytest.mark.parametrize("content", [b"my diary", b"my diary\n", b'{"kind":"fastrag journal"}\n', b"x" * 2_000_000])
async def test_a_strangers_file_is_not_overwritten(tmp_path, content):
    (tmp_path / "r.json.journal").write_bytes(content)
    for resume in (False, True):
        with pytest.raises(ConfigurationError, match=r"r\.json\.journal"):
            await Benchmark(Pipeline(), questions(2), [RecallAtK(1)]).run("r", path=tmp_path / "r.json", resume=resume)
    assert (tmp_path / "r.json.journal").read_bytes() == content


def damage(data):
    lines = data.splitlines(keepends=True)
    content = [unseal(line[:-1]) for line in lines]
    yield "flipped", 3, b"".join([*lines[:2], lines[2].replace(b"q1", b"q9"), *lines[3:]])
    yield "cut in the middle", 3, b"".join([*lines[:2], lines[2][:20], *lines[3:]])
    yield "twice", 4, b"".join([*lines[:3], lines[2], *lines[3:]])
    yield "another position", 3, b"".join([*lines[:2], seal(content[2].replace(b'"position":1', b'"position":99'))])
    yield "a negative position", 3, b"".join([*lines[:2], seal(content[2].replace(b'"position":1', b'"position":-1'))])
    yield "unknown field", 3, b"".join([*lines[:2], seal(content[2][:-1] + b',"x":1}')])
    yield "no header", 1, b"".join(lines[1:])
    yield "newer", 1, b"".join([seal(content[0].replace(b'"schema_version":1', b'"schema_version":2')), *lines[1:]])
    yield "outcomes", 1, b"".join([seal(content[0].replace(b"fastrag journal", b"fastrag outcomes")), *lines[1:]])


async def test_damage_in_the_middle_is_refused_with_its_place(tmp_path):
    await broken_off(tmp_path / "r.json", questions(6), 4)
    journal = tmp_path / "r.json.journal"
    for _, line, data in damage(journal.read_bytes()):
        journal.write_bytes(data)
        with pytest.raises(ConfigurationError, match=rf"r\.json\.journal, line {line}: "):
            read_partial(journal)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_bytes_come_only_configuration_errors(tmp_path, data):
    path = tmp_path / "fuzz.journal"
    if not path.exists():
        asyncio.run(broken_off(tmp_path / "seed.json", questions(5), 4))
        path.write_bytes((tmp_path / "seed.json.journal").read_bytes())
    seed = (tmp_path / "seed.json.journal").read_bytes()
    content = bytearray(seed)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        piece = data.draw(
            st.binary(max_size=6) | st.sampled_from([b"\n", b"\0", b'"', b"{", b"}", b"1e999", b"[" * 99])
        )
        content[at : at + data.draw(st.integers(0, 9))] = piece
    resealed = b"".join(seal(line[:-20] + b"}") for line in bytes(content).split(b"\n") if len(line) > 20)
    for variant in (bytes(content), resealed):
        path.write_bytes(variant)
        try:
            partial = read_partial(path)
        except ConfigurationError as error:
            assert str(path) in str(error)  # noqa: PT017
        else:
            assert all(sample.status in ("successful", "errored", "incomplete") for sample in partial.samples)


# Trouble with files


async def test_two_runs_on_one_path(tmp_path):
    path = tmp_path / "r.json"
    release = asyncio.Event()

    class Waiting(Pipeline):
        async def query(self, question):
            await release.wait()
            return await super().query(question)

    first = asyncio.create_task(Benchmark(Waiting(), questions(3), [RecallAtK(1)]).run("r", path=path))
    await asyncio.sleep(0)
    for resume in (False, True):
        with pytest.raises(ConfigurationError, match="another run is writing it"):
            await Benchmark(Pipeline(), questions(3), [RecallAtK(1)]).run("r", path=path, resume=resume)
    release.set()
    assert (await first).status == StatusCounts(3, 0, 0)
    assert [file.name for file in tmp_path.iterdir()] == ["r.json"]


@pytest.fixture
def small_disk(tmp_path):
    """A file system with room for 32 KiB."""
    mount = shutil.which("mount")
    folder = tmp_path / "small"
    folder.mkdir()
    if mount is None or os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    mounted = subprocess.run([mount, "-t", "tmpfs", "-o", "size=32k", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run([shutil.which("umount"), "-l", folder], check=True)


async def test_a_full_disk_stops_the_run_and_loses_nothing(small_disk):
    path = small_disk / "r.json"
    pipeline = Pipeline()
    with pytest.raises(ConfigurationError, match=r"journal could not be written: .*No space.* with resume=True"):
        await Benchmark(pipeline, questions(2000), [RecallAtK(1)], concurrency=1).run("r", path=path)
    ended = len(read_partial(small_disk / "r.json.journal").samples)
    assert 10 < ended == len(pipeline.asked) - 1
    subprocess.run([shutil.which("mount"), "-o", "remount,size=8m", small_disk], check=True)
    again = Pipeline()
    result = await Benchmark(again, questions(2000), [RecallAtK(1)]).run("r", path=path, resume=True)
    assert result.status == StatusCounts(2000, 0, 0)
    assert len(again.asked) == 2000 - ended


async def test_no_room_for_the_result_keeps_the_journal(tmp_path, monkeypatch):
    path = tmp_path / "r.json"

    def no_space(self, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr("pathlib.Path.replace", no_space)
        with pytest.raises(ConfigurationError, match="No space left") as caught:
            await Benchmark(Pipeline(), questions(5), [RecallAtK(1)]).run("r", path=path)
    assert "resume=True" in caught.value.__notes__[0]
    pipeline = Pipeline()
    result = await Benchmark(pipeline, questions(5), [RecallAtK(1)]).run("r", path=path, resume=True)
    assert (pipeline.asked, result.status) == ([], StatusCounts(5, 0, 0))


async def test_a_line_written_in_part_is_taken_back(tmp_path, monkeypatch):
    """A disk can fill in the middle of a line."""
    path = tmp_path / "r.json"
    real, calls = os.write, 0

    def half(handle, data):
        nonlocal calls
        if bytes(data[:11]) != b'{"position"':
            return real(handle, data)
        calls += 1
        return real(handle, data if calls < 4 else data[: len(data) // 2])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(ConfigurationError, match=r"3 of 10 questions are in the journal"):
        await Benchmark(Pipeline(), questions(10), [RecallAtK(1)], concurrency=1).run("r", path=path)
    monkeypatch.undo()
    assert len(read_partial(tmp_path / "r.json.journal").samples) == 3
    assert (tmp_path / "r.json.journal").read_bytes().endswith(b"}\n")


@pytest.mark.parametrize("name", ["folder", "file/r.json", "n" * 255])
async def test_paths_that_cannot_be_written_are_refused_before_the_first_call(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("in the way")
    pipeline = Pipeline()
    with pytest.raises(ConfigurationError, match=r"cannot be written|is a folder"):
        await Benchmark(pipeline, questions(1), [RecallAtK(1)]).run("r", path=tmp_path / name)
    assert pipeline.asked == []


async def test_a_read_only_folder(tmp_path):
    folder = tmp_path / "fixed"
    folder.mkdir()
    if os.geteuid() == 0:
        # Root writes anywhere but where nobody can.
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", folder], capture_output=True)
        if made.returncode:
            pytest.skip("cannot mount here")
    else:
        folder.chmod(0o500)
    pipeline = Pipeline()
    try:
        with pytest.raises(ConfigurationError, match=r"Read-only|Permission denied"):
            await Benchmark(pipeline, questions(1), [RecallAtK(1)]).run("r", path=folder / "r.json")
    finally:
        if os.geteuid() == 0:
            subprocess.run(["umount", "-l", folder], check=True)
        else:
            folder.chmod(0o700)
    assert pipeline.asked == []


async def test_a_folder_removed_in_the_middle(tmp_path):
    folder = tmp_path / "results"
    journal = folder / "r.json.journal"
    seen = []

    class Removing(Pipeline):
        async def query(self, question):
            await asyncio.sleep(0.001)
            if question == "q60":
                shutil.rmtree(folder)
            elif len(self.asked) > 60 and journal.exists() and not seen:
                seen.append((len(read_partial(journal).samples), len(self.asked)))
            return await super().query(question)

    # Noticed when lines are pushed to the disk: after 50 of them, or a second.
    result = await Benchmark(Removing(), questions(500), [RecallAtK(1)], concurrency=1).run("r", path=folder / "r.json")
    assert result.status == StatusCounts(500, 0, 0)
    assert BenchmarkResult.load(folder / "r.json") == result
    assert [file.name for file in folder.iterdir()] == ["r.json"]
    # Everything that had ended was written again, not only what came later.
    [(written, asked)] = seen
    assert written == asked


async def test_a_clock_that_jumps_backwards(tmp_path, monkeypatch):
    path = tmp_path / "r.json"
    now = [4e9]

    def backwards():
        now[0] -= 86_400
        return now[0]

    monkeypatch.setattr(time, "time", backwards)
    await broken_off(path, questions(4), 2)
    journal = tmp_path / "r.json.journal"
    lines = journal.read_bytes().splitlines(keepends=True)
    header = json.loads(unseal(lines[0][:-1]))
    header["created_at"] = (datetime.now(UTC) + timedelta(days=900)).isoformat()
    journal.write_bytes(seal(json.dumps(header, separators=(",", ":")).encode()) + b"".join(lines[1:]))
    result = await Benchmark(
        Pipeline(),
        questions(4),
        [RecallAtK(1)],
    ).run("r", path=path, resume=True)
    assert result.status == StatusCounts(4, 0, 0)
    assert 0 < result.duration_s < 60
    assert all(0 <= sample.latency_ms < 60_000 for sample in result.samples)


# Repeats


async def test_repeats_stand_side_by_side_and_are_asked_in_rounds(tmp_path):
    path = tmp_path / "r.json"
    first = Pipeline()
    result = await Benchmark(first, questions(3), [RecallAtK(1)], repeats=2, concurrency=1).run("r", path=path)
    assert first.asked == ["q0", "q1", "q2", "q0", "q1", "q2"]
    assert [sample.question for sample in result.samples] == ["q0", "q0", "q1", "q1", "q2", "q2"]
    assert result.status == StatusCounts(6, 0, 0)
    assert result.summary["recall@1"].count == 6


async def test_a_run_with_repeats_is_resumed_where_it_was(tmp_path):
    path = tmp_path / "r.json"
    pipeline = Pipeline(stop_after=4)
    run = asyncio.create_task(
        Benchmark(pipeline, questions(3), [RecallAtK(1)], repeats=2, concurrency=1).run("r", path=path)
    )
    while len(pipeline.asked) < 4:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    run.cancel()
    await asyncio.wait([run])
    again = Pipeline()
    result = await Benchmark(again, questions(3), [RecallAtK(1)], repeats=2).run("r", path=path, resume=True)
    assert again.asked == ["q1", "q2"]
    assert len(result.samples) == 6


# Everything together


class Machine(RuleBasedStateMachine):
    """Runs of one benchmark that break off, fail, lose the end of their journal, and are resumed."""

    COUNT = 6

    def __init__(self):
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.path = Path(self.folder, "r.json")
        self.ended = {}
        self.finished = None

    def teardown(self):
        shutil.rmtree(self.folder)

    @property
    def journal(self):
        return self.path.with_name("r.json.journal")

    async def run(self, stop_after, failing, resume, retry_errored):
        pipeline = Pipeline(stop_after=stop_after, **{f"q{i}": ValueError("down") for i in failing})
        benchmark = Benchmark(
            pipeline, questions(self.COUNT), [RecallAtK(1), TotalTokens()], concurrency=2, stop_after_alike=None
        )
        task = asyncio.create_task(
            benchmark.run("r", path=self.path, resume=resume, retry_errored=retry_errored, keep_outcomes=True)
        )
        for _ in range(200):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return pipeline, task

    @precondition(lambda self: self.finished is None)
    @rule(stop_after=st.integers(0, 7), failing=st.sets(st.integers(0, 5)), retry_errored=st.booleans())
    def resume(self, stop_after, failing, retry_errored):
        kept = {q for q, status in self.ended.items() if not (retry_errored and status == "errored")}
        pipeline, task = asyncio.run(self.run(stop_after, failing, True, retry_errored))
        assert not kept & set(pipeline.asked)
        assert len(set(pipeline.asked)) == len(pipeline.asked)
        for question in pipeline.asked:
            self.ended[question] = "errored" if int(question[1:]) in failing else "successful"
        if task.cancelled():
            assert stop_after <= self.COUNT
        else:
            self.finished = task.result()

    @precondition(lambda self: self.finished is not None)
    @rule(retry_errored=st.booleans())
    def resuming_what_is_finished_is_refused(self, retry_errored):
        pipeline, task = asyncio.run(self.run(0, set(), True, retry_errored))
        assert isinstance(task.exception(), ConfigurationError)
        assert pipeline.asked == []

    @precondition(lambda self: self.finished is None and self.ended)
    @rule()
    def begin_again_is_refused(self):
        _, task = asyncio.run(self.run(0, set(), False, False))
        assert isinstance(task.exception(), ConfigurationError)

    @precondition(lambda self: self.finished is None and self.ended)
    @rule(torn=st.binary(max_size=30))
    def tear(self, torn):
        with self.journal.open("ab") as file:
            file.write(torn.replace(b"\n", b" "))

    @precondition(lambda self: self.finished is None and self.ended)
    @invariant()
    def the_journal_says_what_ended(self):
        partial = read_partial(self.journal)
        assert {sample.question: sample.status for sample in partial.samples} == self.ended

    @precondition(lambda self: self.finished is not None)
    @invariant()
    def the_result_says_what_ended(self):
        assert not self.journal.exists()
        result = BenchmarkResult.load(self.path)
        assert result == self.finished
        assert [sample.question for sample in result.samples] == [f"q{i}" for i in range(self.COUNT)]
        assert {sample.question: sample.status for sample in result.samples} == self.ended
        outcomes = read_outcomes(self.path.with_name("r.json.outcomes.jsonl"))
        scored = asyncio.run(rescore(outcomes, questions(self.COUNT), [RecallAtK(1), TotalTokens()]))
        assert scored.samples == result.samples
        assert scored.summary == result.summary


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=40, stateful_step_count=8, deadline=None)


# Watching and stopping from the same program


async def test_progress_goes_on_where_it_was(tmp_path):
    path = tmp_path / "r.json"
    await broken_off(path, questions(6), 4)
    seen = []
    await Benchmark(Pipeline(), questions(6), [RecallAtK(1)]).run(
        "r", path=path, resume=True, progress=lambda state: seen.append((state.done, state.total))
    )
    assert seen == [(5, 6), (6, 6)]


async def test_cancelling_says_how_to_go_on(tmp_path, caplog):
    await broken_off(tmp_path / "r.json", questions(6), 4)
    [record] = [record for record in caplog.records if record.name.startswith("fastrag")]
    assert record.message == (
        f"stopped: 4 of 6 questions are in {tmp_path / 'r.json.journal'}; run again with resume=True to go on"
    )


async def test_a_watcher_that_fails_is_an_error_of_its_own_and_costs_nothing(tmp_path):
    path = tmp_path / "r.json"

    def watch(state):
        if state.done == 3:
            raise KeyError("my own mistake")

    with pytest.raises(KeyError, match="my own mistake"):
        await Benchmark(Pipeline(), questions(6), [RecallAtK(1)], concurrency=1).run("r", path=path, progress=watch)
    assert len(read_partial(tmp_path / "r.json.journal").samples) == 3


async def test_a_journal_that_another_run_has_replaced(tmp_path):
    """Someone deletes the journal of a run under way and starts another on the same path."""
    path = tmp_path / "r.json"
    journal = tmp_path / "r.json.journal"
    other = None

    class Slow(Pipeline):
        async def query(self, question):
            nonlocal other
            await asyncio.sleep(0.001)
            if question == "q10":
                journal.unlink()
                other = asyncio.create_task(
                    Benchmark(Pipeline(stop_after=5), questions(9), [RecallAtK(1)], concurrency=1).run("s", path=path)
                )
            return await super().query(question)

    with pytest.raises(ConfigurationError, match="another run is writing it"):
        await Benchmark(Slow(), questions(3_000), [RecallAtK(1)], concurrency=1).run("r", path=path)
    assert read_journal(journal).header.name == "s"
    other.cancel()
    await asyncio.wait([other])


class Answering:
    async def retrieve(self, question):
        return [Document("a", "")]


class Crashing:
    async def retrieve(self, question):
        raise ValueError("always")


def asked(*names):
    return [EvalSample(name, ["a"]) for name in names]


async def test_a_run_that_stopped_early_leaves_an_earlier_result_alone(tmp_path):
    path, names = tmp_path / "r.json", [str(i) for i in range(30)]
    whole = await Benchmark(Answering(), asked(*names), [RecallAtK(1)]).run("r", path=path)
    partial = await Benchmark(Crashing(), asked(*names), [RecallAtK(1)]).run("r", path=path)
    assert partial.status.errored == 30
    assert BenchmarkResult.load(path) == whole
    assert journal_path(path).exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
async def test_a_forked_child_does_not_keep_the_lock(tmp_path):
    read_end, write_end = os.pipe()
    child = None

    class Forking:
        async def retrieve(self, question):
            nonlocal child
            if child is None:
                child = os.fork()
                if child == 0:
                    os.read(read_end, 1)  # lives on until the test is done
                    os._exit(0)
            raise asyncio.CancelledError

    try:
        benchmark = Benchmark(Forking(), asked("a", "b"), [RecallAtK(1)], stop_after_alike=1, concurrency=1)
        await benchmark.run("r", path=tmp_path / "r.json")
        result = await Benchmark(Answering(), asked("a", "b"), [RecallAtK(1)]).run(
            "r", path=tmp_path / "r.json", resume=True, retry_errored=True
        )
        assert result.status.successful == 2
    finally:
        os.write(write_end, b"x")
        os.waitpid(child, 0)
        os.close(read_end)
        os.close(write_end)


@pytest.mark.parametrize("path", [5, b"r.json", "a\0b"])
async def test_a_path_that_is_none(path):
    with pytest.raises(ConfigurationError):
        await Benchmark(Answering(), asked("a"), [RecallAtK(1)]).run("r", path=path)


async def test_a_result_path_that_is_no_file_is_refused_before_anything_is_asked(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigurationError, match="no regular file"):
        await Benchmark(Crashing(), asked("a"), [RecallAtK(1)]).run("r", path=tmp_path / "pipe")
