"""Results by their folders, and what is said of the other files of runs that lie there."""

import asyncio
from datetime import UTC, datetime

import pytest

from fastrag.benchmark import Benchmark, BenchmarkResult, DistributionSummary, EvalSample, SampleResult, StatusCounts
from fastrag.benchmark.budget import Budget
from fastrag.benchmark.journal import Journal
from fastrag.benchmark.loading import load_all, open_journals
from fastrag.benchmark.metrics import RecallAtK
from fastrag.benchmark.run_header import run_header
from fastrag.cli import main
from fastrag.document import Document
from fastrag.errors import ConfigurationError

CREATED_AT = datetime(2026, 11, 30, tzinfo=UTC)


def save(path, name, created_at=CREATED_AT):
    samples = [SampleResult("q", "successful", {"m": 0.5})]
    summary = {"m": DistributionSummary.of([0.5])}
    BenchmarkResult(name, created_at, StatusCounts(1, 0, 0), summary, samples, 1.0, {"m": True}).save(path)


def leave_journal(path, name, *, ended=1):
    """Leave the journal of a run in which that many of two questions have ended."""
    samples = [EvalSample(f"q{i}", id=str(i)) for i in range(2)]
    # A run does not begin where its result is already.
    aside = path.with_suffix(".aside")
    if is_finished := path.exists():
        path.rename(aside)

    async def write():
        journal = Journal(path, run_header(name, CREATED_AT, {"m": True}, samples, 1))
        for position in range(ended):
            result = SampleResult(f"q{position}", "successful", {"m": 0.5})
            journal.add(position, result, 1, Budget(None, None, None))
        journal.close()

    asyncio.run(write())
    if is_finished:
        aside.rename(path)
    return path.with_name(path.name + ".journal")


def test_files_and_folders(tmp_path):
    for name in ("b", "a", "a-2"):
        save(tmp_path / f"{name}.json", name)
    (tmp_path / "benchmark.py").write_text("# the script beside its results")
    assert [result.name for result in load_all([tmp_path])] == ["a", "a-2", "b"]
    assert [result.name for result in load_all([tmp_path / "b.json", tmp_path])] == ["b", "a", "a-2", "b"]


def test_strangers_are_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"has no result files \(\*\.json\)$"):
        load_all([tmp_path])
    save(tmp_path / "a.json", "a")
    (tmp_path / "package.json").write_text("{}")
    with pytest.raises(ConfigurationError, match=r"package\.json: .*; move it out"):
        load_all([tmp_path])


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "{folder}"],
        ["best", "{folder}", "--metric", "m"],
        ["compare", "{folder}/../base.json", "{folder}"],
        ["export", "{folder}", "--format", "csv"],
    ],
)
def test_a_folder_of_journals_only(arguments, tmp_path, capsys):
    folder = tmp_path / "results"
    save(tmp_path / "base.json", "base")
    journal = leave_journal(folder / "a.json", "a")
    arguments = [argument.format(folder=folder) for argument in arguments]
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert "no result files (*.json), but the journal of a run that has not ended: a.json.journal." in error
    assert f"fastrag show {journal} and fastrag report read them" in error
    for letter in "bcdefg":
        leave_journal(folder / f"{letter}.json", letter)
    assert main(arguments) == 1
    names = ", ".join(f"{letter}.json.journal" for letter in "abcde")
    assert f"but journals of runs that have not ended: {names} and 2 more." in capsys.readouterr().err


@pytest.mark.parametrize("ended", [0, 1, 2])
@pytest.mark.parametrize("name", ["a.json.journal", "renamed.json"])
def test_a_journal_is_no_result_and_is_told(ended, name, tmp_path):
    path = leave_journal(tmp_path / "a.json", "a", ended=ended).rename(tmp_path / name)
    with pytest.raises(ConfigurationError) as caught:
        BenchmarkResult.load(path)
    assert str(caught.value) == (
        f"{path}: not a result file: it is the journal of a run that has not ended: fastrag show and fastrag report "
        "read it; run again with resume=True to end it"
    )


class Finder:
    async def retrieve(self, question):
        return [Document("a", "text")]


def test_what_is_kept_beside_a_result_is_no_result_and_is_told(tmp_path):
    benchmark = Benchmark(Finder(), [EvalSample("q", relevant_ids=["a"])], [RecallAtK(1)])
    asyncio.run(benchmark.run("r", path=tmp_path / "r.json", keep_outcomes=True))
    outcomes = tmp_path / "r.json.outcomes.jsonl"
    with pytest.raises(ConfigurationError, match=r"it is what a run's pipeline returned.*read_outcome"):
        BenchmarkResult.load(outcomes)
    outcomes.write_bytes(outcomes.read_bytes().replace(b"fastrag outcomes", b"fastrag judgements"))
    with pytest.raises(
        ConfigurationError, match=r"not a result file: it is what judges said in a run.*read_judgements"
    ):
        BenchmarkResult.load(outcomes)
    outcomes.write_bytes(b'{"kind":"fastrag dreams"}')
    with pytest.raises(ConfigurationError, match="not a result file: Object contains unknown field"):
        BenchmarkResult.load(outcomes)


def test_show_says_which_runs_of_a_folder_it_leaves_out(tmp_path, capsys):
    save(tmp_path / "done.json", "done")
    leave_journal(tmp_path / "done.json", "done")
    assert main(["show", str(tmp_path)]) == 0
    assert "not shown" not in capsys.readouterr().out
    open_one = leave_journal(tmp_path / "open.json", "open")
    assert main(["show", str(tmp_path)]) == 0
    line = "not shown: 1 run that has not ended (open.json.journal); fastrag report shows it, too\n"
    assert capsys.readouterr().out.endswith(f"\n{line}")
    assert main(["show", str(tmp_path), str(open_one)]) == 0
    assert "not shown" not in capsys.readouterr().out
    leave_journal(tmp_path / "other.json", "other")
    assert main(["show", str(tmp_path), "--json"]) == 0
    names = "open.json.journal, other.json.journal"
    assert capsys.readouterr().err == (
        f"fastrag: not shown: 2 runs that have not ended ({names}); fastrag report shows them, too\n"
    )


def test_a_journal_beside_the_result_of_another_run_is_open(tmp_path):
    save(tmp_path / "a.json", "a", datetime(2026, 11, 29, tzinfo=UTC))
    journal = leave_journal(tmp_path / "a.json", "a")
    assert open_journals(tmp_path, load_all([tmp_path])) == [journal]
    journal.write_bytes(b"damaged")
    assert open_journals(tmp_path, load_all([tmp_path])) == [journal]
