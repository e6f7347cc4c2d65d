"""The command line: what it says, where, and with which exit code."""

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from fastrag.benchmark import BenchmarkResult, DistributionSummary, SampleResult, StatusCounts
from fastrag.cli import main


def save_result(path, name, *scores, metric="m"):
    samples = [
        SampleResult(f"q{i}", "errored", {metric: None}, error="ValueError: boom")
        if score is None
        else SampleResult(f"q{i}", "successful", {metric: score})
        for i, score in enumerate(scores)
    ]
    errored = sum(score is None for score in scores)
    status = StatusCounts(len(scores) - errored, errored, 0)
    summary = {metric: DistributionSummary.of(scores)}
    BenchmarkResult(name, datetime.now(UTC), status, summary, samples, 1.0, {metric: True}).save(path)


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "git.md").write_text("# Git\n\nTo undo the last commit, use git revert. It makes a new commit.\n")
    (folder / "tea.txt").write_text("Tea is steeped for three minutes. Green tea wants cooler water.\n")
    return folder


def test_help_teaches(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    assert "fastrag demo" in out
    assert "Exit codes" in out


def test_the_demo_tells_of_a_missing_extra_before_it_fetches_a_model(monkeypatch, tmp_path, capsys):
    def fetch(name="", *, progress=False):
        pytest.fail("nothing is fetched for what cannot run")

    monkeypatch.setattr("fastrag.llm.gguf.fetch_model", fetch)
    monkeypatch.setattr("fastrag.llm.gguf.gguf_path", lambda: tmp_path / "none.gguf")
    monkeypatch.delenv("FASTRAG_GGUF", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["demo", "--llm", "--folder", str(tmp_path / "demo")]) == 1
    assert "pip install 'fastrag[llama-cpp]'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["demo", "ingest", "ask", "copy", "show", "best", "compare"])
def test_every_command_has_examples(command, capsys):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert f"examples:\n  fastrag {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [[], ["nonsense"], ["best", "x"], ["ask"], ["ingest", "x"], ["ask", "q", "--index", "i", "-k", "many"]]
)
def test_wrong_usage_is_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert "wrong usage" in error
    assert "--help" in error


def test_version(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("fastrag 0.")


def test_show(tmp_path, capsys):
    save_result(tmp_path / "a.json", "run-a", 0.5, None)
    assert main(["show", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "run-a" in out
    assert "50%" in out
    assert "1 x errored: ValueError: boom" in out


def test_show_of_something_else(tmp_path, capsys):
    (tmp_path / "x.json").write_text("{}")
    assert main(["show", str(tmp_path / "x.json")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("fastrag: error: ")
    assert "x.json" in error
    assert len(error.splitlines()) == 1


def test_debug_shows_the_traceback(tmp_path):
    for arguments in (["--debug", "show", str(tmp_path)], ["show", "--debug", str(tmp_path)]):
        with pytest.raises(ValueError, match="no result files"):
            main(arguments)


def test_best(tmp_path, capsys):
    save_result(tmp_path / "a.json", "run-a", 0.5, 0.5)
    save_result(tmp_path / "b.json", "run-b", 0.9, None)
    assert main(["best", str(tmp_path), "--metric", "m"]) == 0
    assert "best by m: run-a" in capsys.readouterr().out
    # Nobody knows how bad the question may be that run-b failed on.
    assert main(["best", str(tmp_path), "--metric", "m", "--min-coverage", "0.5"]) == 0
    assert "best by m: run-a\n  tied with it, for no difference is shown: run-b" in capsys.readouterr().out


def test_best_by_an_unknown_metric(tmp_path, capsys):
    save_result(tmp_path / "a.json", "run-a", 0.5)
    assert main(["best", str(tmp_path), "--metric", "ndcg"]) == 1
    assert "no result has the metric 'ndcg'; there are: m" in capsys.readouterr().err


def test_best_in_a_folder_with_a_stranger(tmp_path, capsys):
    save_result(tmp_path / "a.json", "run-a", 0.5)
    (tmp_path / "package.json").write_text("{}")
    assert main(["best", str(tmp_path), "--metric", "m"]) == 1
    assert "package.json" in capsys.readouterr().err


def test_ingest_and_ask(tmp_path, docs, capsys):
    index = str(tmp_path / "index")
    assert main(["ingest", str(docs), "--index", index, "--lexical-only"]) == 0
    assert main(["ask", "How do I undo a commit?", "--index", index, "--retriever", "lexical", "-k", "1"]) == 0
    out = capsys.readouterr().out
    assert "git revert" in out
    assert "*[1] git.md#0" in out


def test_ingest_of_nothing(tmp_path, capsys):
    assert main(["ingest", str(tmp_path / "none"), "--index", str(tmp_path / "i"), "--lexical-only"]) == 1
    assert str(tmp_path / "none") in capsys.readouterr().err


def test_a_file_that_fails_fails_the_job_but_not_the_rest(tmp_path, docs, capsys):
    (docs / "broken.pdf").write_bytes(b"%PDF-1.4 nothing more")
    index = str(tmp_path / "index")
    assert main(["ingest", str(docs), "--index", index, "--lexical-only"]) == 1
    output = capsys.readouterr()
    assert "broken.pdf" in output.out
    assert "1 documents could not be ingested" in output.err
    assert main(["ask", "undo commit", "--index", index, "--retriever", "lexical"]) == 0


def test_a_list_of_what_failed(tmp_path, docs, capsys):
    (docs / "bad.txt").write_bytes(b"\xff")
    command = ["ingest", str(docs), "--index", str(tmp_path / "index"), "--lexical-only", "--workers", "2"]
    command += ["--dead-letters", str(tmp_path / "failed.jsonl")]
    assert main(command) == 1
    assert "what failed is listed in" in capsys.readouterr().err
    assert "bad.txt" in (tmp_path / "failed.jsonl").read_text()
    assert main([*command, "--failed-before", "skip"]) == 0
    assert "failed before and is unchanged" in capsys.readouterr().out
    (docs / "bad.txt").write_text("Good now.")
    (docs / "tea.txt").write_text("Not looked at.")
    assert main([*command, "--failed-before", "only"]) == 0
    assert capsys.readouterr().out.startswith("1 document: 1 added, 0 updated, 0 unchanged; 0 removed")
    assert (tmp_path / "failed.jsonl").read_text() == ""


def test_failed_before_needs_the_list(tmp_path, docs, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["ingest", str(docs), "--index", str(tmp_path / "index"), "--failed-before", "only"])
    assert caught.value.code == 2
    assert "needs --dead-letters" in capsys.readouterr().err


def test_ask_without_an_index(tmp_path, capsys):
    assert main(["ask", "q", "--index", str(tmp_path / "none"), "--retriever", "lexical"]) == 1
    assert "fastrag ingest" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_ingest_and_ask_by_url(tmp_path, docs, capsys):
    index = f"lance:{tmp_path}/index?namespace=handbook"
    assert main(["ingest", str(docs), "--index", index, "--lexical-only"]) == 0
    assert main(["ask", "How do I undo a commit?", "--index", index, "--retriever", "lexical", "-k", "1"]) == 0
    assert "git revert" in capsys.readouterr().out
    assert main(["ask", "q", "--index", str(tmp_path / "index"), "--retriever", "lexical"]) == 1
    with pytest.raises(SystemExit) as caught:
        main(["ask", "q", "--index", "redis://:s3cret@host"])
    assert caught.value.code == 2
    assert "s3cret" not in capsys.readouterr().err


def test_ask_nothing(tmp_path, docs, capsys):
    index = str(tmp_path / "index")
    main(["ingest", str(docs), "--index", index, "--lexical-only"])
    assert main(["ask", " ", "--index", index, "--retriever", "lexical"]) == 1
    assert "question" in capsys.readouterr().err


def test_a_missing_model_says_how_to_get_one(tmp_path, docs, capsys, monkeypatch):
    monkeypatch.setenv("FASTRAG_MODEL_DIR", str(tmp_path / "nowhere"))
    assert main(["ingest", str(docs), "--index", str(tmp_path / "index")]) == 1
    assert "fetch_model.py" in capsys.readouterr().err


def test_an_empty_index_is_an_error(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert main(["ask", "q", "--index", str(tmp_path / "empty"), "--retriever", "lexical"]) == 1
    assert "is empty" in capsys.readouterr().err


def test_asking_vectors_of_an_index_without_is_an_error(tmp_path, docs, capsys):
    index = str(tmp_path / "index")
    main(["ingest", str(docs), "--index", index, "--lexical-only"])
    assert main(["ask", "q", "--index", index, "--retriever", "dense"]) == 1
    assert "has no vectors" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--llm-url", "http://127.0.0.1:9"], ["--embedding-url", "http://127.0.0.1:9"]])
def test_an_endpoint_without_a_model_is_wrong_usage(options, tmp_path):
    with pytest.raises(SystemExit) as caught:
        main(["ask", "q", "--index", str(tmp_path), *options])
    assert caught.value.code == 2


def test_hostile_files_do_not_steer_the_terminal(tmp_path, docs, capsys):
    save_result(tmp_path / "a.json", "\x1b]0;title\x07run", 0.5)
    (docs / "\x1b[31mred.md").write_text("Undo a commit \x1b[2J by hand.")
    index = str(tmp_path / "index")
    assert main(["best", str(tmp_path / "a.json"), "--metric", "m"]) == 0
    assert main(["ingest", str(docs), "--index", index, "--lexical-only"]) == 0
    assert main(["ask", "undo a commit by hand", "--index", index, "--retriever", "lexical"]) == 0
    assert main(["show", str(tmp_path / "\x1b[31mnone.json")]) == 1
    output = capsys.readouterr()
    assert "\x1b" not in output.out + output.err
    assert "\x07" not in output.out + output.err


@pytest.mark.parametrize("redirection", ["LC_ALL=C PYTHONIOENCODING=ascii {} show {}", "{} show {} >&-"])
def test_an_odd_stdout(tmp_path, redirection):
    save_result(tmp_path / "a.json", "r\u00fcn \u2713", 0.5)
    command = redirection.format(f"{sys.executable} -m fastrag.cli", tmp_path / "a.json")
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_as_a_program_with_a_closed_pipe(tmp_path):
    save_result(tmp_path / "a.json", "run-a", *[0.5] * 50)
    command = f"{sys.executable} -m fastrag.cli show " + " ".join([str(tmp_path / "a.json")] * 400) + " | head -1"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1


def test_ctrl_c_is_130(tmp_path):
    # A named pipe that nobody writes to: the command waits in reading it until the signal comes.
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [sys.executable, "-m", "fastrag.cli", "show", str(pipe)], stderr=subprocess.PIPE, text=True
    )
    # Opening the other end succeeds only once the command has opened its own.
    with pipe.open("wb"):
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error == "fastrag: interrupted; run the same command again to go on\n"


def test_best_names_ties_and_shows_rivals(tmp_path, capsys):
    save_result(tmp_path / "hybrid.json", "hybrid", 0.5, 0.5)
    save_result(tmp_path / "hybrid-reranked.json", "hybrid-reranked", 0.5, 0.5)
    assert main(["best", str(tmp_path), "--metric", "m"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("best by m: hybrid\n  tied with it, for no difference is shown: hybrid-reranked\n")
    assert [line.split()[:2] for line in out.splitlines() if line.startswith("  =1")] == [
        ["=1", "hybrid"], ["=1", "hybrid-reranked"],
    ]  # fmt: skip


def test_best_says_why_results_have_no_rank(tmp_path, capsys):
    save_result(tmp_path / "a.json", "run-a", 0.5, 0.5)
    save_result(tmp_path / "b.json", "run-b", 0.9, None)
    save_result(tmp_path / "c.json", "run-c", 0.9, metric="other")
    assert main(["best", str(tmp_path), "--metric", "m"]) == 0
    out = capsys.readouterr().out
    assert "no rank: run-b: measured 1 of 2 measurable questions (50%), below 90%\n" in out
    assert "no rank: run-c: does not have the metric\n" in out


def test_best_where_none_qualifies(tmp_path, capsys):
    save_result(tmp_path / "a.json", "run-a", 0.5, None)
    for options in ([], ["--json"]):
        assert main(["best", str(tmp_path), "--metric", "m", *options]) == 1
        output = capsys.readouterr()
        assert output.err == "fastrag: error: no result can be called best by m: none qualifies\n"
        assert "measured 1 of 2" in output.out


def test_best_as_json(tmp_path, capsys):
    save_result(tmp_path / "a.json", "run-a", 0.5, 0.25)
    save_result(tmp_path / "b.json", "run-b", 0.5, 0.25)
    save_result(tmp_path / "c.json", "run-c", 0.9, metric="other")
    assert main(["best", str(tmp_path), "--metric", "m", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema_version"], found["winner"], found["tied_with_winner"]) == (1, "run-a", ["run-b"])
    assert [(entry["name"], entry["rank"]) for entry in found["entries"]] == [
        ("run-a", 1), ("run-b", 1), ("run-c", None),
    ]  # fmt: skip


def test_show_as_json(tmp_path, capsys):
    save_result(tmp_path / "a.json", "run-a", 0.5, None)
    assert main(["show", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    [result] = found["results"]
    assert (found["schema_version"], result["name"], result["partial"]) == (1, "run-a", None)
    assert result["metrics"]["m"]["coverage"] == {
        "measured": 1, "measurable": 2, "asked": 2, "reasons": {"errored": 1}, "share": 0.5,
    }  # fmt: skip


@pytest.mark.parametrize("command", ["show", "best", "compare"])
def test_help_says_what_the_exit_codes_are(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert "\nexit codes:\n  0  " in capsys.readouterr().out


def test_skipped_files_are_named(tmp_path, docs, capsys):
    (docs / "picture.png").write_bytes(b"\x89PNG")
    assert main(["ingest", str(docs), "--index", str(tmp_path / "index"), "--lexical-only"]) == 0
    assert "picture.png" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["-k", "0"], ["-k", "two"]])
def test_k_is_checked_before_anything_is_opened(arguments, tmp_path):
    with pytest.raises(SystemExit) as caught:
        main(["ask", "q", "--index", str(tmp_path), *arguments])
    assert caught.value.code == 2


def test_min_coverage_is_a_share(tmp_path):
    with pytest.raises(SystemExit) as caught:
        main(["best", str(tmp_path), "--metric", "m", "--min-coverage", "5"])
    assert caught.value.code == 2


def test_python_dash_m(tmp_path):
    done = subprocess.run([sys.executable, "-m", "fastrag", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("fastrag ")
