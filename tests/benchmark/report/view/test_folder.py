"""What is read of a folder: regular files in it that changed, and never more."""

import os
from datetime import UTC, datetime

import pytest

from fastrag.benchmark import EvalSample, SampleResult
from fastrag.benchmark.budget import Budget
from fastrag.benchmark.journal import Journal
from fastrag.benchmark.report.html import runs
from fastrag.benchmark.report.view.folder import ResultsFolder
from fastrag.benchmark.run_header import run_header


@pytest.fixture
def folder(tmp_path, make_result):
    folder = tmp_path / "results"
    folder.mkdir()
    make_result("b", [0.5, 0.25]).save(folder / "b.json")
    make_result("a", [0.5, 0.75]).save(folder / "a.json")
    return folder


def read(results):
    found, warnings = results.read(results.look())
    return [run.result.name for run in found], warnings


def journal(path, ended, *, name="j", total=5):
    samples = [EvalSample(f"q{i}", id=str(i)) for i in range(total)]
    made = Journal(path, run_header(name, datetime.now(UTC), {"ndcg@10": True}, samples, 1))
    for position in range(ended):
        add(made, position)
    return made


def add(made, position):
    made.add(position, SampleResult(f"q{position}", "successful", {"ndcg@10": 0.5}), 1, Budget(None, None, None))


async def test_results_and_journals_by_name(folder):
    made = journal(folder / "aa.json", 2)
    (folder / "notes.txt").write_text("no result")
    (folder / ".hidden.json").write_text("{}")
    (folder / "sub").mkdir()
    (folder / "sub" / "c.json").write_text("{}")
    found, warnings = ResultsFolder(folder).read(ResultsFolder(folder).look())
    assert [run.result.name.split(" ")[0] for run in found] == ["a", "j", "b"]
    assert [run.partial for run in found] == [None, (2, 5), None]
    assert warnings == []
    made.close()


def test_what_did_not_change_is_not_read_again(folder, monkeypatch, make_result):
    seen = []
    real = runs.reported_run
    monkeypatch.setattr(runs, "reported_run", lambda path: (seen.append(path.name), real(path))[1])
    results = ResultsFolder(folder)
    first = results.look()
    results.read(first)
    assert seen == ["a.json", "b.json"]
    assert results.look().token == first.token
    make_result("new b", [0.5, 0.5]).save(folder / "b.json")
    assert results.look().token != first.token
    assert read(results)[0] == ["a", "new b"]
    assert seen == ["a.json", "b.json", "b.json"]


async def test_a_journal_that_grows_is_read_again(folder):
    results = ResultsFolder(folder)
    made = journal(folder / "j.json", 1)
    tokens = {results.look().token}
    assert results.read(results.look())[0][-1].partial == (1, 5)
    add(made, 1)
    tokens.add(results.look().token)
    assert results.read(results.look())[0][-1].partial == (2, 5)
    assert len(tokens) == 2
    made.close()


async def test_a_journal_beside_its_finished_result_is_not_shown_twice(folder, make_result):
    """As a crash between saving and removing leaves it."""
    made = journal(folder / "a.json", 2)
    made.close()
    assert read(ResultsFolder(folder))[0][0] == "a"
    assert len(read(ResultsFolder(folder))[0]) == 3  # another run of that name
    finished = make_result("a", [0.5])
    finished.created_at = datetime.fromisoformat(made.header.created_at)
    finished.save(folder / "a.json")
    assert read(ResultsFolder(folder))[0] == ["a", "b"]


def test_a_file_that_cannot_be_read_is_a_warning(folder):
    (folder / "broken.json").write_text('{"schema_version": 1')
    (folder / "strange\x1b[31m.json").write_text("[]")
    (folder / "empty.json.journal").touch()
    found, warnings = read(ResultsFolder(folder))
    assert found == ["a", "b"]
    assert len(warnings) == 2
    assert warnings[0].startswith("broken.json is left out: not a result file: ")
    assert "strange\\x1b[31m.json is left out" in warnings[1]


@pytest.mark.parametrize("name", ["c.json", "c.json.journal", "a.json.outcomes.jsonl", "a.json.judgements.jsonl"])
def test_links_out_of_the_folder_are_not_followed(folder, tmp_path, make_result, name):
    make_result("secret", [0.5]).save(tmp_path / "secret.json")
    (folder / name).symlink_to("../secret.json")
    found, warnings = read(ResultsFolder(folder))
    assert found == (["b"] if name.startswith("a") else ["a", "b"])
    assert any(f"{name} is a link that leads out of the folder" in warning for warning in warnings)


def test_a_link_within_the_folder_is_what_it_leads_to_once(folder):
    (folder / "a-link.json").symlink_to("b.json")
    assert read(ResultsFolder(folder)) == (["a", "b"], [])
    (folder / "b.json").rename(folder / "b.data")
    (folder / "a-link.json").unlink()
    (folder / "link.json").symlink_to("b.data")
    assert read(ResultsFolder(folder)) == (["a", "b"], [])


def test_a_link_into_a_folder_within_is_not_followed(folder):
    (folder / "sub").mkdir()
    (folder / "b.json").rename(folder / "sub" / "b.json")
    (folder / "b.json").symlink_to("sub/b.json")
    found, [warning] = read(ResultsFolder(folder))
    assert found == ["a"]
    assert "leads out" in warning


def test_a_folder_that_is_a_link_is_itself(folder, tmp_path):
    (tmp_path / "link").symlink_to("results")
    assert read(ResultsFolder(tmp_path / "link")) == (["a", "b"], [])


@pytest.mark.parametrize("name", ["c.json", "a.json.outcomes.jsonl"])
def test_pipes_are_not_opened(folder, name):
    os.mkfifo(folder / name)
    _, warnings = read(ResultsFolder(folder))
    assert any(f"{name} is no regular file" in warning for warning in warnings)


@pytest.mark.parametrize("put", [lambda path: path.symlink_to("../secret.json"), os.mkfifo])
def test_what_takes_the_place_of_a_file_after_the_look_is_not_read(folder, tmp_path, make_result, put):
    make_result("secret", [0.5]).save(tmp_path / "secret.json")
    results = ResultsFolder(folder)
    seen = results.look()
    (folder / "b.json").unlink()
    put(folder / "b.json")
    found, [warning] = results.read(seen)
    assert [run.result.name for run in found] == ["a"]
    assert warning.startswith("b.json is left out: b.json is ")


@pytest.mark.parametrize("is_link", [True, False])
def test_what_takes_its_place_while_it_is_read_is_not_shown(folder, tmp_path, make_result, monkeypatch, is_link):
    make_result("other", [0.5]).save(tmp_path / "other.json")
    real = runs.reported_run

    def replaced(path):
        if path.name == "b.json":
            path.unlink()
            path.symlink_to("../other.json") if is_link else (tmp_path / "other.json").rename(path)
        return real(path)

    monkeypatch.setattr(runs, "reported_run", replaced)
    results = ResultsFolder(folder)
    found, [warning] = read(results)
    assert found == ["a"]
    assert "b.json is left out" in warning
    monkeypatch.setattr(runs, "reported_run", real)
    assert read(results)[0] == (["a"] if is_link else ["a", "other"])


def test_a_link_that_is_changed_during_the_look_is_not_followed(folder, tmp_path, make_result, monkeypatch):
    make_result("secret", [0.5]).save(tmp_path / "secret.json")
    real = os.path.realpath
    # As it was when asked the first time; what can be seen of it from then on is the regular file.
    asked = []

    def once(path, **options):
        if str(path).endswith("b.json") and not asked:
            asked.append(path)
            return str(tmp_path / "secret.json")
        return real(path, **options)

    monkeypatch.setattr(os.path, "realpath", once)
    found, [warning] = read(ResultsFolder(folder))
    assert found == ["a"]
    assert warning == "b.json is left out: b.json is a link that leads out of the folder."


def test_a_link_that_a_file_replaces_while_it_is_followed_is_left_out(folder, monkeypatch):
    (folder / "link.json").symlink_to("b.json")
    real = os.readlink

    def replaced(path, **options):
        os.unlink(path)  # noqa: PTH108
        open(path, "w").close()  # noqa: PTH123
        return real(path, **options)

    monkeypatch.setattr(os, "readlink", replaced)
    found, [warning] = read(ResultsFolder(folder))
    assert found == ["a", "b"]
    assert warning.startswith("link.json is left out: ")  # why depends on the version of Python


def test_loops_of_links_and_dangling_ones(folder):
    (folder / "loop.json").symlink_to("loop.json")
    (folder / "gone.json").symlink_to("nothing.json")
    found, _ = read(ResultsFolder(folder))
    assert found == ["a", "b"]


def test_an_empty_folder_and_one_that_comes_later(tmp_path, make_result):
    results = ResultsFolder(tmp_path / "later")
    found, [warning] = read(results)
    assert found == []
    assert "no folder" in warning
    (tmp_path / "later").mkdir()
    found, [warning] = read(results)
    assert "no results" in warning
    make_result("first", [0.5]).save(tmp_path / "later" / "first.json")
    assert read(results) == (["first"], [])


def test_a_file_in_the_folders_place(tmp_path):
    (tmp_path / "results").touch()
    [warning] = read(ResultsFolder(tmp_path / "results"))[1]
    assert "cannot be read" in warning
