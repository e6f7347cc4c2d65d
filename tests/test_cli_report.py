"""``fastrag report``: what it reads, where it writes, and what it refuses."""

import base64
import gzip
import json
import os
import re
import resource
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fastrag.benchmark import (
    Benchmark,
    BenchmarkResult,
    DistributionSummary,
    EvalSample,
    SampleResult,
    StatusCounts,
    write_samples,
)
from fastrag.benchmark.budget import Budget
from fastrag.benchmark.journal import Journal
from fastrag.benchmark.metrics import RecallAtK
from fastrag.benchmark.run_header import run_header
from fastrag.cli import main
from fastrag.document import Document


@pytest.fixture(autouse=True)
def pages(built_pages):
    pass


@pytest.fixture
def folder(tmp_path):
    """Of two results, "base" and "new"."""
    folder = tmp_path / "results"
    for name, scores in {"base": [0.2, 0.5, None], "new": [0.3, 0.75, 1.0]}.items():
        save(folder / f"{name}.json", name, scores)
    return folder


def save(path, name, scores):
    samples = [
        SampleResult(f"q{i}", "errored" if score is None else "successful", {"m": score}, error=error(score))
        for i, score in enumerate(scores)
    ]
    missing = scores.count(None)
    status, summary = StatusCounts(len(scores) - missing, missing, 0), {"m": DistributionSummary.of(scores)}
    BenchmarkResult(name, datetime.now(UTC), status, summary, samples, 1.0, {"m": True}).save(path)


def error(score):
    return "ValueError: boom" if score is None else None


def part(path, name):
    [packed] = re.findall(f'data-part="{name}">([^<]*)<', path.read_text("utf-8"))
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def labels(path):
    return [run["label"] for run in part(path, "overview")["runs"]]


def wrong_usage(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main(["report", *map(str, arguments)])
    assert caught.value.code == 2
    return capsys.readouterr().err


def test_a_folder_becomes_one_file(folder, tmp_path, capsys):
    output = tmp_path / "out" / "report.html"
    assert main(["report", str(folder), "-o", str(output), "--title", "Two of them"]) == 0
    assert labels(output) == ["base", "new"]
    assert part(output, "overview")["title"] == "Two of them"
    assert part(output, "comparison-0-1")["candidate"] == 1
    assert part(output, "details-0")["questions"][0]["text"] == "q0"
    out, err = capsys.readouterr()
    assert re.fullmatch(rf"{re.escape(str(output))}: 2 runs, \d+\.\d MB\n", out)
    assert err == ""


def test_the_first_run_named_is_the_baseline_and_no_file_is_read_twice(folder, tmp_path):
    output = tmp_path / "report.html"
    (folder / "link.json").symlink_to("base.json")
    assert main(["report", str(folder / "new.json"), str(folder), str(folder / "new.json"), "-o", str(output)]) == 0
    assert labels(output) == ["new", "base"]


async def test_journals_are_partial(folder, tmp_path):
    samples = [EvalSample(f"q{i}", id=str(i)) for i in range(4)]
    journal = Journal(folder / "c.json", run_header("going", datetime.now(UTC), {"m": True}, samples, 1))
    journal.add(0, SampleResult("q0", "successful", {"m": 0.5}), 1, Budget(None, None, None))
    output = tmp_path / "report.html"
    for paths in ([str(folder)], [str(folder / "base.json"), str(folder / "c.json.journal")]):
        assert main(["report", *paths, "-o", str(output)]) == 0
        overview = part(output, "overview")
        assert [run["partial"] for run in overview["runs"]].count({"ended": 1, "total": 4}) == 1
        assert any("going" in warning for warning in overview["warnings"])
    journal.close()


async def test_what_lies_beside_a_result_is_shown(tmp_path):
    class Finder:
        async def retrieve(self, question):
            return [Document("a", "The text of a.", uri="a.txt", metadata={"score": 0.5})]

    samples = [EvalSample("q", relevant_ids=["a"], reference_answer="right", id="s", metadata={"topic": "t"})]
    await Benchmark(Finder(), samples, [RecallAtK(1)]).run("r", path=tmp_path / "r.json", keep_outcomes=True)
    write_samples(tmp_path / "samples.jsonl", samples)
    output = tmp_path / "report.html"
    arguments = ["report", str(tmp_path / "r.json"), "-o", str(output)]
    assert main(arguments) == 0
    details = part(output, "details-0")
    assert details["texts"] == ["The text of a."]
    assert details["questions"][0]["sample"] is None
    assert main([*arguments, "--samples", str(tmp_path / "samples.jsonl")]) == 0
    [question] = part(output, "details-0")["questions"]
    assert question["sample"]["reference_answer"] == "right"
    assert question["results"][0]["sources"][0]["is_relevant"] is True


def test_differences_within_a_margin_are_equivalent(tmp_path, capsys):
    scores = [0.2, 0.5, 0.3, 0.25, 0.6, 0.1, 0.7, 0.4] * 4
    paths = [str(tmp_path / f"{name}.json") for name in ("base", "new")]
    save(Path(paths[0]), "base", scores)
    save(Path(paths[1]), "new", [score + (0.001 if i % 2 else -0.001) for i, score in enumerate(scores)])
    for margin, verdict in ((["--margin", "m=0.05"], "equivalent"), ([], "no difference shown")):
        assert main(["report", *paths, "-o", str(tmp_path / "r.html"), *margin]) == 0
        [found] = part(tmp_path / "r.html", "comparison-0-1")["comparisons"]
        assert found["verdict"] == verdict
    assert main(["report", *paths, "-o", str(tmp_path / "r.html"), "--margin", "z=0.05"]) == 1
    assert "margin for 'z'" in capsys.readouterr().err


def test_the_output_is_none_of_the_inputs(folder, tmp_path, capsys):
    before = (folder / "base.json").read_bytes()
    samples = tmp_path / "samples.jsonl"
    samples.write_text('{"question": "q"}')
    (tmp_path / "link.html").symlink_to("results/base.json")
    for output in (
        folder / "base.json",
        folder / ".." / "results" / "base.json",
        tmp_path / "link.html",
        folder / "base.json.outcomes.jsonl",
        folder / "base.json.judgements.jsonl",
        folder / "report.json",
        folder / "report.json.journal",
        samples,
    ):
        assert "is one of the files to read" in wrong_usage(capsys, folder, "-o", output, "--samples", samples)
    assert (folder / "base.json").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["base.json", "new.json"]
    # Beside the results is fine: it is none of them.
    assert main(["report", str(folder), "-o", str(folder / "report.html")]) == 0
    assert main(["report", str(folder), "-o", str(folder / "report.html")]) == 0


def test_wrong_usage(folder, capsys):
    assert "-o/--output" in wrong_usage(capsys, folder)
    assert "RESULT" in wrong_usage(capsys, "-o", "report.html")


@pytest.mark.parametrize("command", ["report", "compare"])
def test_the_standard_output_is_no_file(command, folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    paths = [str(folder / "base.json"), str(folder / "new.json")]
    with pytest.raises(SystemExit) as caught:
        main([command, *paths, "-o", "-"])
    assert caught.value.code == 2
    assert "this is written to a file: give its name" in capsys.readouterr().err
    assert not Path("-").exists()
    main([command, *paths, "-o", "./-"])
    assert Path("-").exists()


@pytest.mark.parametrize("command", ["report", "compare", "export"])
def test_help_says_that_folders_are_made(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert "folders that are not there are made" in " ".join(capsys.readouterr().out.split())


def test_what_cannot_be_read_is_refused(folder, tmp_path, capsys):
    output = tmp_path / "report.html"
    (tmp_path / "empty").mkdir()
    (folder / "stranger.json").write_text("{}")
    for paths, said in {
        (tmp_path / "none.json",): "none.json",
        (tmp_path / "none.json.journal",): "none.json.journal",
        (tmp_path / "empty",): "has no result files",
        (folder,): "move it out of the folder",
        (folder / "stranger.json",): "not a result file",
    }.items():
        assert main(["report", *map(str, paths), "-o", str(output)]) == 1
        assert said in capsys.readouterr().err
    assert main(["report", str(folder / "new.json"), "-o", str(output), "--samples", str(tmp_path / "no.jsonl")]) == 1
    assert "no.jsonl" in capsys.readouterr().err
    assert not output.exists()


@pytest.mark.parametrize("output", ["/dev/full", "/dev/null/report.html", "."])
def test_where_nothing_can_be_written(folder, output, capsys):
    assert main(["report", str(folder), "-o", output]) == 1
    assert "could not be written" in capsys.readouterr().err


def test_a_full_disk_leaves_the_old_report(folder, tmp_path):
    output = tmp_path / "out" / "report.html"
    output.parent.mkdir()
    output.write_text("old")
    command = [sys.executable, "-m", "fastrag", "report", str(folder), "-o", str(output)]
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))  # noqa: E731
    done = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the report could not be written: File too large" in done.stderr
    assert output.read_text() == "old"
    assert os.listdir(output.parent) == ["report.html"]  # noqa: PTH208


@pytest.mark.parametrize(
    "name",
    ["</title><script>alert(1)</script>", "<!--<script>", "]]>", "\x1b[31m\u202e", "{{ 7 * 7 }}", "", " ", "a" * 5000],
)
def test_hostile_names(tmp_path, name):
    save(tmp_path / "r.json", name, [0.5, None])
    output = tmp_path / "report.html"
    assert main(["report", str(tmp_path / "r.json"), "-o", str(output), "--title", name]) == 0
    html = output.read_text("utf-8")
    data, shown = (
        r'<script type="text/plain" [^>]*>[^<]*</script>',
        re.sub(r"<script>.*</script>", "", html, flags=re.S),
    )
    assert html.count("<script>") == 1
    assert "alert(1)</script>" not in html
    assert "<!--" not in re.sub(data, "", shown)
    assert "49" not in re.findall(r"<title>(.*)</title>", html)[0]
    assert not {"\x1b", "\u202e"} & set(html)
    [label] = labels(output)
    assert label.strip() != ""


def test_a_large_input_shows_progress(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("fastrag.cli.report._LARGE", 0)
    assert main(["report", str(folder), "-o", str(tmp_path / "report.html")]) == 0
    assert labels(tmp_path / "report.html") == ["base", "new"]
    out, err = capsys.readouterr()
    assert "writing: 6/6 parts" in err
    assert out.count("\n") == 1


def test_without_built_pages_it_says_how_to_get_them(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("fastrag.benchmark.report.html.assets._FOLDER", "nowhere")
    assert main(["report", str(folder), "-o", str(tmp_path / "report.html")]) == 1
    assert "make frontend" in capsys.readouterr().err
    assert not Path(tmp_path / "report.html").exists()
